"""Operators, tokens and roles over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from argon2 import extract_parameters
from argon2.exceptions import VerifyMismatchError
from cloud.servers import PASSWORD, LocalServer, opened_server

from walle_rt.cloud.model import accounts
from walle_rt.cloud.model.accounts import SESSION_S
from walle_rt.cloud.model.tables import AuditEntry

NEW = "another long password"


@pytest.fixture
def local(database: str | None, tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path, database) as made:
        yield made


def log_in(local: LocalServer, name: str, password: str) -> Any:
    return local.ask("POST", "/api/v1/login", json={"name": name, "password": password})


def test_the_first_operator_changes_the_printed_password(local: LocalServer) -> None:
    first = local.state.first_password
    assert first is not None
    told = log_in(local, "admin", first).json()
    assert told["one_time"]
    refused = local.ask("GET", "/api/v1/operators", told["token"])
    assert refused.status_code == 403 and "one-time password" in refused.json()["given"]
    local.done("PUT", "/me/password", told["token"], json={"old": first, "new": NEW})
    assert [row["name"] for row in local.done("GET", "/operators", told["token"])] == ["admin", "boss"]
    assert log_in(local, "admin", first).status_code == 401
    assert not log_in(local, "admin", NEW).json()["one_time"]


def test_passwords_that_are_refused(local: LocalServer) -> None:
    token = local.operator("ann")
    short = local.ask("PUT", "/api/v1/me/password", token, json={"old": PASSWORD, "new": "x" * 11})
    assert short.status_code == 422
    same = local.ask("PUT", "/api/v1/me/password", token, json={"old": PASSWORD, "new": PASSWORD})
    assert same.status_code == 400
    wrong = local.ask("PUT", "/api/v1/me/password", token, json={"old": "no", "new": NEW})
    assert wrong.status_code == 403
    local.done("PUT", "/me/password", token, json={"old": PASSWORD, "new": "x" * 12})


def test_a_session_counts_until_it_is_over(local: LocalServer) -> None:
    local.operator("ann")
    token = log_in(local, "ann", PASSWORD).json()["token"]
    local.clock.forward(SESSION_S - 1)
    local.done("GET", "/me", token)
    local.clock.forward(1)  # the second it expires in does not count
    assert local.ask("GET", "/api/v1/me", token).status_code == 401
    again = log_in(local, "ann", PASSWORD).json()["token"]
    local.done("POST", "/logout", again)
    assert local.ask("GET", "/api/v1/me", again).status_code == 401


def test_guessing_is_slowed_down(local: LocalServer) -> None:
    local.operator("ann")
    assert [log_in(local, "ann", "wrong").status_code for _ in range(5)] == [401] * 5
    waiting = log_in(local, "ann", PASSWORD)
    assert waiting.status_code == 429 and int(waiting.headers["retry-after"]) >= 0
    assert log_in(local, "nobody", "wrong").status_code == 401  # others do not wait
    local.clock.forward(1)
    assert log_in(local, "ann", PASSWORD).status_code == 200


def test_roles_include_those_before(local: LocalServer) -> None:
    local.done("POST", "/scenarios", json={"name": "shop"})
    local.done("POST", "/scenarios", json={"name": "maps"})
    ann = local.operator("ann", shop="author")
    assert local.done("GET", "/scenarios", ann) == [{"name": "shop", "role": "author"}]
    local.done("POST", "/scenarios/shop/blobs/missing", ann, json={"digests": []})
    for method, path, given in (
        ("POST", "/scenarios/maps/blobs/missing", {"digests": []}),
        ("POST", "/scenarios/shop/releases", {"task": "rank", "version": "1.0.0"}),
        ("PUT", "/scenarios/shop/roles/ann", {"role": "owner"}),
        ("GET", "/devices", None),
    ):
        reply = local.ask(method, "/api/v1" + path, ann, json=given)
        assert reply.status_code == 403, (path, reply.text)
    local.done("PUT", "/scenarios/shop/roles/ann", json={"role": "owner"})
    local.done("PUT", "/scenarios/shop/roles/ann", ann, json={"role": "viewer"})
    assert (
        local.ask("POST", "/api/v1/scenarios/shop/blobs/missing", ann, json={"digests": []}).status_code
        == 403
    )
    local.done("DELETE", "/scenarios/shop/roles/ann")
    assert local.done("GET", "/scenarios", ann) == []


def test_an_api_token_is_narrower_than_its_operator(local: LocalServer) -> None:
    for name in ("shop", "maps"):
        local.done("POST", "/scenarios", json={"name": name})
    given = {"name": "ci", "scenario": "shop", "role": "author", "days": 2}
    made = local.done("POST", "/tokens", json=given)
    token = made["token"]
    assert local.done("GET", "/me", token) == {
        "name": "boss", "admin": False, "one_time": False, "roles": {"shop": "author"}
    }  # fmt: skip
    assert local.ask("GET", "/api/v1/operators", token).status_code == 403
    assert local.ask("GET", "/api/v1/scenarios/maps/tasks", token).status_code == 403
    assert local.ask("POST", "/api/v1/tokens", token, json=given).status_code == 403
    assert (
        local.ask("PUT", "/api/v1/me/password", token, json={"old": PASSWORD, "new": NEW}).status_code == 403
    )
    ann = local.operator("ann", shop="viewer")
    assert local.ask("POST", "/api/v1/tokens", ann, json=given).status_code == 403
    assert local.ask("DELETE", f"/api/v1/tokens/{made['id']}", ann).status_code == 404
    local.clock.forward(2 * 86400)
    assert local.ask("GET", "/api/v1/me", token).status_code == 401


def test_an_api_token_sees_and_ends_no_other(local: LocalServer) -> None:
    for name in ("shop", "maps"):
        local.done("POST", "/scenarios", json={"name": name})
    made = {
        name: local.done("POST", "/tokens", json={"name": name, "scenario": name, "role": "owner"})
        for name in ("shop", "maps")
    }
    mine, other = made["shop"], made["maps"]
    session = min(row["id"] for row in local.done("GET", "/tokens"))
    assert [row["id"] for row in local.done("GET", "/tokens", mine["token"])] == [mine["id"]]
    for number in (other["id"], session):
        assert local.ask("DELETE", f"/api/v1/tokens/{number}", mine["token"]).status_code == 404
    assert local.done("GET", "/me", other["token"])["roles"] == {"maps": "owner"}
    # And of everything that anybody may ask, nothing tells of the other.
    for path in ("/me", "/tokens", "/scenarios", "/epoch", "/version"):
        assert "maps" not in local.ask("GET", f"/api/v1{path}", mine["token"]).text, path
    local.done("DELETE", f"/tokens/{mine['id']}", mine["token"])
    assert local.ask("GET", "/api/v1/me", mine["token"]).status_code == 401
    assert len(local.done("GET", "/tokens")) == 2


def test_a_stolen_session_does_not_lock_its_owner_out(local: LocalServer) -> None:
    local.operator("ann", admin=True)
    mine, stolen = (log_in(local, "ann", PASSWORD).json()["token"] for _ in range(2))
    sessions = [row["id"] for row in local.done("GET", "/tokens", stolen)]
    ended = [local.ask("DELETE", f"/api/v1/tokens/{number}", stolen).status_code for number in sessions[:-1]]
    assert ended == [403] * 2 and local.done("GET", "/me", mine)["name"] == "ann"
    # Its guesses slow down itself.
    wrong = {"old": "a wrong password", "new": NEW}
    told = [local.ask("PUT", "/api/v1/me/password", stolen, json=wrong) for _ in range(8)]
    assert [each.status_code for each in told] == [403] * 5 + [429] * 3
    assert int(told[-1].headers["retry-after"]) >= 1
    assert log_in(local, "ann", PASSWORD).status_code == 200
    # Nor is there a way around the present password, for an administrator's either.
    assert local.ask("POST", "/api/v1/operators/ann/password", stolen).status_code == 409
    assert local.ask("PATCH", "/api/v1/operators/ann", stolen, json={"disabled": True}).status_code == 409
    # Who knows it ends the thief's.
    local.done("PUT", "/me/password", mine, json={"old": PASSWORD, "new": NEW})
    assert local.ask("GET", "/api/v1/me", stolen).status_code == 401
    assert local.done("GET", "/me", mine)["name"] == "ann"
    assert local.ask("DELETE", f"/api/v1/tokens/{sessions[1]}", mine).status_code == 204, "one's own"


def test_whoever_is_disabled_is_out_at_once(local: LocalServer) -> None:
    ann = local.operator("ann")
    local.done("PATCH", "/operators/ann", json={"disabled": True})
    assert local.ask("GET", "/api/v1/me", ann).status_code == 401
    assert log_in(local, "ann", PASSWORD).status_code == 401
    assert local.ask("PATCH", "/api/v1/operators/boss", local.admin, json={"admin": False}).status_code == 409
    assert local.ask("PATCH", "/api/v1/operators/zoe", local.admin, json={}).status_code == 404
    told = local.done("POST", "/operators/ann/password")
    local.done("PATCH", "/operators/ann", json={"disabled": False})
    assert log_in(local, "ann", told["password"]).json()["one_time"]


def test_the_audit_log_shows_every_act_and_every_forgery(local: LocalServer) -> None:
    local.done("POST", "/scenarios", json={"name": "shop"})
    local.done("POST", "/operators", json={"name": "ann"})
    told = local.done("GET", "/audit")
    assert [(row["who"], row["act"], row["subject"]) for row in told["entries"]] == [
        ("boss", "operator.add", "ann"),
        ("boss", "scenario.add", "shop"),
        ("walle serve", "operator.add", "admin"),
    ]
    assert told["broken"] is None
    with local.state.database.writing() as session:
        session.get_one(AuditEntry, 2).subject = "another"
    assert local.done("GET", "/audit")["broken"] == 2
    with local.state.database.writing() as session:
        session.get_one(AuditEntry, 2).subject = "shop"
    assert local.done("GET", "/audit")["broken"] is None
    with local.state.database.writing() as session:
        session.delete(session.get_one(AuditEntry, 1))
    assert local.done("GET", "/audit")["broken"] == 1


def test_looking_up_nobody_costs_what_an_operator_costs() -> None:
    """The hash that stands in for one is read whole, and differs only in that no password has it."""
    with pytest.raises(VerifyMismatchError):
        accounts._HASHER.verify(accounts._NOBODY, "anything")
    kept = extract_parameters(accounts.hash_password("anything"))
    assert extract_parameters(accounts._NOBODY) == kept
    assert not accounts.password_matches(None, "anything")
