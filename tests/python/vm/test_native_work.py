"""Work inside C code, each step of which may take as long as an object is large: it ends with the limit."""

from __future__ import annotations

import pytest
from endings import endings

from walle_rt.vm import VM

_SETS = "S = set(range(200_000))\nT = (1 << 40,)\n"
_LONG = "A = 'a' * 4_000_000\nB = A[:-9] + 'b' + A[:8]\n"
_TUPLES = (
    "P = tuple([0] * 300_000)\nL = [P + (i,) for i in range(6)]\nL = [L[i % 6] for i in range(100_000)]\n"
)
_LATTICE = """\
class A: pass
def grow(n):
    one, two = type('A', (), {}), type('B', (), {})
    root = type('R', (one, two), {})
    for i in range(n):
        left, right = type('L', (root,), {}), type('M', (root,), {})
        root = type('R', (left, right), {})
    return one
"""
# name: (head, expression of f)
ENDLESS: dict[str, tuple[str, str]] = {
    "union": (_SETS, "set().union(*[S] * 100_000)"),
    "update": (_SETS, "set().update(*[S] * 100_000)"),
    "union of dicts": ("S = dict.fromkeys(range(200_000))\n", "set().union(*[S] * 100_000)"),
    "intersection": (_SETS, "S.intersection(*[S.copy()] * 100_000)"),
    "difference": (_SETS, "S.difference(*[{-i for i in S}] * 100_000)"),
    "difference update": (_SETS, "S.difference_update(*[{-i - 1 for i in S}] * 100_000)"),
    "startswith": (_LONG, "A.startswith((B,) * 1_000_000)"),
    "endswith": (_LONG, "A.endswith((B,) * 1_000_000)"),
    "startswith of bytes": (_LONG, "A.encode().startswith((B.encode(),) * 1_000_000)"),
    "strip": ("", "(b'\\xff' * 4_000_000).strip(b'a' * 4_000_000 + b'\\xff')"),
    "lstrip": ("", "(b'\\xff' * 4_000_000).lstrip(b'a' * 4_000_000 + b'\\xff')"),
    "strip of a bytearray": ("", "bytearray(b'\\xff' * 4_000_000).strip(b'a' * 4_000_000 + b'\\xff')"),
    "sorted tuples": (_TUPLES, "sorted(L)"),
    "a power of a small number": ("E = (1 << 150_000_000) - 1\n", "pow(3, E, 7)"),
    "a power of one": ("E = (1 << 150_000_000) - 1\n", "1 ** E"),
    "cyclic bases": (
        "class C: pass\nclass M:\n    @property\n    def __bases__(self): return (self,)\n",
        "issubclass(M(), C)",
    ),
    "bases in a lattice": (
        "class C: pass\nclass M:\n    @property\n    def __bases__(self): return (self, self)\nimport sys\n",
        "issubclass(M(), C)",
    ),
    "a method put on top of a lattice": (_LATTICE, "setattr(grow(40), '__add__', lambda a, b: 1)"),
    "what a lattice has": (
        _LATTICE + "one = grow(40)\nwhile one.__subclasses__(): one = one.__subclasses__()[-1]\n",
        "dir(one)",
    ),
    "bases without end": (
        "class M(type):\n    @property\n    def __bases__(self): return (self,)\n"
        "class C(metaclass=M): pass\n",
        "dir(C)",
    ),
    "parameters": (
        "import types, typing\nT = tuple([typing.TypeVar('T') for i in range(150_000)])\n",
        "types.GenericAlias(list, T).__parameters__",
    ),
    "constants that share": (
        "def g(): return 1\nx = ()\nfor i in range(100): x = (x, x)\n",
        "g.__code__.replace(co_consts=(x,))",
    ),
    "a map of one text": (_LONG, "max(map(B.__lt__, [A[:-1] + 'a'] * 1_000_000))"),
    "a long source": ("", "compile('x=1\\n' * 4_000_000, 'a', 'exec')"),
    "empty rows": (
        "import walle\nt = walle.Tensor('uint8', [1 << 30, 0])\n",
        "memoryview(t) == memoryview(t)",
    ),
}


@pytest.fixture(scope="module")
def ended(vm: VM) -> dict[str, tuple[str, float]]:
    return endings(
        {name: f"{head}def f():\n    {body}\n" for name, (head, body) in ENDLESS.items()},
        heap_bytes=512 << 20,
    )


@pytest.mark.parametrize("name", ENDLESS)
def test_native_work_ends_with_the_limit(ended: dict[str, tuple[str, float]], name: str) -> None:
    how, seconds = ended[name]
    assert seconds < 2.5, "a limit of 1 s, what the module itself takes, and the end of its isolate"
    expected = {"empty rows": "None", "bases in a lattice": "stack", "bases without end": "stack"}
    assert how == expected.get(name, "wall") or (name, how) == ("a long source", "heap")


DEEP = {
    "tuples": "x = ()\nfor i in range(300_000): x = (x,)\n",
    "frozen sets": "x = frozenset()\nfor i in range(100_000): x = frozenset((x,)) if i % 100 else (x,)\n",
}


@pytest.mark.parametrize("name", DEEP)
def test_constants_that_nest_deep_are_an_error(vm: VM, name: str) -> None:
    source = f"{DEEP[name]}def g(): return 1\ndef f(): g.__code__.replace(co_consts=(x,))\n"
    assert endings({name: source}, heap_bytes=256 << 20, wall_ms=20_000)[name][0] in ("stack", "ValueError")
