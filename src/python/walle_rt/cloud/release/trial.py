"""A gray release on trial: who was let in, who has reported, and whether it must stop.

Both cohorts are treated alike: a device claims a place, has until a deadline to report, and without one
counts as a failure. What nobody had a place for counts nothing. A treated device counts once: as good, or
from its first failure on, whenever that comes, as failed - so k liars of n devices are k of n reports,
whatever they send. A control device claims again, and is let in as often as treated ones are: so at any time
there is a rate to compare with, however small the cohort is (control.py).

Which devices were counted is known as long as the release is gray; then it is dropped, here and in the store.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..._core import policy as native
from .control import ControlRate
from .counted import Counted
from .release import Release, State
from .sprt import Sprt
from .store import Store
from .window import SECONDS, Lately, Window

# How far ahead of the server's clock a device's may be and still be let in where its ramp says so.
CLOCK_SLACK_S = 5.0
# A device that has to wait comes back after this, and later the longer the queue is.
LEAST_WAIT_S = 10.0
MOST_WAIT_S = 1800.0


@dataclass(frozen=True)
class Claim:
    """The answer to a device that wants to try a release.

    Attributes:
        granted: it may, and must report.
        wait_s: otherwise: when to ask again; 0: never - the plan has changed, or it has failed here before.
        counted: what was said changes the release's numbers: it is new of a device that may say it.
    """

    granted: bool
    wait_s: float = 0.0
    counted: bool = False


@dataclass(frozen=True)
class Taken:
    """What became of a report.

    Attributes:
        counted: it says something new of a device that was asked.
        halt: the release must stop.
    """

    counted: bool
    halt: bool = False


@dataclass
class Counts:
    """One cohort's numbers."""

    claimed: int = 0
    good: int = 0
    bad: int = 0  # missing ones among them
    missing: int = 0


@dataclass
class _Cohort:
    counts: Counts = field(default_factory=Counts)
    waiting: dict[int, float] = field(default_factory=dict)  # device -> deadline
    let_in: Window = field(default_factory=Window)  # and how many had to wait
    refused: Lately = field(default_factory=Lately)


class Trial:
    """One gray release's state; written to the store as it changes."""

    def __init__(self, release: Release, store: Store) -> None:
        """As the store has it."""
        self.release = release
        self._store = store
        self._cohorts = {control: _Cohort() for control in (False, True)}
        self._deadlines: list[tuple[float, int, bool]] = []
        self.statuses: Counter[str] = Counter()
        self.sprt = Sprt(release.guard)
        self._salt = native.salt_of(release.id)
        self._counted = Counted(release.id, store)
        self._control = ControlRate()
        kept = store.counts(release.id)
        if kept:
            self._cohorts[False].counts = Counts(**kept["treated"])
            self._cohorts[True].counts = Counts(**kept["control"])
            self.statuses.update(kept["statuses"])
            self.sprt.sum = kept["sum"]
        for device, control, until in store.claims(release.id):
            self._cohorts[control].waiting[device] = until
            heapq.heappush(self._deadlines, (until, device, control))

    def counts(self, control: bool = False) -> Counts:
        """Of a cohort."""
        return self._cohorts[control].counts

    def outstanding(self, control: bool = False) -> int:
        """Devices that were let in and have not reported."""
        return len(self._cohorts[control].waiting)

    def most_outstanding(self) -> int:
        """How many may be: what is at stake grows with what is known."""
        guard = self.release.guard
        return max(guard.outstanding, int(guard.outstanding_share * self._cohorts[False].counts.good))

    def control_rate(self, now_s: float) -> float:
        """The control cohort's failures among its reports of the last minute; 0 without any."""
        return self._control.rate(now_s)

    def claim(self, now_s: float, device: int, control: bool) -> Claim:
        """A device asks to be let in; one that was and has not reported may once more."""
        if not self.release.gray or (not control and device in self._counted.failed):
            return Claim(False)
        cohort = self._cohorts[control]
        # One that was counted as good may have it again, after its task was killed and revived, say.
        if device in cohort.waiting or (not control and device in self._counted.all):
            return Claim(True)
        ahead = self._wait_for_place(now_s, device, control)
        if ahead > 0:
            return Claim(False, ahead)
        full = len(cohort.waiting) >= self.most_outstanding() or self.release.state == State.PAUSED
        let_in, refused = cohort.let_in.sums(now_s)
        most = self._cohorts[False].let_in.sums(now_s)[0] if control else self.release.ramp.per_minute
        if full or let_in >= most:
            if cohort.refused.new(now_s, device):
                cohort.let_in.add(now_s, 0, 1)
            # As many come a second as were let in lately, however many wait; nobody was: within a minute.
            queue = refused / let_in if let_in else SECONDS / LEAST_WAIT_S
            return Claim(False, min(LEAST_WAIT_S * (1 + queue), MOST_WAIT_S))
        until = now_s + self.release.ramp.report_seconds
        cohort.waiting[device] = until
        cohort.let_in.add(now_s, 1)
        cohort.counts.claimed += 1
        heapq.heappush(self._deadlines, (until, device, control))
        self._store.put_claim(self.release.id, device, control, until)
        self._save()
        return Claim(True, counted=True)

    def _wait_for_place(self, now_s: float, device: int, control: bool) -> float:
        """Seconds until the ramp reaches the device, 0 where it has."""
        place = native.bucket_value(self._salt, device >> 32) / native.WHOLE
        then = now_s + CLOCK_SLACK_S
        if control:
            inside = place >= 1 - self.release.control(then)
            return self._control.wait_s(now_s, device) if inside else LEAST_WAIT_S
        if place < self.release.share(then):
            return 0.0
        ramp = self.release.ramp
        if self.release.state == State.PAUSED or place >= ramp.end_share:
            return MOST_WAIT_S
        steepness = (ramp.end_share - ramp.start_share) / max(ramp.seconds, 1)
        reached = (
            self.release.started_s + max(place - ramp.start_share, 0.0) / steepness if steepness else now_s
        )
        return min(max(reached - now_s, LEAST_WAIT_S), MOST_WAIT_S)

    def report(self, now_s: float, device: int, control: bool, status: str) -> Taken:
        """A report came in."""
        failed = status != "ok"
        known = self._drop(device, control)
        later = failed and not control and device in self._counted.all and device not in self._counted.failed
        if not known and not later:
            return Taken(False)
        self.statuses[status] += 1
        return Taken(True, self._count(now_s, device, control, failed))

    def expire(self, now_s: float) -> bool:
        """Count those whose deadline has passed (at it, it has not) as failures; True: halt."""
        halt = False
        while self._deadlines and self._deadlines[0][0] < now_s:
            _, device, control = heapq.heappop(self._deadlines)
            if device in self._cohorts[control].waiting:
                self._drop(device, control)
                self._cohorts[control].counts.missing += 1
                self.statuses["missing"] += 1
                halt = self._count(now_s, device, control, True) or halt
        return halt

    def refused_lately(self, now_s: float) -> bool:
        """Whether a treated device had to wait for a place in the last minute."""
        return self._cohorts[False].let_in.sums(now_s)[1] > 0

    def _drop(self, device: int, control: bool) -> bool:
        known = self._cohorts[control].waiting.pop(device, None) is not None
        if known:
            self._store.drop_claim(self.release.id, device, control)
        return known

    def _count(self, now_s: float, device: int, control: bool, failed: bool) -> bool:
        counts = self._cohorts[control].counts
        if control:
            self._control.add(now_s, device, failed)
        elif self.release.gray:
            counts.good -= not self._counted.add(device, failed)  # it was good until now
        counts.bad += failed
        counts.good += not failed
        halt = not control and self.sprt.add(failed, self.control_rate(now_s))
        self._save()
        return halt and self.release.gray

    def end(self) -> None:
        """The release is gray no more: nobody is waited for, and who was counted needs not be known."""
        self.forget_places()
        self._counted.drop()

    def forget_places(self) -> None:
        """Wait for nobody any more."""
        for control, cohort in self._cohorts.items():
            for device in list(cohort.waiting):
                self._drop(device, control)
        self._deadlines.clear()

    def to_dict(self) -> dict[str, Any]:
        """The numbers, as stores keep them."""
        return {
            "treated": vars(self._cohorts[False].counts).copy(),
            "control": vars(self._cohorts[True].counts).copy(),
            "statuses": dict(self.statuses),
            "sum": self.sprt.sum,
        }

    def _save(self) -> None:
        self._store.put_counts(self.release.id, self.to_dict())
