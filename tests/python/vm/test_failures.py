"""What a task's exception says to the host: causes, notes, groups, source lines, long messages, kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_python, run_walle
from fresh import fresh_call

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed
from walle_rt.vm.pool import Pool

CHAINS = """
def inner():
    return {}['key']

def cause():
    try:
        inner()
    except KeyError as error:
        raise ValueError('outer') from error

def context():
    try:
        inner()
    except KeyError:
        1 / 0

def hidden():
    try:
        inner()
    except KeyError:
        raise ValueError('alone') from None

def noted():
    error = ValueError('with notes')
    error.add_note('the first')
    error.add_note('the second')
    raise error

def group():
    found = []
    for body in (cause, noted):
        try:
            body()
        except ValueError as error:
            found.append(error)
    raise ExceptionGroup('both', [*found, ExceptionGroup('inside', [TypeError('deep')])])

def endless():
    error = None
    for i in range(1000):
        try:
            raise ValueError(i) from error
        except ValueError as caught:
            error = caught
    raise error

def wide():
    raise ExceptionGroup('many', [ValueError(i) for i in range(1000)])

def circle():
    a, b = ValueError('a'), ValueError('b')
    a.__cause__, b.__cause__ = b, a
    raise a

class Rude(Exception):
    def __str__(self):
        raise RuntimeError('no')

def rude():
    raise Rude('said anyway')

class Bad(Exception):
    def __getattr__(self, name):
        raise ValueError(name)

def bad():
    raise Bad('plain')
"""


def fails(isolate: Any, function: str, *args: Any) -> TaskFailed:
    with pytest.raises(TaskFailed) as caught:
        isolate.call(function, *args)
    return caught.value


def test_a_cause_crosses(task: Any) -> None:
    error = fails(task(CHAINS), "cause")
    assert (error.type, error.detail) == ("ValueError", "outer")
    cause = error.__cause__
    assert isinstance(cause, TaskFailed) and (cause.type, cause.detail) == ("KeyError", "'key'")
    assert [f.function for f in cause.traceback] == ["cause", "inner"]
    text = error.formatted()
    assert text.index("KeyError: 'key'") < text.index("direct cause") < text.index("ValueError: outer")


def test_a_context_crosses_unless_it_was_hidden(task: Any) -> None:
    isolate = task(CHAINS)
    error = fails(isolate, "context")
    assert isinstance(error.__context__, TaskFailed) and error.__context__.type == "KeyError"
    assert error.__cause__ is None and "During handling" in error.formatted()
    hidden = fails(isolate, "hidden")
    assert hidden.__cause__ is None and "KeyError" not in hidden.formatted()


def test_the_hosts_own_exception_stays_the_context(task: Any) -> None:
    isolate = task("def f():\n    raise ValueError('x')\n")
    try:
        raise LookupError("the host's")
    except LookupError as outer:
        error = fails(isolate, "f")
        assert error.__context__ is outer and "LookupError" not in error.formatted()


def test_notes_cross(task: Any) -> None:
    error = fails(task(CHAINS), "noted")
    assert error.__notes__ == ["the first", "the second"]
    assert error.formatted().endswith("ValueError: with notes\nthe first\nthe second")


def test_members_of_groups_cross(task: Any) -> None:
    error = fails(task(CHAINS), "group")
    assert error.type == "ExceptionGroup" and [m.type for m in error.members] == [
        "ValueError",
        "ValueError",
        "ExceptionGroup",
    ]
    first, second, inside = error.members
    assert isinstance(first.__cause__, TaskFailed) and second.__notes__ == ["the first", "the second"]
    assert [m.detail for m in inside.members] == ["deep"] and "TypeError: deep" in error.formatted()


def test_chains_and_groups_are_bounded(task: Any) -> None:
    isolate = task(CHAINS)
    assert fails(isolate, "endless").detail == "999"
    assert len(fails(isolate, "wide").members) == 32
    assert fails(isolate, "circle").detail == "a"


def test_an_exception_that_cannot_be_told_is_told_anyway(task: Any) -> None:
    isolate = task(CHAINS)
    assert fails(isolate, "rude").detail == "said anyway"
    assert fails(isolate, "bad").detail == "plain"


@pytest.mark.parametrize("kind", ["ValueError", "KeyError"])
@pytest.mark.parametrize("heap", [0, 64 << 20])
def test_messages_of_20_MB_come_cut(task: Any, kind: str, heap: int) -> None:  # noqa: N802
    error = fails(task(f"def f():\n    raise {kind}('ä' * 20_000_000)\n", heap_bytes=heap), "f")
    assert error.type == kind and "ää" in error.detail and len(error.detail) < 2100
    assert error.detail.endswith(" characters in all)")


SHOWN = "def f(x):\n    y = x + 1\n    return (  y /\n            0)  # why not\n"


def test_tracebacks_show_the_source(vm: VM, tmp_path: Path) -> None:
    """From memory, from a file that has its sources, through a pool; without them lines stay empty."""
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "main.py").write_text(SHOWN)
    bundle = TaskBundle.compile(folder, vm)
    bundle.save(tmp_path / "plain.wtask")
    with_sources = TaskBundle.compile(folder, vm, sources=True)
    with_sources.save(tmp_path / "full.wtask")
    assert with_sources.resources == {} and b"why not" not in bundle.data and b"why not" in with_sources.data
    shown = {
        "memory": bundle,
        "file": TaskBundle.load(tmp_path / "full.wtask", vm),
        "none": TaskBundle.load(tmp_path / "plain.wtask", vm),
    }
    for name, loaded in shown.items():
        with Isolate(vm) as isolate:
            isolate.load(loaded)
            (frame,) = fails(isolate, "f", 1).traceback
            assert frame.line == 3 and frame.source == ("" if name == "none" else "return (  y /")
    with pytest.raises(TaskFailed) as caught:
        fresh_call(Pool(vm, size=1), bundle, "f", 1)
    assert caught.value.formatted().splitlines()[2] == "    return (  y /"


def test_run_shows_its_source(vm: VM) -> None:
    with Isolate(vm) as isolate:
        isolate.run("def f():\n    return nothing\n", file="cell")
        (frame,) = fails(isolate, "f").traceback
        assert (frame.file, frame.source) == ("cell", "return nothing")
        isolate.run("x = 1\n\n\ndef f():\n    return  other\n", file="cell")
        assert fails(isolate, "f").traceback[0].source == "return  other"


# A task's own, which the command shows; Python's would tell files of walle_rt.
TRACEBACK = 'Traceback (most recent call last):\n  File "main.py"'


def test_the_command_line_tells_all(vm: VM, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "main.py").write_text(CHAINS)
    target = tmp_path / "x.wtask"
    run_walle("task", "compile", folder, "-o", target)
    done = run_walle("task", "run", target, "--call", "group", code=7, says=TRACEBACK)
    assert "raise ValueError('outer') from error" in done.stderr
    assert "the second" in done.stderr and "TypeError: deep" in done.stderr
    report = run_walle("task", "run", target, "--call", "group", "--json", code=7).json
    assert (
        report["members"][0]["cause"]["type"] == "KeyError"
        and report["members"][1]["notes"][1] == "the second"
    )
    assert report["members"][0]["traceback"][0]["source"] == "body()"
    run_walle("task", "compile", folder, "-o", target, "--no-sources")
    plain = run_walle("task", "run", target, "--call", "cause", "--json", code=7).json
    assert plain["traceback"][0]["source"] == "" and plain["cause"]["detail"] == "'key'"


def test_pythons_own_traceback_shows_the_chain(vm: VM) -> None:
    program = (
        "from walle_rt.vm import Isolate, TaskBundle\n"
        f"bundle = TaskBundle.from_source({{'main': {CHAINS!r}}})\n"
        "isolate = Isolate()\nisolate.load(bundle)\nisolate.call('cause')\n"
    )
    done = run_python(program, code=1, says="Traceback (most recent call last)")
    assert "direct cause" in done.stderr
    assert done.stderr.index("KeyError: 'key'") < done.stderr.index("ValueError: outer")


# Host calls and the kinds of their errors; every message names the function.
KINDS = {
    "walle.kv.put(1, 2)": ("TypeError", "walle.kv.put"),
    "walle.kv.put('a')": ("TypeError", "walle.kv.put"),
    "walle.kv.put('a', walle.Tensor([1]))": ("ValueError", "walle.kv.put"),
    "walle.kv.put('a', 'x' * 5000)": ("OSError", "walle.kv.put"),
    "walle.log.info(None)": ("TypeError", "walle.log.info"),
    "walle.engine.read('absent')": ("KeyError", "walle.engine.read"),
    "walle.engine.load('absent')": ("KeyError", "walle.engine.load"),
    "walle.engine.load(3)": ("TypeError", "walle.engine.load"),
    "walle.engine.load('labels.txt')": ("ValueError", "walle.engine.load"),
    "walle.engine.load('labels.txt', threads=-1)": ("ValueError", "walle.engine.load"),
    "walle.Tensor([1]) << 'a'": ("TypeError", "unsupported operand"),
    "walle.Tensor([1.0]) & 1": ("TypeError", "float64"),
    "walle.Tensor([1, 2]) + walle.Tensor([1, 2, 3])": ("ValueError", "[2] and [3]"),
    "walle.Tensor([1], 'uint8') + 256": ("OverflowError", "uint8"),
    "walle.Tensor([1])[1]": ("IndexError", "index 1"),
    "walle.Tensor('float64', (10**9,)) + 1": ("MemoryError", ""),
}


@pytest.mark.parametrize("call", KINDS)
def test_errors_of_host_calls_have_kinds_and_names(vm: VM, call: str) -> None:
    kind, says = KINDS[call]
    bundle = TaskBundle.from_source(
        {"main": f"import walle\ndef f():\n    {call}\n"}, vm, resources={"labels.txt": b"cat"}
    )
    with Isolate(vm, limits=Limits(state_bytes=4096, heap_bytes=1 << 30), state="") as isolate:
        isolate.load(bundle)
        error = fails(isolate, "f")
        assert error.type == kind and says in error.detail


@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5),
        np.float32(1.5),
        np.float16(1.5),
        np.int64(-7),
        np.int8(-7),
        np.uint64(7),
        np.bool_(True),
    ],
)
def test_numpys_scalars_arrive_as_numbers(task: Any, value: Any) -> None:
    isolate = task("def f(x):\n    return [type(x).__name__, x]\ndef g(x):\n    return f(x['a'][0])\n")
    expected = [type(value.item()).__name__, value.item()]
    assert isolate.call("f", value) == expected
    assert isolate.call("g", {"a": [value]}) == expected
    assert isolate.call("f", np.array(value))[0] == "walle.Tensor".rpartition(".")[2]


def test_scalars_that_are_no_numbers_are_refused(task: Any) -> None:
    isolate = task("def f(x):\n    return x\n")
    for value in (np.complex64(1j), np.datetime64("2020-01-01"), np.longdouble(1)):
        with pytest.raises(Exception, match="scalar of type"):
            isolate.call("f", value)
    with pytest.raises(Exception, match="64 bits"):
        isolate.call("f", np.uint64(2**64 - 1))
