"""Slots: one mechanism for every C recursion that CPython counts no levels of.

An object that passes an operation on to another object - an iterator over an iterator, a proxy of a proxy, a
partial of a partial - recurses through a slot of its type. So every slot function of the files that hold such
types begins with a look at the stack that is left, and every step of an iterator also with a look at the
interrupt. The functions are found in the type tables, not listed by hand: a type that another CPython adds to
these files is covered, and a count that changes ends the build.
"""

from __future__ import annotations

import re

from .engine import Edit, Rewrite, because, insert_before

# What may end in another object's slot. Buffers, finalisers and traversal do not fail and are not here.
_SLOTS = re.compile(
    r"tp_(iternext|iter|repr|str|hash|call|richcompare|getattro|descr_get)|mp_(length|subscript|ass_subscript)"
    r"|sq_(length|item|contains)|nb_(bool|or|inplace_or|index|int|float)"
)
_MINUS_ONE = ("tp_hash", "mp_length", "sq_length", "sq_contains", "mp_ass_subscript", "nb_bool")
_CAST = r"(?:\((?:\w|\s|\*)+\)\s*)*"
_TABLES = (
    re.compile(rf"^\s*{_CAST}(?P<function>\w+),\s*/\*\s*(?P<slot>\w+)\s*\*/", re.MULTILINE),
    re.compile(rf"\.(?P<slot>(?:tp|nb|sq|mp)_\w+)\s*=\s*{_CAST}(?P<function>\w+)\s*,"),
    re.compile(rf"\{{\s*Py_(?P<slot>(?:tp|nb|sq|mp)_\w+),\s*{_CAST}(?P<function>\w+)\s*\}}"),
)

STACK = """\
    if (WVM_STACK_LOW()) {{
        wvm_stack_error();
        return {failed};
    }}
"""
_INTERRUPT = """\
    if (wvm_interrupted()) {
        return NULL;
    }
"""


def slot_functions(text: str) -> dict[str, str]:
    """{function: slot} of the type tables in `text`, for the slots that matter."""
    found = {m["function"]: m["slot"] for table in _TABLES for m in table.finditer(text)}
    return {name: slot for name, slot in found.items() if _SLOTS.fullmatch(slot)}


def _guard(text: str) -> tuple[str, int]:
    """`text` with its slot functions guarded, and how many that are; those defined elsewhere are not."""
    guarded = 0
    for function, slot in slot_functions(text).items():
        guard = STACK.format(failed="-1" if slot in _MINUS_ONE else "NULL")
        if slot == "tp_iternext":
            guard += _INTERRUPT
        head = re.compile(rf"^((?:static[ \w*]+\s)?{function}\([^;{{}}]*?\)\s*\{{\n)", re.MULTILINE)
        text, count = head.subn(lambda m, guard=guard: m[1] + guard, text)
        guarded += count
    return text, guarded


def _guarded(path: str, count: int) -> list[Edit | Rewrite]:
    """The header that declares the look, unless `depth` included it, and the look itself."""
    return [
        insert_before(path, '#include "Python.h"\n', '#include "vm/inside/stack.h"\n'),
        Rewrite(path, _guard, count),
    ]


# Files whose types hold other objects, and how many slot functions they define. Not lists, tuples, dicts and
# sets: what compares, hashes and prints them counts levels. Not numbers and texts: they hold nothing.
_FILES = {
    "Modules/_collectionsmodule.c": 12,
    "Modules/_functoolsmodule.c": 7,
    "Modules/_operator.c": 6,
    "Modules/_struct.c": 2,
    "Modules/itertoolsmodule.c": 23,
    "Objects/classobject.c": 10,
    "Objects/descrobject.c": 26,
    "Objects/enumobject.c": 2,
    "Objects/funcobject.c": 7,
    "Objects/genericaliasobject.c": 8,
    "Objects/iterobject.c": 3,
    "Objects/methodobject.c": 4,
    "Objects/namespaceobject.c": 2,
    "Objects/odictobject.c": 10,
    "Objects/sliceobject.c": 4,
    "Objects/typevarobject.c": 11,
    "Objects/unionobject.c": 6,
    "Python/bltinmodule.c": 3,
}

EDITS = because(
    "a recursion through slots would overflow the C stack and end the process, and an iterator drained by C "
    "code would outlive every limit",
    *(edit for path, count in _FILES.items() for edit in _guarded(path, count)),
)
