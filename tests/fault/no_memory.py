"""Do everything once where memory ends, a few hundred bytes later each time: an error or a result, no crash.

    python -m tests.fault.no_memory [--every N] [--levels 48] [--flavours full,device] [NAME...]

An isolate fills its heap, gives back so many times 192 bytes, and does one operation. Each operation has a
process of its own, which goes through all levels; one that does not end by itself is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed

HEAP_BYTES = 3 << 20
STEP_BYTES = 192

# One statement or expression a line, as a task writes it; names of HEAD are there.
OPERATIONS = """\
o.__dict__
o.a = 1
o.new = o
del o.a
p.x = p
Made()
Made.new = 1
type('T', (Made,), {'a': 1})
type('T', (), {'__slots__': ('a', 'b')})
k = type('T', (), {})(); k.__dict__
k = type('T', (), {})(); kept.clear(); k.__dict__; k.x = 1; vars(k)
k = type('T', (Made,), {})(); kept.clear(); k.b = 1; k.__dict__; del k.b
k = closure(1); kept.clear(); k.x = k(); k.__dict__
k = collections.namedtuple('N', 'a b'); kept.clear(); k(1, 2)._asdict()
k = re.compile('(a|b)+c'); kept.clear(); k.findall('abac')
k = functools.partial(print, a=1); kept.clear(); k.keywords, repr(k)
Slots()
{**d, 'n': 1}
d | {'n': 1}
dict(d)
dict.fromkeys('abc')
dict(zip('abc', 'def'))
d.copy()
d.setdefault('n', [])
d.popitem()
d.items() & {('a', 1)}
list(d.items())
sorted(d)
[*d]
{*d}
{i: i for i in range(9)}
[i for i in range(9)]
{i for i in range(9)}
(i for i in range(9))
list(i for i in range(9))
tuple(range(99))
list(range(99))
set(range(99))
frozenset(range(99))
s | {100}
s & {1}
s ^ {1}
s - {1}
s.copy()
s.add(1 << 70)
x + x
x * 9
x[::2]
x.copy()
x.sort(key=str)
x.extend(range(50))
x.append(x)
x[1:2] = range(50)
reversed(x)
enumerate(x)
zip(x, x)
map(str, x)
list(map(str, x))
list(filter(None, x))
max(x, key=str)
sum([[1], [2]], [])
'a' * 1000
t + t
t.upper()
t.split()
t.replace('a', 'bcd')
' '.join(['a', t])
t.encode()
t.encode('utf-16')
b'abc'.decode()
b'\\xff'.decode('utf-8', 'replace')
f'{t}{x!r:>100}'
'%s %r' % (t, x)
'{} {a}'.format(t, a=x)
repr(x)
repr(o)
str(1 << 500)
int('9' * 300)
(1 << 2000) * (1 << 2000)
(1 << 2000) // 7
pow(3, 1000)
1.5 + 2.5j
float('1.25')
hash(('a', t, 1.5))
bytes(x)
bytearray(b'abc') * 100
memoryview(b'abc')[1:].tolist()
lambda: t
closure(1)
closure(1)()
generate()
list(generate())
next(generate())
coroutine().close()
async_generator()
raised()
caught()
chained()
grouped()
nested(30)
with_()
finally_()
match_({'a': 1, 'b': [1, 2]})
star(*x, **d)
star(1, 2, a=3)
unpack()
super_()
Property().value
Callable()()
Comparing() < Comparing()
isinstance(o, (int, (str, Made)))
getattr(o, 'missing', None)
o.missing
setattr(o, 'n', 1)
vars(o)
dir(o)
globals()
locals()
__import__('string')
__import__('missing')
import json; json.dumps({'a': [1, 2, None, 'x']})
import json; json.loads('{"a": [1, 2.5, null, "x"]}')
import re; re.compile('(a|b)+c').sub('x', 'abac')
import collections; collections.OrderedDict(a=1).move_to_end('a')
import collections; collections.deque(x, 5).append(1)
import collections; collections.Counter('abca').most_common()
import collections; collections.namedtuple('N', 'a b')(1, 2)._replace(a=3)
import itertools; list(itertools.product('ab', repeat=3))
import functools; functools.lru_cache(lambda a: a)(1)
import functools; functools.partial(print, 1, a=2).__reduce__()
import contextvars; contextvars.ContextVar('v').set(1)
import weakref; weakref.ref(o, print)
import gc; gc.collect()
import sys; sys.intern('n' * 100)
import array; array.array('d', [1, 2]).extend([3] * 50)
import struct; struct.pack('<3i5s', 1, 2, 3, b'x')
import datetime; datetime.datetime(2020, 1, 2).isoformat()
import math; math.factorial(200)
import heapq; heapq.nlargest(3, x)
import hashlib; hashlib.sha256(b'x').copy().hexdigest()
import random; random.Random(1).sample(x, 3)
import walle; (walle.Tensor([1, 2, 3]) + 1).tolist()
import walle; walle.Tensor('float32', [50]).reshape(5, 10)[1:, ::2].sum(axis=0)
import csv, io; list(csv.reader(['a,b', 'c,"d"']))
""".splitlines()
HEAD = """\
import array, collections, contextvars, csv, datetime, functools, gc, hashlib, heapq, io, itertools, json
import math, random, re, struct, sys, walle, weakref
class Made:
    def __init__(self): self.a = 1
class Slots: __slots__ = ('x', 'y')
class Property:
    @property
    def value(self): return [self]
class Callable:
    def __call__(self, *args, **names): return args, names
class Comparing:
    def __lt__(self, other): return NotImplemented
    def __gt__(self, other): return [1]
class Base:
    def f(self, *args): return args
class Derived(Base):
    def f(self, *args): return super().f(*args, 1)
def closure(n):
    def inner(): return n
    return inner
def generate():
    for i in range(9): yield [i]
async def coroutine(): pass
async def async_generator(): yield 1
def raised(): raise ValueError('x', [1])
def caught():
    try: raise ValueError('x')
    except (TypeError, ValueError) as error: return str(error), error.__traceback__
def chained():
    try:
        try: raise KeyError('a')
        except KeyError as error: raise ValueError('b') from error
    except ValueError as error: return error.__cause__
def grouped():
    try: raise ExceptionGroup('g', [ValueError(1), TypeError(2)])
    except* ValueError as group: group.exceptions
    except* TypeError: pass
def nested(n): return n and [nested(n - 1)]
class Manager:
    def __enter__(self): return [self]
    def __exit__(self, *details): return False
def with_():
    with Manager() as a, Manager() as b: return a, b
def finally_():
    try: return [1]
    finally: [2]
def match_(v):
    match v:
        case {'a': int(x), **rest}: return x, rest
        case [1, *others]: return others
def star(*args, **names): return args, names
def unpack():
    a, *b = range(20)
    return b
def super_(): return Derived().f(1)
o, p = Made(), Slots()
x = [3, 1, 2] * 5
d = {'a': 1, 'b': 2}
s = {1, 2, 3}
t = 'some text of a task'
places = [None] * 60_000
def fill(level):
    rest = bytearray(level * 192 + 1)
    kept = []
    size = 1 << 19
    while size >= 512:
        try: kept.append(bytearray(size))
        except MemoryError: size >>= 1
    try:
        for i in range(len(places)): places[i] = object()
    except MemoryError: pass
    return kept
"""
TEMPLATE = "def f(level):\n    kept = fill(level)\n    {body}\n"


def source_of(operation: str) -> str:
    """A module whose f(level) does it, and whose again() must work afterwards."""
    return f"{HEAD}{TEMPLATE.format(body=operation)}def again(): return 7\n"


def walk(flavour: str, operation: str, levels: int) -> None:
    """All levels of one operation; ends the process where it crashes."""
    vm = VM(flavour)
    bundle = TaskBundle.from_source({"main": source_of(operation)}, VM("full"))
    bundle = TaskBundle(bundle.data, vm)
    for level in range(levels):
        with Isolate(vm, limits=Limits(heap_bytes=HEAP_BYTES, wall_ms=5000)) as isolate:
            isolate.load(bundle)
            assert isolate.call("again") == 7
            with contextlib.suppress(TaskFailed):
                isolate.call("f", level)
            with contextlib.suppress(TaskFailed):
                isolate.call("again")
            isolate.reset()
            assert isolate.call("again") == 7


def in_child(flavour: str, operation: str, levels: int) -> str:
    """How the process ended, empty where well."""
    code = f"from tests.fault.no_memory import walk\nwalk({flavour!r}, {operation!r}, {levels})"
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    status = os.waitpid(pid, 0)[1]
    return "" if status == 0 else f"{flavour}: {operation}: status {status}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault.no_memory", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so manieth operation")
    parser.add_argument("--levels", type=int, default=48)
    parser.add_argument("--flavours", default="full,device")
    parser.add_argument("names", nargs="*", help="parts of operations")
    options = parser.parse_args()
    chosen = [o for o in OPERATIONS if not options.names or any(part in o for part in options.names)]
    chosen = chosen[:: options.every]
    cases = [(flavour, o) for flavour in options.flavours.split(",") for o in chosen]
    with ThreadPoolExecutor(2) as pool:
        faults = list(filter(None, pool.map(lambda case: in_child(*case, options.levels), cases)))
    print("\n".join(faults))
    print(f"{len(chosen)} operations, {options.levels} levels, {len(faults)} crashed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
