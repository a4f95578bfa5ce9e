"""Things in things, two hundred thousand deep, and what walks them."""

from __future__ import annotations

# How one more layer is put around x.
_LAYERS = {
    "list": "[x]",
    "tuple": "(x,)",
    "dict": "{0: x}",
    "frozenset": "frozenset((x,)) if hashable else (x,)",
    "deque": "collections.deque([x])",
    "OrderedDict": "collections.OrderedDict({0: x})",
    "namespace": "types.SimpleNamespace(a=x)",
    "mappingproxy": "types.MappingProxyType(x if isinstance(x, (dict, types.MappingProxyType)) else {})",
    "staticmethod": "staticmethod(x)",
    "classmethod": "classmethod(x)",
    "property": "property(x)",
    "partial": "functools.partial(x)",
    "method": "types.MethodType(x, 1) if callable(x) else int",
    "alias": "types.GenericAlias(x, (x,))",
    "slice": "slice(x, 0)",
    "exception": "ValueError(x)",
    "chain": "itertools.chain(x)",
    "islice": "itertools.islice(x, 1)",
    "cycle": "itertools.cycle(x)",
    "map": "map(None.__class__, x)",
    "filter": "filter(None, x)",
    "zip": "zip(x)",
    "enumerate": "enumerate(x)",
    "accumulate": "itertools.accumulate(x)",
    "takewhile": "itertools.takewhile(bool, x)",
    "dropwhile": "itertools.dropwhile(bool, x)",
    "compress": "itertools.compress(x, x)",
    "pairwise": "itertools.pairwise(x)",
    "batched": "itertools.batched(x, 1)",
    "groupby": "itertools.groupby(x)",
    "tee": "itertools.tee(x)[0]",
    "zip_longest": "itertools.zip_longest(x)",
    "starmap": "itertools.starmap(print, x)",
    "itemgetter": "operator.itemgetter(x)",
    "generator": "(i for i in x)",
    "object": "Box(x)",
}
_FIRST = {
    "staticmethod": "int",
    "classmethod": "int",
    "property": "int",
    "partial": "int",
    "method": "int",
    "alias": "int",
    "mappingproxy": "{}",
}
_WALKS = {
    "repr": "repr(x)",
    "hash": "hash(x)",
    "equal": "x == y",
    "step": "next(iter(x))",
    "call": "x()",
    "length": "len(x)",
    "item": "x[0]",
    "attribute": "x.spam",
    "drop": "del x",
    "copy": "copy.deepcopy(x)",
    "abstract": "x.__isabstractmethod__",
    "answer": "return x",
    "collect": "y = None; x = [x, x]; x.append(x); del x; gc.collect()",
}
# What takes another way than the others is worth a process of its own.
_PAIRS = [
    *((layer, "drop") for layer in _LAYERS),
    *((layer, "repr") for layer in _LAYERS),
    *((layer, "step") for layer in _LAYERS),
    *((layer, walk) for layer in ("list", "tuple", "dict", "mappingproxy", "alias", "slice")
      for walk in _WALKS),
    *((layer, walk) for layer in ("staticmethod", "classmethod", "property", "partial", "method")
      for walk in ("call", "attribute", "hash", "equal", "abstract")),
    *((layer, walk) for layer in ("frozenset", "deque", "OrderedDict", "namespace", "exception", "object")
      for walk in ("equal", "hash", "copy", "collect", "answer")),
]  # fmt: skip
_HEAD = """\
import collections, copy, functools, gc, itertools, operator, types
hashable = True
class Box:
    def __init__(self, x): self.x = x
    def __repr__(self): return repr(self.x)
    def __hash__(self): return hash(self.x)
    def __eq__(self, o): return self.x == o.x
    def __getattr__(self, n): return getattr(self.x, n)
    def __iter__(self): return iter(self.x)
    def __call__(self): return self.x()
"""


def _script(layer: str, walk: str) -> str:
    first = _FIRST.get(layer, "(1, 2)")
    build = f"x = {first}\n    for i in range(200_000): x = {_LAYERS[layer]}"
    return (
        f"{_HEAD}def build():\n    {build}\n    return x\n"
        f"def f():\n    x = build()\n    y = build() if {walk == 'equal'} else None\n    {_WALKS[walk]}\n"
    )


SCRIPTS = {f"{layer}: {walk}": _script(layer, walk) for layer, walk in dict.fromkeys(_PAIRS)}
