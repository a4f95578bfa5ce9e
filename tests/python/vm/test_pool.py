"""Pools: warm isolates, profiles, fresh state for whoever takes one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from fresh import fresh_call

from walle_rt import ArgumentError
from walle_rt.vm import VM, LimitExceeded, Limits, TaskBundle, TaskFailed
from walle_rt.vm.pool import Pool

SOURCE = """
import sys
seen = []
def count(x):
    seen.append(x)
    return len(seen)
def loaded():
    return sorted(name for name in sys.modules if name[0] != '_')
def talk(text):
    print(text)
def keep():
    from walle import kv
    kv.put('n', kv.get('n', 0) + 1)
    return kv.get('n')
def spin():
    while True: pass
def fail():
    raise ValueError('no')
"""


@pytest.fixture(scope="module")
def bundle(vm: VM) -> TaskBundle:
    return TaskBundle.from_source({"main": SOURCE}, vm)


def test_profiles_differ_in_what_is_imported(vm: VM, bundle: TaskBundle) -> None:
    std = {
        "json",
        "re",
        "math",
        "datetime",
        "random",
        "dataclasses",
        "typing",
        "collections",
        "functools",
        "itertools",
    }
    bare = set(fresh_call(Pool(vm, size=1), bundle, "loaded"))
    warm = set(fresh_call(Pool(vm, size=1, profile="std"), bundle, "loaded"))
    assert std <= warm and not std & bare


def test_warm_isolates_are_handed_out_and_replaced(vm: VM, bundle: TaskBundle) -> None:
    pool = Pool(vm, size=3)
    pool.wait_until_full()
    assert pool.stats().ready == 3
    taken = [pool.take() for _ in range(3)]
    for isolate in taken:
        isolate.load(bundle)
        assert isolate.call("count", 1) == 1
    pool.wait_until_full()
    stats = pool.stats()
    assert (stats.handed_out, stats.cold) == (3, 0) and stats.ready == 3
    with pool.isolate() as isolate:
        isolate.load(bundle)
        assert isolate.call("count", 1) == 1


def test_an_empty_pool_makes_isolates_on_demand(vm: VM, bundle: TaskBundle) -> None:
    pool = Pool(vm, size=0)
    assert fresh_call(pool, bundle, "count", 1) == 1
    assert pool.stats().cold == 1


def test_every_isolate_is_fresh(vm: VM, bundle: TaskBundle) -> None:
    pool = Pool(vm, size=2)
    assert [fresh_call(pool, bundle, "count", i) for i in range(6)] == [1] * 6


def test_many_threads_share_a_pool(vm: VM, bundle: TaskBundle) -> None:
    pool = Pool(vm, size=2, limits=Limits(wall_ms=20_000))
    results: list[Any] = []

    def body() -> None:
        results.extend(fresh_call(pool, bundle, "count", i) for i in range(10))

    threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] * 40 and pool.stats().handed_out == 40


def test_log_state_and_limits_reach_its_isolates(vm: VM, bundle: TaskBundle, tmp_path: Path) -> None:
    lines: list[str] = []
    limits = Limits(wall_ms=2000, host_calls=["walle.kv"])
    pool = Pool(
        vm, size=1, limits=limits, log=lambda level, line: lines.append(line), state=tmp_path / "state"
    )
    fresh_call(pool, bundle, "talk", "hello")
    assert lines == ["hello"]
    assert [fresh_call(pool, bundle, "keep") for _ in range(3)] == [1, 2, 3]
    with pytest.raises(LimitExceeded) as caught:
        fresh_call(pool, bundle, "spin")
    assert caught.value.limit == "wall"
    with pytest.raises(TaskFailed) as failed:
        fresh_call(pool, bundle, "fail")
    assert failed.value.type == "ValueError" and failed.value.traceback[-1].function == "fail"


def test_options_that_cannot_work_are_errors_at_once(vm: VM) -> None:
    with pytest.raises(ArgumentError, match="profile 'warm'"):
        Pool(vm, profile="warm")
    with pytest.raises(ArgumentError, match="host call 'x'"):
        Pool(vm, limits=Limits(host_calls=["x"]))
