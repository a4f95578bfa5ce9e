"""Errors as answers: problem+json everywhere, a trace that stands in the log, and never a stack."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import LocalServer, opened_server
from cloud.test_connection import answer, connect, served

from walle_rt.cloud.web import guard

PROBLEM = "application/problem+json"
PARTS = {"error", "given", "expected", "where", "next"}
SECRET = "what nobody is to see"


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def test_what_is_refused(local: LocalServer) -> None:
    """One of each way in which a request is refused."""
    device = {"content": b"x"}
    for method, path, status, more in (
        ("GET", "/api/v1/me", 401, {}),
        ("GET", "/nowhere", 404, {}),
        ("PUT", "/healthz", 405, {}),
        ("POST", "/api/v1/login", 422, {"json": {}}),
        ("POST", "/api/v1/login", 401, {"json": {"name": "nobody", "password": "x"}}),
        ("POST", "/api/v1/login", 413, {"content": b"x" * (2 << 20)}),
        ("GET", "/v1/nowhere", 404, {}),
        ("GET", "/v1/blobs/" + "0" * 64, 404, {}),
        ("PUT", "/v1/reports", 405, device),
        ("POST", "/v1/reports", 401, device),
        ("POST", "/v1/enrol", 400, device),
        ("POST", "/v1/enrol", 403, {"json": {"code": "wrongwrongwrong", "csr": "x"}}),
    ):  # fmt: skip
        told = local.ask(method, path, **more)
        assert (told.status_code, told.headers["content-type"]) == (status, PROBLEM), (path, told.text)
        assert set(told.json()) == PARTS, path


class Broken:
    """Raises, whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(SECRET)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/me"),
        ("GET", "/metrics"),
        ("POST", "/api/v1/releases/rank-1/kill"),
        ("POST", "/api/v1/login"),
        ("GET", "/git/shop.git/info/refs?service=git-upload-pack"),
        ("POST", "/v1/enrol"),
    ],
)
def test_what_nobody_foresaw(
    local: LocalServer, method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Every application behind the front, with a database that fails in a way of its own."""
    kept, local.state.database = local.state.database, Broken()  # type: ignore[assignment]
    body = {"code": "c" * 24, "csr": "x", "name": "ann", "password": "x", "reason": "y"}
    more = {"json": body} if method == "POST" else {}
    try:
        with caplog.at_level(logging.ERROR, "walle_rt.cloud"):
            told = local.ask(method, path, "walle_x", **more)
    finally:
        local.state.database = kept
    assert (told.status_code, told.headers["content-type"]) == (500, PROBLEM), told.text
    said = told.json()
    assert set(said) == {*PARTS, "trace"} and len(said["trace"]) == 16
    assert SECRET not in told.text and "Traceback" not in told.text and "ZeroDivision" not in told.text
    [line] = [each for each in caplog.records if getattr(each, "trace", "") == said["trace"]]
    assert line.exc_info is not None and SECRET in str(line.exc_info[1])


def test_a_browser_gets_a_page_with_the_trace(local: LocalServer) -> None:
    kept, local.state.database = local.state.database, Broken()  # type: ignore[assignment]
    try:
        told = local.ask("GET", "/", headers={"Accept": "text/html", "Cookie": "walle=x"})
    finally:
        local.state.database = kept
    assert told.status_code == 500 and "trace" in told.text and SECRET not in told.text


def test_a_body_that_does_not_come_is_408(local: LocalServer) -> None:
    app = guard.Guard(local.app, 1 << 20, 1 << 20, idle_s=0.2)
    with served(app) as (port, _):
        for path in (b"/v1/reports", b"/api/v1/login", b"/nowhere"):
            head = (
                b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
            )
            with connect(port) as end:
                end.sendall(head % path + b"{")
                status, lines, body = answer(end)
            if path != b"/nowhere":  # which waits for no body
                assert (status, lines["content-type"]) == (408, PROBLEM), (path, body)
            assert set(json.loads(body)) == PARTS


def test_a_timeout_of_ours_is_no_slow_client(local: LocalServer) -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise TimeoutError(SECRET)

    from walle_rt.cloud.web.app import Watched

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "client": None}
    asyncio.run(guard.Guard(Watched(fails), 1, 1)(scope, None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 500 and json.loads(sent[1]["body"])["trace"]
