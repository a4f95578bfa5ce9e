"""Seeds for bundle_fuzz: compiled tasks without the container's first 44 bytes,
one for every kind of statement.
"""

from __future__ import annotations

import sys
from pathlib import Path

from walle_rt.vm import VM, TaskBundle

BODY_AT = 44
# Separated by lines "## name".
SOURCES = r"""
## constants
a = (1, -2**70, 2.5, 1j, 'ü', b'z', None, ..., True, frozenset(), (1, (2, (3,))))
b = x in {1, 2, 'a'}
## function
def f(a, b=2, /, c=3, *args, d, e=5, **rest):
    return a + b * c - d @ e
## closure
def outer(a):
    def inner(b):
        nonlocal a
        a += b
        return lambda: a
    return inner
## loop
for i in range(9):
    if i % 2: continue
    while i: i -= 1; break
else:
    del i
## handlers
try:
    f()
except (A, B) as e:
    raise C from e
except D:
    pass
## groups
try:
    f()
except* D as g:
    h(g)
finally:
    with a as b, c:
        pass
## generator
def g(n):
    x = yield n
    y = yield from g(x)
    return (z for z in y if z)
## coroutine
async def c():
    async with a as b:
        async for d in b:
            yield await d
    return
## class
class A(B, metaclass=M, k=1):
    x: int = 3
    @property
    def y(self): return super().y + __class__.x
## match
match v:
    case {'k': [1, *r], **o}: f(r, o)
    case P(x=0) | P(x=1): g()
    case str() as s if s: h()
## literals
a, *b, c = [*x, *y], {**p, 'q': 1}, {1, *z}
d = f'{a!r:>{b}}{c=}'
x[1:2:3], y[::] = a[b], c.d
## comprehension
[x for y in z for x in y if x]
{x: y for x, y in z}
assert a, 'b'
## imports
import a.b as c, d
from .e import f as g
from h import *
## types
type X[T: int] = list[T]
def f[T](a: T) -> T: return a
class C[*Ts, **P]: pass
## nothing
"""
WIDE = f"""
x = [{", ".join(f"n{i}.a{i}({i})" for i in range(150))}]
if x:
    {"y = x; " * 200} pass
"""


def sources() -> dict[str, str]:
    """Name and text of every seed."""
    parts = SOURCES.split("## ")[1:]
    return {name: text for name, _, text in (part.partition("\n") for part in parts)} | {"wide": WIDE}


def main(target: Path) -> None:
    """Write the seeds once; a folder that has some is left alone."""
    if any(target.glob("seed_*")):
        return
    if not VM.available("full"):
        print("no seeds: the VM library is not built (cmake --build build/release --target vm_full _core)")
        return
    vm = VM("full")
    for name, source in sources().items():
        (target / f"seed_{name}").write_bytes(TaskBundle.from_source({"main": source}, vm).data[BODY_AT:])
    small = {f"seed_{name}": source for name, source in sources().items() if name != "wide"}
    (target / "seed_all").write_bytes(TaskBundle.from_source(small, vm).data[BODY_AT:])
    print(f"{len(small) + 2} seeds")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
