"""Isolates from Python: values, errors, cancel, limits, host calls, reset."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waits import PATIENCE_S

from walle_rt import ArgumentError, ResourceError, TaskError
from walle_rt.vm import VM, Isolate, LimitExceeded, Limits, TaskBundle, TaskFailed

ECHO = "def echo(x):\n    return x\n"


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        0.0,
        -1.5,
        float("inf"),
        "",
        "grüße \U0001f600",
        b"",
        b"\x00\xff",
        [],
        [1, [2, "x"]],
        {},
        {"a": {"b": [None, 1.5]}, "ß": b"z"},
    ],
)
def test_values_cross_unchanged(task: Any, value: Any) -> None:
    result = task(ECHO).call("echo", value)
    assert result == value
    assert type(result) is type(value)


def test_nan_crosses(task: Any) -> None:
    assert np.isnan(task(ECHO).call("echo", float("nan")))


def test_tuples_arrive_as_lists(task: Any) -> None:
    assert task(ECHO).call("echo", (1, (2,))) == [1, [2]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_arrays_cross_without_a_copy(task: Any, dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    back = task(ECHO).call("echo", array)
    assert back.dtype == array.dtype and back.shape == (3, 4)
    assert np.shares_memory(array, back)


LARGE = bytes(range(256)) * 1024  # 256 KB


def test_large_bytes_cross_without_a_copy(task: Any) -> None:
    isolate = task(
        "def echo(x):\n    assert type(x) is memoryview and x.readonly and x.format == 'B'\n    return x\n"
    )
    back = isolate.call("echo", LARGE)
    assert isinstance(back, memoryview) and back.readonly and back == LARGE
    assert np.shares_memory(np.frombuffer(back, np.uint8), np.frombuffer(LARGE, np.uint8))
    assert isolate.stats().heap_peak < isolate.stats().heap_bytes + len(LARGE) // 2


def test_what_a_task_does_with_large_bytes(task: Any) -> None:
    source = (
        "import struct, hashlib, json, re\n"
        "def f(x):\n"
        "    return {'len': len(x), 'item': x[257], 'slice': bytes(x[1:4]), 'same': "
        "x[:256] == bytes(range(256)),\n"
        "            'int': struct.unpack_from('<H', x, 2)[0], 'sha': hashlib.sha256(x).hexdigest(),\n"
        "            'find': re.search(b'\\xfe\\xff', x).start(), 'part': x[10:20]}\n"
        "def write(x):\n    x[0] = 1\n"
    )
    isolate = task(source)
    got = isolate.call("f", LARGE)
    import hashlib

    assert got == {
        "len": len(LARGE), "item": 1, "slice": b"\1\2\3", "same": True, "int": 0x0302,
        "sha": hashlib.sha256(LARGE).hexdigest(), "find": 254, "part": LARGE[10:20],
    }  # fmt: skip
    with pytest.raises(TaskFailed) as caught:
        isolate.call("write", LARGE)
    assert caught.value.type == "TypeError"


def test_bytes_below_64_kb_are_bytes(task: Any) -> None:
    isolate = task("def kind(x):\n    return type(x).__name__\n")
    assert isolate.call("kind", bytes((64 << 10) - 1)) == "bytes"
    assert isolate.call("kind", bytes(64 << 10)) == "memoryview"
    assert isolate.call("kind", memoryview(b"x" * 9)) == "Tensor"


def test_views_leave_a_task(task: Any) -> None:
    source = (
        "import walle\n"
        "def native():\n    t = walle.Tensor('float32', (2,), b'\\0\\0\\x80\\x3f' * 2)\n"
        "    return memoryview(t).cast('B')\n"
        "def own():\n    return memoryview(bytearray(b'abcdef'))[::2]\n"
        "def wide():\n    return memoryview(walle.Tensor('float32', (2,)))\n"
        "def released():\n    m = memoryview(b'x')\n    m.release()\n    return m\n"
    )
    isolate = task(source)
    native = isolate.call("native")
    assert isinstance(native, memoryview) and np.frombuffer(native, np.float32).tolist() == [1.0, 1.0]
    assert isolate.call("own") == b"ace"
    for name, kind in (("wide", "TypeError"), ("released", "ValueError")):
        with pytest.raises(TaskFailed) as caught:
            isolate.call(name)
        assert caught.value.type == kind


def test_a_task_keeps_what_it_was_given(task: Any) -> None:
    isolate = task("kept = []\ndef keep(x):\n    kept.append(x)\ndef get():\n    return kept[0][1000]\n")
    isolate.call("keep", bytes(1000) + b"\7" * 100_000)
    assert isolate.call("get") == 7


def test_a_task_writes_into_the_hosts_memory(task: Any) -> None:
    array = np.zeros((2, 3), np.float32)
    task("def fill(t):\n    t[1, 2] = 7.5\n    memoryview(t)[0, 0] = 1.0\n").call("fill", array)
    assert array[1, 2] == 7.5 and array[0, 0] == 1.0


def test_read_only_arrays_stay_read_only(task: Any) -> None:
    array = np.zeros(3, np.float32)
    array.setflags(write=False)
    with pytest.raises(TaskFailed) as caught:
        task("def fill(t):\n    memoryview(t)[0] = 1.0\n").call("fill", array)
    assert caught.value.type == "TypeError"
    assert not task(ECHO).call("echo", array).flags.writeable


def test_a_task_makes_tensors(task: Any) -> None:
    source = (
        "import walle, array\n"
        "def make():\n"
        "    t = walle.Tensor('float32', (2, 2), array.array('f', [1, 2, 3, 4]))\n"
        "    return {'t': t, 'shape': t.shape, 'list': t.tolist(), 'bytes': t.nbytes, 'name': t.dtype}\n"
    )
    result = task(source).call("make")
    np.testing.assert_array_equal(result["t"], np.array([[1, 2], [3, 4]], np.float32))
    assert (
        result["shape"] == [2, 2]
        and result["list"] == [[1, 2], [3, 4]]
        and result["bytes"] == 16
        and result["name"] == "float32"
    )


def test_a_returned_tensor_outlives_its_isolate(task: Any) -> None:
    isolate = task(
        "import walle\ndef make():\n    t = walle.Tensor('int64', (1000,))\n    t[999] = 5\n    return t\n"
    )
    result = isolate.call("make")
    isolate.close()
    del isolate
    assert result[999] == 5 and result.sum() == 5


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("object()", "TypeError"),
        ("2**64", "OverflowError"),
        ("{1: 2}", "TypeError"),
        ("'\\ud800'", "UnicodeEncodeError"),
        ("set()", "TypeError"),
    ],
)
def test_values_that_cannot_leave_are_errors(task: Any, expression: str, kind: str) -> None:
    with pytest.raises(TaskFailed) as caught:
        task(f"def f():\n    return {expression}\n").call("f")
    assert caught.value.type == kind


def test_a_list_that_contains_itself_is_an_error(task: Any) -> None:
    with pytest.raises(TaskFailed, match="nest at most 64"):
        task("def f():\n    x = []\n    x.append(x)\n    return x\n").call("f")


@pytest.mark.parametrize("value", [object(), 2**64, {1: 2}, {"a": object()}, np.array(["text"])])
def test_arguments_that_cannot_enter_are_errors(task: Any, value: Any) -> None:
    with pytest.raises(ArgumentError):
        task(ECHO).call("echo", value)


def test_an_error_names_type_message_and_lines(task: Any) -> None:
    source = "import json\ndef inner(x):\n    return 1 / x\n\ndef outer(x):\n    return inner(x)\n"
    with pytest.raises(TaskFailed) as caught:
        task(source).call("outer", 0)
    error = caught.value
    assert (error.type, error.detail, error.limit) == ("ZeroDivisionError", "division by zero", "")
    assert [(f.file, f.line, f.function) for f in error.traceback] == [
        ("main.py", 6, "outer"),
        ("main.py", 3, "inner"),
    ]
    assert 'File "main.py", line 3, in inner' in error.formatted()
    assert isinstance(error, TaskError)


def test_missing_module_and_function(task: Any) -> None:
    isolate = task(ECHO)
    with pytest.raises(TaskFailed) as caught:
        isolate.call("nothing")
    assert caught.value.type == "AttributeError"
    with pytest.raises(TaskFailed) as caught:
        isolate.call("f", module="nowhere")
    assert caught.value.type == "ModuleNotFoundError"


def test_state_lives_between_calls_and_ends_with_reset(task: Any) -> None:
    isolate = task(
        "n = 0\ndef up():\n    global n\n    n += 1\n    return n\ndef spoil():\n"
        "    import json\n    json.dumps = None\n"
    )
    assert [isolate.call("up") for _ in range(3)] == [1, 2, 3]
    isolate.call("spoil")
    isolate.reset()
    assert isolate.call("up") == 1
    isolate.run("import json\nassert json.dumps([1]) == '[1]'\n", module="check")


def test_isolates_share_nothing(task: Any) -> None:
    a, b = (
        task(
            "import math\ndef put(x):\n    math.secret = x\ndef get():\n"
            "    return getattr(math, 'secret', None)\n"
        )
        for _ in range(2)
    )
    a.call("put", 1)
    assert a.call("get") == 1 and b.call("get") is None


def test_cancel_from_another_thread(task: Any) -> None:
    isolate = task(
        "def spin():\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException:\n            pass\n"
    )
    ended = threading.Event()

    def stop() -> None:
        while not ended.wait(0.01):  # a cancel before the call is lost
            isolate.cancel()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(LimitExceeded) as caught:
        isolate.call("spin")
    assert caught.value.limit == "cancelled"
    ended.set()
    thread.join()
    isolate.run("x = 1", module="again")


def test_cancel_without_a_call_does_nothing(task: Any) -> None:
    isolate = task(ECHO)
    isolate.cancel()
    assert isolate.call("echo", 1) == 1


def test_a_busy_isolate_refuses_a_second_thread(task: Any) -> None:
    # Its line says that the first call is in, and holds it there.
    inside, go = threading.Event(), threading.Event()

    def log(level: int, line: str) -> None:
        inside.set()
        go.wait(PATIENCE_S)

    isolate = task("def nap():\n    print('in')\n", log=log)
    thread = threading.Thread(target=isolate.call, args=("nap",))
    thread.start()
    assert inside.wait(PATIENCE_S)
    with pytest.raises(TaskFailed) as caught:
        isolate.call("nap")
    assert caught.value.type == "Busy"
    with pytest.raises(ResourceError):
        isolate.reset()
    go.set()
    thread.join()


def test_two_isolates_run_at_the_same_time(task: Any) -> None:
    source = "def work(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return s\n"
    isolates = [task(source), task(source)]
    results: list[int] = []
    threads = [threading.Thread(target=lambda i=i: results.append(i.call("work", 300_000))) for i in isolates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [sum(range(300_000))] * 2


def test_any_thread_may_call(task: Any) -> None:
    isolate = task("n = 0\ndef up():\n    global n\n    n += 1\n    return n\n")
    seen: list[int] = []
    for _ in range(20):
        thread = threading.Thread(target=lambda: seen.append(isolate.call("up")))
        thread.start()
        thread.join()
    assert seen == list(range(1, 21))


def test_print_and_log_reach_the_host(task: Any) -> None:
    lines: list[tuple[int, str]] = []
    source = (
        "import sys, walle\n"
        "def talk():\n"
        "    print('one', 2)\n"
        "    print('part', end='')\n"
        "    print(' whole')\n"
        "    print('err', file=sys.stderr)\n"
        "    walle.log.debug('d')\n"
        "    walle.log.warning('grüße')\n"
    )
    task(source, log=lambda level, line: lines.append((level, line))).call("talk")
    assert lines == [(1, "one 2"), (1, "part whole"), (3, "err"), (0, "d"), (2, "grüße")]


def test_kv_is_durable(task: Any, tmp_path: Path) -> None:
    source = (
        "from walle import kv\n"
        "def put(k, v):\n    kv.put(k, v)\n"
        "def get(k, d=None):\n    return kv.get(k, d)\n"
        "def drop(k):\n    return kv.delete(k)\n"
        "def keys(p):\n    return kv.keys(p)\n"
    )
    path = str(tmp_path / "state")
    value = {"n": 3, "list": [1.5, None, True, "x", b"\x00"]}
    first = task(source, state=path)
    first.call("put", "profile/a", value)
    first.call("put", "other", 1)
    second = task(source, state=path)
    assert second.call("get", "profile/a") == value
    assert second.call("get", "missing", "default") == "default"
    assert second.call("keys", "profile/") == ["profile/a"]
    assert second.call("drop", "other") is True and second.call("drop", "other") is False


KV = "from walle import kv\ndef put(k, v):\n    kv.put(k, v)\ndef get(k):\n    return kv.get(k)\n"


def test_kv_has_a_quota(task: Any, tmp_path: Path) -> None:
    isolate = task(KV, state=str(tmp_path / "state"), state_bytes=1000)
    isolate.call("put", "a", "x" * 800)
    with pytest.raises(TaskFailed, match="at most 1000"):
        isolate.call("put", "b", "y" * 300)
    isolate.call("put", "a", "z")
    isolate.call("put", "b", "y" * 300)
    assert isolate.call("get", "a") == "z"
    with pytest.raises(TaskFailed, match="at most 1048576"):
        task(KV, state="").call("put", "a", bytes(2 << 20))


def test_isolates_of_one_task_share_its_state(task: Any, tmp_path: Path) -> None:
    first, second = (task(KV, state=str(path)) for path in (tmp_path / "state", tmp_path / "." / "state"))
    other = task(KV, state=str(tmp_path / "other"))
    first.call("put", "a", 1)
    second.call("put", "b", 2)
    first.call("put", "c", 3)
    assert [second.call("get", k) for k in "abc"] == [1, 2, 3]
    assert other.call("get", "a") is None
    del first, second
    assert [task(KV, state=str(tmp_path / "state")).call("get", k) for k in "abc"] == [1, 2, 3]


def test_kv_stores_large_bytes_and_refuses_tensors(task: Any, tmp_path: Path) -> None:
    isolate = task(KV, state=str(tmp_path / "state"))
    isolate.call("put", "k", {"b": LARGE})
    assert isolate.call("get", "k") == {"b": LARGE}
    with pytest.raises(TaskFailed, match="tensor"):
        isolate.call("put", "k", np.zeros(3))


def test_kv_sets_damage_aside_and_needs_a_state(task: Any, tmp_path: Path) -> None:
    path = tmp_path / "state"
    source = "from walle import kv\ndef put(k, v):\n    kv.put(k, v)\n    return kv.keys()\n"
    task(source, state=str(path)).call("put", "a", 1)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    damaged = tmp_path / "damaged"  # the first file may still be open, and shared, until the reaper has been
    damaged.write_bytes(data)
    assert task(source, state=str(damaged)).call("put", "b", 1) == ["b"]
    assert (tmp_path / "damaged.damaged").read_bytes() == data
    with pytest.raises(TaskFailed, match="durable state"):
        task(source).call("put", "a", 1)


def test_time_host_calls(task: Any) -> None:
    isolate = task("from walle import time\ndef f():\n    return [time.now(), time.monotonic()]\n")
    now, monotonic = isolate.call("f")
    assert abs(now - time.time()) < 5 and monotonic > 0


def test_host_calls_check_their_arguments(task: Any) -> None:
    isolate = task("from walle import log\ndef few():\n    log.info()\ndef kind():\n    log.info(3)\n")
    with pytest.raises(TaskFailed, match="takes 1 to 1 arguments"):
        isolate.call("few")
    with pytest.raises(TaskFailed, match="argument 1 of type int"):
        isolate.call("kind")


def test_stats_count(task: Any) -> None:
    isolate = task(ECHO)
    for i in range(5):
        isolate.call("echo", i)
    stats = isolate.stats()
    assert stats.calls == 5 and 0 < stats.heap_bytes <= stats.heap_peak < 8 << 20


def test_limits_are_checked(vm: Any) -> None:
    with pytest.raises(ArgumentError, match="wall_ms=-1"):
        Isolate(vm, limits=Limits(wall_ms=-1))


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"host_calls": ["walle.kv.got"]}, r"host call 'walle\.kv\.got'"),
        ({"host_calls": ["kv"]}, "host call 'kv'"),
        ({"imports": ["json.decoder"]}, "names of top-level modules"),
        ({"imports": [""]}, "names of top-level modules"),
    ],
)
def test_names_that_can_never_match_are_errors(vm: Any, limits: dict[str, Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        Isolate(vm, limits=Limits(**limits))


def test_a_closed_isolate_says_so(vm: Any) -> None:
    isolate = Isolate(vm)
    isolate.close()
    with pytest.raises(ArgumentError, match="closed"):
        isolate.call("f")


def test_run_source_reports_syntax_errors(isolate: Isolate) -> None:
    with pytest.raises(TaskFailed) as caught:
        isolate.run("def f(:\n")
    assert caught.value.type == "SyntaxError"


def test_device_runs_bundles_and_refuses_source(vm: Any, device: Any) -> None:
    bundle = TaskBundle.from_source({"main": "def f(x):\n    return x * 2\n"}, vm)
    isolate = Isolate(device)
    isolate.load(TaskBundle(bundle.data, device))
    assert isolate.call("f", 21) == 42
    with pytest.raises(TaskFailed, match="no compiler"):
        isolate.run("x = 1")
    refuse = TaskBundle(
        TaskBundle.from_source({"m": "def f():\n    compile('1', 'x', 'eval')\n"}, vm).data, device
    )
    isolate.load(refuse)
    with pytest.raises(TaskFailed, match="precompiled"):
        isolate.call("f", module="m")


def test_wrong_calls_say_how_to_call(task: Any) -> None:
    isolate = task(ECHO)
    for wrong in (
        lambda: isolate.call(),
        lambda: isolate.call("echo", 1, modul="main"),
        lambda: isolate.call(echo=1),
    ):
        with pytest.raises(TypeError, match="call"):
            wrong()
    with pytest.raises(TypeError):
        isolate.call("echo", 1, module=3)
    with pytest.raises(TypeError):
        isolate.call(3)
    assert isolate.call("echo", 5, module="main") == 5


def test_a_subclass_may_have_a_call_of_its_own(vm: VM) -> None:
    class Counting(Isolate):
        calls = 0

        def call(self, function: str, /, *args: Any, module: str = "main") -> Any:
            self.calls += 1
            return super().call(function, *args, module=module)

    with Counting(vm) as isolate:
        isolate.load(TaskBundle.from_source({"main": ECHO, "other": "def echo(x):\n    return [x]\n"}, vm))
        assert [isolate.call("echo", 1), isolate.call("echo", 1, module="other"), isolate.calls] == [
            1,
            [1],
            2,
        ]
    with pytest.raises(ArgumentError):
        isolate.call("echo", 1)


@pytest.mark.parametrize("count", [0, 1, 6, 7, 64])
def test_any_number_of_arguments(task: Any, count: int) -> None:
    isolate = task("def f(*a):\n    return list(a)\n")
    for value in (1, "text", b"bytes", None, 2.5, True, [1, "x"], {"a": 1}):
        assert isolate.call("f", *[value] * count) == [value] * count


def test_integers_beyond_64_bits_are_refused_on_either_way(task: Any) -> None:
    isolate = task("def echo(x):\n    return x\ndef big():\n    return 2**64\n")
    for value in (2**63, -(2**63) - 1, [2**63]):
        with pytest.raises(ArgumentError, match="64 bits"):
            isolate.call("echo", value)
    with pytest.raises(TaskFailed, match="64 bits"):
        isolate.call("big")


def test_text_that_utf8_cannot_hold_is_refused(task: Any) -> None:
    isolate = task(ECHO)
    for value in ("\ud800", ["\ud800"], {"\ud800": 1}, {"a": "\ud800"}):
        with pytest.raises(ArgumentError, match="surrogate"):
            isolate.call("echo", value)
