"""Device, Mosquitto and sink as processes and sockets: what arrives, once each, whatever ends in between."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tunnel_world import World, waiting
from waits import PATIENCE_S, until

from walle_rt import ArgumentError, ResourceError
from walle_rt.cloud.broker import BrokerSettings, find_mosquitto
from walle_rt.cloud.broker._mosquitto import _end_leftover
from walle_rt.device._tunnel import Tunnel
from walle_rt.vm import VM, library_path

try:
    find_mosquitto()
except ResourceError as error:
    pytest.skip(f"no mosquitto (apt-get install mosquitto): {error}", allow_module_level=True)
if not VM.available("full"):
    pytest.skip(f"no VM library at {library_path()}", allow_module_level=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def say(device: object, numbers: range, text: str = "hello") -> None:
    for n in numbers:
        device.record("say", contents={"n": n, "text": f"{text} {n}"})  # type: ignore[attr-defined]


def test_what_an_event_says_is_in_the_sinks_table(world: World) -> None:
    seen: list[str] = []
    sink = world.sink(saw=seen.append)
    device = world.device("d1")
    states: list[str] = []
    tunnel = world.tunnel(device, "d1", on_state=states.append)
    say(device, range(10))
    assert device.wait(PATIENCE_S) and tunnel.drain(PATIENCE_S)
    assert world.numbers("d1") == list(range(10))
    assert waiting(device) == 0
    stats = tunnel.stats()
    assert (stats.acknowledged, stats.refused, stats.failures, stats.state) == (10, 0, 0, "online")
    assert sink.stats().records == 10 and sink.stats().duplicates == 0
    assert states == ["connecting", "online"]
    assert set(seen) == {"d1"}, "whom records came from"


def test_records_wait_for_the_sink_and_not_for_the_broker(world: World) -> None:
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1", resend_s=0.5)
    say(device, range(5))
    assert device.wait(PATIENCE_S)
    assert not tunnel.drain(1.0)
    assert waiting(device) == 5, "the broker has them, and that proves nothing"
    world.sink()
    assert tunnel.drain(PATIENCE_S)
    assert world.numbers("d1") == list(range(5))


def test_records_wait_while_the_disk_has_no_room(world: World) -> None:
    room = threading.Event()
    sink = world.sink(full=lambda: not room.is_set())
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1", resend_s=0.5)
    say(device, range(5))
    assert device.wait(PATIENCE_S)
    until(lambda: sink.stats().failed_commits)
    assert waiting(device) == 5 and sink.stats().records == 0
    room.set()
    assert tunnel.drain(PATIENCE_S)
    assert world.numbers("d1") == list(range(5))


def test_a_second_connection_is_resumed_also_by_another_tunnel(world: World) -> None:
    world.sink()
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1")
    say(device, range(1))
    assert device.wait(PATIENCE_S) and tunnel.drain(PATIENCE_S)
    full = tunnel.stats().handshake_bytes
    tunnel.network_changed()
    until(lambda: tunnel.stats().connections == 2)
    assert tunnel.stats().resumed == 1
    assert tunnel.stats().handshake_bytes - full < full
    tunnel.close()
    again = world.tunnel(device, "d1")
    until(lambda: again.stats().connections == 1)
    assert again.stats().resumed == 1
    session = device.path / "tunnel.session"
    assert session.stat().st_mode & 0o077 == 0, "a session is a secret"
    again.close()
    # Damage, and a session of another identity, cost a full handshake and nothing else.
    session.write_bytes(session.read_bytes()[:-1])
    damaged = world.tunnel(device, "d1")
    until(lambda: damaged.stats().connections == 1)
    assert damaged.stats().resumed == 0
    damaged.close()
    other = world.tunnel(device, "d2", session=session)
    until(lambda: other.stats().connections == 1)
    assert other.stats().resumed == 0


def test_the_broker_may_be_killed(world: World) -> None:
    world.sink()
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1", resend_s=1.0)
    for round_ in range(3):
        say(device, range(round_ * 20, round_ * 20 + 20))
        world.kill_broker()
        say(device, range(100 + round_ * 20, 120 + round_ * 20))
        until(lambda restarts=round_ + 1: world.broker.restarts == restarts)  # type: ignore[misc]
    assert device.wait(PATIENCE_S)
    until(lambda: tunnel.drain(1))
    assert world.numbers("d1") == [*range(60), *range(100, 160)]
    assert world.broker.restarts == 3


def test_a_broker_left_behind_is_ended_though_nobody_asks_for_its_status(tmp_path: Path) -> None:
    """As the first process of a container may never do."""
    (tmp_path / "mosquitto.conf").write_text("import time; print(flush=True); time.sleep(600)")
    broker = subprocess.Popen([sys.executable, tmp_path / "mosquitto.conf"], stdout=subprocess.PIPE)
    assert broker.stdout is not None and broker.stdout.readline() == b"\n"
    (tmp_path / "mosquitto.pid").write_text(str(broker.pid))
    ending = threading.Thread(target=_end_leftover, args=(tmp_path,), daemon=True)
    ending.start()
    ending.join(PATIENCE_S)
    ended = not ending.is_alive()
    broker.kill()
    assert broker.wait(PATIENCE_S) == -signal.SIGTERM
    assert ended, "it waits for a status that nobody takes"
    broker.stdout.close()


def test_a_full_queue_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, queued_messages=3)
    try:
        world.sink().close()  # the broker knows it, and queues three messages for it
        device = world.device("d1")
        tunnel = world.tunnel(device, "d1", resend_s=1.0)
        until(lambda: tunnel.stats().state == "online")
        # Each is a message of its own: what packs into less than 3 KB, or waits for a way, gets company.
        random = Random(30)
        for n in range(30):
            say(device, range(n, n + 1), random.randbytes(4000).hex())
            until(lambda sent=n + 1: tunnel.stats().in_flight >= sent)
        sink = world.sink()
        assert tunnel.drain(PATIENCE_S)
        assert world.numbers("d1") == list(range(30))
        assert tunnel.stats().resent > 0, "nothing was dropped: the test shows nothing"
        assert sink.stats().records == 30
    finally:
        world.close()


def test_epochs_are_kept_for_who_comes_later_and_answers_for_who_is_away(world: World) -> None:
    sink = world.sink()
    epochs: list[tuple[int, int]] = []
    answers: list[bytes] = []
    sink.announce(7, 3)
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1", on_epoch=epochs.append, on_down=answers.append)
    until(lambda: epochs)
    assert epochs == [(7, 3)]
    sink.announce(8)
    until(lambda: len(epochs) > 1)
    assert epochs[1] == (8, 0)
    assert sink.answer("d1", b"first")
    until(lambda: answers)
    tunnel.close()
    assert sink.answer("d1", b"while away")
    assert sink.answer("d2", b"another's")
    again = world.tunnel(device, "d1", on_epoch=epochs.append, on_down=answers.append)
    until(lambda: len(answers) > 1)
    assert answers == [b"first", b"while away"]
    until(lambda: again.stats().epochs == 1)
    until(lambda: sink.stats().online == 1)


def test_another_authority_is_refused_on_both_sides(world: World, tmp_path: Path) -> None:
    stranger = World(tmp_path / "stranger")
    try:
        device = world.device("d1")
        # A device of another authority at our broker: it does not even believe the broker.
        tunnel = stranger.tunnel(device, "d1", url=world.broker.url)
        until(lambda: tunnel.stats().failures > 0)
        assert "certificate" in tunnel.stats().last_error
        assert tunnel.stats().connections == 0
        tunnel.close()
        # And one that believes the broker and is not believed.
        who = stranger.authority.issue("d1")
        refused = Tunnel(
            device,
            world.broker.url,
            "d1",
            authorities=world.authority.path,
            certificate=who.certificate,
            key=who.key,
        )
        until(lambda: refused.stats().failures > 0)
        assert refused.stats().connections == 0
        refused.close()
    finally:
        stranger.close()


def test_the_brokers_name_must_be_its_certificates(world: World) -> None:
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1", url=world.broker.url.replace("127.0.0.1", "127.0.0.2"))
    until(lambda: tunnel.stats().failures > 0)
    named = world.tunnel(device, "d2", url=world.broker.url.replace("127.0.0.1", "localhost"))
    until(lambda: named.stats().connections == 1)
    assert tunnel.stats().connections == 0


def mosquitto_pub(world: World, name: str, topic: str, payload: bytes, *more: str) -> None:
    who = world.identity(name)
    command = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(world.broker.port), "-q", "1", "-t", topic]
    command += ["--cafile", str(world.authority.path), "--cert", str(who.certificate), "--key", str(who.key)]
    subprocess.run(
        [*command, "-s", *more], input=payload, check=False, timeout=PATIENCE_S, capture_output=True
    )


@pytest.mark.skipif(
    shutil.which("mosquitto_pub") is None, reason="no mosquitto_pub (apt-get install mosquitto-clients)"
)
def test_a_device_writes_its_own_topic_and_no_other(world: World) -> None:
    """Shown by what is delivered: a broker answers a refused PUBLISH with PUBACK all the same."""
    from walle_rt import _core

    sink = world.sink()
    record = (1, 0, "t", "f", b"\0\0\0\0\0\0\0\0")
    payload = _core.tunnel.pack_message([("s", b"", False, [record])])
    epochs: list[tuple[int, int]] = []
    device = world.device("d1")
    answers: list[bytes] = []
    tunnel = world.tunnel(device, "d1", on_epoch=epochs.append, on_down=answers.append)
    until(lambda: tunnel.stats().state == "online")
    mosquitto_pub(world, "thief", "w/d1/up", payload)
    mosquitto_pub(world, "thief", "w/d1/down", b"from a thief")
    mosquitto_pub(world, "thief", "w/d1/ack", payload)
    mosquitto_pub(world, "thief", "w/epoch", _core.tunnel.pack_epoch(99, 0), "-r")
    mosquitto_pub(world, "thief", "w/thief/up", payload)
    until(lambda: sink.stats().records == 1)
    assert world.stored() == [("thief", "s", 1)], "the record under another's name did not arrive"
    assert sink.answer("d1", b"from the sink")
    until(lambda: answers)
    assert answers == [b"from the sink"] and epochs == []


def test_settings_refuse_what_a_configuration_would_take_for_something_else(tmp_path: Path) -> None:
    good = {"folder": tmp_path, "authorities": tmp_path, "certificate": tmp_path, "key": tmp_path}
    for bad in ({"host": "a\nallow_anonymous true"}, {"sink": "a/b"}, {"queued_messages": 0}, {"sink": ""}):
        with pytest.raises(ArgumentError):
            BrokerSettings(**(good | bad))  # type: ignore[arg-type]


def test_errors_say_what_to_do(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device = world.device("d1")
    for url in ("mqtt://127.0.0.1", "http://x", "", "mqtts://host:0", "mqtts://host:99999", "a b"):
        with pytest.raises(ArgumentError, match="mqtts://host:port"):
            world.tunnel(device, "d1", url=url or "mqtts://")
    with pytest.raises(ArgumentError, match="device id"):
        Tunnel(device, world.broker.url, "a/b", authorities=world.authority.path, certificate="", key="")
    with pytest.raises(ResourceError, match="authorities"):
        Tunnel(device, world.broker.url, "a", authorities=tmp_path / "none", certificate="", key="")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("walle_rt.cloud.broker._mosquitto._PLACES", ())
    with pytest.raises(ResourceError, match="apt-get install mosquitto"):
        find_mosquitto()


def test_a_broker_that_is_killed_with_a_full_queue_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, queued_messages=3)
    try:
        world.sink().close()  # the broker knows it, and queues three messages for it
        device = world.device("d1")
        tunnel = world.tunnel(device, "d1", resend_s=1.0)
        random = Random(31)
        for round_ in range(3):
            until(lambda: tunnel.stats().state == "online")
            for n in range(round_ * 10, round_ * 10 + 10):
                say(device, range(n, n + 1), random.randbytes(7000).hex())
            assert device.wait(PATIENCE_S)
            until(lambda: tunnel.stats().in_flight > 3)
            world.kill_broker()  # with the queue in its memory
            until(lambda restarts=round_ + 1: world.broker.restarts == restarts)  # type: ignore[misc]
        assert waiting(device) == 30
        sink = world.sink()
        until(lambda: tunnel.drain(1))
        assert world.numbers("d1") == list(range(30))
        assert sink.stats().records == 30
    finally:
        world.close()


class Network:
    """Between a device and the broker, which sees the connections come from one address.

    Once the device has moved the ones of before carry nothing any more, and neither end hears of it.
    """

    def __init__(self, port: int, source: str) -> None:
        self._broker_port, self._source, self._moves = port, source, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.sources: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def move(self, source: str) -> None:
        self._source, self._moves = source, self._moves + 1

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.sources.append(self._source)
                far = socket.create_connection(
                    ("127.0.0.1", self._broker_port), PATIENCE_S, (self._source, 0)
                )
                for one, other in ((near, far), (far, near)):
                    given = (one, other, self._moves)
                    threading.Thread(target=self._carry, args=given, daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, moves: int) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if self._moves == moves:
                    other.sendall(data)
            if self._moves == moves:
                other.close()


def test_a_device_whose_address_changes_loses_nothing(world: World) -> None:
    sink = world.sink()
    device = world.device("d1")
    network = Network(world.broker.port, "127.0.0.2")
    tunnel = world.tunnel(device, "d1", url=f"mqtts://127.0.0.1:{network.port}", resend_s=600.0)
    say(device, range(10))
    assert device.wait(PATIENCE_S) and tunnel.drain(PATIENCE_S)
    network.move("127.0.0.3")
    say(device, range(10, 20))
    assert device.wait(PATIENCE_S)
    assert not tunnel.drain(1.0) and tunnel.stats().state == "online", "nobody has told it"
    tunnel.network_changed()
    say(device, range(20, 30))
    assert device.wait(PATIENCE_S) and tunnel.drain(PATIENCE_S)
    assert world.numbers("d1") == list(range(30))
    assert sink.stats().records == 30 and network.sources == ["127.0.0.2", "127.0.0.3"]
    # The broker holds one connection of the device, not two.
    until(lambda: sink.stats().online == 1)
    network.close()
    tunnel.close()


def test_a_device_that_is_closed_ends_its_tunnel(world: World) -> None:
    world.sink()
    device = world.device("d1")
    states: list[str] = []
    tunnel = world.tunnel(device, "d1", on_state=states.append)
    until(lambda: tunnel.stats().state == "online")
    device.close()
    assert tunnel.stats().state == states[-1] == "stopped"
    assert tunnel.stats().last_error == "", "it has not run into the closed device"
    with pytest.raises(ArgumentError, match="a closed device"):
        world.tunnel(device, "d1")
    tunnel.close()


def test_a_device_that_is_closed_while_its_tunnels_come_and_go(world: World) -> None:
    device = world.device("d1")
    world.identity("d1")  # made once, and not by each thread
    over = threading.Event()

    def come_and_go() -> None:
        with contextlib.suppress(ArgumentError):
            while not over.is_set():
                world.tunnel(device, "d1").close()

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(world._open) > 12)
    device.close()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_a_callback_may_close_its_tunnel(world: World) -> None:
    device = world.device("d1")
    made: list[Tunnel] = []

    def seen(state: str) -> None:
        if state == "online":
            until(lambda: made)
            made[0].close()

    made.append(world.tunnel(device, "d1", on_state=seen))
    until(lambda: made[0].stats().state == "stopped")
    device.close()
