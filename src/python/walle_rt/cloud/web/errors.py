"""Errors as answers: JSON with the four parts of every error of walle_rt, or a page that says them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from ... import errors
from ..service.passwords import BusyError

# A command line's mistake is a 400; what the server lacks is a 409: asking again is of no use until somebody
# acts.
_STATUS: list[tuple[type[errors.Error], int]] = [
    (errors.ArgumentError, 400),
    (errors.TaskError, 400),
    (errors.ModelError, 400),
    (errors.ResourceError, 409),
    (errors.NetworkError, 503),
    (errors.DeadlineError, 503),
]


PROBLEM = "application/problem+json"  # RFC 9457; its members are our own


class ProblemResponse(JSONResponse):
    """An error's JSON."""

    media_type = PROBLEM


class Problem(BaseModel):
    """What went wrong: what was given, what was expected, where, and one next step."""

    error: str
    given: str
    expected: str
    where: str
    next: str


class RefusalError(Exception):
    """An answer with a status of its own."""

    def __init__(
        self, status: int, given: str, expected: str, where: str, next_step: str, **headers: str
    ) -> None:
        """Keep the parts."""
        super().__init__(f"{given}; expected {expected}")
        self.status, self.headers = status, {k.replace("_", "-"): v for k, v in headers.items()}
        self.given, self.expected, self.where, self.next_step = given, expected, where, next_step


def body(error: str, given: str, expected: str, where: str, next_step: str) -> dict[str, str]:
    """The JSON of a problem."""
    return {"error": error, "given": given, "expected": expected, "where": where, "next": next_step}


def unforeseen(trace: str) -> dict[str, str]:
    """What is said of an error that nobody foresaw: where it stands in the log, and nothing of it."""
    next_step = f"look for trace {trace} in the server's log"
    return {**body("InternalError", "an error in the server", "none", "HTTP", next_step), "trace": trace}


def trace_of(scope: Any) -> str:
    """The number of a request, by which its lines in the log are found."""
    trace: str = scope.setdefault("walle.trace", "") or secrets.token_hex(8)
    scope["walle.trace"] = trace
    return trace


def not_found(what: str, where: str, next_step: str) -> RefusalError:
    """404."""
    return RefusalError(404, what, "one that exists", where, next_step)


def conflict(given: str, expected: str, where: str, next_step: str) -> RefusalError:
    """409."""
    return RefusalError(409, given, expected, where, next_step)


Page = Callable[[dict[str, str], int], Response]


def install(app: FastAPI, page: Page) -> None:
    """Give an application these answers: JSON, and a page for a browser that asked for one."""

    def answer(
        request: Request, content: dict[str, str], status: int, headers: Mapping[str, str] | None = None
    ) -> Response:
        looks = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
        if looks and status >= 400:
            made = page(content, status)
            made.headers.update(headers or {})
            return made
        return ProblemResponse(content, status, headers=dict(headers or {}))

    async def refused(request: Request, error: Any) -> Response:
        content = body("Refusal", error.given, error.expected, error.where, error.next_step)
        return answer(request, content, error.status, error.headers)

    async def failed(request: Request, error: Any) -> Response:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        content = body(type(error).__name__, error.given, error.expected, error.where, error.next_step)
        return answer(request, content, status)

    async def busy(request: Request, error: Any) -> Response:
        content = body("Refusal", error.given, error.expected, error.where, error.next_step)
        return answer(request, content, 429, {"Retry-After": f"{error.retry_s:.0f}"})

    async def invalid(request: Request, error: Any) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, errors.Error):  # of a name
            content = body(type(cause).__name__, cause.given, cause.expected, where, cause.next_step)
            return answer(request, content, 422)
        content = body("Refusal", first["msg"], "what /api/v1/openapi.json describes", where, "correct it")
        return answer(request, content, 422)

    async def http(request: Request, error: Any) -> Response:
        next_step = "see /api/v1/openapi.json"
        content = body("Refusal", str(error.detail), "another request", "HTTP", next_step)
        return answer(request, content, error.status_code, error.headers)

    async def unknown(request: Request, _: Any) -> Response:
        return answer(request, unforeseen(trace_of(request.scope)), 500)

    app.add_exception_handler(Exception, unknown)
    app.add_exception_handler(RefusalError, refused)
    app.add_exception_handler(BusyError, busy)
    app.add_exception_handler(errors.Error, failed)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
