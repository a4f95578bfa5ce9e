"""Every route of the OpenAPI document is refused without a token, with a wrong one, and without the role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from cloud.servers import LocalServer, opened_server

OPEN = {("POST", "/api/v1/login"), ("GET", "/healthz")}
# Whoever has any token of their own may ask these; each tells of the asker, or of what the asker may see.
FOR_ANYBODY = {
    ("POST", "/api/v1/logout"),
    ("GET", "/api/v1/me"),
    ("PUT", "/api/v1/me/password"),
    ("GET", "/api/v1/tokens"),
    ("GET", "/api/v1/scenarios"),
    ("GET", "/api/v1/epoch"),
    ("GET", "/api/v1/version"),
    ("GET", "/metrics"),
}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with opened_server(tmp_path_factory.mktemp("routes")) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def routes(local: LocalServer) -> list[tuple[str, str]]:
    paths = local.ask("GET", "/api/v1/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def filled(path: str) -> str:
    known = {"scenario": "shop", "act": "halt", "digest": "0" * 64, "version": "1.0.0"}
    known["number"] = "rank-1" if "/releases/" in path else "1"
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found.group(1), "thing"), path)


def body(method: str, path: str) -> dict[str, Any]:
    if method not in ("POST", "PUT", "PATCH"):
        return {}
    some = {
        "/tokens": {"name": "ci", "scenario": "shop"},
        "/scenarios": {"name": "new"},
        "/operators": {"name": "new"},
        "/missing": {"digests": []},
        "/releases": {"task": "rank", "version": "1.0.0"},
        "/roles/{name}": {"role": "viewer"},
        "/me/password": {"old": "x", "new": "y" * 12},
    }
    return {"json": next((given for end, given in some.items() if path.endswith(end)), {})}


def test_there_are_routes(local: LocalServer) -> None:
    found = routes(local)
    assert len(found) > 30 and set(found) >= OPEN | FOR_ANYBODY


def test_nothing_without_a_token(local: LocalServer) -> None:
    ended = local.operator("over")
    local.done("POST", "/logout", ended)
    for method, path in routes(local):
        if (method, path) in OPEN:
            continue
        for token in (None, "", "wrong", "walle_" + "x" * 43, ended, "x" * 8000):
            reply = local.ask(method, filled(path), token, **body(method, path))
            assert reply.status_code == 401, (method, path, token and token[:20], reply.status_code)
            assert reply.headers["www-authenticate"] == "Bearer"
            assert set(reply.json()) == {"error", "given", "expected", "where", "next"}


def test_nothing_without_a_role(local: LocalServer) -> None:
    nobody = local.operator("nobody")
    narrow = local.done("POST", "/tokens", json={"name": "ci", "scenario": "shop", "role": "viewer"})["token"]
    viewer = local.operator("looks", shop="viewer")
    for method, path in routes(local):
        if (method, path) in OPEN | FOR_ANYBODY:
            continue
        reply = local.ask(method, filled(path), nobody, **body(method, path))
        # A token of one's own that is not there is the one thing that one may ask for in vain.
        expected = 404 if (method, path) == ("DELETE", "/api/v1/tokens/{number}") else 403
        assert reply.status_code == expected, (method, path, reply.status_code, reply.text)
        if method != "GET" and expected == 403:
            for token in (narrow, viewer):
                reply = local.ask(method, filled(path), token, **body(method, path))
                assert reply.status_code == 403 or path == "/api/v1/tokens", (method, path, reply.text)


def test_a_one_time_password_lets_nobody_in(local: LocalServer) -> None:
    fresh = local.operator("fresh", admin=True, one_time=True)
    may = {("POST", "/api/v1/logout"), ("GET", "/api/v1/me"), ("PUT", "/api/v1/me/password")}
    for method, path in routes(local):
        if (method, path) not in OPEN | may:
            assert local.ask(method, filled(path), fresh, **body(method, path)).status_code == 403, (
                method,
                path,
            )


def test_the_document_shows_no_secret_and_the_pages_no_script(local: LocalServer) -> None:
    text = local.ask("GET", "/api/v1/openapi.json").text
    assert "walle_" not in text.replace("walle_rt", "")
    page = local.ask("GET", "/login")
    assert "script" not in page.text and "default-src 'none'" in page.headers["content-security-policy"]


def test_figures_for_prometheus(local: LocalServer) -> None:
    local.ask("GET", "/v1/tuf/metadata/timestamp.json")
    text = local.ask("GET", "/metrics", local.admin).text
    assert re.search(r'walle_requests_total\{area="device",status="200"\} [1-9]', text)
    assert "walle_epoch " in text and "walle_request_seconds_bucket" in text
