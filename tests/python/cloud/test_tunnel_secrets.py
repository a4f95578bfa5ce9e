"""What an event's other fields say is in no byte that leaves: neither plain nor inflated nor encoded."""

from __future__ import annotations

import base64
import contextlib
import random
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import asking
import pytest
from random_seed import random_seed
from tunnel_world import World
from waits import PATIENCE_S, until

from walle_rt import ResourceError
from walle_rt.cloud.broker import find_mosquitto
from walle_rt.device import Device
from walle_rt.vm import VM, library_path

try:
    find_mosquitto()
except ResourceError as error:
    pytest.skip(f"no mosquitto (apt-get install mosquitto): {error}", allow_module_level=True)
if not VM.available("full"):
    pytest.skip(f"no VM library at {library_path()}", allow_module_level=True)


class Wiretap:
    """Ends the device's TLS, keeps every byte it sends, and passes it on to the broker as the device."""

    def __init__(self, world: World, name: str) -> None:
        self.heard = bytearray()
        who = world.identity(name)
        self._server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server.load_cert_chain(world.server.certificate, world.server.key)
        self._client = ssl.create_default_context(cafile=str(world.authority.path))
        self._client.load_cert_chain(who.certificate, who.key)
        self._to = world.broker.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"mqtts://127.0.0.1:{self._listener.getsockname()[1]}"
        self._passes: list[threading.Thread] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Behind the last byte of the connections, which the device has closed."""
        self._listener.close()
        for thread in self._passes:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                device = self._server.wrap_socket(near, server_side=True)
                broker = self._client.wrap_socket(
                    socket.create_connection(("127.0.0.1", self._to)), server_hostname="127.0.0.1"
                )
            except OSError:
                return
            for given in ((device, broker, self.heard), (broker, device, bytearray())):
                thread = threading.Thread(target=self._pass, args=given, daemon=True)
                thread.start()
                self._passes.append(thread)

    @staticmethod
    def _pass(source: ssl.SSLSocket, to: ssl.SSLSocket, heard: bytearray) -> None:
        try:
            while data := source.recv(65536):
                heard += data
                to.sendall(data)
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError):
                to.shutdown(socket.SHUT_RDWR)  # ends what comes the other way


def tokens(count: int) -> list[bytes]:
    source = random.Random(random_seed())
    return [source.randbytes(12).hex().encode() for _ in range(count)]


def inflations(data: bytes) -> Iterator[bytes]:
    """What every place of ``data`` inflates to, as far as it does."""
    for start in range(len(data)):
        for window in (-15, 15):
            try:
                out = zlib.decompressobj(window).decompress(data[start:], 1 << 16)
            except zlib.error:
                continue
            if len(out) > 8:
                yield out


def forms(canary: bytes) -> list[bytes]:
    """The canary as it stands, in hexadecimal, and in base64 at each of the three alignments."""
    out = [canary, canary.hex().encode(), canary.hex().upper().encode()]
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + canary)
        out.append(encoded[4 if shift else 0 : len(encoded) - 4])
    return out


def holds(data: bytes, canary: bytes) -> bool:
    places = [data, *inflations(data)]
    return any(form in place for form in forms(canary) for place in places)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_no_byte_of_a_question_or_of_its_answer_holds_a_secret(world: World, tmp_path: Path) -> None:
    shelf = asking.FolderShelf(world.folder / "shelf")
    packed = asking.pack(tmp_path / "tasks")
    shelf.publish(packed)
    server = asking.Server(world.folder, world.endpoint())
    world._open.append(server.close)
    tap = Wiretap(world, "d1")
    device = Device(world.folder / "devices" / "d1", asking.catalog(), workers=1, ready=1)
    world._open.append(device.close)
    device.install_package(packed.manifest, shelf.folder)
    tunnel = world.tunnel(device, "d1", url=tap.url)
    canary, shown = tokens(2)
    for n in range(40):
        device.record("say", contents={"n": n, "text": shown.decode(), "secret": canary.decode()})
    assert device.wait(PATIENCE_S)
    until(lambda: len(device.results("asker", "answers")) == 20)
    until(lambda: server.phase.stats().taken == 20)
    tunnel.close()
    tap.close()
    heard = bytes(tap.heard)
    assert b"w/d1/got" in heard, "nothing was said of answers: the test shows nothing"
    assert holds(heard, shown), "what may leave is not found either: the search finds nothing"
    assert not holds(heard, canary)


def test_no_byte_that_leaves_holds_a_secret(world: World) -> None:
    world.sink()
    tap = Wiretap(world, "d1")
    device = world.device("d1")
    tunnel = world.tunnel(device, "d1", url=tap.url)
    canary, shown = tokens(2)
    for n in range(40):
        contents = {"n": n, "text": f"{shown.decode()} {n}", "secret": canary.decode()}
        device.record("say", contents=contents)
    assert device.wait(PATIENCE_S) and tunnel.drain(PATIENCE_S)
    assert world.numbers("d1") == list(range(40))
    tunnel.close()
    tap.close()
    heard = bytes(tap.heard)
    assert b"w/d1/up" in heard, "nothing was heard: the test shows nothing"
    assert holds(heard, shown), "what may leave is not found either: the search finds nothing"
    assert not holds(heard, canary)


@pytest.mark.parametrize("form", range(6))
def test_the_search_finds_what_is_hidden(form: int) -> None:
    (canary,) = tokens(1)
    hidden = forms(canary)[form]
    assert holds(b"head" + hidden + b"tail", canary)
    assert holds(b"head" + zlib.compress(b"some words " * 3 + hidden + b" more"), canary)
    assert not holds(b"head" + zlib.compress(b"some words " * 30), canary)
