"""Authorization: who asks, and whether they may.

A token comes as ``Authorization: Bearer ...`` or, from the dashboard, as the cookie ``walle``, which browsers
send to this site alone (``SameSite=Strict``) and scripts cannot read. 401: no token that counts. 403: it
counts, and does not allow this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from ..model.accounts import Person, Role, person_of
from ..service.server import Server
from .errors import RefusalError

COOKIE = "walle"
bearer = HTTPBearer(auto_error=False, description="A token of /api/v1/login or /api/v1/tokens")


def state_of(request: Request) -> Server:
    """The server that a request came to."""
    state: Server = request.app.state.server
    return state


async def server_of(request: Request) -> Server:
    """The same as a dependency. Not a plain function: those wait for a thread, which the lane must not."""
    return state_of(request)


State = Annotated[Server, Depends(server_of)]


def anyone(request: Request, state: State, given: Annotated[Any, Depends(bearer)]) -> Person:
    """Whoever has a token that counts, even with a one-time password."""
    secret = given.credentials if given else request.cookies.get(COOKIE, "")
    with state.database.reading() as session:
        person = person_of(session, secret, state.now()) if secret else None
    if person is None:
        given_text = "a token that does not count" if secret else "no token"
        raise RefusalError(
            401,
            given_text,
            "Authorization: Bearer TOKEN",
            request.url.path,
            "log in: walle operator login",
            WWW_Authenticate="Bearer",
        )
    request.state.person = person.name
    return person


def operator(request: Request, person: Annotated[Person, Depends(anyone)]) -> Person:
    """Whoever has a token that counts, and a password of their own."""
    if person.one_time:
        raise RefusalError(
            403,
            "a one-time password",
            "one of your own first",
            request.url.path,
            "change it: walle operator password",
        )
    return person


def admin(request: Request, person: Annotated[Person, Depends(operator)]) -> Person:
    """Who manages the server itself."""
    if not person.admin or person.narrowed:
        raise RefusalError(
            403, f"operator '{person.name}'", "an administrator", request.url.path, "ask one of them"
        )
    return person


def need(person: Person, scenario: str, least: Role) -> None:
    """Refuse who has less than this role in the scenario; whoever has none cannot tell whether it exists."""
    held = person.role(scenario)
    if held is None or held < least:
        raise RefusalError(
            403,
            f"operator '{person.name}' with role '{held.name.lower() if held else 'none'}'",
            f"role '{least.name.lower()}' in scenario '{scenario}'",
            f"scenario '{scenario}'",
            "ask one of its owners",
        )


def in_scenario(least: Role) -> Callable[..., Person]:
    """A dependency: at least this role in the scenario that the path names."""

    def dependency(scenario: str, person: Annotated[Person, Depends(operator)]) -> Person:
        need(person, scenario, least)
        return person

    return dependency


async def in_lane(request: Request, state: State, given: Annotated[Any, Depends(bearer)]) -> Person:
    """As ``operator``, in the reserved lane: of routes that must answer under a flood."""
    return await state.lane.run(lambda: operator(request, anyone(request, state, given)))


Anyone = Annotated[Person, Depends(anyone)]
Somebody = Annotated[Person, Depends(operator)]
InLane = Annotated[Person, Depends(in_lane)]
Admin = Annotated[Person, Depends(admin)]
Viewer = Annotated[Person, Depends(in_scenario(Role.VIEWER))]
Author = Annotated[Person, Depends(in_scenario(Role.AUTHOR))]
Releaser = Annotated[Person, Depends(in_scenario(Role.RELEASER))]
Owner = Annotated[Person, Depends(in_scenario(Role.OWNER))]
