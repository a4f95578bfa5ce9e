"""Uninitialised: objects that `__new__` made and `__init__` never saw, and arguments nobody expected.

tests/fuzz/object_fuzz.py looks for more of them.
"""

from __future__ import annotations

from .engine import because, insert_after, insert_before, remove, replace

EDITS = [
    *because(
        "super.__new__(super).__get__(x) asks whether x is of no class at all",
        insert_before(
            "Objects/typeobject.c",
            "    if (!Py_IS_TYPE(su, &PySuper_Type))\n        /* If su is an instance",
            """\
    if (su->type == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "uninitialized super object");
        return NULL;
    }
""",
        ),
    ),
    *because(
        "staticmethod.__new__(staticmethod)() and classmethod.__new__(classmethod).__isabstractmethod__ read "
        "a NULL",
        insert_after(
            "Objects/funcobject.c",
            "    staticmethod *sm = (staticmethod *)callable;\n",
            """\
    if (sm->sm_callable == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "uninitialized staticmethod object");
        return NULL;
    }
""",
        ),
        insert_after(
            "Objects/object.c",
            "_PyObject_IsAbstract(PyObject *obj)\n{\n",
            """\
    if (obj == NULL) {
        return 0;
    }
""",
        ),
    ),
    *because(
        "a Struct without a format has no codes to count",
        replace(
            "Modules/_struct.c",
            "    for (formatcode *code = self->s_codes; code->fmtdef != NULL; code++) {\n",
            "    for (formatcode *code = self->s_codes; code != NULL && code->fmtdef != NULL; code++) {\n",
        ),
    ),
    *because(
        "a Struct without a format says that it has -1 items: pack_into() of one argument read a second, and "
        "its format, which is None, was read as bytes",
        *(
            replace(
                "Modules/_struct.c",
                f"    assert({name}->s_codes != NULL);\n",
                f"""\
    if ({name}->s_codes == NULL) {{
        PyErr_SetString(PyExc_RuntimeError, "uninitialized Struct object");
        return NULL;
    }}
""",
                count,
            )
            for name, count in (("self", 3), ("soself", 2))
        ),
        *(
            insert_before(
                "Modules/_struct.c",
                anchor,
                """\
    if (!PyBytes_Check(self->s_format)) {
        PyErr_SetString(PyExc_RuntimeError, "uninitialized Struct object");
        return NULL;
    }
""",
            )
            for anchor in (
                "    return PyUnicode_FromStringAndSize(PyBytes_AS_STRING(self->s_format),\n",
                "    PyObject* fmt = PyUnicode_FromStringAndSize(\n",
            )
        ),
    ),
    *because(
        "a Struct that is initialised again and finds no memory would count items that its codes do not have",
        remove("Modules/_struct.c", "    self->s_size = size;\n    self->s_len = len;\n"),
        insert_after(
            "Modules/_struct.c",
            "        PyMem_Free(self->s_codes);\n    self->s_codes = codes;\n",
            "    self->s_size = size;\n    self->s_len = len;\n",
        ),
    ),
    *because(
        "a deque that ran out of memory while it was repeated forgot that when it was cleared for want of "
        "memory",
        replace(
            "Modules/_collectionsmodule.c",
            """\
    b = newblock(deque);
    if (b == NULL) {
        PyErr_Clear();
        goto alternate_method;
    }
""",
            """\
    PyObject *pending = PyErr_GetRaisedException();
    b = newblock(deque);
    PyErr_SetRaisedException(pending);
    if (b == NULL) {
        goto alternate_method;
    }
""",
        ),
    ),
    *because(
        "a raw program of _sre may set one mark more than there are, nest as deep as memory lasts, and "
        "repeat what repeats itself",
        insert_after(
            "Modules/_sre/sre.c",
            '#include "Python.h"\n',
            '#include "vm/inside/stack.h"\n',
        ),
        replace(
            "Modules/_sre/sre.c",
            "            if (arg > 2 * (size_t)groups + 1) {\n",
            "            if (arg >= 2 * (size_t)groups) {\n",
        ),
        insert_after(
            "Modules/_sre/sre.c",
            """\
_validate_inner(SRE_CODE *code, SRE_CODE *end, Py_ssize_t groups)
{
""",
            """\
    if (WVM_STACK_LOW()) {
        FAIL;
    }
""",
        ),
        insert_before(
            "Modules/_sre/sre_lib.h",
            """\
    TRACE(("|%p|%p|ENTER\\n", pattern, state->ptr));

    DATA_ALLOC(SRE(match_context), ctx);
""",
            """\
    if (WVM_STACK_LOW()) {
        return SRE_ERROR_RECURSION_LIMIT;
    }
""",
        ),
    ),
]
