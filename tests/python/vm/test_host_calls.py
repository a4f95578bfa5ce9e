"""Host calls as tasks write them: by keyword, and with the errors of their kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from walle_rt import ArgumentError
from walle_rt.vm import VM, Isolate, LimitExceeded, Limits, TaskBundle, TaskFailed
from walle_rt.vm.pool import Pool

SOURCE = """
import walle
def put():
    walle.kv.put(value=[1], key="k")
    return walle.kv.get(key="k", default=0), walle.kv.get("none", default=7), walle.kv.keys(prefix="k")
def say(text):
    walle.log.warning(text=text)
def keys(prefix):
    return walle.kv.keys(prefix)
def attempt(body):
    try:
        eval(body)
    except Exception as error:
        return type(error).__name__, str(error)
def grow():
    return len([0] * 2_000_000)
def add():
    walle.kv.put("n", walle.kv.get("n", 0) + 1)
    return walle.kv.get("n")
"""


@pytest.fixture(scope="module")
def bundle(vm: VM) -> TaskBundle:
    return TaskBundle.from_source({"main": SOURCE}, vm)


def test_arguments_may_come_by_name(vm: VM, bundle: TaskBundle) -> None:
    lines: list[tuple[int, str]] = []
    with Isolate(vm, state="", log=lambda level, line: lines.append((level, line))) as isolate:
        isolate.load(bundle)
        assert isolate.call("put") == [[1], 7, ["k"]]
        isolate.call("say", "hello")
        assert lines == [(2, "hello")]
        # Left out and None are alike.
        assert isolate.call("keys", None) == isolate.call("keys", "") == ["k"]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ("walle.kv.get(name='k')", "TypeError", "walle.kv.get has no parameter 'name'"),
        ("walle.kv.get('k', key='k')", "TypeError", "walle.kv.get got 'key' twice"),
        ("walle.kv.put(value=1)", "TypeError", "walle.kv.put needs 'key'"),
        ("walle.kv.put('k')", "TypeError", "walle.kv.put takes 2 to 3 arguments, got 1"),
        ("walle.kv.get(1)", "TypeError", "argument 1 of type int"),
        ("walle.engine.load('absent')", "KeyError", "resource 'absent'"),
        ("walle.kv.put('k', walle.Tensor([1.0]))", "ValueError", "a value with a tensor"),
        ("walle.kv.put('k', b'x' * 2_000_000)", "OSError", "walle.kv"),
    ],
)
def test_errors_are_of_their_kind(vm: VM, bundle: TaskBundle, call: str, kind: str, message: str) -> None:
    with Isolate(vm, state="") as isolate:
        isolate.load(bundle)
        found, text = isolate.call("attempt", call)
        assert found == kind and message in text


def test_a_long_error_reaches_the_task_whole(vm: VM, bundle: TaskBundle) -> None:
    name = "n" * 5000
    with Isolate(vm) as isolate:
        isolate.load(bundle)
        kind, text = isolate.call("attempt", f"walle.engine.load('{name}')")
        assert kind == "KeyError" and name in text and "walle.engine" in text[5000:]


def test_one_pool_serves_tasks_of_every_kind(vm: VM, bundle: TaskBundle, tmp_path: Path) -> None:
    said: list[str] = []
    pool = Pool(
        vm, size=2, limits=Limits(heap_bytes=8 << 20), log=lambda _, line: said.append("pool " + line)
    )
    with pool.isolate() as usual:
        usual.load(bundle)
        usual.call("say", "a")
        with pytest.raises(LimitExceeded):
            usual.call("grow")
        with pytest.raises(TaskFailed, match="without durable state"):
            usual.call("add")
    with pool.isolate(
        limits=Limits(heap_bytes=64 << 20), log=lambda _, line: said.append(line), state=tmp_path / "state"
    ) as other:
        other.load(bundle)
        other.call("say", "b")
        assert other.call("grow") == 2_000_000
        assert other.call("add") == 1
    with pool.isolate(state=tmp_path / "state") as third:  # the rest is the pool's own
        third.load(bundle)
        assert third.call("add") == 2
        third.call("say", "c")
        with pytest.raises(LimitExceeded):
            third.call("grow")
    assert said == ["pool a", "b", "pool c"]
    with pytest.raises(ArgumentError, match="host call 'x'"):
        pool.take(limits=Limits(host_calls=["x"]))
