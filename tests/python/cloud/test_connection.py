"""What one connection may send, how slowly, and who gets a place: against the protocol that serves."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from cloud.servers import LocalServer, opened_server
from waits import PATIENCE_S, until

from walle_rt.cloud.serve import connection
from walle_rt.cloud.serve.connection import MOST_HEAD, Patient

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with opened_server(tmp_path_factory.mktemp("connection")) as made:
        yield made


@contextlib.contextmanager
def served(app: Any, most: int = 1000) -> Iterator[tuple[int, uvicorn.Server]]:
    """An application behind the protocol of `walle serve`."""
    kind = type("Few", (Patient,), {"most": most})
    config = uvicorn.Config(app, http=kind, ws="none", log_level="critical", lifespan="off")
    server, taken = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield taken.getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)


@pytest.fixture(scope="module")
def port(local: LocalServer) -> Iterator[int]:
    with served(local.app) as (found, _):
        yield found


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def answer(end: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, head lines and body; 0 where the connection ended without."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n" not in got and (piece := end.recv(65536)):
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        lines = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
        while len(body) < int(lines.get("content-length", 0)) and (piece := end.recv(65536)):
            body += piece
        return (int(head.split()[1]) if head else 0), lines, body
    return 0, {}, b""


def send(end: socket.socket, content: bytes) -> int:
    """As much of it as is taken; how much."""
    sent = 0
    with contextlib.suppress(OSError):
        while sent < len(content):
            sent += end.send(content[sent : sent + 65536])
    return sent


def told(port: int, content: bytes) -> tuple[int, dict[str, str], bytes]:
    with connect(port) as end:
        send(end, content)
        return answer(end)


def test_heads_up_to_the_limit(port: int) -> None:
    for head in (GET + b"X: " + b"x" * (MOST_HEAD - 60), GET + b"X-A: 1\r\n" * 1900):
        assert len(head) < MOST_HEAD
        assert told(port, head + b"\r\n\r\n")[0] == 200


@pytest.mark.parametrize(
    "head",
    [
        GET + b"X: " + b"x" * (1 << 20),
        GET + b"X-A: 1\r\n" * 100_000,
        GET + b"x" * (1 << 20),
        b"GET /" + b"x" * (1 << 20),
        b"G" * (1 << 20),
        b"\r\n" * (1 << 20),
    ],
)
def test_heads_beyond_it_are_refused_where_they_pass_it(port: int, head: bytes) -> None:
    with connect(port) as end:
        sent = send(end, head)
        status, lines, body = answer(end)
    # The reply is lost where the sender did not stop: a closed end says so by itself.
    assert status in (431, 400, 0)
    if status:
        assert lines["content-type"] == "application/problem+json" and lines["connection"] == "close"
        assert set(json.loads(body)) == {"error", "given", "expected", "where", "next"}
    else:
        assert sent > MOST_HEAD


def test_a_sender_that_stops_is_told_why(port: int) -> None:
    with connect(port) as end:
        end.sendall(GET + b"X: " + b"x" * MOST_HEAD)
        status, _, body = answer(end)
    assert status == 431 and str(MOST_HEAD) in json.loads(body)["expected"]
    status, lines, body = told(port, b"what is this\r\n\r\n")
    assert status == 400 and lines["content-type"] == "application/problem+json" and json.loads(body)["next"]


CHUNKED = b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "framing",
    [b"1;x=" + b"x" * (1 << 20), b"0\r\n" + b"X-A: 1\r\n" * 100_000, b"0\r\nX: " + b"x" * (1 << 20)],
)
def test_what_is_around_a_body_is_bounded_too(port: int, framing: bytes) -> None:
    """Extensions of chunks, and trailers: head lines under other names."""
    with connect(port) as end:
        send(end, CHUNKED + framing)
        with contextlib.suppress(ConnectionError):
            while end.recv(65536):
                pass
        until(lambda: send(end, b"x") == 0, "it goes on")


def test_a_body_in_chunks_of_a_byte_is_a_body(port: int) -> None:
    body = b"1\r\nx\r\n" * 30_000 + b"0\r\n\r\n"
    assert told(port, CHUNKED + body)[0] == 401, "read to its end, and then the signature was missing"


def test_no_connection_becomes_another_protocol(port: int) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    assert told(port, GET + upgrade + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")[0] == 200


def test_a_body_that_comes_too_slowly_ends(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_S", 0.3)
    monkeypatch.setattr(connection, "_LOOK_S", 0.05)
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    with served(local.app) as (port, _):
        # One that is read on, and one that was answered before it has come.
        for path in (b"/v1/reports", b"/nowhere"):
            with connect(port) as end:
                end.sendall(head % path)
                began, sent = time.monotonic(), 0
                while send(end, b"x") and time.monotonic() - began < PATIENCE_S:
                    sent += 1
                    time.sleep(0.05)
                assert time.monotonic() - began < PATIENCE_S, path
                assert sent >= 4, "within its time it may"
        # One that keeps to the rate is no slow one, however long it takes.
        monkeypatch.setattr(connection, "LEAST_RATE", 1000)
        with connect(port) as end:
            end.sendall(head % b"/v1/reports")
            for _ in range(50):
                assert send(end, b"x" * 2000) == 2000
                time.sleep(0.02)
            assert answer(end)[0] == 401


def test_a_head_that_does_not_come_ends(local: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_S", 0.2)
    with served(local.app) as (port, _), connect(port) as silent, connect(port) as slow:
        slow.sendall(GET)
        for end in (silent, slow):
            with contextlib.suppress(ConnectionError):
                assert end.recv(1) == b""


def test_the_last_places_are_for_the_reserved_lane(local: LocalServer) -> None:
    most = 16
    with served(local.app, most) as (port, server), contextlib.ExitStack() as held:
        open_ = server.server_state.connections
        for _ in range(most - most // 8):
            held.enter_context(connect(port)).sendall(
                b"POST /v1/reports HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"
            )
        until(lambda: len(open_) == most - most // 8)
        assert told(port, GET + b"\r\n")[0] == 200, "it lives"
        status, lines, body = told(port, b"GET /login HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status == 503 and lines["retry-after"] == "1" and json.loads(body)["next"]
        reports = b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        assert told(port, reports)[0] == 401
        kill = b"POST /api/v1/releases/rank-1/kill HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
        assert told(port, kill)[0] == 401


def test_whoever_waits_longest_with_nothing_gives_way(local: LocalServer) -> None:
    most = 16
    with served(local.app, most) as (port, server), contextlib.ExitStack() as held:
        open_ = server.server_state.connections
        idle = []
        for number in range(most):
            idle.append(held.enter_context(connect(port)))
            until(lambda: len(open_) == number + 1)  # noqa: B023
        reports = b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        assert told(port, reports)[0] == 401
        with contextlib.suppress(ConnectionError):
            assert idle[0].recv(1) == b"", "the first that came"
        idle[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            idle[-1].recv(1)


def test_places_are_no_more_than_the_system_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(connection.resource, "setrlimit", lambda _, limits: given.append(limits))
    for limits, expected in (((1024, 1 << 20), 4096), ((1024, 1024), 768), ((64, 64), 16)):
        monkeypatch.setattr(connection.resource, "getrlimit", lambda _, limits=limits: limits)
        assert connection.places() == expected
    assert given == [(4096 + 256, 1 << 20)]
