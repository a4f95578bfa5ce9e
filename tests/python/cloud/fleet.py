"""A fleet of simulated devices against a controller, with a clock and a seed of its own."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from cloud.memory_store import MemoryStore

from walle_rt._core import policy as native
from walle_rt.cloud.release import Controller, Package, Ramp, Report, State, Wish

# (time, control) -> probability that a report is a failure.
FailureRate = Callable[[float, bool], float]


def package(version: str = "1.0.0", task: str = "rank", scenario: str = "shop") -> Package:
    return Package(scenario, task, version, f"{hash((task, version)) & 0xFF:02x}" * 32, 1000)


def wish(version: str = "1.0.0", policy: str = "", ramp: Ramp | None = None, task: str = "rank") -> Wish:
    return Wish("shop", task, version, policy, ramp or Ramp())


def started(
    controller: Controller, version: str = "1.0.0", ramp: Ramp | None = None, now: float = 0.0
) -> str:
    release = controller.draft(wish(version, ramp=ramp), package(version), "ada", now)
    return controller.start(release.id, "ada", now).id


@dataclass
class Fleet:
    """Devices that claim a place as soon as the ramp lets them, and report after a mean of ``mean_s``."""

    seed: int
    fails: FailureRate
    count: int = 2000
    mean_s: float = 20.0
    ramp: Ramp = field(default_factory=lambda: Ramp(0.01, 1.0, 600))
    silent: bool = False  # a failure is no report at all

    def run(self, until_s: float = 3600.0) -> Controller:
        """Until the release is halted, or nothing happens any more, or the time is over."""
        rng = random.Random(self.seed)
        controller = Controller(MemoryStore())
        release = started(controller, ramp=self.ramp)
        events: list[tuple[float, int, str, int, bool]] = []
        order = 0

        def later(at: float, what: str, device: int, control: bool) -> None:
            nonlocal order
            order += 1
            heapq.heappush(events, (at, order, what, device, control))

        salt = native.salt_of(release)
        for device in self.devices(rng):
            place = native.bucket_value(salt, device >> 32) / native.WHOLE
            later(self._reached(place), "claim", device, False)
            if place > 0.9:
                later(self._reached(1 - place), "claim", device, True)
        for second in range(int(until_s)):
            later(second, "tick", 0, False)
        while events:
            now, _, what, device, control = heapq.heappop(events)
            if now > until_s or controller.release(release).state != State.GRAY:
                break
            treated = controller.trial(release).counts()
            if treated.good + treated.bad >= self.count:
                break
            if what == "tick":
                controller.tick(now)
                self.each_second(now, controller, release)
            elif what == "claim":
                claim = controller.claim(now, release, device, control)
                if claim.granted:
                    later(now + rng.expovariate(1 / self.mean_s), "report", device, control)
                elif claim.wait_s:
                    later(now + claim.wait_s * rng.uniform(0.75, 1.25), "claim", device, control)
            else:
                if control:
                    later(now + 5, "claim", device, True)
                failed = self.fails_on(rng, now, device, control)
                if failed and self.silent:
                    continue
                status = "phase_error" if failed else "ok"
                controller.report(
                    now, Report(device, release, "shop", "rank", control=control, status=status)
                )
        return controller

    def devices(self, rng: random.Random) -> list[int]:
        """The pseudonyms of those that ask when the ramp reaches them."""
        return [rng.getrandbits(64) for _ in range(self.count)]

    def fails_on(self, rng: random.Random, now: float, device: int, control: bool) -> bool:
        """Whether a report of an honest device tells of a failure."""
        return rng.random() < self.fails(now, control)

    def each_second(self, now: float, controller: Controller, release: str) -> None:
        """What else happens."""

    def _reached(self, place: float) -> float:
        ramp = self.ramp
        return max(0.0, (place - ramp.start_share) / (ramp.end_share - ramp.start_share) * ramp.seconds)
