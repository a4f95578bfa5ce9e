"""Everything a task can do wrong: the host goes on, the error names the limit,
the isolate is usable afterwards.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

from walle_rt.vm import VM, LimitExceeded, TaskBundle, TaskFailed
from walle_rt.vm import Limits as VmLimits

# name: (source of f, limits, the limit that the error must name)
WALL = {"wall_ms": 100}
HEAP = {"heap_bytes": 32 << 20, "wall_ms": 20_000}
STUCK: dict[str, tuple[str, dict[str, int], str]] = {
    "endless loop": ("while True: pass", WALL, "wall"),
    "endless loop, processor time": ("while True: pass", {"cpu_ms": 50}, "cpu"),
    "catch-all": ("while True:\n  try:\n   while True: pass\n  except BaseException: pass", WALL, "wall"),
    "nested finally": (
        "try:\n  while True: pass\n finally:\n  try:\n   while True: pass\n  finally:\n   while True: pass",
        WALL,
        "wall",
    ),
    "with blocks that swallow": (
        "class S:\n  def __enter__(s): return s\n  def __exit__(s, *a): return True\n"
        " while True:\n  with S():\n   while True: pass",
        WALL,
        "wall",
    ),
    "recursion in handlers": (
        "def g():\n  try:\n   while True: pass\n  except BaseException: g()\n while True: g()",
        WALL,
        "wall",
    ),
    "generator that never ends": (
        "def g():\n  while True:\n   try: yield 1\n   except BaseException: pass\n sum(g())",
        WALL,
        "wall",
    ),
    "destructor that never ends": (
        "class D:\n  def __del__(s):\n   while True: pass\n D()\n while True: D()",
        WALL,
        "wall",
    ),
    "big int power": ("return (10**10**7) % 7", WALL, "wall"),
    "big int product": ("x = 7**3000000\n while True: x * x", WALL, "wall"),
    "catastrophic regex": ("import re\n re.match(r'(a+)+$', 'a' * 60 + 'b')", WALL, "wall"),
    "sleep": ("import time\n time.sleep(1e6)", WALL, "wall"),
    "lock held twice": ("import threading\n l = threading.Lock()\n l.acquire()\n l.acquire()", WALL, "wall"),
    "queue that nobody fills": ("import queue\n queue.Queue().get()", WALL, "wall"),
    "drain repeat": (
        "import itertools, collections\n collections.deque(itertools.repeat(1), maxlen=0)",
        WALL,
        "wall",
    ),
    "drain count": (
        "import itertools, collections\n collections.deque(itertools.count(), maxlen=0)",
        WALL,
        "wall",
    ),
    "drain cycle": (
        "import itertools, collections\n collections.deque(itertools.cycle([1]), maxlen=0)",
        WALL,
        "wall",
    ),
    "drain callable iterator": (
        "import collections\n collections.deque(iter(int, 1), maxlen=0)",
        WALL,
        "wall",
    ),
    "drain permutations": (
        "import itertools, collections\n collections.deque(itertools.permutations(range(30)), maxlen=0)",
        WALL,
        "wall",
    ),
    "drain product": (
        "import itertools, collections\n collections.deque(itertools.product(range(9), repeat=40), maxlen=0)",
        WALL,
        "wall",
    ),
    "sum of an endless range": ("return sum(range(10**18))", WALL, "wall"),
    "max of a huge range": ("return max(range(10**30, 10**31))", WALL, "wall"),
    "all of a chained repeat": (
        "import itertools\n all(itertools.chain.from_iterable(itertools.repeat([1])))",
        WALL,
        "wall",
    ),
    "comparison of shared parts": (
        "x, y = [1], [1]\n for _ in range(60): x, y = [x, x], [y, y]\n return x == y",
        WALL,
        "wall",
    ),
    "hash of shared parts": ("x = (1,)\n for _ in range(60): x = (x, x)\n return hash(x)", WALL, "wall"),
    "types in shared tuples": (
        "x = (int,)\n for _ in range(60): x = (x, x)\n return isinstance('', x)",
        WALL,
        "wall",
    ),
    "lock taken back": (
        "import _thread\n l = _thread.RLock()\n l.acquire()\n l._acquire_restore((1, 5))",
        WALL,
        "wall",
    ),
    "thread that is none": ("import _thread\n _thread._make_thread_handle(1234567).join()", WALL, "wall"),
    "number of ten million digits": (
        "import sys\n sys.set_int_max_str_digits(0)\n return int('9' * 10**7) % 7",
        WALL,
        "wall",
    ),
    "long strip": ("return len(('a' * 10**7).strip('b' * 10**7 + 'a'))", WALL, "wall"),
    "shared parts that leave": ("x = [1]\n for _ in range(60): x = [x, x]\n return x", HEAP, "heap"),
    "shared parts that leave, without a heap limit": (
        "x = []\n for _ in range(60): x = [x, x]\n return x",
        WALL,
        "wall",
    ),
    "one text named often": ("return ['x' * 1000000] * 4000", HEAP, "heap"),
    "shared parts that are stored": (
        "import walle\n x = [1]\n for _ in range(30): x = [x, x]\n walle.kv.put('a', x)",
        HEAP,
        "heap",
    ),
    "list bomb": ("x = []\n while True: x.append('x' * 1000)", HEAP, "heap"),
    "list product": ("return [0] * 10**10", HEAP, "heap"),
    "bytearray bomb": ("return bytearray(10**11)", HEAP, "heap"),
    "string bomb": ("x = 'x'\n while True: x += x", HEAP, "heap"),
    "many tensors": (
        "import walle\n x = []\n while True: x.append(walle.Tensor('float64', (10**5,)))",
        HEAP,
        "heap",
    ),
    "tensor bomb": ("import walle\n walle.Tensor('float64', (10**10,))", HEAP, "heap"),
    "big int bomb": ("return len(str(1 << 10**11))", HEAP, "heap"),
    "swallowed MemoryError": (
        "x = []\n while True:\n  try: x.append(bytearray(10**6))\n  except MemoryError: pass",
        HEAP,
        "heap",
    ),
    "swallowed MemoryError, catch-all": (
        "while True:\n  try: [0] * 10**9\n  except BaseException: pass",
        HEAP,
        "heap",
    ),
    "deep recursion": ("def g(n): return g(n + 1)\n g(0)", {}, "stack"),
    "deep recursion through C": (
        "class A:\n  def __getattr__(s, n): return getattr(s, n + 'x')\n A().y",
        {},
        "stack",
    ),
    "deep recursion through sorted": ("def g(x): return sorted([x], key=g)\n g(1)", {}, "stack"),
    "recursion in handlers of recursion": (
        "def g():\n  try: g()\n  except RecursionError:\n   try: g()\n   except RecursionError: g()\n g()",
        {"wall_ms": 2000},
        "stack|wall",
    ),
    "deep json": ("import json\n json.loads('[' * 100000)", {}, "stack"),
    "deep repr": ("x = []\n for _ in range(100000): x = [x]\n repr(x)", {}, "stack"),
    **{
        f"deep {kind}": (f"x = iter([1])\n for _ in range(200000): x = {make}\n next(x)", {}, "stack")
        for kind, make in (
            ("map", "map(int, x)"),
            ("zip", "zip(x)"),
            ("enumerate", "enumerate(x)"),
            ("filter", "filter(None, x)"),
        )
    },
    "deep chain of partials": (
        "import functools\n x = print\n for _ in range(200000):\n"
        "  p = functools.partial(x)\n  p.__setstate__((x, (), {}, {}))\n  x = p\n x(1)",
        {},
        "stack",
    ),
    "deep chain of methods": (
        # each level copies the arguments of the one above: memory ends before a large stack does
        "import types\n x = print\n for _ in range(200000): x = types.MethodType(x, 1)\n x()",
        {"heap_bytes": 64 << 20},
        "heap",
    ),
    "deep hash": ("x = None\n for _ in range(200000): x = slice(x)\n hash(x)", {}, "stack"),
    "deep generic alias": (
        "import typing\n x = typing.TypeVar('T')\n for _ in range(200000): x = list[x]\n x[int]",
        {},
        "stack",
    ),
    "deep abstract": (
        "x = print\n for _ in range(200000): x = staticmethod(x)\n x.__isabstractmethod__",
        {},
        "stack",
    ),
    "forbidden import": ("import socket", {"imports": ["json"]}, "import"),
    "forbidden library import": ("import random", {"imports": ["json"]}, "import"),
}
# Ends with an error of its own, or with nothing at all.
HARMLESS: dict[str, tuple[str, str | None]] = {
    "sys.exit": ("import sys\n sys.exit(3)", "SystemExit"),
    "raise SystemExit": ("raise SystemExit", "SystemExit"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt('x')", "KeyboardInterrupt"),
    "import of a missing module": ("import socket", "ModuleNotFoundError"),
    "open": ("open('/etc/passwd')", "NameError"),
    "thread": ("import threading\n threading.Thread(target=print).start()", "RuntimeError"),
    "fork": ("import os\n os.fork()", "AttributeError"),
    "ctypes": ("import ctypes", "ModuleNotFoundError"),
    "million-deep list": ("x = None\n for _ in range(10**6): x = [x]\n del x", None),
    "million-deep tuple": ("x = ()\n for _ in range(10**6): x = (x,)\n del x", None),
    "million-deep dict": ("x = {}\n for _ in range(10**6): x = {1: x}\n del x", None),
    "million-deep objects": (
        "class N: pass\n x = None\n for _ in range(10**6):\n  n = N()\n  n.next = x\n  x = n\n del x, n",
        None,
    ),
    **{
        f"deep {kind}": (f"x = iter([])\n for _ in range(300000): x = {make}\n del x", None)
        for kind, make in (
            ("enumerates", "enumerate(x)"),
            ("slices", "slice(x)"),
            ("static methods", "staticmethod(x)"),
            ("generator expressions", "(i for i in x)"),
            ("iterators", "iter(lambda y=x: y, 1)"),
        )
    },
    "deep generators": (
        "def g(x): yield x\n x = None\n for _ in range(200000):\n  x = g(x)\n  next(x)\n del x",
        None,
    ),
    "deep deques": (
        "import collections\n x = 1\n for _ in range(200000): x = collections.deque([x])\n del x",
        None,
    ),
    "deep coroutines": (
        "async def g(x): return x\n x = None\n for _ in range(200000): x = g(x)\n del x",
        None,
    ),
    "huge integers": (
        "import math, sys\n sys.set_int_max_str_digits(0)\n"
        " n = int('9' * 20000)\n assert n + 1 == 10**20000 and len(str(n)) == 20000\n"
        " assert divmod(10**30000, 10**10000 + 1)[0] > 0 and math.comb(20000, 10000) % 7 >= 0",
        None,
    ),
    "error in __str__": ("class E(Exception):\n  def __str__(s): raise ValueError\n raise E", "E"),
    "error in __repr__": ("class E:\n  def __repr__(s): raise ValueError('r')\n repr(E())", "ValueError"),
    "broken builtins": ("import builtins\n builtins.len = None\n del builtins.print\n return 1", None),
    "broken modules": ("import sys\n sys.modules.clear()\n return 1", None),
    "broken stdout": ("import sys\n sys.stdout = None\n print('x')", None),
}


def program(body: str) -> str:
    return "def f():\n " + body + "\ndef ok():\n return 42\n"


@pytest.mark.parametrize("name", STUCK)
def test_limit_is_named_and_the_isolate_lives(task: Any, name: str) -> None:
    body, limits, expected = STUCK[name]
    isolate = task(program(body), **limits)
    assert isolate.call("ok") == 42
    started = time.monotonic()
    with pytest.raises(LimitExceeded) as caught:
        isolate.call("f")
    assert caught.value.limit in expected.split("|"), caught.value
    assert time.monotonic() - started < 20
    assert isolate.call("ok") == 42


@pytest.mark.parametrize("name", HARMLESS)
def test_ends_as_an_ordinary_result(task: Any, name: str) -> None:
    body, kind = HARMLESS[name]
    isolate = task(program(body), wall_ms=20_000)
    if kind is None:
        isolate.call("f")
    else:
        with pytest.raises(TaskFailed) as caught:
            isolate.call("f")
        assert caught.value.type == kind and caught.value.limit == ""
    isolate.reset()
    assert isolate.call("ok") == 42


@pytest.mark.parametrize(
    "name", ["deep map", "deep zip", "deep chain of methods", "deep generators", "deep deques"]
)
def test_deep_objects_on_a_thread_with_a_small_stack(task: Any, name: str) -> None:
    body = HARMLESS[name][0] if name in HARMLESS else STUCK[name][0]
    isolate = task(program(body))
    results: list[str] = []

    def run() -> None:
        try:
            isolate.call("f")
            results.append("")
        except TaskFailed as error:
            results.append(error.limit)

    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert results == ["" if name in HARMLESS else "stack"] and isolate.call("ok") == 42


def test_an_import_that_was_cut_short_starts_again(vm: VM) -> None:
    from walle_rt.vm import Isolate

    bundle = TaskBundle.from_source(
        {"main": "import time\nif time.time() >= 0:\n    time.sleep(0.3)\ndef f():\n    return 1\n"}, vm
    )
    isolate = Isolate(vm, limits=VmLimits(wall_ms=100))
    isolate.load(bundle)
    for _ in range(2):
        with pytest.raises(LimitExceeded) as caught:
            isolate.call("f")
        assert caught.value.limit == "wall"


def test_forbidden_host_call(task: Any) -> None:
    isolate = task(
        "import walle\ndef f():\n    walle.kv.put('a', 1)\ndef g():\n    walle.log.info('x')\n    return 1\n",
        state="",
        host_calls=["walle.log"],
    )
    with pytest.raises(LimitExceeded) as caught:
        isolate.call("f")
    assert caught.value.limit == "host_call" and isolate.call("g") == 1


def test_allowed_imports_may_import_for_themselves(task: Any) -> None:
    isolate = task(
        "import json\ndef f():\n    import re\n    return json.dumps({'a': re.sub('x', 'y', 'x')})\n",
        imports=["json", "re"],
    )
    assert isolate.call("f") == '{"a": "y"}'


def test_others_go_on_while_one_is_stuck(task: Any) -> None:
    stuck = task("def f():\n    while True: pass\n", wall_ms=400)
    good = task("def f(n):\n    return n + 1\n")
    limits: list[str] = []

    def spin() -> None:
        try:
            stuck.call("f")
        except LimitExceeded as error:
            limits.append(error.limit)

    thread = threading.Thread(target=spin)
    thread.start()
    calls = 0
    while thread.is_alive():
        assert good.call("f", calls) == calls + 1
        calls += 1
    assert calls > 100 and limits == ["wall"]


# One of each kind, run at the same time beside a task that behaves.
CROWD = [
    "endless loop",
    "catch-all",
    "nested finally",
    "big int power",
    "catastrophic regex",
    "list bomb",
    "bytearray bomb",
    "swallowed MemoryError",
    "deep recursion",
    "deep json",
    "drain repeat",
    "drain cycle",
    "many tensors",
]


def test_a_crowd_of_misbehaving_tasks_disturbs_nobody(task: Any) -> None:
    good = task("def f(n):\n    return [n, sum(range(n % 1000))]\n")
    wrong: list[str] = []

    def misbehave(name: str) -> None:
        body, limits, expected = STUCK[name]
        isolate = task(program(body), **limits)
        for _ in range(2):
            try:
                isolate.call("f")
                wrong.append(f"{name}: returned")
            except LimitExceeded as error:
                if error.limit not in expected.split("|"):
                    wrong.append(f"{name}: {error.limit}")
        if isolate.call("ok") != 42:
            wrong.append(f"{name}: not reusable")

    threads = [threading.Thread(target=misbehave, args=(name,)) for name in CROWD]
    for thread in threads:
        thread.start()
    calls = 0
    while any(thread.is_alive() for thread in threads):
        assert good.call("f", calls) == [calls, sum(range(calls % 1000))]
        calls += 1
    assert not wrong and calls > 100


def test_every_limit_works_without_a_compiler(device: VM, vm: VM) -> None:
    from walle_rt.vm import Isolate

    for name in CROWD:
        body, limits, expected = STUCK[name]
        data = TaskBundle.from_source({"main": program(body)}, vm).data
        with Isolate(device, limits=VmLimits(**limits)) as isolate:  # type: ignore[arg-type]
            isolate.load(TaskBundle(data, device))
            with pytest.raises(LimitExceeded) as caught:
                isolate.call("f")
            assert caught.value.limit in expected.split("|"), name
            assert isolate.call("ok") == 42


def test_the_stack_limit_bounds_recursion_in_c(task: Any) -> None:
    source = (
        "import json\ndef deep(n):\n    return len(json.dumps(json.loads('[' * n + ']' * n)))\n"
        "def reach():\n    n = 10\n    while True:\n        try: json.loads('[' * n + ']' * n)\n"
        "        except RecursionError: return n\n        n += 10\n"
    )
    reached = [task(source, stack_bytes=size).call("reach") for size in (256 << 10, 1 << 20, 0)]
    assert reached[0] < reached[1] < reached[2]
    isolate = task(source, stack_bytes=256 << 10)
    with pytest.raises(LimitExceeded) as caught:
        isolate.call("deep", reached[1])
    assert caught.value.limit == "stack" and isolate.call("deep", 5) == 10
    with pytest.raises(LimitExceeded) as caught:
        task(source, stack_bytes=64 << 10).call("deep", 5)
    assert caught.value.limit == "stack"


@pytest.mark.parametrize(
    ("kilobytes", "expected"), [(128, {"stack"}), (256, {"1", "stack"}), (512, {"1", "stack"})]
)
def test_threads_with_small_stacks(vm: VM, kilobytes: int, expected: set[str]) -> None:
    """What is too small to run anything is refused; whatever runs ends."""
    command = [sys.executable, "-m", "tests.python.vm.small_stacks", kilobytes]
    first, second = run_command(command, folder=Path(__file__).resolve().parents[3]).stdout.split()
    assert first in expected and second == "42"
