"""Depth: a recursion that leaves no stack ends with RecursionError; what cannot be freed now is freed later.

CPython counts levels in most C recursions and forgets some; these look at the stack that is really left
(src/cpp/vm/inside/stack.h).
"""

from __future__ import annotations

from .engine import Edit, because, insert_after, insert_before, insert_between, replace
from .slots import STACK


def stack_check(path: str, signature: str, failed: str = "NULL") -> Edit:
    """The function with this signature ends with RecursionError where the stack does."""
    return insert_after(path, signature + "\n{\n", STACK.format(failed=failed))


EDITS = [
    *because(
        "overflow handling beyond the headroom must be an error value, never an abort of the host",
        replace(
            "Python/ceval.c",
            '            Py_FatalError("Cannot recover from stack overflow.");',
            """\
            wvm_stack_exhausted();
            ++tstate->c_recursion_remaining;
            return -1;""",
        ),
        replace(
            "Python/ceval.c",
            '            Py_FatalError("Cannot recover from Python stack overflow.");',
            """\
            wvm_stack_exhausted();
            return -1;""",
        ),
    ),
    *because(
        "declares the check that the edits below use",
        *(
            insert_after(path, '#include "Python.h"\n', '#include "vm/inside/stack.h"\n')
            for path in (
                "Modules/_functoolsmodule.c",
                "Objects/classobject.c",
                "Objects/codeobject.c",
                "Objects/genericaliasobject.c",
                "Objects/listobject.c",
                "Objects/object.c",
                "Objects/typeobject.c",
            )
        ),
    ),
    *because(
        "slots.py guards what recurses through a type's slots; methods of methods, partials of partials, "
        "hashes and classes of nested objects and generic aliases recurse through other functions",
        stack_check(
            "Objects/classobject.c",
            "method_vectorcall(PyObject *method, PyObject *const *args,\n"
            "                  size_t nargsf, PyObject *kwnames)",
        ),
        stack_check(
            "Modules/_functoolsmodule.c",
            "partial_vectorcall(partialobject *pto, PyObject *const *args,\n"
            "                   size_t nargsf, PyObject *kwnames)",
        ),
        stack_check(
            "Objects/genericaliasobject.c",
            "ga_vectorcall(PyObject *self, PyObject *const *args,\n"
            "              size_t nargsf, PyObject *kwnames)",
        ),
        stack_check("Objects/codeobject.c", "intern_constants(PyObject *tuple, int *modified)", "-1"),
        stack_check("Objects/typeobject.c", "merge_class_dict(PyObject *dict, PyObject *aclass)", "-1"),
        stack_check("Objects/codeobject.c", "_PyCode_ConstantKey(PyObject *op)"),
        stack_check("Objects/object.c", "PyObject_Hash(PyObject *v)", "-1"),
        stack_check("Objects/object.c", "_PyObject_IsAbstract(PyObject *obj)", "-1"),
        stack_check("Objects/genericaliasobject.c", "_Py_make_parameters(PyObject *args)"),
        stack_check(
            "Objects/genericaliasobject.c",
            "_Py_subs_parameters(PyObject *self, PyObject *args, PyObject *parameters, PyObject *item)",
        ),
    ),
    *because(
        "a sort whose keys sort takes more C stack per level than other calls",
        stack_check(
            "Objects/listobject.c",
            "list_sort_impl(PyListObject *self, PyObject *keyfunc, int reverse)\n"
            "/*[clinic end generated code: output=57b9f9c5e23fbe42 input=667bf25d0e3a3676]*/",
        ),
    ),
    *because(
        "freeing an object frees what it holds; where the stack ends, the rest waits until it is shorter "
        "again",
        insert_between(
            "Objects/object.c",
            "    destructor dealloc = type->tp_dealloc;\n",
            """\
    if (WVM_STACK_LOW() && _PyObject_IS_GC(op)) {
        if (_PyObject_GC_IS_TRACKED(op)) {
            _PyObject_GC_UNTRACK(op);
        }
        _PyTrash_thread_deposit_object(_PyThreadState_GET(), op);
        return;
    }
""",
            """\
#ifdef Py_DEBUG
    PyThreadState *tstate = _PyThreadState_GET();
""",
        ),
    ),
    *because(
        "objects that wait are freed one by one where the stack ends: each call of a deallocator would come "
        "back here",
        insert_before(
            "Objects/object.c",
            """\
    assert(tstate->c_recursion_remaining > Py_TRASHCAN_HEADROOM);
    tstate->c_recursion_remaining--;
""",
            """\
    if (WVM_STACK_LOW()) {
        return;
    }
""",
        ),
    ),
    *because(
        "most deallocators expect a tracked object; those that do not care untrack it again",
        insert_between(
            "Objects/object.c",
            "        _PyObject_ASSERT(op, Py_REFCNT(op) == 0);\n",
            """\
        if (!_PyObject_GC_IS_TRACKED(op)) {
            _PyObject_GC_TRACK(op);
        }
""",
            """\
        (*dealloc)(op);
    }
""",
        ),
    ),
]
