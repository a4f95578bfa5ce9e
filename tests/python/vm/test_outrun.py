"""Limits that could be outrun, and objects that ended the process: each in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import run_command, run_python

pytestmark = pytest.mark.usefixtures("vm")
ROOT = Path(__file__).resolve().parents[3]

RUN = """
from walle_rt.vm import Isolate, Limits, TaskBundle, TaskFailed
def ended(source, *args, flavour_limits={}, again=True):
    with Isolate(limits=Limits(**{"heap_bytes": 32 << 20, "wall_ms": 1000, **flavour_limits})) as isolate:
        isolate.load(TaskBundle.from_source({"main": source + "\\ndef again(): return 7"}))
        try:
            result = isolate.call("f", *args)
        except TaskFailed as error:
            result = error.limit or error.type
        assert isolate.call("again") == 7
        return result
"""


def ended(source: str, **limits: object) -> str:
    """How f() of the source ends: what it returns, else the limit or the exception's class."""
    return run_python(
        f"{RUN}\nprint(ended({source!r}, flavour_limits={limits!r}))", seconds=60
    ).stdout.strip()


KEYS = "K = [((1 << 61) - 1) * i for i in range(1, 60_001)]\n"
LONG = "T, N = 'a' * 4_000_000, 'ab' + 'a' * 1_000_000\n"
BIG = "import math, random\nA, B = [random.Random(i).getrandbits(8_000_000) for i in (1, 2)]\n"
ENDLESS = {
    "set": f"{KEYS}def f(): set(K)",
    "dict": f"{KEYS}def f(): dict.fromkeys(K)",
    "Counter": f"{KEYS}import collections\ndef f(): collections.Counter(K)",
    "rfind": f"{LONG}def f(): T.rfind(N)",
    "rsplit": f"{LONG}def f(): T.rsplit(N)",
    "rpartition": f"{LONG}def f(): T.encode().rpartition(N.encode())",
    "gcd": f"{BIG}def f(): math.gcd(A, B)",
    "lcm": f"{BIG}def f(): math.lcm(A, B)",
    "sum": "def f(): sum([[0] * 1000] * 10**6, [])",
    "index": "A = 'a' * 2_000_000\ndef f(): ([A + 'b'] * 10**6).index(A + 'c')",
    "search": "import re\ndef f(): re.search('a*b', 'a' * 4_000_000)",
}


@pytest.mark.parametrize("loop", ENDLESS)
def test_loops_in_c_end_at_the_limit(loop: str) -> None:
    assert ended(ENDLESS[loop]) == "wall"


DEEP = {
    "cycle": "x = ()\n    for i in range(200_000): x = itertools.cycle(x)\n    next(x)",
    "mappingproxy": "x = {}\n    for i in range(200_000): x = types.MappingProxyType(x)\n    len(x)",
    "mappingproxy, item": "x = {}\n    for i in range(200_000): x = types.MappingProxyType(x)\n    x[0]",
    "staticmethod": "x = int\n    for i in range(200_000): x = staticmethod(x)\n    x()",
    "alias": "x = int\n    for i in range(200_000): x = types.GenericAlias(x, (int,))\n    x.spam",
    "alias, call": "x = len\n    for i in range(200_000): x = types.GenericAlias(x, (int,))\n    x('')",
}


@pytest.mark.parametrize("nest", DEEP)
def test_depth_ends_with_an_answer_or_an_error(nest: str) -> None:
    source = f"import itertools, types\ndef f():\n    {DEEP[nest]}"
    # Some compilers turn the last call of a slot into a jump, which takes no stack.
    expected = ("stack", "None", "KeyError", "AttributeError")
    assert ended(source, heap_bytes=256 << 20, wall_ms=20_000) in expected


ODD = {
    "staticmethod": ("staticmethod.__new__(staticmethod)()", "RuntimeError"),
    "classmethod": ("classmethod.__new__(classmethod).__isabstractmethod__", "False"),
    "Struct": ("struct.Struct.__new__(struct.Struct).__sizeof__() > 0", "True"),
    "Struct, pack_into": ("struct.Struct.__new__(struct.Struct).pack_into(bytearray(9))", "RuntimeError"),
    "Struct, unpack_from": ("struct.Struct.__new__(struct.Struct).unpack_from(b'')", "RuntimeError"),
    "Struct, repr": ("repr(struct.Struct.__new__(struct.Struct))", "RuntimeError"),
    "Struct, format": ("struct.Struct.__new__(struct.Struct).format", "RuntimeError"),
    "the compiler's": ("a_class('InstructionSequence')().use_label(-1)", "TypeError"),
    "mark": ("_sre.compile('a', 0, [17, 1, 1], 0, {}, ())", "RuntimeError"),
    "deque": ("collections.deque([1]) * 10**11", "heap"),
    "CodeType": ("types.CodeType(0, 0, 0, 0, 0, 0, b'', (), (), (), '', '', '', 0, b'', b'')", "TypeError"),
    "no constants": ("types.FunctionType(g.__code__.replace(co_consts=()), {})()", "ValueError"),
    "no stack": ("types.FunctionType(g.__code__.replace(co_stacksize=0), {})()", "ValueError"),
    "another code": ("types.FunctionType(g.__code__.replace(co_code=b'S\\0' * 9), {})()", "ValueError"),
    "an iterator of none": ("next(types.FunctionType((i for i in ()).gi_code, {})(1))", "TypeError"),
    "another name": ("types.FunctionType(g.__code__.replace(co_name='h'), {})()", "[1, 2]"),
    "keys that are a str": ("other_keys('ab')(1, 2)", "ValueError"),
    "keys that are too few": ("other_keys(('a',))(1, 2)", "SystemError"),
    "keys that are others": ("other_keys(('c', 'd'))(1, 2)['d']", "2"),
    "other constants": ("types.FunctionType(h.__code__.replace(co_consts=(None, 7)), {})()", "7"),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_objects_are_errors(what: str) -> None:
    expression, expected = ODD[what]
    head = """
import _sre, collections, struct, types
def a_class(name): return next(t for t in object.__subclasses__() if t.__name__ == name)
def g(): return [1, 2]
def h(): return 5
def k(x, y): return {"a": x, "b": y}
def other_keys(keys):
    constants = tuple(keys if type(each) is tuple else each for each in k.__code__.co_consts)
    return types.FunctionType(k.__code__.replace(co_consts=constants), {})
"""
    assert ended(f"{head}def f(): return {expression}") == expected


# Which allocation is the first that fails depends on how the heap is filled.
CONTEXTS = """
from walle_rt.vm import Isolate, LimitExceeded, Limits, TaskBundle
bundle = TaskBundle.from_source({"main": '''
import contextvars
V = contextvars.ContextVar("v")
def f(n):
    kept = [None] * n
    for i in range(n):
        V.set(i)
        kept[i] = contextvars.copy_context()
'''})
ended = set()
for step in range(60):
    with Isolate(limits=Limits(heap_bytes=(4 << 20) + step * 4096)) as isolate:
        isolate.load(bundle)
        try:
            isolate.call("f", 100_000 + step)
        except LimitExceeded as error:
            ended.add(error.limit)
print(ended)
"""


def test_a_context_variable_without_memory_is_an_error() -> None:
    assert run_python(CONTEXTS).stdout.strip() == "{'heap'}"


def test_small_tensors_count_as_what_they_take() -> None:
    script = f"""{RUN}
from pathlib import Path
def grown(): return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) >> 10
before = grown()
source = "import walle\\ndef f():\\n    x = []\\n    while True: x.append(walle.Tensor('uint8', [4]))"
print(ended(source, flavour_limits={{"wall_ms": 20_000}}), grown() - before < 60)
"""
    assert run_python(script).stdout == "heap True\n"


GARBAGE = {
    "tensors": "x = [walle.Tensor('uint8', [1 << 20])]",
    "bytes": "x = [bytearray(1 << 20)]",
}


@pytest.mark.parametrize("switched", ["", "gc.disable()"])
@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_collected_before_a_limit_refuses(kind: str, switched: str) -> None:
    source = f"""
import gc, walle
def f():
    {switched or "pass"}
    for i in range(200):
        {GARBAGE[kind]}
        x.append(x)
    return "done"
"""
    assert ended(source, wall_ms=20_000) == "done"


WAYS = {
    "import": "import math",
    "the importer's spec": "sys.modules['_walle'].builtin(Spec())",
    "the importer's code": "sys.modules['_walle'].code('json')",
    "the loader": "sys.modules['_frozen_importlib']._load('math', None)",
    "a name of the library": "g.__code__.replace(co_filename='<json>') and types.FunctionType(LIES, {})()",
    "exec": "exec(compile('import math', '<json>', 'exec'))",
    "a function that the library calls": "collections.Counter(map(__import__, ['math']))",
    "the pool's import of a profile": "sys.modules['_warm'].load('math')",
    "the category of a warning": (
        "warnings._OptionError = ImportError; warnings._setoption('ignore::math.x')"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_imports_are_asked_for_whoever_imports(way: str) -> None:
    source = f"""
import _warm, collections, sys, types, warnings
class Spec: name = "math"
def g(): import math
LIES = g.__code__.replace(co_filename="<json>")
def f():
    {WAYS[way]}
    return "imported"
"""
    allowed = ["_warm", "collections", "sys", "types", "warnings"]
    assert ended(source, imports=allowed) in ("import", "TypeError")


# Each asks for what json, or the start of the interpreter, has loaded.
LOADED = {
    "import": "import re",
    "import as": "import re as r",
    "a name of it": "from re import match",
    "a module in it": "import collections.abc",
    "built in": "import sys",
    "built in as well": "import builtins",
    "the importer": "import _walle",
    "the importer's module": "import _frozen_importlib",
    "the function": "__import__('re')",
    "the function in a map": "list(map(__import__, ['re']))",
    "a hook": "json.loads('[NaN]', parse_constant=lambda name: __import__('re'))",
    "relative": "__import__('', {'__package__': 're'}, None, ['match'], 1)",
}


@pytest.mark.parametrize("way", LOADED)
def test_imports_are_asked_for_modules_that_are_loaded(way: str) -> None:
    source = f"import json\ndef f():\n    {LOADED[way]}\n    return 'imported'"
    assert ended(source) == "imported"
    assert ended(source, imports=["json"]) == "import"


def test_a_name_that_says_it_is_another_is_no_name() -> None:
    source = """
import json
class Equal(str):
    def __hash__(self): return hash("re")
    def __eq__(self, other): return other == "re"
def f(): return __import__(Equal("json")).__name__
"""
    assert ended(source, imports=["json"]) == "TypeError"


def test_a_library_module_imports_what_it_needs() -> None:
    source = "import json\ndef f(): return json.loads('[1]')"
    assert ended(source, imports=["json"]) == "[1]"


def test_c_code_imports_what_it_needs() -> None:
    source = "import time\ndef f(): return time.strptime('1999', '%Y').tm_year"
    assert ended(source, imports=["time"]) == "1999"
    source = "import time\ndef f():\n    time.strptime('1999', '%Y')\n    import _strptime"
    assert ended(source, imports=["time"]) == "import"


def test_a_task_imports_its_own_modules_again() -> None:
    program = f"""{RUN}
main = "import json, own\\ndef f():\\n    import own as again, main\\n    return again.N + own.N"
with Isolate(limits=Limits(imports=["json"])) as isolate:
    isolate.load(TaskBundle.from_source({{"main": main, "own": "import json\\nN = 3"}}))
    assert isolate.call("f") == 6
with Isolate(limits=Limits(imports=["json"])) as isolate:
    isolate.run("x = 1", module="cell")
    isolate.run("import json, cell\\nassert cell.x == 1", module="next")
"""
    run_python(program)


# Deleted entries make a set grow in another loop of CPython than the one for sets without. 32,768 places may
# be filled to three fifths; the next key moves the others, whose hashes are equal: half of n squared steps.
# Its own place is free, so that it does not take the deleted one's.
SET_WITH_DELETED = """
import threading
from walle_rt.vm import Isolate, LimitExceeded, TaskBundle
task = '''
P = (1 << 61) - 1
N = 19_660
s = set()
def fill():
    s.clear()
    s.update(P * i for i in range(1, N + 1))
    s.discard(P)
    return s.__sizeof__()
def grow(): s.add(20_000)
def size(): return s.__sizeof__()
def same(): return s == {20_000, *(P * i for i in range(2, N + 1))}
'''
with Isolate() as isolate:
    isolate.load(TaskBundle.from_source({"main": task}))
    before = isolate.call("fill")
    ended = threading.Event()
    def stop():
        while not ended.wait(0.03):  # a cancel before the call is lost
            isolate.cancel()
    thread = threading.Thread(target=stop)
    thread.start()
    said = "grown"
    try:
        isolate.call("grow")
    except LimitExceeded as error:
        said = error.limit
    ended.set()
    thread.join()
    print(said, isolate.call("size") == before, isolate.call("same"))
"""


def test_a_set_with_deleted_entries_stops_growing() -> None:
    assert run_python(SET_WITH_DELETED).stdout.strip() == "cancelled True True"


def test_damaged_bundles_do_not_end_the_process() -> None:
    command = [sys.executable, "-m", "tests.fault.bundles", "--cases", 300]
    done = run_command(command, folder=ROOT, seconds=600)
    assert "300 damaged bundles" in done.stdout
    assert "0 processes did not end" in done.stdout
