"""Objects that nobody initialised, and arguments that nobody expected."""

from __future__ import annotations

# Every type of a module, made without __init__, with every method called with nothing, and with odd things.
_POKE = """\
ODD = (
    None, 0, -1, 2**63 - 1, -2**63, 2**64, 1e308, '', 'a\\0', b'', (), [], {}, int, len, object(), slice(None)
)
def types_of(root, seen):
    for t in type.__subclasses__(root) if root is not type else type.__subclasses__(type):
        if t not in seen:
            seen.add(t)
            types_of(t, seen)
    return seen
def poke(t):
    for make in (lambda: t.__new__(t), lambda: object.__new__(t), lambda: t()):
        try: x = make()
        except BaseException: continue
        for name in dir(t):
            if name in ('__class__', '__init_subclass__', '__subclasshook__'): continue
            try: m = getattr(x, name)
            except BaseException: continue
            for args in ((), *((o,) for o in ODD), *((o, o) for o in ODD)):
                try: m(*args)
                except BaseException: pass
"""
_MODULES = (
    "builtins", "_collections", "_functools", "itertools", "_struct", "_random", "_operator", "array",
    "_datetime", "_sre", "_thread", "_contextvars", "_weakref", "_json", "_abc", "types", "re", "typing",
    "math", "time",
    "binascii", "_codecs", "gc", "_md5", "_sha1", "_sha2", "_bisect", "_heapq", "_statistics", "string",
    "walle", "collections", "enum", "fractions", "random", "queue", "threading", "weakref", "io", "json",
    "dataclasses",
)  # fmt: skip
_SINGLE = {
    "staticmethod": "staticmethod.__new__(staticmethod)()",
    "staticmethod repr": "repr(staticmethod.__new__(staticmethod))",
    "staticmethod abstract": "staticmethod.__new__(staticmethod).__isabstractmethod__",
    "classmethod": "classmethod.__new__(classmethod).__get__(1)",
    "classmethod abstract": "classmethod.__new__(classmethod).__isabstractmethod__",
    "property": "property.__new__(property).__get__(1)",
    "property abstract": "property.__new__(property).__isabstractmethod__",
    "super": "super.__new__(super).spam",
    "super repr": "repr(super.__new__(super))",
    "Struct size": "__import__('struct').Struct.__new__(__import__('struct').Struct).__sizeof__()",
    "Struct pack": "__import__('struct').Struct.__new__(__import__('struct').Struct).pack()",
    "Struct pack into": (
        "__import__('struct').Struct.__new__(__import__('struct').Struct).pack_into(bytearray(9))"
    ),
    "the compiler's instructions": (
        "[t for t in object.__subclasses__() if t.__name__ == 'InstructionSequence'][0]().use_label(-1)"
    ),
    "Struct format": "__import__('struct').Struct.__new__(__import__('struct').Struct).format",
    "Struct repr": "repr(__import__('struct').Struct.__new__(__import__('struct').Struct))",
    "Struct unpack": "__import__('struct').Struct.__new__(__import__('struct').Struct).unpack(b'')",
    "raw pattern": "__import__('_sre').compile('a', 0, [1] * 100, 100, {}, ())",
    "raw pattern of jumps": "__import__('_sre').compile('a', 0, [18, 0, 18, 0, 1], 0, {}, ()).match('a')",
    "raw pattern of repeats": (
        "__import__('_sre').compile('a', 0, [23, 5, 0, 4294967295, 0, 18, 1], 0, {}, ()).match('a')"
    ),
    "raw pattern without end": "__import__('_sre').compile('a', 0, [], 0, {}, ()).match('a')",
    "raw pattern of groups": "__import__('_sre').compile('a', 0, [17, 4000000000, 1], 0, {}, ()).match('a')",
    "raw pattern of a mark": "__import__('_sre').compile('a', 0, [17, 1, 1], 10**9, {}, ()).match('a')",
    "raw pattern's index": (
        "__import__('_sre').compile('a', 0, [1], 2, {'a': 10**9}, (None, 'b')).match('a').groupdict()"
    ),
    "raw template": "__import__('_sre').template(None, [1, 2, 3])",
    "cell": "__import__('types').CellType().cell_contents",
    "frame": "__import__('sys')._getframe().clear()",
    "locals": "__import__('sys')._getframe().f_locals.__class__(1)",
    "code of a frame": "__import__('sys')._getframe().f_code.co_code[0:0].join([b'a'] * 3)",
    "bases": "type('A', (), {}).__bases__.__class__.__new__(tuple, [1])",
    "class of an instance": "setattr(__import__('types').ModuleType('m'), '__class__', int)",
    "doc": "setattr(int, '__doc__', 'x')",
    "subtype": "type('A', (type(len),), {})",
    "module without state": "__import__('types').ModuleType.__new__(__import__('types').ModuleType).__dict__",
    "spec": "__import__('sys').modules['_walle'].builtin(type('S', (), {'name': 'math'})())",
    "importer": "__spec__.__class__.__init__.__globals__['_walle'].code('json')",
    "tensor": "__import__('walle').Tensor.__new__(__import__('walle').Tensor)",
    "tensor by object": "object.__new__(__import__('walle').Tensor)",
}


def _of_module(name: str) -> str:
    return (
        f"{_POKE}import {name} as m\ndef f():\n"
        "    for t in [t for t in vars(m).values() if isinstance(t, type)]: poke(t)\n"
    )


SCRIPTS: dict[str, str] = {
    **{f"types of {name}": _of_module(name) for name in _MODULES},
    "all types": f"{_POKE}def f():\n    for t in types_of(object, set()): poke(t)\n",
    **{name: f"def f():\n    return repr({body})\n" for name, body in _SINGLE.items()},
}
