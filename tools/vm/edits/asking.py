"""Asking: native work whose every step may take as long as one object is large, on many references to it.

A loop that looks at each object once ends soon, because the heap is bounded. One that walks a shared object
again for each reference to it does not: `set().union(*[big] * 100_000)`. Such work asks, at its entry or in
its loop, whether the task is to stop. tests/python/vm/c_loops.tsv has every loop of the VM's C files and what
bounds it.
"""

from __future__ import annotations

from .engine import Edit, because, insert_after, insert_before, replace

_ASK = """\
    extern int wvm_interrupted(void);
    if (wvm_interrupted()) {{
        return {failed};
    }}
"""


def asks(path: str, signature: str, failed: str = "NULL") -> Edit:
    """The function with this signature asks first."""
    return insert_after(path, signature + "\n{\n", _ASK.format(failed=failed))


_LIST = "Objects/listobject.c"
_SET = "Objects/setobject.c"
_TYPE = "Objects/typeobject.c"
_CODE = "Objects/codeobject.c"
_STOPPED = """\
    extern int wvm_interrupted(void);
    if (wvm_interrupted()) {
        return NULL;
    }
"""

EDITS = [
    *because(
        "classes that name each other, or themselves, as bases have no last one",
        insert_before(
            "Objects/abstract.c",
            "        if (derived == cls) {\n            Py_XDECREF(bases); /* See below comment */\n",
            """\
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
            Py_XDECREF(bases);
            return -1;
        }
""",
        ),
    ),
    *because(
        "a lattice of n classes has 2^n ways down",
        asks(
            _TYPE,
            "recurse_down_subclasses(PyTypeObject *type, PyObject *attr_name,\n"
            "                        update_callback callback, void *data)",
            "-1",
        ),
        asks(_TYPE, "mro_hierarchy(PyTypeObject *type, PyObject *temp)", "-1"),
    ),
    *because(
        "what a class has is gathered along every way up, of which a lattice has 2^n and bases that a "
        "metaclass makes up may have no end; and each of many bases is compared with all others",
        asks(_TYPE, "merge_class_dict(PyObject *dict, PyObject *aclass)", "-1"),
        insert_after(
            _TYPE,
            "    for (i = 0; i < n; i++) {\n        PyObject *o = PyTuple_GET_ITEM(tuple, i);\n",
            """\
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
            return -1;
        }
""",
        ),
    ),
    *because(
        "each of many parameters of an alias is looked for among all others",
        insert_after(
            "Objects/genericaliasobject.c",
            "        PyObject *t = PyTuple_GET_ITEM(args, iarg);\n",
            """\
        if (wvm_interrupted()) {
            Py_DECREF(parameters);
            return NULL;
        }
""",
        ),
        insert_after(
            "Objects/genericaliasobject.c",
            "            PyObject *arg = PyTuple_GET_ITEM(subparams, i);\n",
            """\
            if (wvm_interrupted()) {
                Py_DECREF(subparams);
                Py_DECREF(subargs);
                return NULL;
            }
""",
        ),
        insert_after(
            "Objects/genericaliasobject.c",
            "        PyObject *arg = PyTuple_GET_ITEM(args, iarg);\n        if (PyType_Check(arg)) {\n",
            """\
            if (wvm_interrupted()) {
                Py_DECREF(newargs);
                Py_DECREF(item);
                return NULL;
            }
""",
        ),
    ),
    *because(
        "a trace function that jumps has all of the code walked until nothing changes any more",
        insert_before(
            "Objects/frameobject.c",
            "        todo = 0;\n        /* Scan instructions */\n",
            """\
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
            PyMem_Free(stacks);
            Py_DECREF(co_code);
            return NULL;
        }
""",
        ),
    ),
    *because(
        "one large set, named many times",
        asks(_SET, "set_merge_lock_held(PySetObject *so, PyObject *otherset)", "-1"),
        asks(_SET, "set_update_dict_lock_held(PySetObject *so, PyObject *other)", "-1"),
        asks(_SET, "set_intersection(PySetObject *so, PyObject *other)"),
        asks(_SET, "set_difference(PySetObject *so, PyObject *other)"),
        asks(_SET, "set_difference_update_internal(PySetObject *so, PyObject *other)", "-1"),
    ),
    *because(
        "one long beginning, named many times",
        insert_before(
            "Objects/unicodeobject.c",
            "            int result = tailmatch(self, substring, start, end, -1);\n",
            _STOPPED,
        ),
        insert_before(
            "Objects/unicodeobject.c",
            "            int result = tailmatch(self, substring, start, end, +1);\n",
            _STOPPED,
        ),
        insert_before(
            "Objects/bytes_methods.c",
            "            int result = tailmatch(str, len, item, start, end, direction);\n",
            _STOPPED,
        ),
    ),
    *because(
        "a long set of bytes is searched for every byte that is stripped",
        insert_before(
            "Objects/bytesobject.c",
            "Py_LOCAL_INLINE(PyObject *)\ndo_xstrip(",
            "extern int wvm_must_stop(void);\nextern int wvm_interrupted(void);\n\n",
        ),
        replace(
            "Objects/bytesobject.c",
            "        while (i < len && memchr(sep, Py_CHARMASK(s[i]), seplen)) {\n",
            "        while (i < len && memchr(sep, Py_CHARMASK(s[i]), seplen) && !wvm_must_stop()) {\n",
        ),
        replace(
            "Objects/bytesobject.c",
            "        } while (j >= i && memchr(sep, Py_CHARMASK(s[j]), seplen));\n",
            "        } while (j >= i && memchr(sep, Py_CHARMASK(s[j]), seplen) && !wvm_must_stop());\n",
        ),
        insert_after(
            "Objects/bytesobject.c",
            "        j++;\n    }\n\n    PyBuffer_Release(&vsep);\n",
            "    if (wvm_interrupted()) {\n        return NULL;\n    }\n",
        ),
        insert_before(
            "Objects/bytearrayobject.c",
            "static PyObject*\nbytearray_strip_impl_helper(",
            "extern int wvm_must_stop(void);\nextern int wvm_interrupted(void);\n\n",
        ),
        insert_before(
            "Objects/bytearrayobject.c",
            "    return PyByteArray_FromStringAndSize(myptr + left, right - left);\n",
            "    if (wvm_interrupted()) {\n        return NULL;\n    }\n",
        ),
        *(
            replace(
                "Objects/bytearrayobject.c",
                f"memchr(bytesptr, (unsigned char)myptr[{side}], byteslen))",
                f"memchr(bytesptr, (unsigned char)myptr[{side}], byteslen) && !wvm_must_stop())",
            )
            for side in ("left", "right")
        ),
    ),
    *because(
        "sorting tuples that begin with the same objects walks what is alike in every comparison",
        asks(_LIST, "unsafe_tuple_compare(PyObject *v, PyObject *w, MergeState *ms)", "-1"),
    ),
    *because(
        "powers of small numbers with a long exponent: no step is long enough to ask itself",
        insert_after(
            "Objects/longobject.c",
            "#define MULT(X, Y, result)                      \\\n"
            "    do {                                        \\\n",
            """\
        extern int wvm_interrupted(void);       \\
        if (wvm_interrupted())                  \\
            goto Error;                         \\
""",
        ),
    ),
    *because(
        "constants of code.replace() may nest as deep, and share their parts as often, as a task likes",
        asks(_CODE, "intern_constants(PyObject *tuple, int *modified)", "-1"),
        asks(_CODE, "_PyCode_ConstantKey(PyObject *op)"),
    ),
    *because(
        "a shape of many empty rows is equal to another one at once",
        replace(
            "Objects/memoryobject.c",
            "    /* Use fast unpacking for identical primitive C type formats. */\n",
            """\
    if (vv->len == 0) {
        equal = 1;
        goto result;
    }

    /* Use fast unpacking for identical primitive C type formats. */
""",
        ),
    ),
    *because(
        "reading a source of many megabytes",
        insert_after(
            "Parser/pegen.c",
            "_PyPegen_fill_token(Parser *p)\n{\n",
            """\
    extern int wvm_interrupted(void);
    if (wvm_interrupted()) {
        p->error_indicator = 1;
        return -1;
    }
""",
        ),
        asks("Python/compile.c", "compiler_visit_stmt(struct compiler *c, stmt_ty s)", "ERROR"),
    ),
]
