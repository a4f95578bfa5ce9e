"""What an operator must know is sent, signed, and in nobody's way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import Clock, LocalServer, opened_server
from cloud.test_releases import EVERYBODY, Fleet, act, publish, start
from commands import run_command

from walle_rt.cloud import metrics
from walle_rt.cloud.model.database import Database
from walle_rt.cloud.service.expiry import Countdown
from walle_rt.cloud.service.server import Server
from walle_rt.cloud.service.state import Settings
from walle_rt.cloud.service.watch import SILENT_S, Watch
from walle_rt.cloud.service.webhook import ATTEMPTS, MOST_WAIT_S, Webhook, post, read_url, secret_of
from walle_rt.cloud.service.webhook_queue import MOST_WAITING, Event, WebhookQueue
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


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'queue.db'}")
    made.migrate()
    yield made
    made.close()


def tell(database: Database, *events: Event, hook: Webhook | None = None) -> None:
    queue = WebhookQueue(database)
    with database.writing() as session:
        for each in events:
            queue.add(session, each)
    if hook is not None:
        hook.wake()


def hooked(database: Database, receiver: Receiver, *events: Event) -> Webhook:
    hook = Webhook("https://x", SECRET, WebhookQueue(database), lambda: 0.0, receiver.send, receiver.wait)
    tell(database, *events, hook=hook)
    return hook


def test_a_delivery_is_signed_as_the_standard_says(tmp_path: Path, database: Database) -> None:
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
    hook = Webhook(url + "/hook", secret, WebhookQueue(database), lambda: 1_800_000_000.0)
    try:
        tell(database, event(), hook=hook)
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


def test_what_fails_is_tried_again_later_and_later_with_the_same_id(database: Database) -> None:
    receiver = Receiver(500, 429, 302)
    hook = hooked(database, receiver, event())
    receiver.until(4)
    tell(database, event(1), hook=hook)
    receiver.until(5)
    hook.close()
    ids = [headers["webhook-id"] for _, headers in receiver.got]
    assert len(set(ids[:4])) == 1 and ids[4] != ids[0] and receiver.waits == [1.0, 2.0, 4.0]


def test_one_that_never_works_is_given_up_and_the_next_one_goes(database: Database) -> None:
    receiver = Receiver(*[503] * ATTEMPTS)
    hook = hooked(database, receiver, event(), event(1))
    receiver.until(ATTEMPTS + 1)
    hook.close()
    assert receiver.got[-1][0]["subject"] == "rank-1"
    assert max(receiver.waits) == MOST_WAIT_S and len(receiver.waits) == ATTEMPTS - 1


def test_the_queue_is_bounded_and_what_is_dropped_is_counted(database: Database) -> None:
    dropped = metrics.WEBHOOKS.labels("dropped")._value.get
    before = dropped()
    tell(database, *map(event, range(MOST_WAITING + 500)))
    assert len(WebhookQueue(database)) == MOST_WAITING and dropped() - before == 500
    receiver = Receiver()
    hook = hooked(database, receiver)
    receiver.until(3)
    hook.close()
    assert [told["data"]["n"] for told, _ in receiver.got][:3] == [500, 501, 502]


def test_what_was_not_told_at_the_end_is_told_behind_the_next_start(database: Database) -> None:
    down, up = Receiver(*[503] * 100), Receiver()
    down.wait = lambda seconds: True  # type: ignore[method-assign]  # it is time to end
    hook = hooked(database, down, event(), event(1))
    down.until(1)
    hook.close()
    tell(database, event(2))
    hook = hooked(database, up)
    up.until(3)
    hook.close()
    assert [told["data"]["n"] for told, _ in up.got] == [0, 1, 2]
    assert up.got[0][1]["webhook-id"] == down.got[0][1]["webhook-id"]
    assert len(WebhookQueue(database)) == 0


_ACTS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from walle_rt.cloud.service.server import Server
from walle_rt.cloud.service.state import Settings

server = Server(Settings(Path(sys.argv[1])))
server.releases.act(sys.argv[2], "halt", "odd", "boss")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_server_had_to_tell_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is durable of an act is told, whenever the process dies."""
    folder = tmp_path / "server"
    with opened_server(tmp_path) as local:
        local.done("POST", "/scenarios", json={"name": "shop"})
        publish(local, "1.0.0")
        release = start(local, "1.0.0", EVERYBODY)
    (folder / "webhook.toml").write_text('url = "http://127.0.0.1:9/nobody"')
    run_command([sys.executable, "-c", _ACTS_AND_DIES, folder, release], code=-signal.SIGKILL)
    receiver = Receiver()
    monkeypatch.setattr(Webhook.__init__, "__defaults__", (receiver.send, receiver.wait))
    again = Server(Settings(folder))
    try:
        receiver.until(1)
    finally:
        again.close()
    assert [(told["type"], told["subject"]) for told, _ in receiver.got] == [("release.halt", release)]


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
    watch = Watch(lambda each, session: told.append(each), clock)

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
        local.state.watch._tell = lambda each, session: told.append(each)
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
