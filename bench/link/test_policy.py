"""What the check of a device's header costs: natively, and on every request of an ASGI application."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import _bench

from walle_rt.cloud import Piggyback
from walle_rt.cloud.release import Guard, Package, Plan, Ramp, Release, State, write_plan
from walle_rt.link import device_header

TASKS = 300
NOW = 1_000_000
ROUNDS = 15
REQUESTS = 4_000


def plan_of(gray: int) -> bytes:
    """300 tasks with policies; so many of them have a gray release above the full one."""
    releases: list[Release] = []
    for n in range(TASKS):
        policy = f'app == "com.example.shop" and app_version >= {1 + n % 20}.{n % 7}'
        if n % 3 == 0:
            policy += f' and os in {{"android", "ios"}} and ram_mb >= {1024 + 256 * (n % 5)}'
        for version in ("1.0.0", "2.0.0")[: 2 if n < gray else 1]:
            package = Package("shop", f"task{n}", version, f"{n:064x}", 1000)
            state, number = State.FULL if version == "1.0.0" else State.GRAY, len(releases) + 1
            terms = (policy, Ramp(0.1, 1.0, 3600), Guard(), state)
            releases.append(Release(f"task{n}-{number}", number, package, *terms, started_s=NOW - 100))
    return write_plan(1, releases, [])


def headers(count: int = 200) -> list[str]:
    return [
        device_header(
            app="com.example.shop",
            app_version=f"{n % 30}.{n % 11}.0",
            os_name=("android", "ios", "linux")[n % 3],
            ram_mb=512 * (n % 20),
            device_id=f"device-{n}",
        )
        for n in range(count)
    ]


def test_the_native_check_at_300_tasks() -> None:
    for gray in (0, 10, TASKS):
        plan = plan_of(gray)
        took = min(_bench.policy_ns(plan, headers(), NOW, 20) for _ in range(ROUNDS))
        size = f"{len(plan)} bytes of plan"
        print(f"check of a header, {TASKS} tasks, {gray} of them gray: {took:.0f} ns ({size})")
        if gray <= 10:
            assert took <= 1000


async def empty_app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def served(app: Any) -> float:
    """CPU seconds of replies by uvicorn's own HTTP protocol, without a socket."""
    from uvicorn.config import Config
    from uvicorn.protocols.http.h11_impl import H11Protocol
    from uvicorn.server import ServerState

    asked = headers(1)[0]
    request = f"GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nX-Walle: {asked}\r\n\r\n".encode()

    class Transport(asyncio.Transport):
        def write(self, data: Any) -> None:
            pass

        def get_extra_info(self, name: str, default: Any = None) -> Any:
            return default

        def is_closing(self) -> bool:
            return False

        def pause_reading(self) -> None:
            pass

        def resume_reading(self) -> None:
            pass

    async def run() -> float:
        config = Config(app, log_level="critical", access_log=False)
        config.load()
        protocol = H11Protocol(config, ServerState(), app_state={})
        protocol.connection_made(Transport())
        start = time.process_time()
        for _ in range(REQUESTS):
            protocol.data_received(request)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return time.process_time() - start

    return asyncio.run(run())


def test_replies_with_the_check() -> None:
    with_check = Piggyback(empty_app, Plan(plan_of(10)), clock=lambda: float(NOW))
    bare, checked = [], []
    for _ in range(ROUNDS):
        bare.append(served(empty_app))
        checked.append(served(with_check))
    ratio = min(bare) / min(checked)
    each = [min(times) / REQUESTS * 1e6 for times in (bare, checked)]
    print(f"reply of an empty app {each[0]:.1f} us, with the check {each[1]:.1f} us of CPU: {ratio:.2f}x")
    assert ratio >= 0.85
