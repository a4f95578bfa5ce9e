"""A device beside an event loop."""

from __future__ import annotations

import asyncio

import pytest
from device_tasks import Folder, Open
from waits import PATIENCE_S

from walle_rt.device import TaskResult


def test_results_as_they_come(opened: Open, folder: Folder) -> None:
    async def run() -> list[int]:
        got: list[int] = []
        async with opened() as device:
            assert await device.ainstall(folder()) == "shop"
            async with device.watch("shop") as results:
                for price in range(5):
                    await device.arecord("buy", contents={"price": price})
                async for result in results:
                    got.append(result.value["price"])
                    if len(got) == 5:
                        break
            assert await device.await_idle(PATIENCE_S)
        assert device.closed
        return got

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]


def test_a_watch_ends_with_its_device(opened: Open, folder: Folder) -> None:
    async def run() -> list[TaskResult]:
        device = opened()
        await device.ainstall(folder())
        results = device.watch()
        await device.arecord("buy", contents={"price": 1}, durable=True)
        await device.await_idle(PATIENCE_S)
        await device.aclose()
        return [result async for result in results]

    told = asyncio.run(run())
    assert [result.value["price"] for result in told] == [1]


def test_results_that_nobody_takes_are_counted(opened: Open, folder: Folder) -> None:
    async def run() -> tuple[list[int], int]:
        device = opened()
        await device.ainstall(folder())
        results = device.watch(limit=3)
        for price in range(8):
            await device.arecord("buy", contents={"price": price})
            await device.await_idle(PATIENCE_S)
        await device.aclose()
        return [result.value["price"] async for result in results], results.missed

    assert asyncio.run(run()) == ([5, 6, 7], 5)


def test_the_loop_goes_on_while_others_wait(opened: Open, folder: Folder) -> None:
    source = "def main(event):\n    return {'price': sum(range(3_000_000)) * 0}\n"

    async def run() -> int:
        device = opened()
        await device.ainstall(folder(source))
        await device.arecord("buy", contents={"price": 1})
        waiting = asyncio.create_task(device.await_idle(PATIENCE_S))
        turns = 0
        while not waiting.done():
            await asyncio.sleep(0)
            turns += 1
        assert await waiting
        await device.aclose()
        return turns

    assert asyncio.run(run()) > 10


def test_a_watch_needs_a_loop(opened: Open) -> None:
    with pytest.raises(RuntimeError, match="loop"):
        opened().watch()


def test_a_watch_whose_loop_is_gone_leaves(opened: Open, folder: Folder) -> None:
    device = opened()
    device.install(folder())

    async def begin() -> object:
        return device.watch()

    watch = asyncio.run(begin())
    device.record("buy", contents={"price": 1})
    assert device.wait(PATIENCE_S) and watch is not None
    assert len(device.results("shop")) == 1
