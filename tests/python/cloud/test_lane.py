"""The reserved lane and the queue of passwords: what anybody asks for keeps nobody from what matters."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from anyio.to_thread import current_default_thread_limiter
from cloud.servers import PASSWORD, LocalServer, opened_server
from cloud.test_releases import publish, start
from starlette.concurrency import run_in_threadpool
from waits import PATIENCE_S, until

from walle_rt import _core
from walle_rt.cloud.release import Report, pack_reports
from walle_rt.cloud.service.lane import is_reserved
from walle_rt.cloud.service.passwords import MOST_OF_ONE, MOST_WAITING, BusyError, PasswordQueue
from walle_rt.cloud.web import accounts

WHY = {"reason": "a flood"}


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalServer]:
    with opened_server(tmp_path) as made:
        made.done("POST", "/scenarios", json={"name": "shop"})
        yield made


def test_what_is_reserved() -> None:
    for path in ("/v1/reports", "/api/v1/releases/rank-1/kill", "/api/v1/releases/rank-1/halt",
                 "/releases/rank-1/halt"):  # fmt: skip
        assert is_reserved("POST", path) and not is_reserved("PUT", path), path
    assert is_reserved("GET", "/healthz") and not is_reserved("POST", "/healthz")
    assert is_reserved("GET", "/api/v1/releases/rank-1/halt/preview") and is_reserved(
        "GET", "/releases/r-1/halt"
    )
    for path in ("/v1/enrol", "/api/v1/login", "/login", "/api/v1/scenarios/shop/releases",
                 "/api/v1/releases/rank-1", "/git/shop.git/git-receive-pack", "/v1/reports/x",
                 "/api/v1/releases/rank-1/minutes"):  # fmt: skip
        assert not is_reserved("POST", path) and not is_reserved("GET", path), path


def test_halt_kill_and_reports_wait_for_no_other_request(local: LocalServer) -> None:
    """Every thread that requests share is taken by one that does not end."""
    publish(local, "1.0.0")
    release = start(local, "1.0.0")
    device, over, taken = local.device(), threading.Event(), threading.Semaphore(0)

    def hold() -> None:
        taken.release()
        over.wait()

    async def hold_all() -> int:
        most = int(current_default_thread_limiter().total_tokens)
        for _ in range(most):
            held.append(asyncio.ensure_future(run_in_threadpool(hold)))
        return most

    held: list[Any] = []
    for _ in range(local.wait(hold_all())):
        assert taken.acquire(timeout=PATIENCE_S)
    try:
        with ThreadPoolExecutor(1) as beside:
            other = beside.submit(local.ask, "GET", "/api/v1/scenarios", local.admin)
            report = pack_reports([
                Report(_core.policy.device_pseudonym(device.id), release, "shop", "rank", "1.0.0", seq=1)
            ])  # fmt: skip
            proof = device.proof("POST", "/v1/reports", report, local.clock())
            assert local.ask("POST", "/v1/reports", content=report, headers=proof).status_code == 200
            assert local.ask("GET", "/healthz").status_code == 200
            for act in ("kill", "revive", "halt"):
                local.done("GET", f"/releases/{release}/{act}/preview")
                assert local.done("POST", f"/releases/{release}/{act}", json=WHY)["id"] == release
            local.state.turn()
            assert not other.done(), "it waits, so those before had threads of their own"
            over.set()
            assert other.result(PATIENCE_S).status_code == 200
    finally:
        over.set()


def test_wrong_passwords_by_the_hundred_are_sent_away(local: LocalServer) -> None:
    ann = "ann"
    local.operator(ann)

    async def flood() -> list[tuple[int, dict[str, str]]]:
        async def one(number: int) -> tuple[int, dict[str, str]]:
            body = f'{{"name": "nobody-{number}", "password": "wrong"}}'.encode()
            headers = {"Content-Type": "application/json"}
            status, told, _ = await local.raw("POST", "/api/v1/login", body, headers, client="192.0.2.1")
            return status, told

        return list(await asyncio.gather(*(one(number) for number in range(100))))

    with ThreadPoolExecutor(1) as beside:
        found = beside.submit(lambda: local.wait(flood()))
        until(lambda: local.state.passwords.full("192.0.2.1"))
        began = time.monotonic()  # from another address there is a place
        told = local.ask("POST", "/api/v1/login", json={"name": ann, "password": PASSWORD})
        assert told.status_code == 200, told.text
        assert time.monotonic() - began < PATIENCE_S / 4
        statuses = [status for status, _ in found.result(PATIENCE_S)]
    assert statuses.count(401) >= MOST_OF_ONE and statuses.count(429) > 50
    assert set(statuses) == {401, 429}
    assert all(int(told["retry-after"]) >= 1 for status, told in found.result() if status == 429)


def test_the_queue_is_bounded_for_one_and_for_all() -> None:
    queue, over = PasswordQueue(), threading.Event()
    try:
        waiting = [queue.submit("one", over.wait) for _ in range(MOST_OF_ONE)]
        with pytest.raises(BusyError, match="of one client") as busy:
            queue.submit("one", over.wait)
        assert busy.value.retry_s >= 1
        for number in range(MOST_WAITING - MOST_OF_ONE):
            waiting.append(queue.submit(f"other {number}", over.wait))
        with pytest.raises(BusyError):
            queue.submit("somebody new", over.wait)
        over.set()
        assert [each.result(PATIENCE_S) for each in waiting] == [True] * MOST_WAITING
        until(lambda: not queue.full("one"))
        assert queue.run("one", lambda: 5) == 5 and not queue._waiting, "nothing is kept of who has gone"
        with pytest.raises(ZeroDivisionError):
            queue.run("one", lambda: 1 // 0)
        assert not queue._waiting
    finally:
        over.set()
        queue.close()


def test_no_password_is_hashed_outside_of_the_queue(
    local: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever route does it: in the queue's thread, and never while a transaction is open."""
    seen: list[str] = []

    def watched(name: str) -> Any:
        real = getattr(accounts.accounts, name)

        def call(*given: Any) -> Any:
            seen.append(threading.current_thread().name)
            assert not local.state.database._writer.locked(), "others would wait for a hash"
            return real(*given)

        return call

    for name in ("hash_password", "password_matches"):
        monkeypatch.setattr(accounts.accounts, name, watched(name))
    local.operator("ann")
    told = local.ask("POST", "/api/v1/login", json={"name": "ann", "password": PASSWORD})
    token = told.json()["token"]
    local.done("PUT", "/me/password", token, json={"old": PASSWORD, "new": "x" * 12})
    local.done("POST", "/operators", json={"name": "bob"})
    local.done("POST", "/operators/bob/password")
    assert len(seen) == 5 and all(name.startswith("walle-passwords") for name in seen), seen
