"""Memory without end, in every form that a task can ask for."""

from __future__ import annotations

_GROW = {
    "list": "x = []\n    while True: x.append(x)",
    "list of lists": "x = []\n    while True: x.append([x])",
    "dict": "x = {}\n    while True: x[len(x)] = 0",
    "set": "x = set()\n    while True: x.add(len(x))",
    "str": "x = 'a'\n    while True: x += x",
    "bytes": "x = b'a'\n    while True: x += x",
    "bytearray": "x = bytearray(1)\n    while True: x += x",
    "int": "x = 3\n    while True: x *= x",
    "tuple": "x = ()\n    while True: x = (x, x, bytes(1000))",
    "deque": "from collections import deque\n    x = deque()\n    while True: x.append(bytes(100))",
    "generators": "x = []\n    while True: x.append(i for i in x)",
    "closures": "x = []\n    while True: x.append(lambda y=x: y)",
    "classes": "x = []\n    while True: x.append(type('C', (), {}))",
    "objects": "class C: pass\n    x = []\n    while True:\n        x.append(C()); x[-1].a = x",
    "exceptions": "x = None\n    while True:\n        e = ValueError(); e.__cause__ = x; x = e",
    "names": "x = []\n    import sys\n    while True: x.append(sys.intern(str(len(x)) * 50))",
    "modules": (
        "import sys, types\n    while True: sys.modules[str(len(sys.modules))] = types.ModuleType('m')"
    ),
    "small tensors": "import walle\n    x = []\n    while True: x.append(walle.Tensor('uint8', [1]))",
    "empty tensors": "import walle\n    x = []\n    while True: x.append(walle.Tensor('uint8', [0]))",
    "tensors": "import walle\n    x = []\n    while True: x.append(walle.Tensor('uint8', [100_000]))",
    "cyclic tensors, kept": (
        "import walle\n    x = []\n    while True:\n        x.append([walle.Tensor('uint8', [9])])\n"
        "        x[-1].append(x)"
    ),
    "views": "x = []\n    b = bytes(10)\n    while True: x.append(memoryview(b)[1:])",
    "arrays": "from array import array\n    x = array('d')\n    while True: x.extend([0.0] * 1000)",
    "partials": "from functools import partial\n    x = int\n    while True: x = partial(x, 1)",
    "lru_cache": (
        "from functools import lru_cache\n    g = lru_cache(None)(str)\n    i = 0\n    while True:\n"
        "        i += 1; g(i)"
    ),
    "regexes": "import re\n    x = []\n    while True: x.append(re.compile('a' * len(x)))",
    "weak references": (
        "import weakref\n    x = []\n    class C: pass\n    while True:\n"
        "        c = C(); x.append((c, weakref.ref(c)))"
    ),
    "tee": "import itertools\n    x = itertools.tee(itertools.count(), 2)\n    for i in x[0]: pass",
    "context": (
        "import contextvars\n    v = contextvars.ContextVar('v')\n    x = []\n    while True:\n"
        "        v.set(len(x)); x.append(contextvars.copy_context())"
    ),
    "StringIO": "import io\n    x = io.StringIO()\n    while True: x.write('a' * 1000)",
    "traceback": (
        "def g(n): return g(n + 1)\n    x = []\n    while True:\n        try: g(0)\n"
        "        except RecursionError as e: x.append(e)"
    ),
    "swallowed": (
        "x = []\n    while True:\n        try: x.append(bytes(10**6))\n        except MemoryError: pass"
    ),
    "swallowed in a destructor": (
        "class D:\n        def __del__(s):\n            try: bytes(10**9)\n"
        "            except MemoryError: D()\n    D()\n    while True: D()"
    ),
}
_ONCE = {
    "list": "[0] * 10**10",
    "str": "'a' * 10**11",
    "bytes": "bytes(10**12)",
    "bytearray": "bytearray(10**12)",
    "tuple": "(0,) * 10**10",
    "range": "list(range(10**12))",
    "shift": "1 << 10**12",
    "power": "10 ** 10**10",
    "deque": "__import__('collections').deque([1]) * 10**11",
    "deque of two": "__import__('collections').deque([1, 2]) * 10**11",
    "array": "__import__('array').array('d', [0.0]) * 10**11",
    "padding": "'a'.ljust(10**12)",
    "zeros": "'1'.zfill(10**12)",
    "tabs": "'\\t'.expandtabs(10**12)",
    "percent": "'%100000000000d' % 1",
    "format": "f'{1:>100000000000}'",
    "precision": "f'{1.0:.1000000000}'",
    "join": "('a' * 10**6).join(['b'] * 10**6)",
    "replace": "('a' * 10**6).replace('a', 'b' * 10**6)",
    "struct": "__import__('struct').pack('1000000000000x')",
    "Struct": "__import__('struct').Struct('i' * 10**7 + 'q')",
    "product": "list(__import__('itertools').product(range(10**9), repeat=3))",
    "combinations": "list(__import__('itertools').combinations(range(10**6), 10**6 - 1))",
    "batched": "next(__import__('itertools').batched(__import__('itertools').repeat(1), 10**12))",
    "tensor": "__import__('walle').Tensor('float64', [10**12])",
    "tensor of many dimensions": "__import__('walle').Tensor('uint8', [2**31] * 8)",
    "negative tensor": "__import__('walle').Tensor('uint8', [-1])",
    "random": "__import__('random').randbytes(10**11)",
    "bits": "__import__('random').getrandbits(10**11)",
    "from hex": "bytes.fromhex('00' * 10**9)",
    "base64": "__import__('base64').b64encode(bytes(10**9))",
    "int to bytes": "(1).to_bytes(10**11, 'big')",
    "dumps": "__import__('json').dumps([[0] * 1000] * 10**6)",
    "sorted": "sorted(range(10**12))",
    "repeated answer": "[[b'a' * 1000] * 1000] * 1000",
    "huge answer": "['a' * 1000] * 10**6",
    "answer that holds itself": "(lambda x: x.append(x) or x)([])",
    "message": "(_ for _ in ()).throw(ValueError('a' * 20_000_000))",
    "lines": "[print('a' * 10**6) for _ in range(10**6)]",
    "many lines": "[print() for _ in range(10**9)]",
}

SCRIPTS = {
    **{f"grows: {name}": f"def f():\n    {body}\n" for name, body in _GROW.items()},
    **{f"at once: {name}": f"def f():\n    return {body}\n" for name, body in _ONCE.items()},
}
