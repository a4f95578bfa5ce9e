"""Events that tasks record, and one-off timers that they set: with the firing or not at all, and once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_walle
from waits import PATIENCE_S

from walle_rt import TaskError
from walle_rt.device import Device
from walle_rt.stream._log import EventLog
from walle_rt.task import Task, check
from walle_rt.vm import VM, library_path

pytestmark = pytest.mark.skipif(not VM.available("device"), reason=f"no VM library at {library_path()}")

NOON, SECOND, DAY = 1_700_049_600_000_000, 1_000_000, 86_400 * 1_000_000
TOML = """
task = {name = "NAME", version = "1.0.0"}
triggers = {did = "TRIGGER"}
entry = {main = "main"}
capabilities = {host_calls = ["walle.events", "walle.timers", "walle.kv"]}
record = {events = ["note"], per_firing = 3, per_day = 5}
timers = {names = ["later", "other"], most = 3}
results.said.columns = {text = "text", ts = "int"}
call.note = {}
call.keep = {keep = true}
[events]
do.fields = {code = "text"}
note.fields = {n = "int", x = "float", ok = "bool", t = "text"}
"""
MAIN = """
import walle
def main(event):
    if event["trigger"] != "did":
        return {"text": event["trigger"] + repr(event["fields"]), "ts": event["ts"]}
    told = None
    code = event["fields"].get("code")
    if code:
        told = eval_(code)
    return {"text": repr(told if told is not None else event["fields"]), "ts": event["ts"]}
def eval_(code):
    name, _, rest = code.partition(" ")
    if name == "note":
        walle.record("note", {"n": int(rest), "x": 1, "ok": True, "t": "a"})
    elif name == "fail":
        walle.record("note", {"n": 9})
        walle.timers.after(5, "later")
        raise ValueError("no")
    elif name == "many":
        for n in range(int(rest)):
            walle.record("note", {"n": n})
    elif name == "after":
        seconds, timer, key = rest.split(" ")
        walle.timers.after(float(seconds), timer, "p" + key, key)
    elif name == "cancel":
        return walle.timers.cancel("later", rest)
    elif name == "list":
        return [(t["name"], t["key"], t["due"], t["payload"]) for t in walle.timers.list()]
    elif name == "wrong":
        out = []
        for event, fields in (("nte", {}), ("note", {"m": 1}), ("note", {"n": "1"}), ("note", {"n": 1.5}),
                              ("note", {"x": float("inf")}), ("note", 1), ("do", {}),
                              ("note", {"_record": 1})):
            try:
                walle.record(event, fields)
            except Exception as error:
                out.append(type(error).__name__)
        for args in ((0.5, "later"), (1e9, "later"), (5, "latr"), (5, "later", "x" * 5000), ("5", "later")):
            try:
                walle.timers.after(*args)
            except Exception as error:
                out.append(type(error).__name__)
        return out
def note():
    walle.record("note", {"n": 1})
keep = note
"""


def task(folder: Path, name: str = "talker", trigger: str = "do", main: str = MAIN) -> Path:
    made = folder / name
    made.mkdir(exist_ok=True)
    (made / "task.toml").write_text(TOML.replace("NAME", name).replace("TRIGGER", trigger))
    (made / "main.py").write_text(main)
    return made


class Doing:
    """A device of recorded events whose task is told what to do."""

    def __init__(self, path: Path, *tasks: Path, ts: int = NOON) -> None:
        self.path, self.ts = path, ts
        self.device = Device(path / "device", recorded=True)
        for each in tasks:
            self.device.install(each)

    def __call__(self, code: str, after_s: float = 0) -> str:
        self.ts += int(after_s * SECOND)
        self.device.record("do", contents={"code": code}, ts=self.ts)
        assert self.device.wait(PATIENCE_S)
        rows = self.said()
        return rows[-1][0] if rows else ""

    def said(self, name: str = "talker") -> list[tuple[str, int]]:
        return [(str(row["text"]), int(row["ts"])) for row in self.device.results(name)]

    def reopen(self) -> None:
        self.device.close()
        self.device = Device(self.path / "device", recorded=True)
        assert self.device.wait(PATIENCE_S)

    def pass_to(self, ts: int) -> None:
        self.device.advance(ts)
        assert self.device.wait(PATIENCE_S)

    def notes(self) -> list[dict[str, Any]]:
        self.device.close()
        with EventLog(self.path / "device" / "log", read_only=True) as log:
            notes = [dict(e.contents) for e in log.read() if e.event == "note"]
        self.reopen()
        return notes


def test_an_event_is_there_when_its_firing_is_done(tmp_path: Path) -> None:
    do = Doing(tmp_path, task(tmp_path), task(tmp_path, "other", "note"))
    do("note 1")
    assert do.said("other") == [("{'n': 1, 'x': 1.0, 'ok': True, 't': 'a'}", NOON)]
    do("fail")
    do("note 2", 1)
    assert [note["n"] for note in do.notes()] == [1, 2]
    ids = [note["_record"] for note in do.notes()]
    assert ids == sorted(set(ids)) and len(do.said("other")) == 2
    do.device.close()


def test_limits_and_types(tmp_path: Path) -> None:
    do = Doing(tmp_path, task(tmp_path))
    wrong = [
        "KeyError",
        "KeyError",
        "TypeError",
        "TypeError",
        "TypeError",
        "TypeError",
        "KeyError",
        "KeyError",
    ]
    assert do("wrong") == repr([*wrong, "ValueError", "ValueError", "KeyError", "ValueError", "TypeError"])
    do("many 4")
    assert "per_firing" in do.device.task("talker").error
    do("many 3")
    do("many 3")
    assert "5 per UTC day" in do.device.task("talker").error and len(do.notes()) == 3
    do("many 2")
    do("many 1")
    assert "[record] per_day" in do.device.task("talker").error
    do("many 3", 86_400)
    assert len(do.notes()) == 8
    do.device.close()


def test_a_task_that_triggers_itself_ends(tmp_path: Path) -> None:
    loop = "import walle\ndef main(event):\n    walle.record('note', {'n': 1})\n"
    loop += "def note():\n    pass\nkeep = note\n"
    do = Doing(tmp_path, task(tmp_path, trigger="do or note", main=loop))
    do("")
    info = do.device.task("talker")
    assert (info.firings, info.failures) == (6, 1) and "per_day" in info.error
    assert len(do.notes()) == 5
    do.device.close()


def test_a_call_records_where_it_says_so(tmp_path: Path) -> None:
    do = Doing(tmp_path, task(tmp_path))
    do("list")
    with pytest.raises(TaskError, match="keep = true"):
        do.device.call("talker", "note")
    do.device.call("talker", "keep")
    assert [note["n"] for note in do.notes()] == [1]
    do.device.close()


def test_a_timer_fires_once(tmp_path: Path) -> None:
    do = Doing(tmp_path, task(tmp_path))
    do("after 10 later a")
    do("fail")
    assert do("list") == repr([("later", "a", NOON + 10 * SECOND, "pa")])
    do.pass_to(NOON + 10 * SECOND - 1)
    assert len(do.said()) == 2
    do.pass_to(NOON + 10 * SECOND)
    do.pass_to(NOON + 100 * SECOND)
    fields = {"task": "talker", "name": "later", "key": "a", "payload": "pa"}
    assert do.said()[2:] == [("later" + repr(fields), NOON + 10 * SECOND)]
    do.device.close()


def test_timers_are_replaced_cancelled_and_bounded(tmp_path: Path) -> None:
    do = Doing(tmp_path, task(tmp_path))
    do("after 10 later a")
    do("after 20 later a")
    do("after 5 other b")
    do("after 7 later c")
    do("after 7 later d")
    assert "at most 3 that wait" in do.device.task("talker").error
    assert do("cancel c") == "True" and do("cancel c") == "False"
    before = len(do.said())
    do.pass_to(NOON + 60 * SECOND)
    assert [(text[:5], ts) for text, ts in do.said()[before:]] == [
        ("other", NOON + 5 * SECOND),
        ("later", NOON + 20 * SECOND),
    ]
    do("after 10 later a", 60)
    do.device.remove("talker")
    do.device.install(tmp_path / "talker")
    assert do("list") == "[]"
    do.device.close()


def test_timers_outlive_the_device(tmp_path: Path) -> None:
    do = Doing(tmp_path, task(tmp_path))
    do("after 10 later a")
    do("after 1000 later b")
    do.reopen()
    assert do.device._native.next_deadline() == NOON + 10 * SECOND
    do.pass_to(NOON + 500 * SECOND)
    do.reopen()
    do.pass_to(NOON + 500 * SECOND)
    assert [text[:5] for text, _ in do.said()[2:]] == ["later"]
    do.device.close()


def test_by_the_clock_of_the_device(tmp_path: Path) -> None:
    """Due ones fire after opening, and by a clock that has been set forward at once."""
    with Device(tmp_path / "device", background=False) as device:
        device.install(task(tmp_path))
        device.record("do", contents={"code": "after 3600 later a"})
        device.record("do", contents={"code": "after 1 later b"})
        assert device.wait(PATIENCE_S)
    with Device(tmp_path / "device", background=False) as device:
        due = device._native.next_deadline()
        assert due is not None
        device.advance(due)
        device.advance(due)
        device.advance(due + 7200 * SECOND)
        assert device.wait(PATIENCE_S)
        told = [row["text"] for row in device.results("talker")][2:]
        assert ["'key': 'b'" in told[0], "'key': 'a'" in told[1], len(told)] == [True, True, 2]


def test_task_test_runs_chains_and_timers(tmp_path: Path) -> None:
    made = task(tmp_path, trigger="do or note")
    events = [
        {"event": "do", "ts": NOON, "contents": {"code": "note 1"}},
        {"event": "do", "ts": NOON + SECOND, "contents": {"code": "after 30 later a"}},
        {"event": "do", "ts": NOON + 2 * SECOND, "contents": {"code": "after 5 later b"}},
    ]
    (made / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    told = json.loads(run_walle("task", "test", made, "--after", "1m", "--json").stdout)
    assert [(f["trigger"], f["ts"] - NOON) for f in told["firings"]] == [
        ("did", 0),
        ("did", 0),
        ("did", SECOND),
        ("did", 2 * SECOND),
        ("later", 7 * SECOND),
        ("later", 31 * SECOND),
    ]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('events = ["note"]', 'events = ["nte"]', "did you mean 'note'?"),
        ('events = ["note"]', 'events = ["click"]', "one that [events] declares"),
        ("per_firing = 3", "per_firing = 1025", "1 to 1,024"),
        ("per_day = 5", "per_day = 0", "1 to 1,000,000"),
        ('"other"]', '"did"]', "a trigger, too"),
        ("most = 3", "most = 4097", "1 to 4,096"),
        ("do.fields", "timer_due.fields = {}\ndo.fields", "the device's own"),
        ("{n = ", '{_record = "int", n = ', "the device's own"),
    ],
)
def test_what_task_toml_may_not_say(tmp_path: Path, before: str, after: str, says: str) -> None:
    made = task(tmp_path)
    (made / "task.toml").write_text((made / "task.toml").read_text().replace(before, after))
    assert any(says in str(mistake) for mistake in check(made) if mistake.error)


def test_the_manifest_has_it(tmp_path: Path) -> None:
    spec = Task(task(tmp_path)).spec
    again = type(spec).from_manifest(spec.to_manifest())
    assert (again.record_events, again.record_per_firing, again.record_per_day) == (["note"], 3, 5)
    assert (again.timer_names, again.timers_most) == (["later", "other"], 3)
