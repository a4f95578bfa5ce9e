"""Kill a process that records, fires and settles at random moments: every firing is done exactly once.

    python -m tests.fault.processor_kill9 --trials 2000

A child records events into a Processor, takes what fires, and appends number and key of each firing to a file
in one write, which is what it does with a firing and the record that it was done. It makes checkpoints, puts
the same tasks in again and lets time pass. The parent kills it and starts the next one, which reads the
numbers out of those files. At the end the events of the log go through a processor that is never killed: the
files must hold its firings, each once, under the same numbers and keys.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import shutil
import signal
import struct
import tempfile
import time
from pathlib import Path

from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._processor import Processor

TRIALS_PER_DEVICE = 20
JOURNAL_BYTES = 16384
MARK = struct.Struct("<QQ")  # number and key of a firing that was done
TASKS: dict[str, dict[str, str]] = {
    "each": {"all": "mark"},
    "pairs": {"pair": "mark[n % 5 == 1] ~ mark[n % 7 == 2] within 1h", "again": "mark[n % 11 == 3]"},
    "quiet": {"alone": "mark[n % 4 == 1] !~ mark[n % 4 == 2] for 1ms", "tick": "every 5ms"},
    "values": {"of": "mark ~ mark scope by(who) cooldown 2ms per who"},
}


def catalog() -> Catalog:
    return Catalog().declare("mark", fields={"n": ColumnType.INT, "who": ColumnType.TEXT})


def contents(n: int) -> dict[str, int | float | bool | str | None]:
    return {"n": n, "who": chr(97 + n * 7919 % 5)}


def done(directory: Path, task: str) -> list[tuple[int, int]]:
    path = directory / f"{task}.done"
    data = path.read_bytes() if path.exists() else b""
    return list(MARK.iter_unpack(data[: len(data) // MARK.size * MARK.size]))


def open_device(directory: Path) -> Processor:
    numbers = {task: marks[-1][0] for task in TASKS if (marks := done(directory, task))}
    return Processor(
        directory,
        catalog(),
        settled=numbers,
        journal_bytes=JOURNAL_BYTES,
        quota_bytes=1 << 40,
        max_age_s=1e9,
        checkpoint_events=300,
    )


def install(device: Processor) -> None:
    for task, triggers in TASKS.items():
        device.install(task, triggers, queue=65536)


def work(device: Processor, files: dict[str, int]) -> None:
    for task, file in files.items():
        while (firing := device.take(task)) is not None:
            os.write(file, MARK.pack(firing.number, firing.key))
            device.settle(task, firing.number)


def child(directory: Path, words: memoryview, seed: int) -> None:
    rng = random.Random(seed)
    device = open_device(directory)
    if not device.tasks:
        install(device)
    words[0] = 1
    files = {
        task: os.open(directory / f"{task}.done", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for task in TASKS
    }
    while True:
        n = device.last_seq + 1
        seq = device.record("mark", "", contents(n))
        words[1] = max(words[1], seq)
        if rng.random() < 0.3:
            work(device, files)
        if rng.random() < 0.05:
            device.advance()
        if rng.random() < 0.02:
            device.maintain()
        if rng.random() < 0.01:
            device.checkpoint()
        if rng.random() < 0.01:
            install(device)  # the same again: nothing of what is under way may change


def verify(directory: Path, accepted: int) -> dict[str, int]:
    """Firings done, by task; AssertionError when one is missing, doubled or another than it should be."""
    device = open_device(directory)
    assert device.last_seq >= accepted, f"{accepted - device.last_seq} accepted events lost"
    assert not device.report.lost, "the state is lost"
    assert device.report.missed == 0, f"{device.report.missed} events were never matched"
    files = {
        task: os.open(directory / f"{task}.done", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for task in TASKS
    }
    work(device, files)
    for file in files.values():
        os.close(file)
    events = list(device.read())
    device.close()
    with tempfile.TemporaryDirectory(prefix="walle-reference-") as scratch:
        reference = Processor(scratch, catalog(), recorded_times=True, max_age_s=1e9)
        install(reference)
        for e in events:
            assert reference.record(e.event, e.page, e.contents, ts=e.ts) == e.seq
            if e.seq % 1000 == 0:
                reference.maintain()
        found = {}
        for task in TASKS:
            want = []
            while (firing := reference.take(task)) is not None:
                want.append((firing.number, firing.key))
                reference.settle(task, firing.number)
            got = done(directory, task)
            assert len(got) == len(set(got)), f"task {task}: a firing was done twice"
            assert got == want, f"task {task}: {len(got)} firings where {len(want)} belong"
            found[task] = len(got)
        reference.close()
    return found


def run(trials: int, seed: int = 0) -> dict[str, int]:
    rng = random.Random(seed)
    kills = events = firings = 0
    words = memoryview(mmap.mmap(-1, 16)).cast("q")  # tasks are installed; number of the newest event
    for trial in range(trials):
        if trial % TRIALS_PER_DEVICE == 0:
            directory = Path(tempfile.mkdtemp(prefix="walle-processor-"))
            words[0] = words[1] = 0
        before = words[1]
        pid = os.fork()
        if pid == 0:
            try:
                child(directory, words, seed * 1_000_003 + trial)
            finally:
                os._exit(1)
        until = time.monotonic() + 60
        # The first process of a device lives until its tasks are there: the reference begins with them.
        # Half of the others are killed while they open it.
        while (words[0] == 0 or (trial % 2 and words[1] == before)) and time.monotonic() < until:
            time.sleep(0.0005)
        time.sleep(rng.random() ** 2 * 0.05)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the process ended by itself"
        kills += 1
        if trial % TRIALS_PER_DEVICE == TRIALS_PER_DEVICE - 1 or trial == trials - 1:
            found = verify(directory, words[1])
            firings += sum(found.values())
            events += words[1]
            shutil.rmtree(directory)
    return {"kills": kills, "events": events, "firings": firings}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = run(given.trials, given.seed)
    print(
        f"{found['kills']} kills, {found['events']} events, {found['firings']} firings: "
        "0 events lost, 0 firings lost, 0 done twice"
    )


if __name__ == "__main__":
    main()
