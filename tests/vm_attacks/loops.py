"""Work without end inside C code, where no instruction of the task is executed meanwhile."""

from __future__ import annotations

_COLLIDE = "P = (1 << 61) - 1\nKEYS = [P * i for i in range(1, 100_001)]\n"
_BAD = "TEXT = 'a' * 4_000_000\nNEEDLE = 'ab' + 'a' * 1_000_000\n"
_BYTES = "TEXT = b'a' * 4_000_000\nNEEDLE = b'ab' + b'a' * 1_000_000\n"
_LONG = "A = 'a' * 2_000_000 + 'b'\nB = 'a' * 2_000_000 + 'c'\n"
_BIG = "import random\nN, M = [random.Random(i).getrandbits(3_000_000) | 1 for i in (1, 2)]\n"


def _f(setup: str, body: str) -> str:
    return f"{setup}def f():\n    return {body} and None\n"


_COLLISIONS = {
    "set": "set(KEYS)",
    "frozenset": "frozenset(KEYS)",
    "dict": "dict.fromkeys(KEYS)",
    "dict of pairs": "dict((k, k) for k in KEYS)",
    "dict of zip": "dict(zip(KEYS, KEYS))",
    "Counter": "__import__('collections').Counter(KEYS)",
    "OrderedDict": "__import__('collections').OrderedDict.fromkeys(KEYS)",
    "update": "set().update(KEYS)",
    "difference": "{1, 2}.difference(KEYS, set(KEYS))",
    "intersection": "set(KEYS[:5000]).intersection(KEYS)",
    "symmetric difference": "set(KEYS[:5000]).symmetric_difference(KEYS)",
    "subset": "set(KEYS[:5000]).issubset(set(KEYS))",
    "comprehension": "{k: 0 for k in KEYS}",
    "lru_cache": "list(map(__import__('functools').lru_cache(None)(int.bit_length), KEYS))",
    "groupby of a set": "len(set(map(hash, KEYS)) | set(KEYS))",
}

_BACKWARDS = {
    "rfind": "TEXT.rfind(NEEDLE)",
    "rindex": "TEXT.rindex(NEEDLE)",
    "rsplit": "TEXT.rsplit(NEEDLE)",
    "rpartition": "TEXT.rpartition(NEEDLE)",
    "rfind in a map": "list(map(TEXT.rfind, [NEEDLE] * 100))",
}

_SEARCHES = {
    "find in a map": "list(map(TEXT.find, [NEEDLE] * 100_000))",
    "count in a map": "list(map(TEXT.count, [NEEDLE] * 100_000))",
    "split in a map": "list(map(TEXT.split, ['b'] * 100_000))",
    "replace in a map": "list(map(lambda n: TEXT.replace('b', n), ['c'] * 10**6))",
    "in, many times": "any(map(NEEDLE.__contains__, [TEXT] * 1_000_000))",
    "strip": "list(map(TEXT.strip, [''.join(map(chr, range(60_000)))] * 100))",
}

_COMPARISONS = {
    "index": "[A].__mul__(1_000_000).index(B)",
    "count": "([A] * 1_000_000).count(B)",
    "contains": "B in [A] * 1_000_000",
    "tuple contains": "B in (A,) * 1_000_000",
    "equal lists": "[A] * 1_000_000 == [A[:-1] + 'b'] * 1_000_000",
    "max": "max([A, B] * 500_000)",
    "sorted": "sorted([A, B] * 500_000)",
    "sorted by key": "sorted([1] * 1_000_000, key=lambda i: A)",
    "remove": "([A] * 1_000_000).remove(B)",
    "deque": "__import__('collections').deque([A] * 1_000_000).count(B)",
    "heapify": "__import__('heapq').heapify([A, B] * 500_000)",
    "bisect": "[__import__('bisect').bisect([A] * 1_000_000, B) for i in range(10**6)]",
    "indexOf": "__import__('operator').indexOf([A] * 1_000_000, B)",
    "equal tuples of dicts": "({1: A},) * 1_000_000 == ({1: A[:-1] + 'b'},) * 1_000_000",
}

_NUMBERS = {
    "gcd": "__import__('math').gcd(N, M)",
    "lcm": "__import__('math').lcm(N, M)",
    "gcd of many": "__import__('math').gcd(*[N, M] * 100)",
    "Fraction": "__import__('fractions').Fraction(N, M)",
    "sum": "sum([N] * 1_000_000)",
    "sum of lists": "sum([[0] * 1000] * 1_000_000, [])",
    "sum of tuples": "sum([(0,) * 1000] * 1_000_000, ())",
    "product": "__import__('math').prod([N] * 1000)",
    "hashes": "set([N] * 1_000_000)",
    "hash of a tuple": "hash((N,) * 1_000_000)",
    "comparison": "[N] * 1_000_000 == [N + 0] * 1_000_000",
    "text": "(__import__('sys').set_int_max_str_digits(0), str(N))",
    "number of text": "(__import__('sys').set_int_max_str_digits(0), int('7' * 1_000_000))",
    "power": "pow(N, M)",
    "modular power": "pow(3, N, M)",
    "inverse": "pow(N, -1, M)",
    "division": "[divmod(N * N, M) for i in range(1000)]",
    "root": "__import__('math').isqrt(N)",
    "factorial": "__import__('math').factorial(10**7)",
    "choose": "__import__('math').comb(10**7, 5 * 10**6)",
    "permutations": "__import__('math').perm(10**7, 5 * 10**6)",
    "format": "f'{N:,}'",
    "accumulate": "list(__import__('itertools').accumulate([N] * 1_000_000))",
    "reduce": "__import__('functools').reduce(int.__add__, [N] * 1_000_000)",
    "starmap": "list(__import__('itertools').starmap(divmod, [(N, M)] * 1_000_000))",
}

_REGEXES = {
    "nested stars": "re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "alternatives": "re.match(r'(a|a)*$', 'a' * 60 + 'b')",
    "search": "re.search(r'a*b', 'a' * 4_000_000)",
    "search of a set": "re.search(r'[ab]*c', 'ab' * 2_000_000)",
    "findall": "re.findall(r'(?=(a*b))', 'a' * 4_000_000)",
    "lazy": "re.search(r'a.*?b.*?c.*?d', 'ab' * 1_000_000)",
    "look behind": "re.search(r'(?<=aaaaaaaa)b', 'a' * 4_000_000)",
    "back reference": "re.search(r'(a*)*\\\\1b', 'a' * 10_000)",
    "possessive": "re.search(r'(?:a*+b)', 'a' * 4_000_000)",
    "sub": "re.sub(r'(a*)*b', '', 'a' * 40 + 'c')",
    "split": "re.split(r'a*b', 'a' * 4_000_000)",
    "counted": "re.match(r'(?:a{0,100}){0,100}b', 'a' * 10_000)",
}

_DRAINS = {
    "cycle": "deque(it.cycle([1]), maxlen=0)",
    "repeat": "deque(it.repeat(1), maxlen=0)",
    "count": "deque(it.count(), maxlen=0)",
    "product": "deque(it.product(range(100), repeat=10), maxlen=0)",
    "permutations": "deque(it.permutations(range(30)), maxlen=0)",
    "combinations": "deque(it.combinations(range(60), 30), maxlen=0)",
    "with replacement": "deque(it.combinations_with_replacement(range(60), 30), maxlen=0)",
    "chain": "deque(it.chain.from_iterable(it.repeat([1])), maxlen=0)",
    "empty chain": "next(it.chain.from_iterable(it.repeat([])))",
    "filter": "next(filter(None, it.repeat(0)))",
    "filterfalse": "next(it.filterfalse(None, it.repeat(1)))",
    "dropwhile": "next(it.dropwhile(bool, it.repeat(1)))",
    "compress": "next(it.compress(it.repeat(1), it.repeat(0)))",
    "islice": "next(it.islice(it.count(), 10**15, None))",
    "zip": "deque(zip(it.repeat(1), it.repeat(2)), maxlen=0)",
    "zip_longest": "deque(it.zip_longest(it.repeat(1)), maxlen=0)",
    "map": "deque(map(abs, it.repeat(1)), maxlen=0)",
    "starmap": "deque(it.starmap(pow, it.repeat((1, 1))), maxlen=0)",
    "enumerate": "deque(enumerate(it.repeat(1)), maxlen=0)",
    "pairwise": "deque(it.pairwise(it.repeat(1)), maxlen=0)",
    "batched": "deque(it.batched(it.repeat(1), 2), maxlen=0)",
    "groupby": "[*map(len, map(list, (g for k, g in it.groupby(it.count(), bool))))]",
    "callable": "deque(iter(int, 1), maxlen=0)",
    "range": "deque(range(10**15), maxlen=0)",
    "long range": "deque(range(10**30), maxlen=0)",
    "sum": "sum(range(10**15))",
    "any": "any(it.repeat(0))",
    "all": "all(it.repeat(1))",
    "max": "max(it.repeat(1))",
    "in": "2 in it.repeat(1)",
    "countOf": "__import__('operator').countOf(it.repeat(1), 2)",
    "unpack": "[*map(lambda *a: 0, *[it.repeat(1)] * 3)]",
    "join": "''.join(filter(None, it.repeat('')))",
    "tee": "deque(it.tee(it.repeat(1))[0], maxlen=0)",
    "takewhile": "deque(it.takewhile(bool, it.repeat(1)), maxlen=0)",
    "reversed": "deque(it.chain.from_iterable(it.repeat(reversed([]))), maxlen=0)",
}

# A set of equal hashes that always holds deleted entries, so that each time it grows it drops them.
_DELETED = (
    _COLLIDE
    + """\
def f():
    s = set()
    for i, key in enumerate(KEYS):
        s.add(key)
        s.discard(KEYS[i // 2])
        s.update(KEYS[i // 4:i // 4 + 3])
"""
)
# The same with one entry deleted and hashes that differ where a table of that size does not look.
_DELETED_MANY = """\
def f():
    s = set(i << 40 for i in range(200_000))
    for i in range(1000):
        s.discard(i << 40)
        s |= {(i + j) << 41 for j in range(200_000)}
        s -= {(i + j) << 41 for j in range(100_000)}
"""

_MRO = """\
class P: pass
for i in range(1200): P = type('P', (P,), {})
BASES = tuple(type('B', (P,), {}) for i in range(600))
def f():
    while True: type('C', BASES, {})
"""

SCRIPTS: dict[str, str] = {
    **{f"equal hashes: {name}": _f(_COLLIDE, body) for name, body in _COLLISIONS.items()},
    **{f"backwards: {name}": _f(_BAD, body) for name, body in _BACKWARDS.items()},
    **{f"backwards in bytes: {name}": _f(_BYTES, body) for name, body in _BACKWARDS.items()},
    **{
        f"backwards in a bytearray: {name}": _f(_BYTES + "TEXT = bytearray(TEXT)\n", body)
        for name, body in _BACKWARDS.items()
    },
    **{f"search: {name}": _f(_BAD, body) for name, body in _SEARCHES.items()},
    **{f"alike: {name}": _f(_LONG, body) for name, body in _COMPARISONS.items()},
    **{f"numbers: {name}": _f(_BIG, body) for name, body in _NUMBERS.items()},
    **{f"regex: {name}": _f("import re\n", body) for name, body in _REGEXES.items()},
    **{
        f"drain: {name}": _f("import itertools as it\nfrom collections import deque\n", body)
        for name, body in _DRAINS.items()
    },
    "equal hashes: set of deleted entries": _DELETED,
    "equal low bits: set of deleted entries": _DELETED_MANY,
    "classes: an order of many ancestries": _MRO,
}
