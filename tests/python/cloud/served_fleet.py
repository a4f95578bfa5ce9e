"""A fleet of simulated devices against the real server: its ASGI application, database, local and inbox.

What devices send and get are the bytes of the wire: enrolment and requests signed by keys of their own,
headers, signed plans from the served repository, batches of reports. Devices decide with the native
evaluator. The clock alone is made up: a test turns it, second by second, and with it the server's loop.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import random
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloud.fleet import FailureRate
from cloud.servers import Clock, Device, LocalServer
from cloud.test_releases import publish

from walle_rt import _core
from walle_rt.cloud.release import Plan, Report, pack_reports
from walle_rt.cloud.service import enrolment, lane
from walle_rt.cloud.web import device_path
from walle_rt.link import device_header

START_S = 1_800_000_000.0
CHECK_S = 5  # how often a device asks its evaluator
_CODES = 500  # made at once
_TOGETHER = 64  # requests of the set-up on their way
_POLICY = """
[ramp]
from = 0.01
to = 1.0
seconds = 600
"""


@dataclass
class Simulated:
    """A device and what it remembers."""

    device: Device
    pseudonym: int
    order: int
    seq: int = 0
    cohort: bool | None = None  # whether it is control in the trial; None: in none
    over: bool = False  # its part as a treated device
    busy: bool = False  # let in and not yet reported, or told to wait
    active: int = 0  # digest of what it has carried out


@dataclass
class Outcome:
    """How a release ended."""

    state: str
    reason: str
    claimed: int
    reported: int
    seconds: float
    requests: int
    statuses: dict[int, int] = field(default_factory=dict)


class Stage:
    """A server's folder with enrolled devices, to start many simulations from."""

    def __init__(self, folder: Path, count: int = 2000) -> None:
        """Enrol them over HTTP."""
        self.folder, self._clock = folder, Clock(START_S)
        local = LocalServer(folder, self._clock)
        try:
            self.admin = local.admin
            local.done("POST", "/scenarios", json={"name": "shop"})
            with in_one_thread(), ids_by_seed():
                self.devices = local.wait_long(self._enrol(local, count))
        finally:
            local.close()

    async def _enrol(self, local: LocalServer, count: int) -> list[Device]:
        codes: list[str] = []
        while len(codes) < count:
            more = json.dumps({"count": min(_CODES, count - len(codes))}).encode()
            headers = {"Authorization": f"Bearer {self.admin}", "Content-Type": "application/json"}
            status, _, told = await local.raw("POST", "/api/v1/device-codes", more, headers)
            assert status < 300, told
            codes += json.loads(told)["codes"]
        devices = []
        for at in range(0, count, _TOGETHER):
            devices += await asyncio.gather(*(self._enrol_one(local, c) for c in codes[at : at + _TOGETHER]))
        return devices

    @staticmethod
    async def _enrol_one(local: LocalServer, code: str) -> Device:
        made = Device()
        body = json.dumps({"code": code, "csr": made.request()}).encode()
        status, _, told = await local.raw("POST", "/v1/enrol", body, {})
        assert status == 200, told
        made.id = json.loads(told)["device"]
        return made

    @contextmanager
    def local(self) -> Iterator[LocalServer]:
        """A server on a copy of the folder, in memory where the machine has a place for that."""
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="walle-stage-", dir=place) as parent:
            copy = Path(parent) / "server"
            shutil.copytree(self.folder, copy)
            local = LocalServer(copy, Clock(START_S), admin=self.admin)
            try:
                with in_one_thread():
                    yield local
            finally:
                local.close()


class _Seeded:
    """Stands for the module ``secrets`` where devices get their ids: a seed is to mean the same every day."""

    token_urlsafe = staticmethod(secrets.token_urlsafe)

    def __init__(self) -> None:
        self._rng = random.Random(0)

    def token_hex(self, count: int) -> str:
        return self._rng.randbytes(count).hex()


@contextmanager
def ids_by_seed() -> Iterator[None]:
    """Devices that enrol get the same ids in every run."""
    enrolment.secrets = _Seeded()  # type: ignore[assignment]
    try:
        yield
    finally:
        enrolment.secrets = secrets


_THREADS = ((device_path, "run_in_threadpool"), (lane, "run_sync"))


@contextmanager
def in_one_thread() -> Iterator[None]:
    """What the server hands to threads runs where it is called: their hand-overs took four fifths of the
    time, and with a clock that stands still within a second nothing waits for anything."""

    async def here(what: Callable[..., Any], *given: Any, limiter: Any = None) -> Any:
        return what(*given)

    before = [(module, name, getattr(module, name)) for module, name in _THREADS]
    for module, name, _ in before:
        setattr(module, name, here)
    try:
        yield
    finally:
        for module, name, original in before:
            setattr(module, name, original)


class ServedFleet:
    """One release tried by all devices of a stage.

    Args:
        local: the server.
        stage: where its devices come from.
        seed: of everything by chance. The task's name carries it, so devices come in another order, too.
        fails: probability that a report is a failure.
        mean_s: between being let in and the report, on average.
    """

    def __init__(
        self, local: LocalServer, stage: Stage, seed: int, fails: FailureRate, mean_s: float = 20.0
    ) -> None:
        self._local, self._fails, self._mean_s = local, fails, mean_s
        self._rng = random.Random(seed)
        self._task = f"rank-{seed}"
        publish(local, "1.0.0", self._task)
        given = {"task": self._task, "version": "1.0.0", "policy": _POLICY}
        self.release = str(local.done("POST", "/scenarios/shop/releases", json=given)["id"])
        self._devices = [
            Simulated(device, _core.policy.device_pseudonym(device.id), at)
            for at, device in enumerate(stage.devices)
        ]
        self._plans: dict[int, Any] = {}  # by epoch
        self._held = 0  # the epoch that devices go by
        self._announced = 0  # as the tunnel would tell all of them
        self._later: list[tuple[float, int, Callable[[], Any]]] = []
        self._order = 0
        self._requests = 0
        self._statuses: dict[int, int] = {}

    def run(self, until_s: int = 3600) -> Outcome:
        """Until the release is halted, or all have reported, or the time is over."""
        for device in self._devices:
            self._at(self._rng.uniform(0, CHECK_S), lambda device=device: self._check(device))
        state = self._local.state
        state.releases._announce = self._announce
        for second in range(until_s):
            self._local.clock.now = START_S + second
            state.turn()
            if second % CHECK_S == 0 and self._is_over():
                break
            self._local.wait_long(self._second(second))
        return self._outcome(second)

    def _announce(self, epoch: int, _urgent: bool) -> None:
        self._announced = epoch

    def _progress(self) -> Any:
        return self._local.done("GET", f"/releases/{self.release}")

    def _is_over(self) -> bool:
        told = self._progress()
        reported = told["progress"]["good"] + told["progress"]["bad"]
        return told["state"] != "gray" or reported >= len(self._devices)

    def _outcome(self, second: int) -> Outcome:
        told = self._progress()
        figures = told["progress"]
        reported = figures["good"] + figures["bad"]
        end = (told["state"], told["reason"], figures["claimed"], reported)
        return Outcome(*end, float(second), self._requests, self._statuses)

    # -- devices ---------------------------------------------------------------------------------------------

    def _at(self, when_s: float, what: Callable[[], Any]) -> None:
        self._order += 1
        heapq.heappush(self._later, (when_s, self._order, what))

    async def _second(self, second: int) -> None:
        """All that falls into a second is on its way at once, as the requests of many devices are."""
        self._now = second
        if self._announced > self._held:
            await self._pull(self._announced)
        due = []
        while self._later and self._later[0][0] < second + 1:
            made = heapq.heappop(self._later)[2]()
            if made is not None:
                due.append(made)
        await asyncio.gather(*due)

    def _check(self, device: Simulated) -> Any:
        """The device looks at its plan, and asks for a place where that says so."""
        if device.over and device.cohort is False:
            return None
        self._at(self._now + CHECK_S * self._rng.uniform(0.8, 1.2), lambda: self._check(device))
        if device.busy or not self._held:
            return None
        plan = self._plans[self._held]
        digest, choices = plan.decide(self._header(device), int(self._local.clock.now))
        trials = [control for _, trial, control in choices if trial == self.release]
        if not trials or (device.over and not trials[0]):
            return None
        device.cohort = trials[0]
        device.busy = True
        return self._claim(device, digest)

    async def _claim(self, device: Simulated, digest: int) -> None:
        control = bool(device.cohort)
        status, told = await self._report(device, control, "claim")
        if status == 200 and told["granted"]:
            after = self._rng.expovariate(1 / self._mean_s)
            self._at(self._now + after, lambda: self._tried(device, control, digest))
        elif told["wait_s"]:
            self._at(self._now + told["wait_s"] * self._rng.uniform(0.75, 1.25), lambda: self._free(device))
        else:
            device.over, device.cohort = True, False

    def _free(self, device: Simulated) -> Any:
        device.busy = False
        return None

    def _fails_on(self, device: Simulated, control: bool) -> bool:
        return self._rng.random() < self._fails(self._now, control)

    async def _tried(self, device: Simulated, control: bool, digest: int) -> None:
        failed = self._fails_on(device, control)
        device.active = digest
        more = {"phase": "execute", "error_type": "Boom"} if failed else {}
        status, _ = await self._report(device, control, "phase_error" if failed else "ok", **more)
        assert status == 200, status
        device.busy = False
        device.over = device.over or not control

    # -- the wire --------------------------------------------------------------------------------------------

    def _header(self, device: Simulated) -> str:
        """What the device says of itself."""
        given = {"app": "com.example.shop", "app_version": "2.1.0", "os_name": "linux", "os_version": "12"}
        return device_header(
            **given, device_id=device.device.id, ram_mb=4096, active=device.active, epoch=self._held
        )

    async def _report(
        self, device: Simulated, control: bool, status: str, **more: Any
    ) -> tuple[int, dict[str, Any]]:
        device.seq += 1
        report = Report(
            device.pseudonym, self.release, "shop", self._task, "1.0.0", control=control, status=status,
            epoch=self._held, seq=device.seq, **more,
        )  # fmt: skip
        body = pack_reports([report])
        proof = device.device.proof("POST", "/v1/reports", body, self._local.clock())
        proof["X-Walle"] = self._header(device)
        code, headers, told = await self._ask("POST", "/v1/reports", body, proof)
        assert code in (200, 429), (code, told)
        await self._told(headers)
        return code, json.loads(told)

    async def _told(self, headers: dict[str, str]) -> None:
        newer = int(headers.get("x-walle-up", 0))
        if newer > self._held:
            await self._pull(newer)

    async def _pull(self, epoch: int) -> None:
        """The plan, by the way that a device takes through the metadata."""
        snapshot = await self._metadata("timestamp.json", "snapshot.json")
        director = await self._metadata(snapshot, "director.json")
        path = "director/plan.wale"
        _, _, content = await self._ask("GET", f"/v1/tuf/metadata/{director}", b"", {})
        digest = json.loads(content)["signed"]["targets"][path]["hashes"]["sha256"]
        folder, _, name = path.partition("/")
        status, _, plan = await self._ask("GET", f"/v1/tuf/targets/{folder}/{digest}.{name}", b"", {})
        assert status == 200
        self._plans[epoch] = Plan(plan)
        self._held = epoch

    async def _metadata(self, name: str, role: str) -> str:
        """The name of a role's newest file, out of the file that tells its version."""
        _, _, content = await self._ask("GET", f"/v1/tuf/metadata/{name}", b"", {})
        version = json.loads(content)["signed"]["meta"][role]["version"]
        return f"{version}.{role}"

    async def _ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        self._requests += 1
        got = await self._local.raw(method, path, body, headers)
        self._statuses[got[0]] = self._statuses.get(got[0], 0) + 1
        return got


# -- the three stories ---------------------------------------------------------------------------------------


def failing(now: float, control: bool) -> float:
    """A release that fails in 5 %."""
    return 0.002 if control else 0.05


def healthy(now: float, control: bool) -> float:
    """As everything before it."""
    return 0.002


def incident(seed: int) -> FailureRate:
    """The whole app fails for five minutes, in one of four shares."""
    share = (0.03, 0.05, 0.2, 0.5)[seed % 4]
    return lambda now, control: share if 100 < now < 400 else 0.002


def tried(stage: Stage, seed: int, fails: FailureRate) -> Outcome:
    """One seed, on a server of its own."""
    with stage.local() as local:
        return ServedFleet(local, stage, seed, fails).run()
