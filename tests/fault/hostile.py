"""Random hostile scripts: objects whose methods change what C code walks, states that nobody pickled.

    python -m tests.fault.hostile --cases 2000 [--seed N] [--show SEED]

Each fifty have a process of their own beside a sibling isolate. A process that does not end by itself, a call
that outlives its limit and a disturbed sibling are failures, and the seed is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import subprocess
import sys
import time

from walle_rt.vm import VM, Isolate, Limits, TaskBundle, TaskFailed

BATCH = 50
WALL_MS = 500
# Of the processor, for one call: the limit, and what the end of its objects may take.
LATE_SECONDS = 3.0
LIMITS = Limits(heap_bytes=32 << 20, wall_ms=WALL_MS)

# What an evil method does to the things around it.
_CHANGES = """\
lst.clear()
lst[:] = [E()] * 3
lst.append(E())
lst.pop() if lst else None
dct.clear()
dct.update({str(i): E() for i in range(20)})
dct[E()] = 1
st.clear()
st.add(E())
dq.clear()
dq.append(E())
dq.rotate(1)
od.clear()
od.move_to_end(next(iter(od)), False) if od else None
dict.clear(od)
od[H()] = 1
dct[H()] = 1
st.add(H())
od.popitem(False) if od else None
dct.popitem() if dct else None
next(oit, None)
list(oit)
next(rit, None)
dict.pop(od, next(iter(od)), None) if od else None
ba.clear()
ba.extend(b'x' * 100)
del arr[:]
mv.release()
next(it, None)
list(itertools.islice(it, 3))
next(cyc, None)
next(grp, None)
next(zl, None)
next(tee_, None)
par.__setstate__((len, (), {}, {}))
gc.collect()
lst.sort(key=repr)
E.m = lambda *a: 1
E.__bases__ = (object,)
ctr.update('abc')
raise KeyError(1)
return E()
return 10 ** 30
return 'text'
return NotImplemented
""".splitlines()
_METHODS = """\
__eq__ __lt__ __hash__ __len__ __iter__ __next__ __index__ __bool__ __repr__ __str__ __getattr__ __add__
__radd__ __iadd__ __mul__ __contains__ __getitem__ __setitem__ __call__ __del__ __buffer__ __length_hint__
__float__ __int__ __format__ __enter__ __exit__ __get__ __instancecheck__ __reduce__ __missing__ __or__
__ror__ __reversed__ keys
""".split()  # noqa: SIM905 (a list of words)
_CALLS = """\
sorted({a}, key={b})
lst.sort()
lst.index({a})
lst.remove({a})
lst.count({a})
lst.extend({a})
lst[{a}:] = {b}
lst == {a}
dct == {a}
dct.get({a})
dct.setdefault({a}, {b})
dct.pop({a}, {b})
dct | {a}
dict({a})
dict.fromkeys({a}, {b})
set({a})
st | {a}
st.union({a}, {b})
st.symmetric_difference_update({a})
st == {a}
{a} in st
{a} in dq
dq.index({a})
dq.insert(1, {a})
dq == {a}
dq.extend({a})
dq.remove({a})
od == {a}
od.pop({a}, 1)
od.popitem()
od | {a}
od.copy()
od.setdefault({a}, {b})
od[{a}] = {b}
del od[{a}]
od.move_to_end({a}, False)
od.update({a})
dct.update({a})
list(oit)
list(rit)
list(reversed(od.items()))
list(reversed(dct.values()))
od == od.copy()
dct.copy() == dct
dct.items() & od.items()
dct.keys() - st
st - dct.keys()
st.difference_update({a})
ctr.update({a})
ctr + ctr
bytes({a})
ba.extend({a})
ba.find({a})
ba.join({a})
b','.join({a})
','.join({a})
ba % ({a},)
ba.hex({a})
ba[{a}:] = {b}
arr.extend({a})
arr[0] = {a}
arr.append({a})
mv[0] = {a}
mv == {a}
mv.cast({a})
map({a}, {b})
list(map({a}, {b}))
list(zip({a}, {b}))
list(filter({a}, {b}))
list(itertools.islice({a}, 5))
list(itertools.islice(itertools.zip_longest({a}, {b}), 9))
list(itertools.islice(itertools.accumulate({a}, {b}), 9))
list(itertools.islice(itertools.groupby({a}, {b}), 9))
list(itertools.islice(itertools.chain({a}, {b}), 9))
list(itertools.batched({a}, 3))
list(itertools.pairwise({a}))
list(itertools.islice(itertools.product({a}, {b}), 9))
list(itertools.islice(itertools.compress({a}, {b}), 9))
list(itertools.islice(itertools.takewhile({a}, {b}), 9))
functools.reduce({a}, {b})
functools.partial({a}, {b})({a})
repr(functools.partial({a}, {b}))
functools.cmp_to_key({a})({b}) < functools.cmp_to_key({a})({b})
functools.lru_cache(2)({a})({b})
heapq.heapify({a})
heapq.nlargest(3, {a}, {b})
heapq.heappush(lst, {a})
bisect.insort(lst, {a})
json.dumps({a}, default={b})
json.dumps({{str(i): {a} for i in range(3)}}, default={b}, sort_keys=True, indent=1)
json.loads('{{"a": [1, {{}}]}}', object_hook={a}, parse_int={b})
list(csv.reader({a}))
csv.writer(sio).writerow({a})
re.sub('a', {a}, 'banana')
re.compile('(a)|b').split({a})
struct.pack('3i', {a}, {b}, 1)
struct.iter_unpack('i', {a})
'{{}} {{!r}}'.format({a}, {b})
'%s %d' % ({a}, {b})
f'{{ {a} !r:>9}}'
str({a})
repr({a})
int({a})
float({a})
hash({a})
sum({a}, {b})
max({a}, key={b})
isinstance({a}, {b})
issubclass({a}, {b})
getattr({a}, 'x', {b})
type('T', ({a},), {{}})
type({a})({b})
types.GenericAlias({a}, ({b},))[{a}]
repr(types.GenericAlias(dict, ([{a}, {b}],)))
types.SimpleNamespace(**{a})
ns == {a}
ns.__replace__(a={a})
types.MethodType({a}, {b})()
copy.deepcopy({a})
copy.copy({a})
contextvars.copy_context().run({a}, {b})
weakref.ref({a}, {b})
datetime.datetime({a}, {b}, 1)
datetime.timedelta({a}, {b})
random.Random({a})
rnd.setstate({a})
rnd.sample({a}, 2)
math.prod({a})
math.fsum({a})
math.dist({a}, {b})
operator.attrgetter('a.b')({a})
operator.itemgetter({a}, {b})(lst)
enumerate({a}, {b})
reversed({a})
memoryview({a})
slice({a}, {b}).indices(5)
range({a}, {b})
print({a}, file=sio)
walle.Tensor({a})
walle.Tensor({a}) + {b}
walle.Tensor([1, 2, 3])[{a}]
e_with({a})
e_match({a})
e_star({a}, {b})
e_state({a}, {b})
e_again({a})
""".splitlines()
_VALUES = """\
E() E() E() E() H() E lst dct st dq od ba ctr it arr mv sio ns par cyc grp tee_ zl ctx oit rit
[E(),E()] (E(),1) {'a':E()}
0 1 -1 2**63 1.5 None 'abc' b'abc' range(5) iter([E(),1]) len print (lambda*a:a) (i+1for(i)in(lst)) lst[:]
int.__dict__ object()
""".split()  # noqa: SIM905 (a list of words)
_KEYED = re.compile(r"\b(dct|st|od|oit|rit)\b")
_KEYED_CHANGES = [change for change in _CHANGES if _KEYED.search(change)]
_KEYED_CALLS = [call for call in _CALLS if _KEYED.search(call)]
# What evil methods give, where they give anything.
_ANSWERS = ("1", "self", "True", "NotImplemented", "'x'", "iter(lst)", "lst")
_BASES = ("", "", "", "list", "dict", "int", "str", "Exception")
# What was freed is overwritten behind each evil method, or a use of it would go unseen.
_HEAD = """\
import array, bisect, collections, contextvars, copy, csv, datetime, functools, gc, heapq, io, itertools, json
import math, operator, random, re, struct, types, walle, weakref
depth, junk = 0, []
def limited(f):
    def inner(self, *args):
        global depth
        if depth > 4: return 1
        depth += 1
        try: return f(self, *args)
        finally:
            depth -= 1
            junk[:] = [[0] * k for k in range(40)]
    return inner
"""
_SETTING = """\
def setting():
    global lst, dct, st, dq, od, ba, ctr, it, arr, mv, sio, ns, par, cyc, grp, tee_, zl, ctx, rnd, oit, rit
    lst, dct, st = [E(), E(), 1], {'a': E(), 'b': 1}, {1, 'a'}
    dq, od = collections.deque([E(), 1]), collections.OrderedDict(a=E(), b=1)
    for i in range(KEYS): od[H()], dct[H()] = [i], [i]; st.add(H())
    oit, rit = iter(od.items()), reversed(dct.items())
    ba, ctr = bytearray(b'abc' * 20), collections.Counter('abca')
    it, arr = iter([E(), 1, 2, E()]), array.array('i', range(20))
    mv, sio, ns = memoryview(bytearray(64)), io.StringIO(), types.SimpleNamespace(a=E())
    par, cyc = functools.partial(max, E(), E()), itertools.cycle([1, E()])
    grp, tee_ = itertools.groupby([E(), E(), 1]), itertools.tee([1, E(), 2])[0]
    zl, ctx, rnd = itertools.zip_longest([1], [E(), 2]), contextvars.copy_context(), random.Random(1)
def e_with(x):
    with x as y: return y
def e_match(x):
    match x:
        case {'a': 1, **rest}: return rest
        case [1, *others]: return others
        case E(a=1): return 1
def e_star(x, y): return (lambda *a, **b: (a, b))(*x, **y)
def e_again(x):
    kind = type(x)
    y = kind.__new__(kind)
    y.__init__()
    return repr(y)
def perturbed(r, x):
    if type(x) is int: return r.choice((x, 0, -1, 1, 2 ** 31, 2 ** 63, x + 1, 10 ** 6))
    if type(x) is tuple: return tuple([perturbed(r, i) for i in x][: r.choice((None, -1, None))])
    if type(x) is bytes: return bytes(r.randrange(256) for _ in x)
    return r.choice((x, x, x, [], (), 5, E()))
def e_state(x, y):
    r = random.Random(SEED)
    for each in (x, y, cyc, grp, tee_, zl, it, rnd, par, dq, od, arr, iter(lst), iter(range(9)),
                 reversed(lst), datetime.datetime(2020, 1, 2), datetime.time(1), datetime.date(1, 1, 1),
                 itertools.permutations('abc', 2), itertools.combinations('abc', 2), iter('abc'),
                 itertools.combinations_with_replacement('ab', 2), itertools.product('ab', 'cd')):
        try: how, given, *state = each.__reduce_ex__(r.choice((0, 2, 4)))
        except Exception: continue
        try: made = how(*perturbed(r, given))
        except Exception: made = each
        for s in state:
            try: made.__setstate__(perturbed(r, s))
            except Exception: pass
        for use in (repr, hash, lambda m: list(itertools.islice(m, 9)), lambda m: m.strftime('%c %j %U'),
                    copy.copy, lambda m: m.random(), lambda m: m < made):
            try: use(made)
            except Exception: pass
"""


def script(seed: int) -> str:
    """A module with f()."""
    r = random.Random(seed)
    lines = [_HEAD, f"class E({r.choice(_BASES)}):"]
    for name in r.sample(_METHODS, r.randrange(3, 12)):
        body = [r.choice(_CHANGES) for _ in range(r.randrange(1, 4))]
        lines.append(f"    @limited\n    def {name}(self, *args):")
        lines += [f"        {line}" for line in body]
        if not body[-1].startswith(("return", "raise")):
            lines.append(f"        return {r.choice(_ANSWERS)}")
    # Keys of one hash: whatever looks one up compares it with the others. A third of the scripts do little
    # else.
    keyed = r.random() < 0.33
    changes, calls = (_KEYED_CHANGES, _KEYED_CALLS) if keyed else (_CHANGES, _CALLS)
    eq = [f"        {r.choice(changes)}" for _ in range(r.randrange(keyed, 3))]
    lines += ["class H:", "    def __hash__(self): return 1", "    @limited", "    def __eq__(self, *args):"]
    lines += [*eq, "        return self is args[0]"]
    setting = _SETTING.replace("SEED", str(seed)).replace("KEYS", str(r.choice((0, 3, 9))))
    lines += [setting, "def f():"]
    for _ in range(r.randrange(4, 14)):
        call = r.choice(calls).format(a=r.choice(_VALUES), b=r.choice(_VALUES))
        lines.append(f"    setting()\n    try: {call}\n    except Exception: pass")
    return "\n".join(lines) + "\n"


def batch(first: int, count: int) -> list[str]:
    """What went wrong in these scripts."""
    vm = VM("full")
    sibling = Isolate(vm)
    sibling.load(TaskBundle.from_source({"main": "def f(n): return sum(range(n))"}, vm))
    faults = []
    for seed in range(first, first + count):
        print(seed, file=sys.stderr, flush=True)
        with Isolate(vm, limits=LIMITS) as isolate:
            isolate.load(TaskBundle.from_source({"main": script(seed), "again": "def f(): return 7"}, vm))
            started = time.thread_time()
            with contextlib.suppress(TaskFailed):
                isolate.call("f")
            if time.thread_time() - started > LATE_SECONDS:
                faults.append(f"seed {seed}: {time.thread_time() - started:.1f} s")
            isolate.reset()
            if isolate.call("f", module="again") != 7:
                faults.append(f"seed {seed}: cannot be used again")
        if sibling.call("f", 100) != 4950:
            faults.append(f"seed {seed}: the sibling is disturbed")
    return faults


def in_child(first: int, count: int) -> list[str]:
    """The faults of a process of its own."""
    code = f"import json\nfrom tests.fault.hostile import batch\nprint(json.dumps(batch({first}, {count})))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60 + 4 * count, check=False
        )
    except subprocess.TimeoutExpired as late:
        return [f"seed {(late.stderr or b'').decode().split()[-1]}: no end"]
    if done.returncode == 0:
        return list(json.loads(done.stdout))
    seeds = [word for word in done.stderr.split() if word.isdigit()]
    return [f"seed {seeds[-1] if seeds else first}: status {done.returncode}"]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, help="print the script of a seed, and run nothing")
    options = parser.parse_args()
    if options.show is not None:
        print(script(options.show))
        return 0
    faults = []
    for first in range(options.seed, options.seed + options.cases, BATCH):
        faults += in_child(first, min(BATCH, options.seed + options.cases - first))
    print("\n".join(faults))
    print(f"{options.cases} hostile scripts, {len(faults)} did harm")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
