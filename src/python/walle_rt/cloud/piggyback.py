"""Piggyback: whether a device is out of date rides on replies that it gets anyway, and costs no request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from .._core import policy as native

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_ASKED = native.HEADER.lower().encode()
_REPLY = native.REPLY.lower().encode()
_OUT_OF_DATE = 1


class Piggyback:
    """ASGI middleware that adds ``X-Walle-Up: <epoch>`` to replies for devices that are out of date.

    ::

        app = Piggyback(app)
        app.plan = Plan(plan_bytes)     # again whenever the server has a new one

    A request without ``X-Walle``, or with a malformed one, is answered as if this were not there: a reply of
    somebody's own service must not fail over it. Nothing is added where the device is up to date. What is not
    HTTP passes through. ``plan`` may be replaced from any thread.
    """

    def __init__(
        self, app: App, plan: native.Plan | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """Wrap ``app``; without a plan nothing is added."""
        self._app = app
        self._clock = clock
        self.plan = plan

    @property
    def plan(self) -> native.Plan | None:
        """The plan that devices are compared with."""
        return self._plan

    @plan.setter
    def plan(self, plan: native.Plan | None) -> None:
        self._plan = plan
        self._added = (_REPLY, str(plan.epoch).encode()) if plan is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and self._out_of_date(scope["headers"]):
            added = self._added

            async def send_and_tell(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message.get("headers", ()), added]
                await send(message)

            await self._app(scope, receive, send_and_tell)
        else:
            await self._app(scope, receive, send)

    def _out_of_date(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        plan = self._plan
        if plan is None:
            return False
        for name, value in headers:
            if name == _ASKED:
                return plan.check(value.decode("latin-1"), int(self._clock())) == _OUT_OF_DATE
        return False
