"""What matters goes on while a server is flooded, and while its disk is full.

    python -m tests.fault.flood --seconds 60
    python -m tests.fault.flood --disk --seconds 20

*Flood.* 200 log-ins a second, 64 slow bodies, heads of 8 MiB, pushes of a git pack that inflates to 1.6 GB
(tests/fault/flood_attack.py), all over the loopback, against `walle serve` in a process of its own.

*Disk.* The server's folder on a small file system of its own (needs root, and unshare) that is filled to the
last byte.

Meanwhile devices report, an operator halts releases and kills a task. Bars: an order is accepted, and signed,
within a second; 99 of 100 reports are answered within 250 ms, none is refused. The exit code says whether
they held.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from cloud.servers import Child, Device
from cloud.test_releases import packed
from tests.fault.flood_attack import SLOW_BODIES

from walle_rt import _core
from walle_rt.cli.server_api import ServerApi
from walle_rt.cloud.release import Report, pack_reports

ROOT = Path(__file__).resolve().parents[2]
__all__ = ["SLOW_BODIES", "flood", "full_disk"]
REPORTERS, REPORTS_PER_S = 16, 50
MOST_ORDER_S, MOST_REPORT_S = 1.0, 0.250
_PASSWORD = "a password of one's own"
_DISK_MIB = 160
_PATIENCE_S = 60.0


@dataclass
class Found:
    """Seconds of everything that was asked, and what was refused."""

    reports: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    signed: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    attack: str = ""

    def holds(self, slack: float = 1.0) -> bool:
        orders = max([*self.accepted, *self.signed], default=float("inf"))
        slow = orders > slack * MOST_ORDER_S or quantile(self.reports, 0.99) > slack * MOST_REPORT_S
        return not slow and not self.refused

    def table(self) -> str:
        rows = [("reports", self.reports), ("order accepted", self.accepted), ("order signed", self.signed)]
        lines = [f"{'':16}{'number':>8}{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}"]
        for name, times in rows:
            figures = "".join(f"{1000 * quantile(times, q):10.1f}" for q in (0.5, 0.99, 1.0))
            lines.append(f"{name:16}{len(times):8}{figures}")
        return "\n".join([*lines, f"refused: {self.refused[:3] or 'none'}", self.attack])


def quantile(times: list[float], q: float) -> float:
    ordered = sorted(times) or [float("inf")]
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


class World:
    """A server with a scenario, versions, and devices that are enrolled."""

    def __init__(self, folder: Path) -> None:
        self.child = Child(folder, within=_PATIENCE_S)
        self.port = int(self.child.url.rpartition(":")[2])
        first = self.child.told["login"]["password"]
        token = ServerApi(self.child.url).post("/login", {"name": "admin", "password": first})["token"]
        self.api = ServerApi(self.child.url, token)
        self.api.put("/me/password", {"old": first, "new": _PASSWORD})
        self.api.post("/scenarios", {"name": "shop"})
        given = {"name": "ci", "scenario": "shop", "role": "author"}
        self.author = self.api.post("/tokens", given)["token"]
        self.devices = [self._enrol(code) for code in self._codes()]
        self.versions = 0
        self.live = self.publish_and_start()
        self.api.post(f"/releases/{self.live}/full")
        self.gray = self.publish_and_start()  # to be halted

    def _codes(self) -> list[str]:
        return list(self.api.post("/device-codes", {"count": REPORTERS})["codes"])

    def _enrol(self, code: str) -> Device:
        made = Device()
        body = json.dumps({"code": code, "csr": made.request()}).encode()
        status, reply = self.ask("POST", "/v1/enrol", body)
        assert status == 200, reply
        made.id = json.loads(reply)["device"]
        return made

    def publish_and_start(self) -> str:
        """A new version, and a release of it; its id."""
        version = self.publish()
        return str(self.api.post("/scenarios/shop/releases", {"task": "rank", "version": version})["id"])

    def publish(self) -> str:
        self.versions += 1
        version = f"1.{self.versions}.0"
        manifest, blobs = packed(version)
        for digest, content in blobs.items():
            self.api.put_bytes(f"/scenarios/shop/blobs/{digest}", content)
        self.api.put_bytes(f"/scenarios/shop/tasks/rank/versions/{version}", manifest)
        return version

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """One request on a connection of its own, as a device that has just woken."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        try:
            connection.request(method, path, body or None, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def signed_version(self) -> int:
        """Of the timestamp that devices see."""
        _, content = self.ask("GET", "/v1/tuf/metadata/timestamp.json")
        return int(json.loads(content)["signed"]["version"])


def report_on(world: World, device: Device, found: Found, end: float) -> None:
    """One device: a report every so often, each timed."""
    pseudonym = _core.policy.device_pseudonym(device.id)
    seq = 0
    while time.monotonic() < end:
        seq += 1
        given = Report(pseudonym, world.live, "shop", "rank", "1.1.0", seq=seq)
        body = pack_reports([given])
        headers = device.proof("POST", "/v1/reports", body, time.time())
        began = time.monotonic()
        try:
            status, reply = world.ask("POST", "/v1/reports", body, headers)
        except OSError as error:
            status, reply = 0, repr(error).encode()
        took = time.monotonic() - began
        found.reports.append(took)
        if status != 200:
            found.refused.append(f"report: {status} {reply[:200]!r}")
        time.sleep(max(0.0, REPORTERS / REPORTS_PER_S - took))


def order(world: World, path: str, found: Found) -> None:
    """A decision, until devices can see it."""
    before = world.signed_version()
    began = time.monotonic()
    try:
        world.api.post(path, {"reason": "a flood"})
    except Exception as error:
        found.refused.append(f"{path}: {error}")
        return
    found.accepted.append(time.monotonic() - began)
    while world.signed_version() == before:
        if time.monotonic() - began > _PATIENCE_S:
            found.refused.append(f"{path}: not signed")
            return
        time.sleep(0.01)
    found.signed.append(time.monotonic() - began)


def order_on(world: World, releases: list[str], found: Found, end: float) -> None:
    """Kill and revive, and halt what was started, in turns."""
    while time.monotonic() < end:
        for act in ("kill", "revive"):
            order(world, f"/releases/{world.live}/{act}", found)
        if releases:
            order(world, f"/releases/{releases.pop()}/halt", found)
        time.sleep(0.3)


def measure(world: World, seconds: float, found: Found) -> None:
    """Reports and orders for so long."""
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=report_on, args=(world, device, found, end)) for device in world.devices
    ]
    threads.append(threading.Thread(target=order_on, args=(world, [world.gray], found, end)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fill(folder: Path) -> None:
    """Write until not a byte goes in."""
    for size in (1 << 16, 64):
        with contextlib.suppress(OSError), (folder / "filler").open("ab", buffering=0) as filler:
            while True:
                filler.write(bytes(size))


def flood(folder: Path, seconds: float, kinds: list[str]) -> Found:
    """Measured while everything of tests/fault/flood_attack.py goes on."""
    world = World(folder / "server")
    try:
        words = [str(world.port), str(seconds + 2), world.author, *kinds]
        line = [sys.executable, "-m", "tests.fault.flood_attack", *words]
        attack = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert attack.stdout is not None and attack.stdout.readline() == "begins\n"
        time.sleep(1)  # until it is in full swing
        found = Found()
        measure(world, seconds, found)
        found.attack = attack.communicate(timeout=_PATIENCE_S + 60)[0]
        return found
    finally:
        world.child.kill()


def full_disk(folder: Path, seconds: float) -> Found:
    """Measured while not a byte is left for anybody else."""
    world = World(folder / "server")
    try:
        found = Found()
        fill(folder)
        began = shutil.disk_usage(folder).free
        time.sleep(2)
        measure(world, seconds, found)
        found.attack = f"free: {began} bytes when it was full, {shutil.disk_usage(folder).free} in the end"
        return found
    finally:
        world.child.kill()


def on_small_disk(arguments: list[str]) -> int:
    """This program once more, with a small file system of its own to work on."""
    with tempfile.TemporaryDirectory(prefix="walle-disk-") as folder:
        command = f'mount -t tmpfs -o size={_DISK_MIB}m tmpfs {folder} && exec "$@"'
        line = ["unshare", "-m", "sh", "-c", command, "sh", sys.executable, "-m", "tests.fault.flood"]
        return subprocess.run([*line, *arguments, "--on", folder], cwd=ROOT).returncode


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--disk", action="store_true", help="a full disk, instead of a flood")
    parser.add_argument("--kinds", nargs="*", default=[], help="of the flood; default: all")
    parser.add_argument("--slack", type=float, default=1.0, help="how many times slower it may be")
    parser.add_argument("--on", type=Path, help="the file system that may be filled")
    options = parser.parse_args(words)
    if options.disk and options.on is None:
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            print("skipped: a file system of its own needs root and unshare")
            return 0
        return on_small_disk(sys.argv[1:] if words is None else words)
    with tempfile.TemporaryDirectory(prefix="walle-flood-") as scratch:
        folder = options.on or Path(scratch)
        found = full_disk(folder, options.seconds) if options.disk else flood(
            folder, options.seconds, options.kinds
        )  # fmt: skip
    print(found.table())
    return 0 if found.holds(options.slack) else 1


if __name__ == "__main__":
    sys.exit(main())
