"""Operators, their passwords, tokens and roles.

Passwords are hashed with Argon2id; a token is 32 random bytes of which the SHA-256 is kept (nothing to guess,
so nothing to slow down). A session's token counts for 12 hours, an API token for as long as it was made for,
at most a year.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
from dataclasses import dataclass
from enum import IntEnum

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from .tables import Grant, Operator, Token

SESSION_S = 12 * 3600
MOST_API_DAYS = 365
MIN_PASSWORD = 12  # characters; NIST SP 800-63B asks for 8, and no rules about kinds of characters
MAX_PASSWORD = 256
_PREFIX = "walle_"  # lets secret scanners find tokens that were committed by mistake


class Role(IntEnum):
    """What an operator may do in a scenario; each includes the ones before."""

    VIEWER = 1  # read
    AUTHOR = 2  # publish versions
    RELEASER = 3  # start, halt, roll back
    OWNER = 4  # give roles


@dataclass(frozen=True)
class Person:
    """Who a request comes from, and what the token it came with allows."""

    id: int
    name: str
    admin: bool
    one_time: bool
    token_id: int
    roles: dict[str, Role]
    narrowed: bool  # the token allows less than its operator may: it manages no accounts

    def role(self, scenario: str) -> Role | None:
        """In a scenario; None where it is not even visible."""
        return Role.OWNER if self.admin and not self.narrowed else self.roles.get(scenario)


# 46 MiB and one pass of Argon2id, OWASP's first choice; one at a time, or a burst of log-ins would take
# gigabytes.
_HASHER = PasswordHasher(time_cost=1, memory_cost=47104, parallelism=1)
_ONE_AT_A_TIME = threading.Lock()


def _of_nobody() -> str:
    """A hash that no password has: looking one up costs what it costs for an operator, making it nothing."""
    salt, digest = (base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=") for size in (16, 32))
    cost = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"


_NOBODY = _of_nobody()


def hash_password(password: str) -> str:
    """What is kept of a password."""
    with _ONE_AT_A_TIME:
        return _HASHER.hash(password)


def password_matches(kept: str | None, password: str) -> bool:
    """Whether it is the password; takes as long for an operator that does not exist."""
    with _ONE_AT_A_TIME:
        try:
            return _HASHER.verify(kept or _NOBODY, password) and kept is not None
        except (VerificationError, InvalidHashError):
            return False


def digest_of(secret: str) -> str:
    """What is kept of a token or a code."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    """A token: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def new_password() -> str:
    """A one-time password for people: 80 random bits, without characters that look alike."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(4))


def add_operator(session: Session, name: str, hashed: str, now: float, *, admin: bool) -> Operator:
    """A new operator with a one-time password, of which the hash is given: it is not for a transaction."""
    made = Operator(
        name=name,
        password=hashed,
        one_time=True,
        admin=admin,
        disabled=False,
        created=now,
    )
    session.add(made)
    session.flush()
    return made


def make_token(
    session: Session,
    operator: Operator,
    now: float,
    *,
    kind: str = "session",
    name: str = "",
    lasts: float = SESSION_S,
    scenario: str | None = None,
    role: Role | None = None,
) -> tuple[str, Token]:
    """The secret, which is told once, and its row."""
    secret = new_secret()
    row = Token(
        operator_id=operator.id,
        digest=digest_of(secret),
        kind=kind,
        name=name,
        scenario=scenario,
        role=role.name.lower() if role else None,
        created=now,
        expires=now + lasts,
    )
    session.add(row)
    session.flush()
    return secret, row


def person_of(session: Session, secret: str, now: float) -> Person | None:
    """Who a token belongs to; None where it is unknown, over, or its operator disabled.

    A token counts up to the second it expires in, not including it.
    """
    found = session.execute(
        select(Token, Operator)
        .join(Operator, Operator.id == Token.operator_id)
        .where(Token.digest == digest_of(secret), Token.expires > now, Operator.disabled.is_(False))
    ).first()
    if found is None:
        return None
    token, operator = found
    roles = {
        grant.scenario: Role[grant.role.upper()]
        for grant in session.scalars(select(Grant).where(Grant.operator_id == operator.id))
    }
    if token.kind == "api" and token.scenario is not None and token.role is not None:
        most = Role[token.role.upper()]
        held = Role.OWNER if operator.admin else roles.get(token.scenario)
        roles = {} if held is None else {token.scenario: min(held, most)}
    return Person(
        operator.id,
        operator.name,
        operator.admin,
        operator.one_time,
        token.id,
        roles,
        token.scenario is not None,
    )


def end_sessions(session: Session, operator_id: int) -> None:
    """Every token of an operator stops counting."""
    session.execute(delete(Token).where(Token.operator_id == operator_id))


def end_token(session: Session, number: int) -> None:
    """One token stops counting."""
    session.execute(delete(Token).where(Token.id == number))


def forget_expired(session: Session, now: float) -> None:
    """Drop tokens that are over."""
    session.execute(delete(Token).where(Token.expires <= now))
