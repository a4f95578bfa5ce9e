"""Kill, cut, double and reorder on the way from devices to the sink: accepted = stored exactly once.

Each seed is one device, a process that records events which its task sends. It is killed and started again at
random moments; between it and the broker stands a relay that cuts connections behind a random byte, in either
direction, or holds them; the sink is killed at random moments, takes messages in another order and twice, and
loses, doubles and delays what it says; the broker is killed now and then. In the end, what every device's log
holds must be in the sink's table, each once, and its outbox must be empty.
"""

from __future__ import annotations

import json
import logging
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "python" / "cloud"))

from tunnel_world import World, bundle, catalog, waiting

from walle_rt.cloud.sink import Endpoint, FeatureTables, Message, Sink, SinkStore
from walle_rt.device import Device
from walle_rt.device._tunnel import Tunnel
from walle_rt.stream._log import EventLog

AT_ONCE = 6  # devices
DRAIN_S = 120.0
START_S = 60.0
EVENTS = 30  # of each life of a device, at most


class CuttingRelay:
    """Between a device and the broker: bytes pass until a connection's random end."""

    def __init__(self, port: int, seed: int) -> None:
        self.cuts = self._connections = 0
        self._to, self._rng = port, random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.calm = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # Closing alone leaves a thread in accept(), and accept() has taken the number of its next descriptor
        # before it waits: after a thousand relays the process had none left that select() takes.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        # Some within the handshake, most among messages, some never; later ones, later: it is to end one day.
        self._connections += 1
        farther = 2 * self._rng.random() * (1 + self._connections / 10)
        left = {near: self._rng.choice([200, 1500, 4000, 20_000, 1 << 40]) * farther}
        try:
            far = socket.create_connection(("127.0.0.1", self._to), 5)
        except OSError:
            near.close()
            return
        left[far] = self._rng.choice([500, 3000, 5000, 20_000, 1 << 40]) * farther
        other = {near: far, far: near}
        with near, far:
            try:
                while True:
                    for end in select.select([near, far], [], [], 30)[0]:
                        data = end.recv(65536)
                        part = data if self.calm else data[: max(0, int(left[end]))]
                        other[end].sendall(part)
                        left[end] -= len(data)
                        if not data:
                            return
                        if len(part) < len(data):
                            self.cuts += 1
                            return
                        if self._rng.random() < 0.02:
                            time.sleep(self._rng.random() * 0.2)
            except OSError:
                return


class ChaoticStore(SinkStore):
    """Takes messages in another order and twice; loses, doubles and delays what is said of them."""

    rng = random.Random()
    late: list[tuple[str, bytes]]

    def write(self, messages: Sequence[Message]) -> dict[str, list[bytes]]:
        given = list(messages) + [m for m in messages if self.rng.random() < 0.2]
        self.rng.shuffle(given)
        said = super().write(given)
        every = getattr(self, "late", []) + [(device, ack) for device, acks in said.items() for ack in acks]
        self.rng.shuffle(every)
        out: dict[str, list[bytes]] = {}
        self.late = []
        for device, ack in every:
            luck = self.rng.random()
            if luck < 0.2:
                self.late.append((device, ack))
            elif luck > 0.1 + 0.2:  # a tenth is lost
                out.setdefault(device, []).extend([ack] * (2 if luck > 0.8 else 1))
        return out


@dataclass
class Found:
    """What was tried; all sums."""

    devices: int = 0
    events: int = 0
    device_kills: int = 0
    sink_kills: int = 0
    broker_kills: int = 0
    cuts: int = 0


def sink_process(given: dict[str, str]) -> None:
    ChaoticStore.rng = random.Random(int(given["seed"]))
    endpoint = Endpoint(
        given["url"], Path(given["authorities"]), Path(given["certificate"]), Path(given["key"])
    )
    sink = Sink(endpoint, ChaoticStore(given["database"]))
    while not sink.wait_connected(60):
        pass
    Path(given["ready"]).touch()
    while True:
        time.sleep(60)


def device_process(given: dict[str, str]) -> None:
    rng = random.Random(given["seed"])
    folder = Path(given["folder"])
    device = Device(folder, catalog(), workers=1, ready=1)
    if "sender" not in device.tasks():
        device.install(Path(given["bundle"]).read_bytes())
    tunnel = Tunnel(
        device,
        given["url"],
        given["name"],
        authorities=given["authorities"],
        certificate=given["certificate"],
        key=given["key"],
        resend_s=0.7,
        connect_s=10.0,
        least_backoff_s=0.02,
        most_backoff_s=0.3,
    )
    for _ in range(rng.randrange(1, EVENTS)):
        size = rng.choice([5, 200, 3000, 12_000])
        text = "".join(rng.choice("abcdef ") for _ in range(size // 4)) * 4
        device.record("say", contents={"n": rng.getrandbits(62), "text": text})
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.05)
    assert device.wait(DRAIN_S), "the device does not come to rest"
    end = time.monotonic() + DRAIN_S
    while not tunnel.drain(5.0):
        if time.monotonic() > end:
            sys.exit(f"not drained: {waiting(device)} wait, {tunnel.stats()}")
    tunnel.close()
    assert waiting(device) == 0
    device.close()


def child(role: str, given: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.fault.tunnel", role, json.dumps(given)]
    return subprocess.Popen(command, cwd=Path(__file__).resolve().parents[2])


class Chaos:
    """Broker and sink, killed now and then."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.found = Found()
        self.world = World(folder)
        (folder / "bundle").write_bytes(bundle())
        who = self.world.sink_identity
        self._given = {
            "url": self.world.broker.url,
            "authorities": str(self.world.authority.path),
            "certificate": str(who.certificate),
            "key": str(who.key),
            "database": str(self.world.database),
        }
        self._rng = random.Random(seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._kill, daemon=True)
        self._thread.start()

    def _kill(self) -> None:
        while not self._ended.is_set():
            ready = self.world.folder / "sink.ready"
            ready.unlink(missing_ok=True)
            given = {**self._given, "seed": str(self._rng.getrandbits(32)), "ready": str(ready)}
            sink = child("sink", given)
            # One that is killed before it works stores nothing; how long that takes is the machine's affair.
            end = time.monotonic() + START_S
            while not ready.exists() and not self._ended.is_set() and time.monotonic() < end:
                time.sleep(0.02)
            self._ended.wait(self._rng.uniform(0.2, 4.0))
            sink.send_signal(signal.SIGKILL)
            sink.wait()
            self.found.sink_kills += 1
            pid = self.world.broker.pid
            if self._rng.random() < 0.15 and pid is not None:
                os.kill(pid, signal.SIGKILL)
                self.found.broker_kills += 1

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self.world.close()

    def try_device(self, seed: int) -> None:
        """One device's lives; AssertionError when something is lost, doubled or left behind."""
        rng = random.Random(seed)
        name = f"d{seed}"
        who = self.world.identity(name)
        folder = self.world.folder / "devices" / name
        folder.mkdir(parents=True)
        relay = CuttingRelay(self.world.broker.port, seed)
        given = {
            "url": f"mqtts://127.0.0.1:{relay.port}",
            "name": name,
            "authorities": str(self.world.authority.path),
            "certificate": str(who.certificate),
            "key": str(who.key),
            "bundle": str(self.world.folder / "bundle"),
            "folder": str(folder),
        }
        kills = rng.randrange(4)
        for life in range(kills):
            process = child("device", {**given, "seed": f"{seed}.{life}"})
            time.sleep(rng.uniform(0.5, 3.0))
            process.send_signal(signal.SIGKILL)
            process.wait()
        code = child("device", {**given, "seed": f"{seed}.last"}).wait(2 * DRAIN_S)
        relay.close()
        assert code == 0, f"seed {seed}: the device ended with {code}"
        self._verify(seed, name, folder)
        self.found.devices += 1
        self.found.device_kills += kills
        self.found.cuts += relay.cuts

    def _verify(self, seed: int, name: str, folder: Path) -> None:
        with EventLog(folder / "log", read_only=True) as log:
            want = sorted(int(event.contents["n"]) for event in log.read())  # type: ignore[call-overload]
        got = self.world.numbers(name)
        assert got == want, f"seed {seed}: {len(got)} rows, {len(set(got))} of them different, of {len(want)}"
        with FeatureTables(self.world.database) as tables:
            seqs = sorted(seq for device, _, seq in tables.records() if device == name)
        assert seqs == list(range(1, len(want) + 1)), f"seed {seed}: numbers {seqs}"
        self.found.events += len(want)


def run(seeds: int, first: int = 0) -> Found:
    """Try so many devices, from seed ``first`` on."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="walle-tunnel-") as scratch:
        chaos = Chaos(Path(scratch), first)
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for done in [pool.submit(chaos.try_device, first + i) for i in range(seeds)]:
                    done.result()
        finally:
            chaos.close()
    return chaos.found


def report(found: Found) -> str:
    counts = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in asdict(found).items())
    return f"accepted = stored exactly once, 0 lost: {counts}"


if __name__ == "__main__":
    {"sink": sink_process, "device": device_process}[sys.argv[1]](json.loads(sys.argv[2]))
