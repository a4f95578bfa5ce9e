"""Kill a device with its tasks at random moments, and replace tasks under load: each firing counts once.

    python -m tests.fault.container --kills 2000
    python -m tests.fault.container --kills 0 --replaces 10000

*Kills.* A child records events into a Device with several tasks: one that stores a row for every event, one
over pairs that fails now and then, one over time that passes, one of three phases. The parent kills it and
starts the next. In the end every accepted event must be in the log, and the tables must hold what a processor
that is never killed says: of every firing that did not fail one row, under its number. Two tasks count such
firings in their state, which must say the same, and one records an event with each, which must be in the log
once.

*Replaces.* While events flow, a task of three phases is replaced again and again by another version. No
firing may be lost or doubled, no row may have phases of two versions, patterns begun under one version must
end under the other, and the process may not grow.
"""

from __future__ import annotations

import argparse
import gc
import mmap
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from walle_rt.device import Device
from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._log import EventLog
from walle_rt.stream._processor import Processor
from walle_rt.task import Task

KILLS_PER_DEVICE = 20
START_S, IDLE_S = 60.0, 120.0
MOST_GROWTH = 2 << 20  # bytes
# Replacements before growth is measured: pools, caches and the laps of the journals' rings fill in the first
# 50. One moment says little, because an isolate that is just let go takes 0.4 MB and up to six of them are:
# growth is from the least of LOOKS moments to the least of as many at the end.
WARM_UP, LOOKS = 100, 20
FAILS = 13  # every so many pairs raise

HEAD = """
[task]
name = "{name}"
version = "{version}"
breaker = 1000
[queue]
size = 65536
when_full = "drop_new"
[results.rows]
columns = {{ number = "int", seq = "int", a = "int", b = "int", c = "int" }}
max_bytes = "1G"
[limits]
heap_bytes = "8M"
[capabilities]
host_calls = ["walle.kv"{more}]
"""
# Of the task that records an event for each of its firings.
ECHO = """
[record]
events = ["echo"]
per_day = 1_000_000
[events.echo]
fields = { n = { type = "int" } }
"""
TRIGGERS: dict[str, dict[str, str]] = {
    "each": {"all": "mark"},
    "pairs": {"pair": "mark[n % 5 == 1] ~ mark[n % 7 == 2] within 1h"},
    "quiet": {"alone": "mark[n % 4 == 1] !~ mark[n % 4 == 2] for 20ms", "tick": "every 50ms"},
    "phased": {"odd": "mark[n % 2 == 1] ~ mark[n % 2 == 0]", "late": "mark[n % 11 == 3]"},
}
ROW = '{"number": event["number"], "seq": event["seq"], "a": 0, "b": 0, "c": 0}'
# Firings that did not fail, in the task's state.
COUNTS = """
import walle
def main(event):
    count = walle.kv.get("count", 0) + 1
    walle.kv.put("count", count)
"""
SOURCES = {
    "each": COUNTS
    + '    walle.record("echo", {"n": event["fields"]["n"]})\n'
    + f"    return dict({ROW}, c=count)\n",
    "pairs": COUNTS
    + (
        f'    if event["number"] % {FAILS} == 0:\n'
        '        raise ValueError("every so often")\n'
        f"    return dict({ROW}, c=count)\n"
    ),
    "quiet": f"def main(event):\n    return {ROW}\n",
    "phased": """
VERSION = {stamp}

def preprocess(event):
    return {{"number": event["number"], "seq": event["seq"], "a": VERSION}}

def execute(inputs):
    return dict(inputs, b=VERSION)

def postprocess(outputs):
    return dict(outputs, c=VERSION)
""",
}
ENTRY = {
    "phased": 'preprocess = "preprocess"\nexecute = "execute"\npostprocess = "postprocess"\n',
}


def catalog() -> Catalog:
    return Catalog().declare("mark", fields={"n": ColumnType.INT})


def bundle(name: str, stamp: int = 1) -> bytes:
    """The task's bundle; ``stamp`` is its version, and what its phases put into their row."""
    triggers = "".join(f'{trigger} = "{text}"\n' for trigger, text in TRIGGERS[name].items())
    more = ', "walle.events"' if name == "each" else ""
    toml = HEAD.format(name=name, version=f"{stamp}.0.0", more=more) + f"[triggers]\n{triggers}"
    toml += "[entry]\n" + ENTRY.get(name, 'main = "main"\n')
    for phase in ("preprocess", "execute", "postprocess") if name in ENTRY else ("main",):
        toml += f"[limits.{phase}]\nwall_ms = 60000\n"  # a firing that meets one counts as lost
    toml += '[events.mark]\nfields = { n = { type = "int" } }\n'
    toml += ECHO if name == "each" else ""
    with tempfile.TemporaryDirectory(prefix="walle-task-") as scratch:
        (Path(scratch) / "task.toml").write_text(toml)
        source = SOURCES[name].format(stamp=stamp) if name == "phased" else SOURCES[name]
        (Path(scratch) / "main.py").write_text(source)
        return Task(scratch).compile(sources=True).data


def child(directory: Path, words: memoryview, seed: int, bundles: dict[str, bytes]) -> None:
    """Record until killed. ``words``: tasks are installed; number of the newest accepted event."""
    rng = random.Random(seed)
    with Device(directory, catalog(), workers=2, ready=1) as device:
        for name, data in bundles.items():
            if name not in device.tasks():
                device.install(data)
        words[0] = 1
        n = words[2]
        while True:
            n += 1
            words[1] = max(words[1], device.record("mark", contents={"n": n}))
            words[2] = n
            if rng.random() < 0.2:
                time.sleep(rng.random() * 0.002)
            if rng.random() < 0.01:
                device.install(bundles[rng.choice(list(bundles))])  # the same again


def reference(events: list[tuple[str, int, dict[str, object]]]) -> dict[str, list[tuple[int, int]]]:
    """What fires over these events where nothing is killed: (number, seq) by task."""
    found: dict[str, list[tuple[int, int]]] = {}
    with tempfile.TemporaryDirectory(prefix="walle-reference-") as scratch:
        known = catalog().declare("echo", fields={"n": ColumnType.INT, "_record": ColumnType.INT})
        processor = Processor(scratch, known, recorded_times=True, max_age_s=1e9)
        for name, triggers in TRIGGERS.items():
            processor.install(name, triggers, queue=65536)
            found[name] = []
        for seq, (event, ts, contents) in enumerate(events, 1):
            assert processor.record(event, "", contents, ts=ts) == seq  # type: ignore[arg-type]
            for name, firings in found.items():
                while (firing := processor.take(name)) is not None:
                    firings.append((firing.number, firing.seq))
                    processor.settle(name, firing.number)
            if seq % 1000 == 0:
                processor.maintain()
        processor.close()
    return found


def come_to_rest(directory: Path) -> None:
    """Open as an application would: what the killed one left is done."""
    with Device(directory, catalog(), workers=2, ready=1) as device:
        assert device.wait(IDLE_S), "the device does not come to rest"


def stored(directory: Path) -> dict[str, list[tuple[int, int]]]:
    """(number, seq) of every row by task; time stands still, and what it fired last is done before."""
    rows = {}
    with Device(directory, catalog(), workers=2, ready=1, background=False) as device:
        assert device.wait(IDLE_S), "the device does not come to rest"
        for name in TRIGGERS:
            info = device.task(name)
            assert info.dropped == 0 and info.status == "idle", f"task {name}: {info}"
            columns = device.results(name).columns()
            rows[name] = [(int(a), int(b)) for a, b in zip(columns["number"], columns["seq"], strict=True)]
            if SOURCES[name].startswith(COUNTS):
                assert columns["c"].tolist() == list(range(1, len(rows[name]) + 1)), f"task {name}: its state"
    return rows


def verify(directory: Path, accepted: int) -> int:
    """How many rows there are; AssertionError when an event or a row is missing, doubled or wrong."""
    # Each in a call of its own: the folder is free when its device is gone.
    come_to_rest(directory)
    rows = stored(directory)
    with EventLog(directory / "log", read_only=True) as log:
        assert log.last_seq >= accepted, f"{accepted - log.last_seq} accepted events lost"
        assert log.report.lost == 0
        events = [(e.event, e.ts, dict(e.contents)) for e in log.read()]
        assert len(events) == log.last_seq
    echoes = [contents["n"] for event, _, contents in events if event == "echo"]
    assert echoes == [contents["n"] for event, _, contents in events if event == "mark"], "recorded events"
    for name, want in reference(events).items():
        fails = FAILS if name == "pairs" else 0
        left = [firing for firing in want if not fails or firing[0] % fails]
        assert rows[name] == left, f"task {name}: {len(rows[name])} rows where {len(left)} belong"
    return sum(len(found) for found in rows.values())


def write_bundles(directory: Path) -> int:
    for name in TRIGGERS:
        (directory / name).write_bytes(bundle(name))
    return len(TRIGGERS)


def run_kills(kills: int, seed: int = 0) -> dict[str, int]:
    """Kill so many devices; AssertionError when something is lost or doubled."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="walle-bundles-") as scratch:
        # This process forks: it loads no VM, and so compiles nothing itself.
        in_child(lambda: write_bundles(Path(scratch)))
        bundles = {name: (Path(scratch) / name).read_bytes() for name in TRIGGERS}
    words = memoryview(mmap.mmap(-1, 24)).cast("q")
    found = {"kills": 0, "events": 0, "rows": 0}
    for trial in range(kills):
        if trial % KILLS_PER_DEVICE == 0:
            directory = Path(tempfile.mkdtemp(prefix="walle-container-"))
            words[0] = words[1] = words[2] = 0
        before = words[1]
        pid = os.fork()
        if pid == 0:
            try:
                child(directory, words, seed * 1_000_003 + trial, bundles)
            finally:
                os._exit(1)
        until = time.monotonic() + START_S
        # The first process lives until its tasks are there; of the others half are killed while they open.
        while time.monotonic() < until and (words[0] == 0 or (trial % 2 and words[1] == before)):
            time.sleep(0.001)
        time.sleep(rng.random() ** 2 * 0.3)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the process ended by itself"
        found["kills"] += 1
        if trial % KILLS_PER_DEVICE == KILLS_PER_DEVICE - 1 or trial == kills - 1:
            found["rows"] += in_child(partial(verify, directory, words[1]))
            found["events"] += words[1]
            shutil.rmtree(directory)
    return found


def in_child(work: Callable[[], int]) -> int:
    """What ``work`` gives in a process of its own; AssertionError when it fails there."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(work()).encode())
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, "what a child process said above"
    return int(text)


def resident() -> tuple[int, int]:
    """Bytes of this process in memory: its own, and pages of mapped files.

    The rings of the journals are files: their pages come into memory once, as the first lap goes on, and the
    system may take them back. They are told apart so that a lap does not look like a leak.
    """
    gc.collect()
    whole, of_files = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    page = os.sysconf("SC_PAGE_SIZE")
    return (whole - of_files) * page, of_files * page


def run_replaces(replaces: int, pause_s: float = 0.001) -> dict[str, int]:
    """Replace a task so often under load; AssertionError when a firing is lost, doubled or mixed."""
    versions = [bundle("phased", 1), bundle("phased", 2)]
    directory = Path(tempfile.mkdtemp(prefix="walle-replace-"))
    done = threading.Event()
    recorded = 0
    with Device(directory, catalog(), workers=2, ready=1) as device:
        device.install(versions[0])

        def record() -> None:
            nonlocal recorded
            while not done.is_set():
                recorded += 1
                device.record("mark", contents={"n": recorded})
                time.sleep(pause_s)

        recorder = threading.Thread(target=record)
        recorder.start()
        first: list[tuple[int, int]] = []
        last: list[tuple[int, int]] = []
        for i in range(1, WARM_UP + replaces + 1):
            device.install(versions[i % 2])
            if WARM_UP < i <= WARM_UP + LOOKS:
                first.append(resident())
            if i > WARM_UP + replaces - LOOKS:
                last.append(resident())
        grown, mapped = (min(now[i] for now in last) - min(then[i] for then in first) for i in range(2))
        done.set()
        recorder.join()
        assert device.wait(IDLE_S), "the device does not come to rest"
        info = device.task("phased")
        assert info.failures == 0 and info.dropped == 0, f"failures: {info}"
        columns = device.results("phased").columns()
        numbers = [int(n) for n in columns["number"]]
        want = recorded // 2 + sum(n % 11 == 3 for n in range(1, recorded + 1))
        assert numbers == list(range(1, want + 1)), f"{len(numbers)} rows where {want} belong"
        stamps = list(zip(columns["a"], columns["b"], columns["c"], strict=True))
        mixed = sum(len(set(stamp)) != 1 for stamp in stamps)
        assert mixed == 0, f"{mixed} rows have phases of two versions"
        seen = len({stamp[0] for stamp in stamps})
    shutil.rmtree(directory)
    return {"replaces": replaces, "firings": want, "versions": seen, "grown": grown, "mapped": mapped}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--replaces", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.kills:
        found = run_kills(given.kills, given.seed)
        print(
            f"{found['kills']} kills, {found['events']} events, {found['rows']} rows: "
            "0 events lost, 0 firings lost, 0 doubled"
        )
    if given.replaces:
        told = run_replaces(given.replaces)
        print(
            f"{told['replaces']} replacements, {told['firings']} firings: 0 lost, 0 doubled, 0 mixed phases; "
            f"{told['grown']:,} bytes grown, {told['mapped']:,} more of files mapped"
        )
        sys.exit(1 if told["grown"] + told["mapped"] >= MOST_GROWTH else 0)


if __name__ == "__main__":
    main()
