"""Whether the machine did other work meanwhile: what its processors did less what this process did."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

# Of one processor. Quiet machines show 0.00 to 0.05 over a round of 0.2 s, one busy neighbour 0.6 to 1.0.
OTHER_SHARE = 0.15
# /proc/stat counts in ticks of 10 ms, of each processor: so much is not seen as load.
OTHER_SECONDS = 0.03
# Where the system says nothing of others. A neighbour on the same processor takes turns every 3 or 4 ms;
# timers and interrupts switch far less often. Not looked at otherwise: threads of an engine that spin behind
# its turn switch with the next one's, on a machine that is quiet.
SWITCHES_PER_SECOND = 40.0
SWITCHES = 8
_IDLE = (3, 4)  # idle and waiting for a disk, of the fields behind "cpu"
_GUEST = 8  # guest time is in user time already


@dataclass(frozen=True)
class Snapshot:
    """Seconds of processor time of the whole machine and of this process with its threads, at one moment."""

    at: float
    machine: float | None  # None: this system does not say
    own: float
    switches: int  # of this process, involuntary


@dataclass(frozen=True)
class Load:
    """What else was done between two moments."""

    seconds: float
    other: float | None  # processor seconds of others
    switches: int

    @property
    def quiet(self) -> bool:
        """Whether a figure of this time is one of this process alone."""
        if self.other is not None:
            return self.other <= max(OTHER_SECONDS, OTHER_SHARE * self.seconds)
        return self.switches <= SWITCHES + SWITCHES_PER_SECOND * self.seconds


def busy_seconds(stat: str, ticks: int) -> float | None:
    """Seconds that processors were busy since the system started, from the text of /proc/stat."""
    for line in stat.splitlines():
        kind, *fields = line.split()
        if kind == "cpu" and len(fields) > max(_IDLE):
            busy = [int(value) for i, value in enumerate(fields[:_GUEST]) if i not in _IDLE]
            return sum(busy) / ticks
    return None


def snapshot() -> Snapshot:
    """This moment."""
    try:
        machine = busy_seconds(Path("/proc/stat").read_text(), os.sysconf("SC_CLK_TCK"))
    except OSError:
        machine = None
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Snapshot(time.perf_counter(), machine, used.ru_utime + used.ru_stime, used.ru_nivcsw)


def between(first: Snapshot, last: Snapshot) -> Load:
    """What happened from one moment to another."""
    other = None
    if first.machine is not None and last.machine is not None:
        other = max((last.machine - first.machine) - (last.own - first.own), 0.0)
    return Load(last.at - first.at, other, last.switches - first.switches)


def unwatched() -> Snapshot:
    """A moment that says nothing of load: for figures that are to be taken on a busy machine."""
    return Snapshot(time.perf_counter(), None, 0.0, 0)
