"""Enrolled devices that lie: made-up reports, as many as they can send, to blind a release's guard or to set
it off. Against the controller (`LyingFleet`), and over the wire against the server (`Attacked`).

Of 300 devices ``liars`` lie. The release fails on a fixed share of the devices, chosen by the seed, liars
among them or not; the honest report what happens. Liars that hide a failing release say that it is good, and
that what was before fails; those that cry say the opposite.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from cloud.fleet import Fleet
from cloud.served_fleet import LocalServer, Outcome, ServedFleet, Simulated, Stage, healthy

from walle_rt.cloud.release import Controller, Report

DEVICES = 300
_ROUNDS = 3  # of each liar, each second: both cohorts, a claim and a report


def _nobody_fails(now: float, control: bool) -> float:
    return 0.0


@dataclass
class LyingFleet(Fleet):
    """One release of a controller, tried by honest devices and liars."""

    fails: Any = _nobody_fails
    count: int = DEVICES
    liars: int = 0
    share: float = 0.0  # of the devices that the release fails on
    cry: bool = False
    failing: set[int] = field(default_factory=set)
    lying: list[int] = field(default_factory=list)

    def devices(self, rng: random.Random) -> list[int]:
        """The honest ones."""
        all_of_them = super().devices(rng)
        self.failing = set(rng.sample(all_of_them, round(self.share * self.count)))
        self.lying = rng.sample(all_of_them, self.liars)
        return [device for device in all_of_them if device not in self.lying]

    def fails_on(self, rng: random.Random, now: float, device: int, control: bool) -> bool:
        """The same devices each time."""
        return not control and device in self.failing

    def each_second(self, now: float, controller: Controller, release: str) -> None:
        """The liars' turn."""
        for device in self.lying:
            for _ in range(_ROUNDS):
                for control in (False, True):
                    status = "phase_error" if control != self.cry else "ok"
                    for said in ("claim", status):
                        report = Report(device, release, "shop", "rank", control=control, status=said)
                        controller.report(now, report)

    @property
    def honest_failures(self) -> int:
        """Devices that fail and do not lie."""
        return len(self.failing - set(self.lying))


class Attacked(ServedFleet):
    """The same over the wire."""

    def __init__(
        self, local: LocalServer, stage: Stage, seed: int, liars: int, share: float, cry: bool = False
    ) -> None:
        super().__init__(local, stage, seed, healthy)
        count = len(self._devices)
        self._failing = set(self._rng.sample(range(count), round(share * count)))
        self._liars = set(self._rng.sample(range(count), liars))
        self._cry = cry

    def _fails_on(self, device: Simulated, control: bool) -> bool:
        return not control and device.order in self._failing

    def _check(self, device: Simulated) -> Any:
        if device.order not in self._liars:
            return super()._check(device)
        self._at(self._now + 1.0, lambda: self._check(device))
        return self._lie(device) if self._held else None

    async def _lie(self, device: Simulated) -> None:
        """Both cohorts at once, whatever the plan says of this device."""
        for control in (False, True):
            await self._report(device, control, "claim")
            await self._report(device, control, "phase_error" if control != self._cry else "ok")


def attacked(stage: Stage, seed: int, liars: int, share: float, cry: bool = False) -> Outcome:
    """One seed on a server of its own."""
    with stage.local() as local:
        return Attacked(local, stage, seed, liars, share, cry).run()
