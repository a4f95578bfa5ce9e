"""Re-entrancy: the task's own methods are called while C code holds a pointer into what they can change.

Plain Python that ends the process in CPython 3.13.5; here the object is held, or looked at again.
"""

from __future__ import annotations

from .engine import Edit, because, insert_before, insert_between, replace

BYTES = "PyByteArray_AS_STRING(self), PyByteArray_GET_SIZE(self),"


def held(call: str, kept: str = "PyObject *") -> Edit:
    """A bytearray is not resized while C code that may call the task has a pointer into it."""
    return replace(
        "Objects/bytearrayobject.c",
        f"    return {call};\n",
        f"""\
    ((PyByteArrayObject *)self)->ob_exports++;
    {kept}found = {call};
    ((PyByteArrayObject *)self)->ob_exports--;
    return found;
""",
    )


def searched(name: str, what: str) -> Edit:
    """The same for a search, whose last arguments stand on a line of their own, below the first one."""
    call = f"_Py_bytes_{name}("
    indent = " " * len(f"    return {call}")
    return held(f"{call}{BYTES}\n{indent}{what}, start, end)")


EDITS = [
    *because(
        "the item's __index__ or __float__ could have shortened the array; the length is looked at again",
        insert_before(
            "Modules/arraymodule.c",
            "    if (i >= 0)",
            """\
    if (i >= Py_SIZE(ap)) {
        PyErr_SetString(PyExc_IndexError, "array assignment index out of range");
        return -1;
    }
""",
            14,
        ),
    ),
    *because(
        "a separator's __len__ could free the bytes that are being printed",
        replace(
            "Python/pystrhex.c",
            "        Py_ssize_t seplen = PyObject_Length((PyObject*)sep);\n",
            """\
        Py_ssize_t seplen = PyUnicode_Check(sep) ? PyUnicode_GET_LENGTH(sep)
                            : PyBytes_Check(sep) ? PyBytes_GET_SIZE(sep) : PyObject_Length((PyObject*)sep);
""",
        ),
    ),
    *because(
        "the exporter's __hash__ could release the view",
        replace(
            "Objects/memoryobject.c",
            "        if (view->obj != NULL && PyObject_Hash(view->obj) == -1) {\n",
            """\
        self->exports++;
        const int unhashable = view->obj != NULL && PyObject_Hash(view->obj) == -1;
        self->exports--;
        if (unhashable) {
""",
        ),
    ),
    *because(
        "a value's __eq__ could replace the tree that is being compared",
        replace(
            "Python/context.c",
            """\
    int res = _PyHamt_Eq(
        ((PyContext *)v)->ctx_vars, ((PyContext *)w)->ctx_vars);
""",
            """\
    PyHamtObject *left = (PyHamtObject *)Py_NewRef(((PyContext *)v)->ctx_vars);
    PyHamtObject *right = (PyHamtObject *)Py_NewRef(((PyContext *)w)->ctx_vars);
    int res = _PyHamt_Eq(left, right);
    Py_DECREF(left);
    Py_DECREF(right);
""",
        ),
    ),
    *because(
        "dict.clear(od) leaves the order's nodes behind: their keys are in the order and not in the "
        "dictionary",
        replace(
            "Objects/odictobject.c",
            """\
            value = Py_NewRef(failobj);
        }
    }
    else if""",
            """\
            if (failobj) {
                value = Py_NewRef(failobj);
            }
            else if (!PyErr_Occurred()) {
                PyErr_SetObject(PyExc_KeyError, key);
            }
        }
    }
    else if""",
        ),
    ),
    *because(
        "an item's __index__ could initialise the Struct again while it packs",
        insert_between(
            "Modules/_struct.c",
            "    PyObject *weakreflist; /* List of weak references */\n",
            "    int packing;\n",
            "} PyStructObject;",
        ),
        insert_before(
            "Modules/_struct.c",
            """\
    Py_SETREF(self->s_format, format);

    ret = prepare_s(self);
""",
            """\
    if (self->packing) {
        Py_DECREF(format);
        PyErr_SetString(PyExc_RuntimeError, "Struct() initialised again while it packs");
        return -1;
    }
""",
        ),
        replace(
            "Modules/_struct.c",
            "    if ( s_pack_internal(soself, args, 0, buf, state) != 0 ) {\n",
            """\
    soself->packing++;
    const int failed_0 = s_pack_internal(soself, args, 0, buf, state);
    soself->packing--;
    if (failed_0 != 0) {
""",
        ),
        replace(
            "Modules/_struct.c",
            "    if (s_pack_internal(soself, args, 2, (char*)buffer.buf + offset, state) != 0) {\n",
            """\
    soself->packing++;
    const int failed_1 = s_pack_internal(soself, args, 2, (char*)buffer.buf + offset, state);
    soself->packing--;
    if (failed_1 != 0) {
""",
        ),
    ),
    *because(
        "a Struct that was initialised again may be longer than what its iterator has left",
        replace(
            "Modules/_struct.c",
            "    assert(self->index + self->so->s_size <= self->buf.len);\n",
            """\
    if (self->so->s_size == 0 || self->so->s_size > self->buf.len - self->index) {
        PyErr_SetString(PyExc_RuntimeError, "Struct() initialised again while it unpacks");
        return NULL;
    }
""",
        ),
    ),
    *because(
        "an argument's __index__ or __buffer__ could free the bytes that are being searched",
        *(searched(name, "sub") for name in ("find", "count", "index", "rfind", "rindex")),
        *(searched(name, "subobj") for name in ("startswith", "endswith")),
        held(f"_Py_bytes_contains({BYTES} arg)", "const int "),
    ),
    *because(
        "a separator's __buffer__ could free the bytes that are being split",
        insert_between(
            "Objects/bytearrayobject.c",
            """\
    if (PyObject_GetBuffer(sep, &vsub, PyBUF_SIMPLE) != 0)
        return NULL;
""",
            """\
    s = PyByteArray_AS_STRING(self);
    len = PyByteArray_GET_SIZE(self);
""",
            "    sub = vsub.buf;\n",
            2,
        ),
    ),
]
