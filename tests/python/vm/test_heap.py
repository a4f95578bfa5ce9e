"""The heap limit: what counts, what is refused, and what a task can catch of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run_command
from endings import endings

from walle_rt.vm import VM, TaskFailed

ROOT = Path(__file__).resolve().parents[3]
CAUGHT = """\
def f():
    kept = [None] * 400_000
    try:
        for i in range(len(kept)): kept[i] = (i,)
    except MemoryError:
        del kept
        return "caught"
"""


@pytest.mark.parametrize("rest", range(0, 256, 32))
def test_small_objects_beyond_the_limit_are_a_memory_error(vm: VM, rest: int) -> None:
    """Wherever between two arenas the limit lies."""
    assert endings({"f": CAUGHT}, heap_bytes=(8 << 20) + (rest << 10))["f"][0] == "'caught'"


@pytest.mark.parametrize("kind", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"])
@pytest.mark.parametrize("how", ["hashlib.{}()", "h.copy()"])
def test_states_of_hashes_count(task: Any, kind: str, how: str) -> None:
    source = f"""\
import hashlib
h = hashlib.{kind}()
def f():
    kept = []
    while True: kept.append({how.format(kind)})
"""
    isolate = task(source, heap_bytes=16 << 20, wall_ms=20_000)
    with pytest.raises(TaskFailed) as caught:
        isolate.call("f")
    assert caught.value.limit == "heap" and 15 << 20 < isolate.stats().heap_peak < 18 << 20


def test_states_of_hashes_are_given_back(task: Any) -> None:
    isolate = task(
        "import hashlib\ndef f():\n    for i in range(100_000): hashlib.sha512(b'x').copy().digest()"
    )
    isolate.call("f")
    before = isolate.stats().heap_bytes
    isolate.call("f")
    assert abs(isolate.stats().heap_bytes - before) < 1 << 20


def test_arguments_of_a_host_call_count_together(task: Any) -> None:
    """Each is a copy until the call ends."""
    source = "import walle\nT = 'x' * (5 << 20)\ndef f(): walle.kv.get(T, T)\n"
    isolate = task(source, heap_bytes=14 << 20, state="")
    with pytest.raises(TaskFailed) as caught:
        isolate.call("f")
    assert caught.value.limit == "heap"


def test_many_tensors_do_not_leave_at_once(task: Any) -> None:
    """Arrays are made of them when no limit counts any more."""
    source = "import walle\nt = walle.Tensor('uint8', [4])\ndef f(n): return [t] * n\n"
    isolate = task(source, wall_ms=1000)
    assert len(isolate.call("f", 10_000)) == 10_000
    with pytest.raises(TaskFailed, match="at most 10000 tensors"):
        isolate.call("f", 300_000)


def test_operations_without_memory_do_not_end_the_process(vm: VM) -> None:
    """All of them: ``make test-all PART=vm``."""
    command = [sys.executable, "-m", "tests.fault.no_memory", "--every", 16, "--levels", 12]
    done = run_command(command, folder=ROOT, seconds=300)
    assert done.stdout.endswith(" 12 levels, 0 crashed\n"), done.stdout


def test_hostile_scripts_do_no_harm(vm: VM) -> None:
    command = [sys.executable, "-m", "tests.fault.hostile", "--cases", 100, "--seed", 1]
    done = run_command(command, folder=ROOT, seconds=600)
    assert done.stdout.endswith("100 hostile scripts, 0 did harm\n"), done.stdout
