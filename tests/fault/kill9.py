"""Kill the writer with SIGKILL at random moments: 0 accepted events lost, doubled or torn.

    python -m tests.fault.kill9 --trials 10000

A child appends events whose contents follow from their number and, after each append() returned, writes the
number into shared memory. The parent kills it, opens the log and compares. Small journals, so that laps,
compactions and releases are killed too; each log lives on over several trials. In some trials the writer
forks and its child tries to append, which must be refused, and in some the parent reads beside the writer,
which must show every event once.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

from walle_rt.errors import ResourceError
from walle_rt.stream import Catalog, ColumnType
from walle_rt.stream._log import EventLog

TRIALS_PER_LOG = 25
JOURNAL_BYTES = 8192
FORKING, READING = 5, 7  # every so many trials
EVENTS_PER_FORK = 40
LOCK_S = 10.0  # a child of the killed writer may outlive it for a moment, and its lock with it


def catalog() -> Catalog:
    return Catalog().declare("mark", fields={"n": ColumnType.INT, "text": ColumnType.TEXT}).page("home")


def text_of(n: int) -> str:
    return chr(97 + n % 26) * (n * 7919 % 211)


def frame_bytes(n: int) -> int:
    """Bytes event n takes in the journal: frame head, record head, the number, the text, padding to 8."""
    return (16 + 30 + 10 + 6 + len(text_of(n)) + 7) // 8 * 8


def open_log(directory: str) -> EventLog:
    return EventLog(directory, catalog(), journal_bytes=JOURNAL_BYTES, quota_bytes=1 << 40, max_age_s=1e9)


def child(directory: str, done: memoryview, forking: bool) -> None:
    log = open_log(directory)
    n = log.last_seq
    while True:
        n += 1
        log.append("mark", "home", {"n": n, "text": text_of(n)})
        done[0] = n
        if n % 16 == 0:
            log.maintain()
        if forking and n % EVENTS_PER_FORK == 0:
            fork_and_append(log, n, directory, done)


def fork_and_append(log: EventLog, n: int, directory: str, done: memoryview) -> None:
    """A child's event must be refused, and its own reader must see what its parent has written."""
    pid = os.fork()
    if pid == 0:
        right = False
        try:
            log.append("mark", "home", {"n": -1, "text": "of a child"})
        except ResourceError:
            right = read_beside(directory, n) == n
        finally:
            done[1] += 1
            done[2] += not right
            os._exit(0)
    os.waitpid(pid, 0)


def read_beside(directory: str, at_least: int) -> int:
    """The last of the events a reader sees; AssertionError when one is missing, doubled or torn."""
    expected = 0
    with EventLog(directory, read_only=True) as log:
        for e in log.read():
            expected += 1
            assert e.seq == expected, f"a reader sees event {e.seq} where {expected} belongs"
            assert e.contents == {"n": expected, "text": text_of(expected)}, f"event {expected} is torn"
        assert log.report.lost == 0, f"a reader is told of {log.report.lost} lost events"
    assert expected >= at_least, f"a reader does not see {at_least - expected} accepted events"
    return expected


def open_again(directory: str) -> EventLog:
    until = time.monotonic() + LOCK_S
    while True:
        try:
            return open_log(directory)
        except ResourceError as error:
            if "already open" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.001)


def verify(directory: str, accepted: int) -> int:
    """Return the last number recovered; AssertionError when an accepted event is lost, doubled or torn."""
    with open_again(directory) as log:
        assert log.report.lost == 0, f"{log.report.lost} events reported lost"
        assert log.report.damaged_segments == 0, "a damaged segment"
        expected = 0
        for e in log.read():
            expected += 1
            assert e.seq == expected, f"event {e.seq} where {expected} belongs"
            assert e.contents == {"n": expected, "text": text_of(expected)}, f"event {expected} is torn"
        assert expected >= accepted, f"{accepted - expected} accepted events lost"
        assert expected <= accepted + 1, "an event nobody appended"
        return expected


def run(trials: int, seed: int = 0) -> dict[str, int]:
    rng = random.Random(seed)
    total = kills = placed = reads = 0
    # One aligned word, stored at once: struct.pack_into writes byte by byte,
    # and a kill in between tears the number.
    # Behind it: children of writers, and those that were not refused.
    done = memoryview(mmap.mmap(-1, 24)).cast("q")
    for trial in range(trials):
        if trial % TRIALS_PER_LOG == 0:
            directory = tempfile.mkdtemp(prefix="walle-kill9-")
            accepted = 0
        done[0] = accepted
        pid = os.fork()
        if pid == 0:
            try:
                child(directory, done, trial % FORKING == 0)
            finally:
                os._exit(1)
        # Half the writers are killed while they open the log, the others while they append.
        while trial % 2 and done[0] == accepted:
            time.sleep(0.0002)
        if trial % READING == 1 and done[0] > 0:
            read_beside(directory, done[0])
            reads += 1
        time.sleep(rng.random() ** 2 * 0.012)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the writer ended by itself"
        kills += 1
        before, accepted = accepted, done[0]
        accepted = verify(directory, accepted)
        total += accepted - before
        placed += sum(frame_bytes(n) for n in range(before + 1, accepted + 1))
        if trial % TRIALS_PER_LOG == TRIALS_PER_LOG - 1 or trial == trials - 1:
            shutil.rmtree(Path(directory))
    assert done[2] == 0, f"{done[2]} children of fork() were not refused or could not read"
    return {
        "kills": kills,
        "accepted": total,
        "laps": placed // JOURNAL_BYTES,
        "forks": done[1],
        "reads": reads,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = run(given.trials, given.seed)
    print(
        f"{found['kills']} kills, {found['accepted']} accepted events, {found['laps']} laps of the journal, "
        f"{found['forks']} children refused, {found['reads']} readers beside a writer: "
        "0 lost, 0 duplicated, 0 torn"
    )


if __name__ == "__main__":
    main()
