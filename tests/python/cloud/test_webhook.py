"""What an operator must know is sent, signed, and in nobody's way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import stat
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Clock, LocalServer, opened_server
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start

from walle_rt.cloud.service.expiry import Countdown
from walle_rt.cloud.service.watch import SILENT_S, Watch
from walle_rt.cloud.service.webhook import (
    ATTEMPTS,
    MOST_WAIT_S,
    MOST_WAITING,
    Event,
    Webhook,
    post,
    read_url,
    secret_of,
)
from walle_rt.cloud.trust import Level
from walle_rt.errors import ArgumentError

SECRET = b"0" * 32


def event(number: int = 0) -> Event:
    return Event("guard.halt", f"rank-{number}", "halted", 5.0, {"n": number})


class Receiver:
    """Takes what is sent; answers with the statuses that are left, then 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.got: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.waits: list[float] = []

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        self.got.append((json.loads(body), dict(headers)))
        return self.statuses.pop(0) if self.statuses else 200

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False

    def until(self, count: int) -> None:
        deadline = time.monotonic() + 20
        while len(self.got) < count:
            assert time.monotonic() < deadline, len(self.got)
            time.sleep(0.005)


def test_a_delivery_is_signed_as_the_standard_says(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "webhook.secret"
    secret = secret_of(file)
    assert len(secret) == 32 and secret_of(file) == secret and file.read_text().startswith("whsec_")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    got: list[tuple[bytes, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers)))
            self.send_response(302 if self.path == "/away" else 204)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    hook = Webhook(url + "/hook", secret, lambda: 1_800_000_000.0)
    try:
        hook.tell(event())
        deadline = time.monotonic() + 20
        while not got and time.monotonic() < deadline:
            time.sleep(0.01)
        body, headers = got[0]
        headers = {name.lower(): value for name, value in headers.items()}
        signed = f"{headers['webhook-id']}.1800000000.".encode() + body
        expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"
        assert json.loads(body) == {
            "type": "guard.halt", "subject": "rank-0", "text": "halted", "timestamp": 5.0, "data": {"n": 0}
        }  # fmt: skip
        assert post(url + "/away", b"{}", {}) == 302 and len(got) == 2, "no redirect is followed"
    finally:
        hook.close()
        server.shutdown()
        server.server_close()


def test_what_fails_is_tried_again_later_and_later_with_the_same_id() -> None:
    receiver = Receiver(500, 429, 302)
    hook = Webhook("https://x", SECRET, lambda: 0.0, receiver.send, receiver.wait)
    hook.tell(event())
    receiver.until(4)
    hook.tell(event(1))
    receiver.until(5)
    hook.close()
    ids = [headers["webhook-id"] for _, headers in receiver.got]
    assert len(set(ids[:4])) == 1 and ids[4] != ids[0] and receiver.waits == [1.0, 2.0, 4.0]


def test_one_that_never_works_is_given_up_and_the_next_one_goes() -> None:
    receiver = Receiver(*[503] * ATTEMPTS)
    hook = Webhook("https://x", SECRET, lambda: 0.0, receiver.send, receiver.wait)
    hook.tell(event())
    hook.tell(event(1))
    receiver.until(ATTEMPTS + 1)
    hook.close()
    assert receiver.got[-1][0]["subject"] == "rank-1"
    assert max(receiver.waits) == MOST_WAIT_S and len(receiver.waits) == ATTEMPTS - 1


def test_telling_never_waits_and_the_queue_is_bounded() -> None:
    held, receiver = threading.Event(), Receiver()

    def slow(url: str, body: bytes, headers: Mapping[str, str]) -> int:
        held.wait(20)
        return receiver.send(url, body, headers)

    hook = Webhook("https://x", SECRET, lambda: 0.0, slow, receiver.wait)
    hook.tell(event(-1))
    deadline = time.monotonic() + 20
    while hook._waiting and time.monotonic() < deadline:
        time.sleep(0.005)
    began = time.monotonic()
    for number in range(MOST_WAITING + 500):
        hook.tell(event(number))
    assert time.monotonic() - began < 2.0 and len(hook._waiting) == MOST_WAITING
    held.set()
    receiver.until(MOST_WAITING + 1)
    hook.close()
    assert [told["data"]["n"] for told, _ in receiver.got] == [-1, *range(500, MOST_WAITING + 500)]


@pytest.mark.parametrize(
    "text", ["url = 3", 'url = "http://example.com/x"', 'url = "ftp://x"', 'url = ""', "x = 1", "url ="]
)
def test_addresses_that_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "webhook.toml"
    assert read_url(file) == ""
    file.write_text(text)
    with pytest.raises(ArgumentError, match=r"webhook\.toml"):
        read_url(file)


def test_what_is_wrong_is_told_once_and_when_it_is_over() -> None:
    told: list[Event] = []
    clock = Clock(1000.0)
    watch = Watch(told.append, clock)

    def kinds() -> list[str]:
        found = [each.kind for each in told]
        told.clear()
        return found

    for low in (False, True, True, False, False):
        watch.disk(low)
    assert kinds() == ["disk.full", "disk.free"]
    good = Countdown("targets", 2e9, 300.0, Level.OK, False, "")
    soon = Countdown("targets", 2e9, 50.0, Level.SOON, False, "walle keys renew")
    urgent = Countdown("targets", 2e9, 5.0, Level.URGENT, False, "walle keys renew")
    for each in (good, soon, soon, urgent, urgent, good):
        watch.expiries([each])
    assert kinds() == ["expiry", "expiry"]

    def sink(connected: bool, failed: int, later: float = 1.0) -> list[str]:
        clock.forward(later)
        watch.sink({"connected": connected, "failed_commits": failed})
        return kinds()

    assert sink(True, 0) == [] and sink(False, 0) == []
    assert sink(False, 0, SILENT_S) == ["sink.lag"] and sink(False, 0) == []
    assert sink(True, 0) == ["sink.caught-up"] and sink(True, 3) == ["sink.lag"] and sink(True, 4) == []
    assert sink(True, 4) == ["sink.caught-up"]


def test_halts_of_operators_and_of_the_guard_are_told(tmp_path: Path) -> None:
    with opened_server(tmp_path, clock=Clock()) as local:
        told: list[Event] = []
        local.state.watch._tell = told.append
        local.done("POST", "/scenarios", json={"name": "shop"})
        publish(local, "1.0.0")
        first = start(local, "1.0.0", EVERYBODY)
        act(local, first, "pause")
        assert told == []
        act(local, first, "halt", reason="looks odd")
        second, fleet = start(local, "1.0.0", EVERYBODY), Fleet(local, 7)
        for device in fleet.devices:
            fleet.send(device, second, "claim")
        for device in fleet.devices:
            fleet.send(device, second, "limit")
        act(local, second, "kill", reason="now")
        assert [(each.kind, each.detail["by"]) for each in told] == [
            ("release.halt", "boss"), ("guard.halt", "guard"), ("release.kill", "boss")
        ]  # fmt: skip
        assert "looks odd" in told[0].text and "reports are failures" in told[1].text


def test_a_server_with_an_address_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Receiver()
    monkeypatch.setattr(Webhook.__init__, "__defaults__", (receiver.send, receiver.wait))
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "webhook.toml").write_text('url = "https://hooks.example/walle"')
    local = LocalServer(tmp_path / "server", Clock())
    try:
        local.state.watch.disk(True)
        receiver.until(1)
        assert receiver.got[0][0]["type"] == "disk.full"
    finally:
        local.close()
