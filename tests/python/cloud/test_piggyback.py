"""The middleware on somebody's own service, and the hooks of somebody's own client."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from cloud.fleet import package, started
from cloud.memory_store import MemoryStore

from walle_rt.cloud import Piggyback
from walle_rt.cloud.release import Controller, Plan, Ramp
from walle_rt.errors import ArgumentError
from walle_rt.link import HEADER, REPLY, add_header, device_header, request_hook, response_hook, up

PROFILE: dict[str, Any] = {"app": "a", "app_version": "1.2.3", "device_id": "d", "ram_mb": 4096}


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await send({"type": "lifespan.startup.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"hello"})


def reply(middleware: Piggyback, *headers: tuple[bytes, bytes], kind: str = "http") -> dict[bytes, bytes]:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    asyncio.run(middleware({"type": kind, "headers": list(headers)}, receive, send))
    assert sent[-1].get("body", b"hello") == b"hello"
    return dict(sent[0].get("headers", []))


@pytest.fixture
def plan() -> Plan:
    controller = Controller(MemoryStore())
    release = started(controller, ramp=Ramp(1.0, 1.0, 0, control_share=0.0))
    controller.full(release, "ada", 1)
    return Plan(controller.plan())


def test_tells_devices_that_are_out_of_date(plan: Plan) -> None:
    middleware = Piggyback(app, plan, clock=lambda: 100.0)
    old = device_header(**PROFILE)
    assert reply(middleware, (b"host", b"x"), (b"x-walle", old.encode()))[b"x-walle-up"] == b"2"
    digest = plan.decide(old, 100)[0]
    new = device_header(**PROFILE, active=digest, epoch=1)
    answer = reply(middleware, (b"x-walle", new.encode()))
    assert answer == {b"content-type": b"text/plain"}


def test_never_fails_a_request(plan: Plan) -> None:
    for middleware in (Piggyback(app), Piggyback(app, plan)):
        for value in (b"", b"x", b"A" * 48, b"\xff" * 48, b"A" * 10_000):
            assert b"x-walle-up" not in reply(middleware, (b"x-walle", value))
        assert b"x-walle-up" not in reply(middleware)
        reply(middleware, kind="lifespan")
    assert b"x-walle-up" not in reply(Piggyback(app), (b"x-walle", device_header(**PROFILE).encode()))


def test_the_plan_may_change(plan: Plan) -> None:
    middleware = Piggyback(app)
    asked = (b"x-walle", device_header(**PROFILE).encode())
    assert b"x-walle-up" not in reply(middleware, asked)
    middleware.plan = plan
    assert b"x-walle-up" in reply(middleware, asked)
    middleware.plan = None
    assert b"x-walle-up" not in reply(middleware, asked)


def test_hooks_need_a_mapping_alone() -> None:
    class Message:
        def __init__(self, headers: dict[str, str]) -> None:
            self.headers = headers

    header = device_header(**PROFILE)
    assert len(header) == 48 and HEADER == "X-Walle" and REPLY == "X-Walle-Up"
    headers: dict[str, str] = {}
    add_header(headers, header)
    assert headers == {"X-Walle": header}
    request = Message({})
    assert request_hook(lambda: header)(request) is request and request.headers == headers
    asked: list[int] = []
    hook = response_hook(asked.append)
    hook(Message({"X-Walle-Up": "12"}))
    hook(Message({}), timeout=1)
    hook(Message({"x-walle-up": "13"}), "more")
    assert asked == [12, 13]
    for nonsense in ("", "-1", "1e3", "x", "٣", "9" * 21):
        assert up({"X-Walle-Up": nonsense}) is None


def test_profiles_that_are_wrong_are_told() -> None:
    with pytest.raises(ArgumentError, match="no device id"):
        device_header(app="a", app_version="1", device_id="")
    with pytest.raises(ArgumentError, match="did you mean 'android'"):
        device_header(**PROFILE, os_name="andriod")
    with pytest.raises(ArgumentError, match="app_version 'new'"):
        device_header(app="a", app_version="new", device_id="d")
    assert package().path == "shop/rank/rank-1.0.0.walp"
