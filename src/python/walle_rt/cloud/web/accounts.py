"""Admin API: log-in, operators, roles, tokens."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from ..._core import names
from ..model import accounts
from ..model.accounts import MAX_PASSWORD, MIN_PASSWORD, MOST_API_DAYS, Person, Role
from ..model.audit import append
from ..model.tables import Grant, Operator, Scenario, Token
from ..service.server import Server
from .auth import Admin, Anyone, Owner, Somebody, State
from .errors import RefusalError, conflict, not_found
from .named import LoginName, ScenarioName, TokenName

router = APIRouter(tags=["accounts"])

RoleName = Literal["viewer", "author", "releaser", "owner"]
Number = Annotated[int, Path(ge=1, le=2**53)]


class Login(BaseModel):
    """Name and password."""

    name: str = Field(max_length=names.longest("login"))
    password: str = Field(max_length=MAX_PASSWORD)


class Session_(BaseModel):  # noqa: N801  (SQLAlchemy has a Session)
    """A token and how long it counts."""

    token: str
    expires: float
    one_time: bool


class NewPassword(BaseModel):
    """The present password, and the next."""

    old: str = Field(max_length=MAX_PASSWORD)
    new: str = Field(min_length=MIN_PASSWORD, max_length=MAX_PASSWORD)


class Me(BaseModel):
    """Who a token stands for."""

    name: str
    admin: bool
    one_time: bool
    roles: dict[str, RoleName]


class OperatorRow(BaseModel):
    """One operator."""

    name: str
    admin: bool
    disabled: bool
    one_time: bool
    roles: dict[str, str]


class NewOperator(BaseModel):
    """An operator to add."""

    name: LoginName
    admin: bool = False


class OneTimePassword(BaseModel):
    """Told once."""

    name: str
    password: str


class Change(BaseModel):
    """What to change of an operator; what is left out stays."""

    disabled: bool | None = None
    admin: bool | None = None


class Granted(BaseModel):
    """The role to give."""

    role: RoleName


class NewToken(BaseModel):
    """A token for a program: at most as much as its operator may, and no accounts."""

    name: TokenName
    scenario: ScenarioName
    role: RoleName = "author"
    days: int = Field(default=90, ge=1, le=MOST_API_DAYS)


class TokenRow(BaseModel):
    """A token of one's own, without its secret."""

    id: int
    kind: str
    name: str
    scenario: str | None
    role: str | None
    expires: float


class MadeToken(TokenRow):
    """With the secret, which is told once."""

    token: str


class Attempts:
    """Slows down who guesses: after five failures in a row a name waits, twice as long each time.

    The name waits, not the address: whoever guesses has many addresses. So somebody may keep an operator out
    for as long as they keep trying; sessions that are open go on.
    """

    FREE = 5
    MOST_S = 300.0
    MOST_NAMES = 10_000  # names that nobody has are made up without end

    def __init__(self) -> None:
        """Nobody has failed yet."""
        self._lock = threading.Lock()
        self._failed: dict[str, tuple[int, float]] = {}

    def wait_s(self, name: str, now: float) -> float:
        """How long this name still waits; counts the attempt as failed until ``passed``."""
        with self._lock:
            count, until = self._failed.get(name, (0, 0.0))
            if now < until:
                return until - now
            if len(self._failed) >= self.MOST_NAMES:
                self._failed.clear()
            count += 1
            more = min(self.MOST_S, 2.0 ** (count - self.FREE)) if count >= self.FREE else 0.0
            self._failed[name] = (count, now + more)
            return 0.0

    def passed(self, name: str) -> None:
        """It was the right password."""
        with self._lock:
            self._failed.pop(name, None)


_ATTEMPTS = Attempts()


def log_in(state: Server, name: str, password: str, attempts: Attempts = _ATTEMPTS) -> Session_:
    """A session for whoever knows the password.

    Raises:
        RefusalError: 401 wrong name or password, 429 too many attempts.
    """
    where = "/api/v1/login"
    wait = attempts.wait_s(f"{id(state)} {name}", state.now())
    if wait > 0:
        raise RefusalError(
            429,
            "too many wrong passwords",
            "fewer attempts",
            where,
            f"wait {wait:.0f} s",
            Retry_After=f"{math.ceil(wait)}",
        )
    with state.database.reading() as session:
        found = session.scalars(select(Operator).where(Operator.name == name)).first()
    right = accounts.password_matches(found.password if found else None, password)
    if found is None or not right or found.disabled:
        raise RefusalError(
            401, "a name or password that is wrong", "those of an operator", where, "try again"
        )
    attempts.passed(f"{id(state)} {name}")
    with state.database.writing() as session:
        accounts.forget_expired(session, state.now())
        secret, row = accounts.make_token(session, found, state.now())
    return Session_(token=secret, expires=row.expires, one_time=found.one_time)


async def queued_log_in(state: Server, client: str, name: str, password: str) -> Session_:
    """As ``log_in``, whose turn comes in the queue of passwords.

    Raises:
        BusyError: too many wait.
    """
    return await asyncio.wrap_future(state.passwords.submit(client, lambda: log_in(state, name, password)))


@router.post("/login", operation_id="login")
async def login(given: Login, request: Request, state: State) -> Session_:
    """A token for name and password; the one route that asks for none."""
    return await queued_log_in(state, client_of(request), given.name, given.password)


@router.post("/logout", status_code=204)
def logout(person: Anyone, state: State) -> None:
    """The token of this request stops counting."""
    with state.database.writing() as session:
        accounts.end_token(session, person.token_id)


@router.get("/me")
def me(person: Anyone) -> Me:
    """Who the token stands for."""
    roles: dict[str, RoleName] = {name: _role_name(role) for name, role in person.roles.items()}
    return Me(
        name=person.name, admin=person.admin and not person.narrowed, one_time=person.one_time, roles=roles
    )


@router.put("/me/password", status_code=204)
def change_password(given: NewPassword, person: Anyone, state: State) -> None:
    """Another password; every other session ends, and every API token."""
    if person.narrowed:
        raise RefusalError(
            403, "an API token", "a session", "/api/v1/me/password", "log in with the password"
        )
    # The session waits, not the name: whoever has stolen one must not keep its owner from logging in.
    session_ = f"{id(state)} token {person.token_id}"
    wait = _ATTEMPTS.wait_s(session_, state.now())
    if wait > 0:
        raise RefusalError(
            429,
            "too many wrong passwords",
            "fewer attempts",
            "password",
            f"wait {wait:.0f} s",
            Retry_After=f"{math.ceil(wait)}",
        )
    with state.database.reading() as session:
        kept = session.get_one(Operator, person.id).password
    if not state.passwords.run(session_, lambda: accounts.password_matches(kept, given.old)):
        raise RefusalError(403, "a wrong password", "the present one", "old", "try again")
    _ATTEMPTS.passed(session_)
    if given.new == given.old:
        raise RefusalError(400, "the password of before", "another one", "new", "choose another one")
    hashed = state.passwords.run(session_, lambda: accounts.hash_password(given.new))
    with state.database.writing() as session:
        row = session.get_one(Operator, person.id)
        row.password, row.one_time = hashed, False
        others = Token.operator_id == person.id
        session.execute(delete(Token).where(others, Token.id != person.token_id))
        append(session, state.now(), person.name, "password.change", person.name)


@router.get("/operators")
def list_operators(_: Admin, state: State) -> list[OperatorRow]:
    """All operators and their roles."""
    with state.database.reading() as session:
        grants: dict[int, dict[str, str]] = {}
        for grant in session.scalars(select(Grant)):
            grants.setdefault(grant.operator_id, {})[grant.scenario] = grant.role
        return [
            OperatorRow(
                name=row.name,
                admin=row.admin,
                disabled=row.disabled,
                one_time=row.one_time,
                roles=grants.get(row.id, {}),
            )
            for row in session.scalars(select(Operator).order_by(Operator.name))
        ]


@router.post("/operators", status_code=201)
def add_operator(given: NewOperator, person: Admin, state: State) -> OneTimePassword:
    """An operator with a one-time password."""
    password = accounts.new_password()
    hashed = state.passwords.run(person.name, lambda: accounts.hash_password(password))
    with state.database.writing() as session:
        if session.scalars(select(Operator).where(Operator.name == given.name)).first():
            raise conflict(f"operator '{given.name}'", "a new name", "operators", "choose another name")
        accounts.add_operator(session, given.name, hashed, state.now(), admin=given.admin)
        append(session, state.now(), person.name, "operator.add", given.name, {"admin": given.admin})
    return OneTimePassword(name=given.name, password=password)


@router.patch("/operators/{name}", status_code=204)
def change_operator(name: LoginName, given: Change, person: Admin, state: State) -> None:
    """Let an operator in or not, give or take an administrator's rights; sessions end."""
    if name == person.name:
        raise conflict("yourself", "another operator", "operators", "ask another administrator")
    with state.database.writing() as session:
        row = _operator(session, name)
        if given.disabled is not None:
            row.disabled = given.disabled
        if given.admin is not None:
            row.admin = given.admin
        accounts.end_sessions(session, row.id)
        detail = given.model_dump(exclude_none=True)
        append(session, state.now(), person.name, "operator.change", name, detail)


@router.post("/operators/{name}/password")
def reset_password(name: LoginName, person: Admin, state: State) -> OneTimePassword:
    """A new one-time password, for somebody who lost theirs; sessions end."""
    if name == person.name:  # or a session would be enough for what takes the present password
        raise conflict("yourself", "another operator", "operators", "change yours: walle operator password")
    password = accounts.new_password()
    hashed = state.passwords.run(person.name, lambda: accounts.hash_password(password))
    with state.database.writing() as session:
        row = _operator(session, name)
        row.password, row.one_time = hashed, True
        accounts.end_sessions(session, row.id)
        append(session, state.now(), person.name, "password.reset", name)
    return OneTimePassword(name=name, password=password)


@router.put("/scenarios/{scenario}/roles/{name}", status_code=204)
def give_role(scenario: ScenarioName, name: LoginName, given: Granted, person: Owner, state: State) -> None:
    """Give an operator a role in a scenario, in the place of the one of before."""
    with state.database.writing() as session:
        if session.get(Scenario, scenario) is None:
            raise not_found(f"scenario '{scenario}'", "scenarios", "add it first")
        row = _operator(session, name)
        session.merge(Grant(operator_id=row.id, scenario=scenario, role=given.role))
        append(session, state.now(), person.name, "role.give", f"{scenario} {name}", {"role": given.role})


@router.delete("/scenarios/{scenario}/roles/{name}", status_code=204)
def take_role(scenario: ScenarioName, name: LoginName, person: Owner, state: State) -> None:
    """Take an operator's role in a scenario away."""
    with state.database.writing() as session:
        row = session.get(Grant, (_operator(session, name).id, scenario))
        if row is None:
            raise not_found(f"a role of '{name}'", f"scenario '{scenario}'", "see /api/v1/operators")
        session.delete(row)
        append(session, state.now(), person.name, "role.take", f"{scenario} {name}")


@router.get("/tokens")
def list_tokens(person: Somebody, state: State) -> list[TokenRow]:
    """One's own tokens; an API token sees itself alone."""
    chosen = select(Token).where(Token.operator_id == person.id).order_by(Token.id)
    if person.narrowed:
        chosen = chosen.where(Token.id == person.token_id)
    with state.database.reading() as session:
        rows = session.scalars(chosen)
        return [TokenRow.model_validate(row, from_attributes=True) for row in rows]


@router.post("/tokens", status_code=201)
def make_token(given: NewToken, person: Somebody, state: State) -> MadeToken:
    """A token for a program (CI)."""
    role = Role[given.role.upper()]
    held = person.role(given.scenario)
    if person.narrowed or held is None or held < role:
        raise RefusalError(
            403,
            f"a token for role '{given.role}' in '{given.scenario}'",
            "at most your own role, from a session",
            "tokens",
            "ask an owner of the scenario",
        )
    with state.database.writing() as session:
        if session.get(Scenario, given.scenario) is None:
            raise not_found(f"scenario '{given.scenario}'", "tokens", "add it first")
        secret, row = accounts.make_token(
            session,
            session.get_one(Operator, person.id),
            state.now(),
            kind="api",
            name=given.name,
            lasts=given.days * 86400.0,
            scenario=given.scenario,
            role=role,
        )
        detail = {"scenario": given.scenario, "role": given.role, "days": given.days}
        append(session, state.now(), person.name, "token.make", given.name, detail)
        kept = TokenRow.model_validate(row, from_attributes=True)
    return MadeToken(token=secret, **kept.model_dump())


@router.delete("/tokens/{number}", status_code=204)
def end_token(number: Number, person: Somebody, state: State) -> None:
    """One of one's own tokens stops counting; an API token may end itself alone.

    Other sessions end with a change of the password, which takes the present one: whoever has stolen a
    session must not be able to end its owner's.
    """
    with state.database.writing() as session:
        row = session.get(Token, number)
        itself = number == person.token_id
        if row is None or row.operator_id != person.id or (person.narrowed and not itself):
            raise not_found(f"token {number}", "tokens", "see /api/v1/tokens")
        if row.kind == "session" and not itself:
            raise RefusalError(
                403,
                "another session, without the password",
                "an API token, or this session",
                "tokens",
                "change the password, which ends all others: walle operator password",
            )
        session.delete(row)
        append(session, state.now(), person.name, "token.end", row.name)


def client_of(request: Request) -> str:
    """Whom a request is counted for before anybody has proved who they are."""
    return request.client.host if request.client else ""


def _operator(session: Session, name: str) -> Operator:
    row = session.scalars(select(Operator).where(Operator.name == name)).first()
    if row is None:
        raise not_found(f"operator '{name}'", "operators", "see /api/v1/operators")
    return row


def _role_name(role: Role) -> RoleName:
    names: dict[Role, RoleName] = {
        Role.VIEWER: "viewer",
        Role.AUTHOR: "author",
        Role.RELEASER: "releaser",
        Role.OWNER: "owner",
    }
    return names[role]


__all__ = ["Person", "client_of", "log_in", "queued_log_in", "router"]
