"""What ended isolates leave behind: nothing."""

from __future__ import annotations

import gc

import pytest
from tests.fault.isolates import resident

from walle_rt import _core
from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed

NAMES, LENGTH, ISOLATES = 1000, 1000, 40
INTERNED = "import sys\nkept = [sys.intern('s' * 600 + str(i)) for i in range(1600)]\n"


def long_names() -> str:
    """A module that interns a million bytes of names,
    each longer than what comes out of an isolate's arenas.
    """
    return "".join(f"n{number}_{'x' * (LENGTH - 6)} = {number}\n" for number in range(NAMES))


@pytest.mark.parametrize("how", ["bundle", "source", "sys.intern"])
def test_long_names_end_with_their_isolate(vm: VM, how: str) -> None:
    text = (
        "import sys\nkept = [sys.intern('s' * 600 + str(i)) for i in range(1600)]\n"
        if how == "sys.intern"
        else long_names()
    )
    bundle = TaskBundle.from_source({"main": text + "def f():\n    return 1\n"}, vm)

    def cycle() -> None:
        with Isolate(vm) as isolate:
            if how == "source":
                isolate.run(text)
            else:
                isolate.load(bundle)
                assert isolate.call("f") == 1
        _core.vm.drain()  # type: ignore[attr-defined,unused-ignore]

    for _ in range(5):
        cycle()
    gc.collect()
    before = resident()
    for _ in range(ISOLATES):
        cycle()
    assert resident() - before < 8 << 20, "a million bytes per isolate would be 40 MB"


@pytest.mark.parametrize(
    "modules", ["functools", "json, re", "collections, typing, enum, random, statistics"]
)
def test_a_heap_limit_wherever_it_is_met(vm: VM, modules: str) -> None:
    """Each step ends another allocation; the isolate ends well after it,
    and the error is that of the limit.
    """
    for kilobytes in range(300, 1400, 12):
        with Isolate(vm, limits=Limits(heap_bytes=kilobytes << 10, wall_ms=5000)) as isolate:
            try:
                isolate.run(f"import {modules}")
            except TaskFailed as error:
                assert error.limit == "heap", (kilobytes, error)
        _core.vm.drain()  # type: ignore[attr-defined,unused-ignore]
