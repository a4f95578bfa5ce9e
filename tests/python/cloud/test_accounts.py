"""Operators, tokens and roles over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloud.servers import PASSWORD, Desk, opened_desk

from walle_rt.cloud.model.accounts import SESSION_S
from walle_rt.cloud.model.tables import AuditEntry

NEW = "another long password"


@pytest.fixture
def desk(database: str | None, tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path, database) as made:
        yield made


def log_in(desk: Desk, name: str, password: str) -> Any:
    return desk.ask("POST", "/api/v1/login", json={"name": name, "password": password})


def test_the_first_operator_changes_the_printed_password(desk: Desk) -> None:
    first = desk.state.first_password
    assert first is not None
    told = log_in(desk, "admin", first).json()
    assert told["one_time"]
    refused = desk.ask("GET", "/api/v1/operators", told["token"])
    assert refused.status_code == 403 and "one-time password" in refused.json()["given"]
    desk.done("PUT", "/me/password", told["token"], json={"old": first, "new": NEW})
    assert [row["name"] for row in desk.done("GET", "/operators", told["token"])] == ["admin", "boss"]
    assert log_in(desk, "admin", first).status_code == 401
    assert not log_in(desk, "admin", NEW).json()["one_time"]


def test_passwords_that_are_refused(desk: Desk) -> None:
    token = desk.operator("ann")
    short = desk.ask("PUT", "/api/v1/me/password", token, json={"old": PASSWORD, "new": "x" * 11})
    assert short.status_code == 422
    same = desk.ask("PUT", "/api/v1/me/password", token, json={"old": PASSWORD, "new": PASSWORD})
    assert same.status_code == 400
    wrong = desk.ask("PUT", "/api/v1/me/password", token, json={"old": "no", "new": NEW})
    assert wrong.status_code == 403
    desk.done("PUT", "/me/password", token, json={"old": PASSWORD, "new": "x" * 12})


def test_a_session_counts_until_it_is_over(desk: Desk) -> None:
    desk.operator("ann")
    token = log_in(desk, "ann", PASSWORD).json()["token"]
    desk.clock.forward(SESSION_S - 1)
    desk.done("GET", "/me", token)
    desk.clock.forward(1)  # the second it expires in does not count
    assert desk.ask("GET", "/api/v1/me", token).status_code == 401
    again = log_in(desk, "ann", PASSWORD).json()["token"]
    desk.done("POST", "/logout", again)
    assert desk.ask("GET", "/api/v1/me", again).status_code == 401


def test_guessing_is_slowed_down(desk: Desk) -> None:
    desk.operator("ann")
    assert [log_in(desk, "ann", "wrong").status_code for _ in range(5)] == [401] * 5
    waiting = log_in(desk, "ann", PASSWORD)
    assert waiting.status_code == 429 and int(waiting.headers["retry-after"]) >= 0
    assert log_in(desk, "nobody", "wrong").status_code == 401  # others do not wait
    desk.clock.forward(1)
    assert log_in(desk, "ann", PASSWORD).status_code == 200


def test_roles_include_those_before(desk: Desk) -> None:
    desk.done("POST", "/scenarios", json={"name": "shop"})
    desk.done("POST", "/scenarios", json={"name": "maps"})
    ann = desk.operator("ann", shop="author")
    assert desk.done("GET", "/scenarios", ann) == [{"name": "shop", "role": "author"}]
    desk.done("POST", "/scenarios/shop/blobs/missing", ann, json={"digests": []})
    for method, path, given in (
        ("POST", "/scenarios/maps/blobs/missing", {"digests": []}),
        ("POST", "/scenarios/shop/releases", {"task": "rank", "version": "1.0.0"}),
        ("PUT", "/scenarios/shop/roles/ann", {"role": "owner"}),
        ("GET", "/devices", None),
    ):
        reply = desk.ask(method, "/api/v1" + path, ann, json=given)
        assert reply.status_code == 403, (path, reply.text)
    desk.done("PUT", "/scenarios/shop/roles/ann", json={"role": "owner"})
    desk.done("PUT", "/scenarios/shop/roles/ann", ann, json={"role": "viewer"})
    assert (
        desk.ask("POST", "/api/v1/scenarios/shop/blobs/missing", ann, json={"digests": []}).status_code == 403
    )
    desk.done("DELETE", "/scenarios/shop/roles/ann")
    assert desk.done("GET", "/scenarios", ann) == []


def test_an_api_token_is_narrower_than_its_operator(desk: Desk) -> None:
    for name in ("shop", "maps"):
        desk.done("POST", "/scenarios", json={"name": name})
    given = {"name": "ci", "scenario": "shop", "role": "author", "days": 2}
    made = desk.done("POST", "/tokens", json=given)
    token = made["token"]
    assert desk.done("GET", "/me", token) == {
        "name": "boss", "admin": False, "one_time": False, "roles": {"shop": "author"}
    }  # fmt: skip
    assert desk.ask("GET", "/api/v1/operators", token).status_code == 403
    assert desk.ask("GET", "/api/v1/scenarios/maps/tasks", token).status_code == 403
    assert desk.ask("POST", "/api/v1/tokens", token, json=given).status_code == 403
    assert (
        desk.ask("PUT", "/api/v1/me/password", token, json={"old": PASSWORD, "new": NEW}).status_code == 403
    )
    ann = desk.operator("ann", shop="viewer")
    assert desk.ask("POST", "/api/v1/tokens", ann, json=given).status_code == 403
    assert desk.ask("DELETE", f"/api/v1/tokens/{made['id']}", ann).status_code == 404
    desk.clock.forward(2 * 86400)
    assert desk.ask("GET", "/api/v1/me", token).status_code == 401


def test_whoever_is_disabled_is_out_at_once(desk: Desk) -> None:
    ann = desk.operator("ann")
    desk.done("PATCH", "/operators/ann", json={"disabled": True})
    assert desk.ask("GET", "/api/v1/me", ann).status_code == 401
    assert log_in(desk, "ann", PASSWORD).status_code == 401
    assert desk.ask("PATCH", "/api/v1/operators/boss", desk.admin, json={"admin": False}).status_code == 409
    assert desk.ask("PATCH", "/api/v1/operators/zoe", desk.admin, json={}).status_code == 404
    told = desk.done("POST", "/operators/ann/password")
    desk.done("PATCH", "/operators/ann", json={"disabled": False})
    assert log_in(desk, "ann", told["password"]).json()["one_time"]


def test_the_audit_log_shows_every_act_and_every_forgery(desk: Desk) -> None:
    desk.done("POST", "/scenarios", json={"name": "shop"})
    desk.done("POST", "/operators", json={"name": "ann"})
    told = desk.done("GET", "/audit")
    assert [(row["who"], row["act"], row["subject"]) for row in told["entries"]] == [
        ("boss", "operator.add", "ann"),
        ("boss", "scenario.add", "shop"),
        ("walle serve", "operator.add", "admin"),
    ]
    assert told["broken"] is None
    with desk.state.database.writing() as session:
        session.get_one(AuditEntry, 2).subject = "another"
    assert desk.done("GET", "/audit")["broken"] == 2
    with desk.state.database.writing() as session:
        session.get_one(AuditEntry, 2).subject = "shop"
    assert desk.done("GET", "/audit")["broken"] is None
    with desk.state.database.writing() as session:
        session.delete(session.get_one(AuditEntry, 1))
    assert desk.done("GET", "/audit")["broken"] == 1
