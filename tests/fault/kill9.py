"""Kill the writer with SIGKILL at random moments: 0 accepted events lost, doubled or torn.

    python -m tests.fault.kill9 --trials 10000

A child appends events whose contents follow from their number and, after each append() returned, writes the
number into shared memory. The parent kills it, opens the log and compares. Small journals, so that laps,
compactions and releases are killed too; each log lives on over several trials.
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

from walle_rt.stream import Catalog, EventLog, FieldType

TRIALS_PER_LOG = 25
JOURNAL_BYTES = 8192


def catalog() -> Catalog:
    return Catalog().declare("mark", fields={"n": FieldType.INT, "text": FieldType.TEXT}).page("home")


def text_of(n: int) -> str:
    return chr(97 + n % 26) * (n * 7919 % 211)


def frame_bytes(n: int) -> int:
    """Bytes event n takes in the journal: frame head, record head, the number, the text, padding to 8."""
    return (16 + 30 + 10 + 6 + len(text_of(n)) + 7) // 8 * 8


def child(directory: str, done: memoryview) -> None:
    log = EventLog(directory, catalog(), journal_bytes=JOURNAL_BYTES, quota_bytes=1 << 40, max_age_s=1e9)
    n = log.last_seq
    while True:
        n += 1
        log.append("mark", "home", {"n": n, "text": text_of(n)})
        done[0] = n
        if n % 16 == 0:
            log.maintain()


def verify(directory: str, accepted: int) -> int:
    """Return the last number recovered; AssertionError when an accepted event is lost, doubled or torn."""
    with EventLog(
        directory, catalog(), journal_bytes=JOURNAL_BYTES, quota_bytes=1 << 40, max_age_s=1e9
    ) as log:
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
    total = kills = placed = 0
    # One aligned word, stored at once: struct.pack_into writes byte by byte,
    # and a kill in between tears the number.
    done = memoryview(mmap.mmap(-1, 8)).cast("q")
    for trial in range(trials):
        if trial % TRIALS_PER_LOG == 0:
            directory = tempfile.mkdtemp(prefix="walle-kill9-")
            accepted = 0
        done[0] = accepted
        pid = os.fork()
        if pid == 0:
            try:
                child(directory, done)
            finally:
                os._exit(1)
        # Half the writers are killed while they open the log, the others while they append.
        while trial % 2 and done[0] == accepted:
            time.sleep(0.0002)
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
    return {"kills": kills, "accepted": total, "laps": placed // JOURNAL_BYTES}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = run(given.trials, given.seed)
    print(
        f"{found['kills']} kills, {found['accepted']} accepted events, {found['laps']} laps of the journal: "
        "0 lost, 0 duplicated, 0 torn"
    )


if __name__ == "__main__":
    main()
