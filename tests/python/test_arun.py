"""Session.arun: the loop goes on, and cancelling the task ends the run before the next one begins."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
import onnx.parser
import pytest
from waits import PATIENCE_S

import walle_rt

# Rounds of a loop: a run of any length, which is looked at between them.
ROUNDS = """<ir_version: 8, opset_import: ["" : 17]>
rounds (int64 n, float[k] x) => (float[k] y) {
  true = Constant<value = bool {1}>()
  y = Loop(n, true, x) <body = body (int64 i, bool c, float[k] s) => (bool d, float[k] t) {
    d = Identity(c)
    t = Sin(s)
  }>
}"""
X = np.full(4, 0.5, np.float32)
FOREVER = np.array(10**12, np.int64)


@pytest.fixture
def session() -> walle_rt.Session:
    return walle_rt.load(onnx.parser.parse_model(ROUNDS)).session(threads=1)


def few(rounds: int = 1) -> dict[str, Any]:
    return {"n": np.array(rounds, np.int64), "x": X}


def test_it_gives_what_run_gives(session: walle_rt.Session) -> None:
    async def main() -> None:
        both = await asyncio.gather(session.arun(few(1)), session.arun(few(2), ["y"]))
        np.testing.assert_array_equal(both[0]["y"], session.run(few(1))["y"])
        np.testing.assert_array_equal(both[1]["y"], session.run(few(2))["y"])

    asyncio.run(main())


def test_errors_come_out_of_await(session: walle_rt.Session) -> None:
    with pytest.raises(walle_rt.ArgumentError, match="'z'"):
        asyncio.run(session.arun({"z": X}))


def test_the_loop_goes_on_meanwhile(session: walle_rt.Session) -> None:
    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        await session.arun(few(20_000))
        ticking.cancel()
        assert ticks > 1

    asyncio.run(main())


def test_a_timeout_ends_the_run_and_the_next_one_begins(session: walle_rt.Session) -> None:
    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.arun({"n": FOREVER, "x": X}), 0.05)
        begun = time.monotonic()
        await session.arun(few())
        assert time.monotonic() - begun < PATIENCE_S

    asyncio.run(main())


def test_a_run_that_has_not_begun_never_does(session: walle_rt.Session) -> None:
    async def main() -> None:
        first = asyncio.create_task(session.arun({"n": FOREVER, "x": X}))
        second = asyncio.create_task(session.arun({"n": FOREVER, "x": X}))
        await asyncio.sleep(0.05)
        for task in (second, first):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await session.arun(few())

    asyncio.run(main())


def test_arrays_are_free_once_the_task_is_cancelled(session: walle_rt.Session) -> None:
    async def main() -> None:
        y = np.zeros(4, np.float32)
        task = asyncio.create_task(session.arun({"n": FOREVER, "x": X}, out={"y": y}))
        await asyncio.sleep(0.05)
        task.cancel()
        task.cancel()  # once more while it waits for the step
        with pytest.raises(asyncio.CancelledError):
            await task
        y[:] = 7
        await session.arun(few())
        assert (y == 7).all()

    asyncio.run(main())
