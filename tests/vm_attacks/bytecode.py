"""Code that no compiler makes."""

from __future__ import annotations

_HEAD = """\
import types
def g(a, b=1, *c, d=2, **e):
    try:
        x = [i for i in (a, b)]
        for y in x: x.append
        def h(): return x
        return h()
    except ValueError as z:
        raise
def gen():
    yield 1
    yield from gen()
code = g.__code__
def run(**changes):
    made = code.replace(**changes)
    return types.FunctionType(made, globals(), closure=None)(1, 2)
def k(x, y): return {"a": x, "b": y}
def keys_run(keys):
    constants = tuple(keys if type(each) is tuple else each for each in k.__code__.co_consts)
    return types.FunctionType(k.__code__.replace(co_consts=constants), {})(1, 2)
def gen_run(**changes):
    return next(types.FunctionType(gen.__code__.replace(**changes), globals())())
"""
_CHANGES = {
    "no constants": "run(co_consts=())",
    "odd constants": "run(co_consts=tuple(object() for c in code.co_consts))",
    "constants for each other": "run(co_consts=code.co_consts[::-1])",
    "code for constants": "run(co_consts=tuple(code for c in code.co_consts))",
    "no names": "run(co_names=())",
    "names for each other": "run(co_names=code.co_names[::-1])",
    "no stack": "run(co_stacksize=0)",
    "huge stack": "run(co_stacksize=2**31 - 1)",
    "no variables": "run(co_varnames=(), co_nlocals=0)",
    "more arguments": "run(co_argcount=5)",
    "fewer arguments": "run(co_argcount=0)",
    "keyword arguments": "run(co_kwonlyargcount=3)",
    "a free variable": "run(co_freevars=('q',))",
    "no cells": "run(co_cellvars=())",
    "a generator": "run(co_flags=code.co_flags | 0x20)",
    "a coroutine": "run(co_flags=code.co_flags | 0x80)",
    "no generator": "gen_run(co_flags=3)",
    "not optimised": "run(co_flags=0)",
    "all flags": "run(co_flags=0x7fffffff)",
    "no lines": "run(co_linetable=b'')",
    "odd lines": "run(co_linetable=b'\\xff' * 100)",
    "a str for keys": "keys_run('ab')",
    "too few keys": "keys_run(('a',))",
    "no handlers": "run(co_exceptiontable=b'')",
    "odd handlers": "run(co_exceptiontable=b'\\x80\\x3f\\x00\\x01' * 10)",
    "handlers everywhere": "run(co_exceptiontable=bytes([128 | 0, 30, 2, 1]))",
    "no code": "run(co_code=b'')",
    "half an instruction": "run(co_code=b'\\x01')",
    "zeros": "run(co_code=bytes(100))",
    "constructed": "types.CodeType(0, 0, 0, 0, 0, 0, b'', (), (), (), '', '', '', 0, b'', b'')",
    "constructed by new": (
        "types.CodeType.__new__(types.CodeType, 0, 0, 0, 0, 9, 3, b'S\\0' * 9, (), (), (), '', '', '', "
        "0, b'', b'', (), ())"
    ),
    "by copyreg": "__import__('copyreg').__newobj__(types.CodeType)",
    "another's code": "setattr(g, '__code__', gen.__code__) or g()",
    "code with cells": "setattr(gen, '__code__', (lambda: (lambda: run))().__code__)",
    "a name of the library": "run(co_filename='<json>')",
    "a generator expression of an integer": (
        "next(types.FunctionType((i for i in ()).gi_code, globals())(1))"
    ),
}
_RANDOM = """
import random
def f():
    r = random.Random({seed})
    for i in range(2000):
        raw = bytearray(code.co_code)
        for j in range(r.choice((1, 2, 4))):
            raw[r.randrange(len(raw))] = r.randrange(256)
        try: run(co_code=bytes(raw))
        except Exception: pass
"""
_SHUFFLED = """
import random
def f():
    r = random.Random({seed})
    for i in range(2000):
        raw = [code.co_code[k:k + 2] for k in range(0, len(code.co_code), 2)]
        r.shuffle(raw)
        try: run(co_code=b''.join(raw), co_stacksize=r.choice((5, 50)), co_exceptiontable=b'')
        except Exception: pass
"""

SCRIPTS: dict[str, str] = {
    **{name: f"{_HEAD}def f():\n    return repr({body})\n" for name, body in _CHANGES.items()},
    **{f"changed at random, {seed}": _HEAD + _RANDOM.format(seed=seed) for seed in range(10)},
    **{f"shuffled, {seed}": _HEAD + _SHUFFLED.format(seed=seed) for seed in range(5)},
}
