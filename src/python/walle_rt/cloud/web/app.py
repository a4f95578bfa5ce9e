"""Application: who answers which path, with limits, figures and a log line around each request."""

from __future__ import annotations

import json
import logging
import math
import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from pydantic import BaseModel

from ... import __version__
from .. import metrics
from ..service.expiry import worst
from ..service.server import Server
from ..trust import Level
from . import accounts, cloud_phase, devices, errors, pages, releases, scenarios, tables
from .auth import Somebody, operator, state_of
from .device_path import PREFIX, DevicePath
from .git import PREFIX as GIT
from .git import git_app
from .guard import (
    App,
    BodyTooLargeError,
    GoneError,
    Guard,
    LateError,
    Receive,
    Scope,
    Send,
    answer,
    writes_much,
)

LOG = logging.getLogger("walle_rt.cloud")
LOGINS = ("/api/v1/login", "/login")

_SAFETY = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not no-referrer: with that, browsers send forms of our own pages with `Origin: null`, which are refused.
    (b"referrer-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'"),
]

root = APIRouter(tags=["server"])


class Health(BaseModel):
    """``signatures``: ok, soon, urgent or over; ``days`` until the first of those that are not ok expires."""

    status: str
    signatures: str
    days: float | None


@root.get("/healthz")
async def health(request: Request) -> Health:
    """Whether the server answers, and how long devices go on believing it: both are public anyway.

    It waits for no thread: who watches a server that is flooded must not take it for one that hangs.
    """
    found = state_of(request).expiries.found
    days = min((each.days for each in found if each.level != Level.OK), default=None)
    return Health(status="ok", signatures=worst(found), days=None if days is None else round(days, 1))


@root.get("/metrics", response_class=Response)
def figures(_: Annotated[Any, Depends(operator)]) -> Response:
    """Figures for Prometheus, whose ``authorization`` setting takes an API token."""
    return Response(metrics.text(), media_type="text/plain; version=0.0.4")


@root.get("/api/v1/version")
def version(_: Somebody) -> dict[str, str]:
    """What runs here."""
    return {"walle_rt": __version__}


def build_admin(state: Server) -> FastAPI:
    """The admin API and the dashboard."""
    app = FastAPI(
        title="walle_rt",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page loads scripts from another host
        redoc_url=None,
    )
    app.state.server = state
    errors.install(app, pages.problem)
    app.include_router(root)
    for module in (accounts, scenarios, releases, devices, tables, cloud_phase):
        app.include_router(module.router, prefix="/api/v1")
    app.include_router(pages.router)
    return app


def build(state: Server) -> App:
    """Everything, as ``walle serve`` runs it."""
    app = Front(build_admin(state), DevicePath(state), git_app(state), state)
    return Guard(Watched(app), state.settings.max_body, state.settings.max_upload)


class Front:
    """Hands a request to the device's path, to git or to the admin's."""

    def __init__(self, admin: Any, device: App, git: App, state: Server) -> None:
        """Keep them."""
        self._admin, self._device, self._git = admin, device, git
        self._passwords, self._reserve = state.passwords, state.reserve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._admin(scope, receive, send)
        elif scope["path"].startswith(PREFIX):
            await self._device(scope, receive, send)
        elif writes_much(scope["method"], scope["path"]) and self._reserve.low():
            await answer(
                send,
                507,
                "a file, for which the disk is too full",
                "room on the server's disk",
                "ask who runs the server to make room",
            )
        elif scope["path"].startswith(GIT):
            below = {**scope, "path": scope["path"].removeprefix(GIT[:-1]), "root_path": ""}
            await self._git(below, receive, send)
        elif self._sent_away(scope):
            # Before anything is read of it: a log-in that has no place costs a tenth of one that has.
            retry = str(math.ceil(self._passwords.retry_s()))
            given, expected = "too many passwords that wait to be checked", "fewer log-ins"
            headers = [(b"retry-after", retry.encode())]
            await answer(send, 429, given, expected, f"wait {retry} s", headers)
        else:
            await self._admin(scope, receive, send)

    def _sent_away(self, scope: Scope) -> bool:
        if scope["method"] != "POST" or scope["path"] not in LOGINS:
            return False
        return self._passwords.full((scope.get("client") or ("", 0))[0])


class Watched:
    """Counts and logs requests, and answers where everything else has failed."""

    def __init__(self, app: App) -> None:
        """Keep the application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        device = scope["path"].startswith(PREFIX)

        async def noted(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if not device:
                    message["headers"] = [*message["headers"], *_SAFETY]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            status = await _failed(scope, error, status, noted)
        finally:
            took = time.perf_counter() - began
            area = "device" if device else "admin"
            metrics.REQUESTS.labels(area, str(status)).inc()
            metrics.SECONDS.labels(area).observe(took)
            if not device or status >= 400:  # devices ask too often for a line each
                _log(scope, status, took)


async def _failed(scope: Scope, error: Exception, status: int, send: Send) -> int:
    """What nobody foresaw: a number for the log, where the error stands; nothing of it in the answer."""
    if isinstance(error, BodyTooLargeError | LateError | GoneError):
        raise error
    trace = errors.trace_of(scope)
    LOG.exception("request failed", exc_info=error, extra={"trace": trace, "path": scope["path"]})
    if status:
        return status  # it was answered, or the reply had begun and ends short of its length
    text = json.dumps(errors.unforeseen(trace)).encode()
    headers = [(b"content-type", errors.PROBLEM.encode()), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": text})
    return 500


def _log(scope: Scope, status: int, took: float) -> None:
    client = scope.get("client") or ("", 0)
    LOG.info(
        "request",
        extra={
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(took * 1000, 2),
            "client": client[0],
            "operator": scope.get("state", {}).get("person"),
        },
    )
