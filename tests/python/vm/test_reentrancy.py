"""A task's own methods run while C code walks an object that they change: an error or a result, no crash."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from walle_rt.vm import VM, Isolate, LimitExceeded, TaskFailed

# name: (source with a function f, the error's type or what f returns)
SHIFTING: dict[str, tuple[str, Any]] = {
    "array of integers emptied by the item": (
        "from array import array\na = array('i', range(100))\nclass J:\n  def __index__(s):\n    del a[:]\n"
        "    return 1\n"
        "def f(): a[50] = J()",
        IndexError,
    ),
    "array of floats emptied by the item": (
        "from array import array\na = array('d', [1] * 1000000)\nclass J:\n  def __float__(s):\n"
        "    del a[:]\n"
        "    return 1.0\n"
        "def f(): a[999999] = J()",
        IndexError,
    ),
    "bytes printed with a separator that frees them": (
        "a = bytearray(b'A' * 1000000)\nclass S(str):\n  def __len__(s):\n    a.clear()\n    return 1\n"
        "def f(): return len(a.hex(S(':')))",
        2999999,
    ),
    "view printed with a separator that releases it": (
        "a = bytearray(b'A' * 1000000)\nm = memoryview(a)\nclass S(str):\n  def __len__(s):\n"
        "    m.release()\n"
        "    a.clear()\n"
        "    return 1\ndef f(): return len(m.hex(S(':')))",
        2999999,
    ),
    "view released while it is hashed": (
        "class B(bytes):\n  def __hash__(s):\n    m.release()\n    return 123\n"
        "m = memoryview(B(b'A' * 1000000))\n"
        "def f(): return hash(m)",
        BufferError,
    ),
    "contexts that change while they are compared": (
        "import contextvars\nclass E:\n  def __eq__(s, o):\n"
        "    c.run(lambda: [v.set(object()) for v in vs])\n"
        "    return True\n"
        "  __hash__ = object.__hash__\nvs = [contextvars.ContextVar(str(i)) for i in range(200)]\n"
        "c, d = contextvars.Context(), contextvars.Context()\n"
        "for x in (c, d): x.run(lambda: [v.set(E()) for v in vs])\n"
        "def f(): return c == d",
        True,
    ),
    "order without its dictionary": (
        "from collections import OrderedDict\ndef f():\n  od = OrderedDict({1: 1})\n  dict.clear(od)\n"
        "  od.popitem()",
        KeyError,
    ),
    "order without its dictionary, with a default": (
        "from collections import OrderedDict\ndef f():\n  od = OrderedDict({1: 1})\n  dict.clear(od)\n"
        "  return od.pop(1, 7)",
        7,
    ),
    "Struct initialised again while it packs": (
        "import struct\ns = struct.Struct('i' * 3000)\nclass X:\n  def __index__(self):\n"
        "    s.__init__('b')\n"
        "    return 1\n"
        "def f(): s.pack(*[X()] * 3000)",
        RuntimeError,
    ),
    "Struct initialised again while it unpacks": (
        "import struct\ns = struct.Struct('b')\ndef f():\n  it = s.iter_unpack(bytes(8))\n  next(it)\n"
        "  s.__init__('1000000s')\n  return list(it)",
        RuntimeError,
    ),
    "bytearray emptied by what is looked for": (
        "a = bytearray(1000000)\nclass X:\n  def __index__(s):\n    a.clear()\n    return 9\n"
        "def f(): return X() in a",
        TypeError,
    ),
    "bytearray emptied by the buffer that is looked for": (
        "a = bytearray(1000000)\nclass B:\n  def __buffer__(s, flags):\n    a.clear()\n"
        "    return memoryview(b'x' * 10)\n"
        "def f(): return a.find(B())",
        BufferError,
    ),
    "bytearray emptied by its separator": (
        "a = bytearray(1000000)\nclass B:\n  def __buffer__(s, flags):\n    a.clear()\n"
        "    return memoryview(b'x' * 10)\n"
        "def f(): return [len(x) for x in a.split(B())]",
        [0],
    ),
    "shape emptied by its first number": (
        "import walle\nL = []\nclass X:\n  def __index__(s):\n    L.clear()\n    return 1\n"
        "L += [X(), 1, 2, 3]\n"
        "def f(): return walle.Tensor('uint8', L).shape == (1, 1, 2, 3)",
        True,
    ),
    "sort in a comparison, with any recursion allowed": (
        "import sys\nclass A:\n  def __lt__(s, o): return sorted([s, o])\n"
        "def f():\n  sys.setrecursionlimit(2**31 - 1)\n  A() < A()",
        RecursionError,
    ),
    "module made past the importer": (
        "import _walle\nclass S: name = '_functools'\n"
        "def f(): return _walle.builtin(S()).cmp_to_key(min)(1) is not None",
        True,
    ),
    "frames of other isolates": ("import sys\ndef f(): return sys._current_frames()", AttributeError),
    "clock of a thread that is none": (
        "import time\ndef f(): time.pthread_getcpuclockid(12345678)",
        AttributeError,
    ),
}


@pytest.mark.parametrize("name", SHIFTING)
def test_ends_as_an_error_or_a_result(task: Any, name: str) -> None:
    source, expected = SHIFTING[name]
    isolate = task(source + "\ndef ok():\n  return 42\n", wall_ms=20_000)
    if isinstance(expected, type):
        with pytest.raises(TaskFailed) as caught:
            isolate.call("f")
        assert caught.value.type == expected.__name__, caught.value
    else:
        assert isolate.call("f") == expected
    assert isolate.call("ok") == 42


def test_a_module_replaced_by_something_else(task: Any) -> None:
    isolate = task("import sys\ndef f(): sys.modules['main'] = 5\n")
    isolate.call("f")
    with pytest.raises(TaskFailed, match="is no module any more"):
        isolate.call("f")


def test_what_a_stopped_call_was_handling_is_gone(task: Any) -> None:
    source = (
        "import sys\ndef f():\n  try: 1 / 0\n  except ZeroDivisionError:\n    while True: pass\n"
        "def g():\n  raise\ndef h(): return repr(sys.exception())\n"
    )
    isolate = task(source, wall_ms=100)
    with pytest.raises(LimitExceeded):
        isolate.call("f")
    assert isolate.call("h") == "None"
    with pytest.raises(TaskFailed, match="No active exception"):
        isolate.call("g")


@pytest.mark.parametrize("text", ["'a' + '\\xe9' * 3000", "'\\U0001f600' * 3000", "'\\udc80'"])
def test_error_texts_are_cut_between_characters(task: Any, text: str) -> None:
    isolate = task(f"def f(): raise ValueError({text})\n")
    with pytest.raises(TaskFailed) as caught:
        isolate.call("f")
    assert caught.value.type == "ValueError" and caught.value.detail


@pytest.mark.parametrize(
    "source",
    [
        "class E(Exception):\n  def __str__(s): return str(len(b'x' * (300 << 20)))\ndef f(): raise E",
        "class D:\n  def __del__(s): seen.append(len(b'x' * (300 << 20)))\nseen = []\n"
        "def f():\n  d = D()\n  raise ValueError",
    ],
)
def test_describing_an_error_keeps_to_the_heap_limit(task: Any, source: str) -> None:
    isolate = task(source, heap_bytes=32 << 20)
    with pytest.raises(TaskFailed):
        isolate.call("f")
    assert isolate.stats().heap_peak < 64 << 20


def test_cancel_while_the_isolate_is_reset(vm: VM) -> None:
    with Isolate(vm) as isolate:
        done = threading.Event()

        def cancel() -> None:
            while not done.is_set():
                isolate.cancel()
                isolate.stats()
                time.sleep(0)

        canceller = threading.Thread(target=cancel)
        canceller.start()
        for _ in range(100):
            isolate.reset()
        done.set()
        canceller.join()
