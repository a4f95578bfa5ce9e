"""What scripts hand to private constructors and state setters is an error or a harmless object."""

from __future__ import annotations

import pytest
from endings import endings

from walle_rt.vm import VM

_HEAD = """\
import _sre, collections, datetime, functools, gc, itertools, random, re, struct, sys, types
from itertools import *
class Bad:
    def __eq__(self, other):
        other['planted'] = 1
        return hasattr(int, 'planted')
    __hash__ = None
    def __ror__(self, other):
        other['real'] = 1
        return 'changed'
def state(x, *given):
    x.__setstate__(*given)
    return list(islice(x, 5))
"""
# expression of f: what it gives, or the exception's class
GIVEN = {
    "state(combinations((), 2), (0, 0))": "ValueError",
    "state(combinations('ab', 3), (0, 0, 0))": "ValueError",
    "state(combinations('abc', 2), (9, 9))": "[]",
    "state(combinations_with_replacement((), 2), (0, 0))": "ValueError",
    "state(combinations_with_replacement('ab', 2), (9, -9))": "[('b', 'b')]",
    "state(permutations('a', 3), ((0,), (1, 1, 1)))": "ValueError",
    "state(permutations((), 2), ((), (1, 1)))": "ValueError",
    "state(product('ab', ''), (9, 9))": "[]",
    "tee_beyond()": "ValueError",
    "tee_of_no_iterator()": "TypeError",
    "cycle_of_a_shrinking_list()": "[1]",
    "partial_in_use()": "[[1], [1]]",
    "datetime.date(b'\\0\\0\\x01\\x01').ctime()": "TypeError",
    "datetime.date(b'\\x07\\xd0\\x02\\x1e')": "TypeError",
    "datetime.date(b'\\xff\\xff\\x0c\\xff').strftime('%c')": "TypeError",
    "datetime.datetime(b'\\0\\0\\x01\\x01' + bytes(6)).ctime()": "TypeError",
    "datetime.datetime(b'\\x07\\xd0\\x01\\x01\\xff' + bytes(5))": "TypeError",
    "datetime.time(b'\\x05\\xff' + bytes(4))": "TypeError",
    "datetime.datetime(b'\\x07\\xd0\\x81\\x01' + bytes(6)).fold": "1",
    "datetime.time(datetime.time(1, 2, 3, 4).__reduce__()[1][0]) == datetime.time(1, 2, 3, 4)": "True",
    "iter(range(1 << 100)).__setstate__(1.5)": "TypeError",
    "sre([13, 1, 0])": "RuntimeError",
    "sre([13, 0, 0])": "RuntimeError",
    "sre([13, 4, 8, 1 << 29, 0])": "RuntimeError",
    "sre([14, 5, 4, 0, 0, 0])": "None",
    "sre([14, 3, 4, 0, 0, 0])": "RuntimeError",
    "sre([14, 8, 1, 1, 1, 1, 9, 97, 0])": "RuntimeError",
    "sre([14, 10, 1, 2, 2, 2, 0, 97, 98, 1, 1])": "RuntimeError",
    "sre([14, 10, 1, 2, 2, 2, 2, 97, 98, 0, 1])": "RuntimeError",
    "sre([14, 10, 1, 2, 2, 2, 9, 97, 98, 0, 1])": "RuntimeError",
    "sre([24, 5, 0, 5, 7, 1])": "RuntimeError",
    "int.__dict__ == Bad()": "False",
    "types.MappingProxyType(int.__dict__) == Bad()": "False",
    "int.__dict__ == types.MappingProxyType(Bad2()) or hasattr(int, 'planted')": "False",
    "int.__dict__ | Bad() and (1).real": "1",
    "(int.__dict__ | {}) == dict(int.__dict__)": "True",
    "hasattr(gc, 'get_objects') or hasattr(gc, 'get_referrers') or hasattr(gc, 'get_referents')": "False",
    "gc.set_debug(gc.DEBUG_SAVEALL) or leaks()": "0",
    "hasattr(sys, '_debugmallocstats') or hasattr(sys, '_baserepl')": "False",
    "kept_views()": "TypeError",
}
_FUNCTIONS = """\
class Bad2(dict):
    def __eq__(self, other):
        other['planted'] = 1
        return False
    __hash__ = None
def tee_beyond():
    block = _tee_of([]).__reduce__()[2][0]
    one, other = _tee_of([]), _tee_of([])
    one.__setstate__((block, 9))
    other.__setstate__((block, 0))
    return next(one, 0), next(other, 0)
def _tee_of(items): return tee(iter(items))[0]
def tee_of_no_iterator():
    kind = type(_tee_of([]).__reduce__()[2][0])
    x = _tee_of([])
    x.__setstate__((kind(5, [], None), 0))
    return next(x)
def cycle_of_a_shrinking_list():
    saved = [1, 2, 3]
    x = cycle([])
    x.__setstate__((saved, True))
    next(x), next(x)
    saved[:] = [1]
    return list(islice(x, 1))
def partial_in_use():
    class K:
        def __init__(self, value): p.__setstate__((list.sort, (), {}, {}))
        def __lt__(self, other): return False
    p = functools.partial(list.sort, [3, 2, 1] * 100)
    p(key=K)
    return [[1], [1]]
def sre(code):
    pattern = _sre.compile('a', 0, code + [1], 0, {}, ())
    return pattern.search('ababab' * 100)
def leaks():
    x = []
    x.append(x)
    del x
    gc.collect()
    return len(gc.garbage)
def kept_views():
    class Evil:
        def __init__(self, format): self.size = self.itemsize = 16
        def unpack_from(self, view): return 5
    struct.Struct = Evil
    import array
    return memoryview(array.array('i', [1] * 4)) == memoryview(array.array('q', [1] * 4))
"""


@pytest.fixture(scope="module")
def ended(vm: VM) -> dict[str, tuple[str, float]]:
    return endings({body: f"{_HEAD}{_FUNCTIONS}def f():\n    return str({body})\n" for body in GIVEN})


@pytest.mark.parametrize("body", GIVEN)
def test_states_are_checked(ended: dict[str, tuple[str, float]], body: str) -> None:
    assert ended[body][0] in (GIVEN[body], repr(GIVEN[body]))


RANDOM_PROGRAMS = """\
import _sre, random, re
from re import _constants as c
OPS = [int(op) for op in c.OPCODES]
def changed(r, code):
    code = list(code)
    for i in range(r.choice((1, 1, 2, 4))):
        code[r.randrange(len(code))] = r.choice((r.choice(OPS), r.randrange(12), 2**32 - 1, 2**29,
                                                 code[r.randrange(len(code))]))
    return code
def f():
    r = random.Random({seed})
    programs = []
    def keep(pattern, flags, code, *rest):
        programs.append((code, *rest))
        return real(pattern, flags, code, *rest)
    real, _sre.compile = _sre.compile, keep
    for text in (r'abab(c|d)*[a-z\\u0400-\\u0500]+?', r'(?P<x>a)(?(x)b|c)(?>a+)', r'(?<=ab)(?!c)x{{2,5}}+',
                 r'(?i:[\\w-]+)(a|bc|d)\\1', r'^(?:a|b|ab)*$', r'ab[^\\d]*?(?=c)'):
        re.purge()
        re.compile(text)
    for i in range(3000):
        code, groups, index, names = r.choice(programs)
        code = changed(r, code) if i % 3 else [r.choice((r.choice(OPS), i % 9)) for _ in range(9)] + [1]
        try:
            pattern = real('a', 0, code, groups, {{}}, (None,) * (groups + 1))
            for how in (pattern.match, pattern.search, pattern.findall, pattern.fullmatch):
                how('abababcxxabc\\u0401ddd' * 3)
        except Exception:
            pass
    return 'done'
"""


def test_random_programs_of_sre(vm: VM) -> None:
    sources = {str(seed): RANDOM_PROGRAMS.format(seed=seed) for seed in range(12)}
    # A program may run for ever.
    assert {how for how, _ in endings(sources).values()} <= {"'done'", "wall", "heap"}
