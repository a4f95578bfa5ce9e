"""walle.features: what is kept of the events of keys is what a loop over all of them says."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from device_tasks import Open
from waits import PATIENCE_S, until

from walle_rt.device import ColumnType, Device
from walle_rt.errors import ArgumentError
from walle_rt.task import RollingSpec, Task, TaskSpec, check

SECOND = 1_000_000
USERS, ITEMS = ["ann", "bob", "cid"], [1, 2]
KEYS = [(user, item) for user in [*USERS, "nobody"] for item in ITEMS]
KINDS = ("count", "sum", "mean", "min", "max")
WINDOWS: dict[str, Any] = {"20s": 20 * SECOND, "5": 5}

TOML = """
task = {name = "keeper", version = "VERSION"}
triggers = {bought = "buy"}
queue = {size = 65536}
entry = {main = "main"}
limits.main.wall_ms = 60000
results.keeper.columns = {seq = "int", ts = "int", values = "text"}
call.now = {arguments = ["text", "list"], returns = "list"}
events.buy.fields = {user = "text", item = "int", price = "float", count = "int"}
events.other.fields = {n = "int"}
"""
MAIN = """
import walle

FEATURES = NAMES
KEYS = ALL

def main(event):
    values = [walle.features.get(name, KEYS) for name in FEATURES]
    return {"seq": event["seq"], "ts": event["ts"], "values": repr(values)}

def now(name, keys):
    return walle.features.get(name, keys)
"""


class Feature(NamedTuple):
    """One of the task's."""

    name: str
    kind: str
    over: Any
    value: str
    least: float | None = None  # of a price, by the predicate

    @property
    def toml(self) -> str:
        event = "buy" if self.least is None else f"buy[price > {self.least}]"
        value = f', value = "{self.value}"' if self.kind != "count" else ""
        over = f'"{self.over}"' if self.over.endswith("s") else self.over
        return (
            f'features.{self.name} = {{event = "{event}", by = ["user", "item"], '
            f'aggregate = "{self.kind}"{value}, over = {over}}}\n'
        )


class Bought(NamedTuple):
    """An event as the device has it."""

    seq: int
    ts: int
    user: str
    item: int
    price: float | None
    count: int


ALL = [
    Feature(f"{kind}_{value}_{over}", kind, over, value)
    for kind in KINDS
    for value in ("price", "count")
    for over in WINDOWS
    if kind != "count" or value == "count"
] + [Feature("dear", "sum", "20s", "price", 100)]
Make = Callable[..., Path]


def brute(feature: Feature, events: list[Bought], key: tuple[str, int], seq: int, ts: int) -> Any:
    """The definition, word for word."""
    found: list[Any] = []
    for e in events:
        value = e.price if feature.value == "price" else e.count
        priced = feature.least is None or (e.price is not None and e.price > feature.least)
        if (
            (e.user, e.item) == key
            and e.seq <= seq
            and priced
            and (feature.kind == "count" or value is not None)
        ):
            found.append((e.ts, value))
    if feature.over.endswith("s"):
        numbers = [value for at, value in found if at >= ts - WINDOWS[feature.over]]
    else:
        numbers = [value for _, value in found[-WINDOWS[feature.over] :]]
    if feature.kind == "count":
        return len(numbers)
    if not numbers:
        return None
    total = type(numbers[0])()
    for number in numbers:  # one after another: sum() of Python 3.12 compensates
        total += number
    return {"sum": total, "mean": total / len(numbers), "min": min(numbers), "max": max(numbers)}[
        feature.kind
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    made = 0

    def make(
        source: str = MAIN,
        toml: str = TOML,
        version: str = "1.0.0",
        features: list[Feature] = ALL,
        more: str = "",
    ) -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"t{made}"
        path.mkdir()
        declared = "".join(feature.toml for feature in features) + more
        (path / "task.toml").write_text(toml.replace("VERSION", version) + declared)
        names = repr([feature.name for feature in features])
        (path / "main.py").write_text(source.replace("NAMES", names).replace("ALL", repr(KEYS)))
        return path

    return make


def contents(rng: random.Random) -> dict[str, Any]:
    out: dict[str, Any] = {"user": rng.choice(USERS), "item": rng.choice(ITEMS), "count": rng.randint(-4, 4)}
    if rng.random() > 0.1:
        out["price"] = rng.random() * 300 * (1e14 if rng.random() < 0.02 else 1)
    return out


class Stream:
    """Events in about their order: some at one microsecond, some late."""

    def __init__(self, device: Device, seed: int) -> None:
        self.device, self.rng = device, random.Random(seed)
        self.clock = time.time_ns() // 1000 - 86400 * SECOND
        self.newest = 0
        self.events: list[Bought] = []

    def record(self, count: int) -> None:
        for _ in range(count):
            how = self.rng.random()
            self.clock += 0 if how < 0.2 else self.rng.randrange(3 * SECOND)
            if self.rng.random() < 0.02:
                self.clock += 11 * 60 * SECOND  # beyond what is kept behind a window
            ts = self.clock - self.rng.randrange(50 * SECOND) if how > 0.9 else self.clock
            self.newest = max(self.newest, ts)  # a late one stands at the time of the newest
            fields = contents(self.rng)
            seq = self.device.record("buy", contents=fields, ts=ts)
            price = fields.get("price")
            self.events.append(
                Bought(seq, self.newest, fields["user"], fields["item"], price, fields["count"])
            )
            if self.rng.random() < 0.1:
                self.newest = max(self.newest, self.clock)
                self.device.record("other", contents={"n": 1}, ts=self.clock)

    def expect(self, rows: Any, features: list[Feature] = ALL) -> None:
        assert [row["seq"] for row in rows] == [e.seq for e in self.events]
        for row, e in zip(rows, self.events, strict=True):
            assert row["ts"] == e.ts
            wanted = [[brute(feature, self.events, key, e.seq, e.ts) for key in KEYS] for feature in features]
            assert row["values"] == repr(wanted), e


def test_every_firing_sees_what_a_loop_over_all_events_says(opened: Open, folder: Make) -> None:
    device = opened()
    stream = Stream(device, 1)
    fields = {"user": "text", "item": "int", "price": "float", "count": "int"}
    device.declare("buy", fields={name: ColumnType(of) for name, of in fields.items()})
    device.declare("other", fields={"n": ColumnType.INT})
    stream.record(20)
    before = len(stream.events)
    device.install(folder())  # the past counts
    stream.record(200)
    assert device.wait(PATIENCE_S)
    assert device.task("keeper").failures == 0, device.task("keeper").error
    past, stream.events = stream.events[:before], stream.events[before:]
    rows = device.results("keeper")
    assert [row["seq"] for row in rows] == [e.seq for e in stream.events]
    for row, e in zip(rows, stream.events, strict=True):
        assert row["ts"] == e.ts
        known = past + stream.events
        assert row["values"] == repr([[brute(f, known, key, e.seq, e.ts) for key in KEYS] for f in ALL])


def test_a_restart_changes_nothing(opened: Open, folder: Make) -> None:
    device = opened()
    device.install(folder())
    stream = Stream(device, 2)
    for _ in range(4):
        stream.record(40)
        assert device.wait(PATIENCE_S)
        device.close()
        stream.device = device = opened()
    stream.record(20)
    assert device.wait(PATIENCE_S)
    stream.expect(device.results("keeper"))


def test_a_firing_that_runs_late_sees_what_held_at_its_event(opened: Open, folder: Make) -> None:
    toml = TOML.replace('version = "VERSION"', 'version = "VERSION", requires = ["idle"]')
    device = opened()
    device.install(folder(toml=toml))
    stream = Stream(device, 3)
    stream.record(150)
    assert device.wait(PATIENCE_S) and not len(device.results("keeper"))
    device.set_facts(idle=True)
    assert device.wait(PATIENCE_S)
    stream.expect(device.results("keeper"))
    assert any(feature.reads for feature in device.task("keeper").features), "some had to read the log"


def test_an_attempt_that_is_made_again_sees_the_same(opened: Open, folder: Make) -> None:
    source = MAIN.replace(
        "    values =", "    if event['attempt'] == 1:\n        raise ValueError\n    values ="
    )
    retry = '\nretry = {attempts = 2, first_delay = "1s"}\n'
    device = opened()
    device.install(folder(source, toml=TOML + retry))
    stream = Stream(device, 4)
    stream.record(30)
    until(lambda: len(device.results("keeper")) == 30 or None)
    rows = sorted(device.results("keeper"), key=lambda row: row["seq"])
    stream.expect(rows)


def test_a_killed_device_has_lost_nothing(opened: Open, folder: Make, tmp_path: Path) -> None:
    opened().close()
    program = textwrap.dedent(f"""
        import os, random, signal, sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
        from test_features import Stream
        from walle_rt.device import ColumnType, Device
        device = Device({str(tmp_path / "device")!r})
        device.install({str(folder())!r})
        stream = Stream(device, 5)
        stream.record(120)
        print(repr([tuple(e) for e in stream.events]), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    device = opened()
    stream = Stream(device, 6)
    stream.events = [Bought(*e) for e in eval(done.stdout)]
    stream.newest = stream.clock = stream.events[-1].ts
    assert device.wait(PATIENCE_S)
    stream.record(30)
    assert device.wait(PATIENCE_S)
    stream.expect(device.results("keeper"))


def test_the_application_and_calls_see_what_is_newest(opened: Open, folder: Make) -> None:
    device = opened()
    device.install(folder())
    now = time.time_ns() // 1000
    for n in range(8):
        fields = {"user": "ann", "item": 1, "price": n / 2, "count": n}
        device.record("buy", contents=fields, ts=now - 60 * SECOND + n)
    assert device.features("keeper", "count_count_5", [("ann", 1), ["bob", 1]]) == [5, 0]
    assert device.features("keeper", "sum_count_5", [("ann", 1), ("bob", 1)]) == [3 + 4 + 5 + 6 + 7, None]
    assert device.features("keeper", "mean_price_5", [("ann", 1)]) == [2.5]
    assert device.features("keeper", "count_count_20s", [("ann", 1)]) == [0], "all of it is a minute ago"
    device.record("buy", contents={"user": "ann", "item": 1, "count": 9})
    assert device.features("keeper", "count_count_20s", [("ann", 1)]) == [1]
    assert device.call("keeper", "now", "max_count_5", [["ann", 1], ["ann", 2]]) == [9, None]
    assert device.features("keeper", "count_count_20s", []) == []


@pytest.mark.parametrize(
    ("task", "name", "keys", "says"),
    [
        ("keper", "dear", [], "task 'keper'"),
        ("keeper", "deer", [], "did you mean 'dear'"),
        ("keeper", "dear", ["ann"], "a key of 1 parts"),
        ("keeper", "dear", [("ann", 1, 2)], "a key of 3 parts"),
        ("keeper", "dear", [("ann", "1")], "part 2 is no int"),
        ("keeper", "dear", [(1, 1)], "part 1 is no text"),
        ("keeper", "dear", [("ann", None)], "part 2 is no int"),
        ("keeper", "dear", [("ann", 1)] * 65537, "at most 65536"),
    ],
)
def test_what_is_not_declared_is_refused(
    opened: Open, folder: Make, task: str, name: str, keys: list[Any], says: str
) -> None:
    device = opened()
    device.install(folder())
    with pytest.raises(ArgumentError, match=says):
        device.features(task, name, keys)


def test_a_task_that_asks_wrongly_gets_exceptions(opened: Open, folder: Make) -> None:
    source = """
import walle

def main(event):
    told = []
    for name, keys in (("de" + "er", []), ("dear", "ann"), ("dear", [("ann", "1")]), ("dear", 1)):
        try:
            walle.features.get(name, keys)
        except (KeyError, TypeError) as error:
            told.append(type(error).__name__)
    return {"values": " ".join(told)}

def now(name, keys):
    return []
"""
    device = opened()
    device.install(folder(source))
    device.record("buy", contents={"user": "ann", "item": 1})
    assert device.wait(PATIENCE_S)
    assert [row["values"] for row in device.results("keeper")] == ["KeyError TypeError TypeError TypeError"]


def test_keys_that_give_way_are_counted_and_read_again(opened: Open, folder: Make) -> None:
    more = 'features.few = {event = "buy", by = ["user"], aggregate = "count", over = "7d", keys = 2}\n'
    device = opened()
    device.install(
        folder("def main(event):\n    pass\ndef now(name, keys):\n    return []\n", features=[], more=more)
    )
    assert device.features("keeper", "few", ["user0"]) == [0]
    for n in range(9):
        device.record("buy", contents={"user": f"user{n % 3}", "item": 1})
    assert device.features("keeper", "few", [f"user{n}" for n in range(4)]) == [3, 3, 3, 0]
    (few,) = device.task("keeper").features
    assert (few.name, few.keys, few.reads) == ("few", 2, 1) and few.evicted > 0 and few.bytes > 0


def test_versions_go_on_with_what_they_declare_alike(opened: Open, folder: Make) -> None:
    device = opened()
    device.install(folder())
    stream = Stream(device, 7)
    stream.record(60)
    first, second = ALL[:3], [*ALL[:2], Feature("other", "max", "5", "count")]
    assert device.wait(PATIENCE_S)
    assert [f.name for f in device.task("keeper").features] == [f.name for f in ALL]
    memory = {f.name: f.bytes for f in device.task("keeper").features}
    assert memory[first[0].name] > 0
    device.install(folder(version="2.0.0", features=second))
    assert {f.name: f.bytes for f in device.task("keeper").features[:2]} == {
        f.name: memory[f.name] for f in second[:2]
    }, "it is not read anew"
    last = stream.events[-1]
    for feature in second:
        now = brute(feature, stream.events, ("ann", 1), last.seq, time.time_ns() // 1000)
        assert device.features("keeper", feature.name, [("ann", 1)]) == [now]
    with pytest.raises(ArgumentError, match="feature 'dear'"):
        device.features("keeper", "dear", [("ann", 1)])
    device.remove("keeper")
    with pytest.raises(ArgumentError, match="task 'keeper'"):
        device.features("keeper", "other", [("ann", 1)])


def test_they_are_part_of_the_task(folder: Make) -> None:
    spec = Task(folder()).spec
    assert spec.rolling["dear"] == RollingSpec(
        "buy[price > 100]", ("user", "item"), "sum", "price", 20 * SECOND, 0, 4096
    )
    assert spec.rolling["max_count_5"].over_events == 5 and spec.host_calls == ["walle.features"]
    assert TaskSpec.from_manifest(spec.to_manifest()).rolling == spec.rolling


DEAR = (
    'features.dear = {event = "buy[price > 1]", by = ["user"], aggregate = "sum", value = "price", '
    'over = "7d"}\n'
)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('event = "buy[price > 1]"', 'event = "by"', "did you mean 'buy'"),
        ('event = "buy[price > 1]"', 'event = "buy[prise > 1]"', "did you mean 'price'"),
        ('event = "buy[price > 1]"', 'event = "buy[price > ]"', "event = 'buy[price > ]'"),
        ('event = "buy[price > 1]"', 'event = "buy > buy"', "one event"),
        ('event = "buy[price > 1]"', 'event = "buy within 5s"', "one event"),
        ('event = "buy[price > 1]"', 'event = "*"', "one event"),
        ('event = "buy[price > 1]"', 'event = "buy@cart"', "cart"),
        ('event = "buy[price > 1]", ', "", "without 'event'"),
        ('by = ["user"]', 'by = ["usr"]', "did you mean 'user'"),
        ('by = ["user"]', "by = []", "1 to 4 fields"),
        ('by = ["user"]', 'by = ["user", "user"]', "each once"),
        ('by = ["user"]', 'by = "user"', "a list of at most 4"),
        ('aggregate = "sum"', 'aggregate = "som"', "did you mean 'sum'"),
        ('aggregate = "sum"', 'aggregate = "count"', "remove it"),
        (', value = "price"', "", "a sum without 'value'"),
        ('value = "price"', 'value = "prize"', "did you mean 'price'"),
        ('value = "price"', 'value = "user"', "of type text"),
        ('over = "7d"', "over = 0", "from 1 to 16,384"),
        ('over = "7d"', "over = 16385", "from 1 to 16,384"),
        ('over = "7d"', 'over = "400d"', "up to 366d"),
        ('over = "7d"', 'over = "7"', "a duration"),
        (', over = "7d"', "", "without 'over'"),
        ('over = "7d"', 'over = "7d", keys = 0', "from 1 to 1,048,576"),
        ('over = "7d"', 'ower = "7d"', "did you mean 'over'"),
    ],
)
def test_declarations_that_mean_nothing_are_mistakes(folder: Make, right: str, wrong: str, says: str) -> None:
    assert right in DEAR
    path = folder("def main(event):\n    pass\ndef now(n, k):\n    return []\n", features=[])
    toml = path / "task.toml"
    text = toml.read_text()
    toml.write_text(text + DEAR)
    assert not [m for m in check(path) if m.error and "dear" not in m.given and "features" not in m.given]
    toml.write_text(text + DEAR.replace(right, wrong))
    found = [m for m in check(path) if m.error and m.file == "task.toml"]
    assert any(says in str(m) for m in found), found


def test_names_that_the_code_asks_for_are_compared(folder: Make) -> None:
    ask = 'import walle\n\ndef main(event):\n    walle.features.get("deer", [1])\n'
    ask += "\ndef now(n, k):\n    return []\n"
    (mistake,) = check(folder(ask))
    assert (mistake.file, mistake.line, mistake.error) == ("main.py", 4, True)
    assert "did you mean 'dear'?" in str(mistake)
    found = check(folder(ask.replace('get("deer", ', 'get(name="deer", keys='), features=[]))
    assert any("add [features.deer]" in str(m) for m in found), found
