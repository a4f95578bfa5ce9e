"""The broker with another client, and ours with kills of the processes at both ends."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tunnel_world import World
from waits import PATIENCE_S, until

from walle_rt import ResourceError, _core
from walle_rt.cloud.broker import find_mosquitto
from walle_rt.cloud.sink import Sink, SinkStore
from walle_rt.vm import VM, library_path

try:
    find_mosquitto()
except ResourceError as error:
    pytest.skip(f"no mosquitto (apt-get install mosquitto): {error}", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


class Paho:
    """A device by hand: paho with a device's certificate."""

    def __init__(self, world: World, name: str) -> None:
        mqtt = pytest.importorskip("paho.mqtt.client")
        self.heard: list[tuple[str, bytes]] = []
        self.subscribed = 0
        who = world.identity(name)
        self.client: Any = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, clean_session=True)
        self.client.tls_set(str(world.authority.path), str(who.certificate), str(who.key))
        self.client.on_message = lambda _c, _u, m: self.heard.append((m.topic, bytes(m.payload)))
        self.client.on_subscribe = self._subscribed
        self.client.connect("127.0.0.1", world.broker.port)
        self.client.loop_start()

    def _subscribed(self, *_: object) -> None:
        self.subscribed += 1

    def hear(self, *topics: str) -> None:
        wanted = self.subscribed + len(topics)
        for topic in topics:
            self.client.subscribe(topic, 1)
        until(lambda: self.subscribed >= wanted)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def test_paho_is_stored_acknowledged_and_kept_to_its_own_topics(world: World) -> None:
    sink = world.sink()
    paho, other = Paho(world, "p1"), Paho(world, "p2")
    try:
        paho.hear("w/p1/ack", "w/p1/down", "w/epoch")
        # Granted by SUBACK, all of them; what counts is what comes.
        other.hear("#", "w/#", "w/p1/up", "w/p1/ack", "w/p1/down", "$SYS/#", "w/p2/down")
        record = (1, 5, "t", "f", b"\0\0\0\0\0\0\0\0")
        paho.client.publish("w/p1/up", _core.tunnel.pack_message([("s", b"", False, [record])]), 1)
        until(lambda: any(topic == "w/p1/ack" for topic, _ in paho.heard))
        ((topic, ack),) = paho.heard
        assert (topic, _core.tunnel.read_ack(ack)) == ("w/p1/ack", [("s", 0, 0, [(1, 1)])])
        assert world.stored() == [("p1", "s", 1)]
        sink.announce(5, 1)
        sink.answer("p1", b"for p1")
        sink.answer("p2", b"for p2")
        until(lambda: ("w/p1/down", b"for p1") in paho.heard and ("w/p2/down", b"for p2") in other.heard)
        assert ("w/epoch", _core.tunnel.pack_epoch(5, 1)) in paho.heard
        told = {topic for topic, _ in other.heard}
        assert told <= {"w/p2/down", "w/epoch"}, f"it heard what is not for it: {told}"
    finally:
        paho.close()
        other.close()


def test_nobody_without_a_certificate_and_nobody_under_another_name(world: World) -> None:
    mqtt = pytest.importorskip("paho.mqtt.client")
    sink = world.sink()
    # The certificate's name counts, whatever client id and user name it gives itself.
    who = world.identity("p1")
    liar = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="victim", clean_session=True)
    liar.username_pw_set("victim", "x")
    liar.tls_set(str(world.authority.path), str(who.certificate), str(who.key))
    liar.connect("127.0.0.1", world.broker.port)
    liar.loop_start()
    record = (1, 5, "t", "f", b"\0\0\0\0\0\0\0\0")
    payload = _core.tunnel.pack_message([("s", b"", False, [record])])
    liar.publish("w/victim/up", payload, 1)
    liar.publish("w/p1/up", payload, 1)
    until(lambda: sink.stats().records == 1)
    assert world.stored() == [("p1", "s", 1)]
    liar.disconnect()
    liar.loop_stop()
    bare = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="p1")
    bare.tls_set(str(world.authority.path))
    connected: list[object] = []
    bare.on_connect = lambda *_: connected.append(1)
    try:
        bare.connect("127.0.0.1", world.broker.port)
        bare.loop_start()
        time.sleep(0.5)
        bare.loop_stop()
    except OSError:
        pass
    assert not connected


class Nats:
    """nats-server, which speaks MQTT as well: the broker of another house."""

    CONFIG = """
server_name: walle
listen: "127.0.0.1:{client}"
jetstream {{ store_dir: "{folder}/jetstream" }}
mqtt {{
  listen: "127.0.0.1:{port}"
  tls {{ cert_file: "{certificate}", key_file: "{key}", ca_file: "{authorities}", verify: true }}
}}
"""

    def __init__(self, program: str, world: World, folder: Path) -> None:
        self._line = [program, "-c", str(folder / "nats.conf")]
        self.port = free_port()
        (folder / "nats.conf").write_text(
            self.CONFIG.format(
                client=free_port(),
                port=self.port,
                folder=folder,
                certificate=world.server.certificate,
                key=world.server.key,
                authorities=world.authority.path,
            )
        )
        self._log = folder / "nats.log"
        self.start()

    @property
    def url(self) -> str:
        return f"mqtts://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._line, stdout=log, stderr=log)
        until(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()[-2000:]
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(not VM.available("full"), reason=f"no VM library at {library_path()}")
def test_nats_server_instead_of_mosquitto(world: World, tmp_path: Path) -> None:
    program = shutil.which("nats-server", path="/usr/sbin:/usr/local/bin:/usr/bin")
    if program is None:
        pytest.skip("no nats-server (apt-get install nats-server)")
    nats = Nats(program, world, tmp_path)
    sink = Sink(world.endpoint(nats.url), SinkStore(world.database))
    epochs: list[tuple[int, int]] = []
    answers: list[bytes] = []
    try:
        assert sink.wait_connected(PATIENCE_S)
        sink.announce(7, 1)
        device = world.device("d1")
        more = {"on_epoch": epochs.append, "on_down": answers.append}
        tunnel = world.tunnel(device, "d1", url=nats.url, resend_s=1.0, **more)
        for n in range(20):
            device.record("say", contents={"n": n, "text": f"word {n}"})
        assert device.wait(PATIENCE_S) and tunnel.drain(PATIENCE_S)
        until(lambda: (7, 1) in epochs)
        sink.answer("d1", b"an answer")
        until(lambda: answers == [b"an answer"])
        nats.kill()
        for n in range(20, 40):
            device.record("say", contents={"n": n, "text": f"word {n}"})
        nats.start()
        assert device.wait(PATIENCE_S)
        until(lambda: tunnel.drain(1))
        assert world.numbers("d1") == list(range(40)) and sink.stats().records == 40
        assert tunnel.stats().connections >= 2
    finally:
        sink.close()
        nats.kill()


@pytest.mark.timeout(1200)
@pytest.mark.skipif(not VM.available("full"), reason=f"no VM library at {library_path()}")
def test_kills_cuts_and_doubles_lose_and_double_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fault.link", "--seeds", "4", "--first", "9000"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1150,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "0 lost: 4 devices" in done.stdout, done.stdout
