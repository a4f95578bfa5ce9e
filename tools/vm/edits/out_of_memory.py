"""Out of memory: where CPython 3.13.5 goes on after an allocation that failed.

A heap limit makes such an allocation an everyday event.
"""

from __future__ import annotations

from .engine import because, insert_after, insert_before, insert_between, replace

EDITS = [
    *because(
        "a key that could not be inserted was counted: ending the isolate met the hole in its interned names",
        insert_between(
            "Objects/dictobject.c",
            """\
            if (result) {
                *result = NULL;
            }
""",
            "            return -1;\n",
            """\
        }

        MAINTAIN_TRACKING(mp, key, value);
""",
        ),
    ),
    *because(
        "ContextVar.set() without memory for its token went on and dropped a reference to it",
        insert_between(
            "Python/context.c",
            """\
    PyContextToken *tok = token_new(ctx, var, old_val);
    Py_XDECREF(old_val);
""",
            """\
    if (tok == NULL) {
        return NULL;
    }
""",
            """\

    if (contextvar_set(var, val)) {
""",
        ),
    ),
    *because(
        "the code of a function that cannot be made stays on the stack, where unwinding gives it back a "
        "second time",
        replace(
            "Python/generated_cases.c.h",
            """\
            Py_DECREF(codeobj);
            if (func_obj == NULL) {
                goto error;
""",
            """\
            Py_DECREF(codeobj);
            if (func_obj == NULL) {
                goto pop_1_error;
""",
        ),
    ),
    *because(
        "a tokenizer that could not be made is no exception yet",
        insert_between(
            "Parser/pegen.c",
            """\
            _PyPegen_raise_tokenizer_init_error(filename_ob);
        }
""",
            """\
        else {
            PyErr_NoMemory();
        }
""",
            """\
        return NULL;
    }
    // This transfers the ownership to the tokenizer
    tok->filename = Py_NewRef(filename_ob);

    // We need to clear up from here on
    mod_ty result = NULL;

    int parser_flags = compute_parser_flags(flags);
    int feature_version = flags &&""",
        ),
    ),
    *because(
        "the list is made last, and a module whose execution failed before has none",
        insert_before(
            "Modules/_threadmodule.c",
            """\
    HEAD_LOCK(&_PyRuntime);
    struct llist_node *node;
    llist_for_each_safe(""",
            """\
    if (state->shutdown_handles.next == NULL) {
        return;
    }
""",
        ),
    ),
    *because(
        "a frame object that cannot be made must not take the exception along that is being raised",
        insert_before(
            "Python/frame.c",
            "        PyFrameObject *back = _PyFrame_GetFrameObject(prev);\n",
            "        PyObject *raised = PyErr_GetRaisedException();\n",
        ),
        insert_after(
            "Python/frame.c",
            """\
            PyErr_Clear();
        }
        else {
            f->f_back = (PyFrameObject *)Py_NewRef(back);
        }
""",
            "        PyErr_SetRaisedException(raised);\n",
        ),
    ),
    *because(
        "only a missing attribute is one; a MemoryError stays what it is",
        insert_between(
            "Objects/typeobject.c",
            "    if (_PyDict_SetItem_LockHeld(dict, name, value) < 0) {\n",
            """\
        if (!PyErr_ExceptionMatches(PyExc_KeyError)) {
            return -1;
        }
""",
            "        PyErr_Format(",
        ),
    ),
    *because(
        "whatever failed without an exception, an unwinding frame has one: handlers take it from the stack",
        insert_after(
            "Python/ceval.c",
            "exception_unwind:\n        {\n",
            """\
            if (!_PyErr_Occurred(tstate)) {
                _PyErr_NoMemory(tstate);
            }
""",
        ),
    ),
    *because(
        "a class that was made without memory for the keys that its instances share has none",
        insert_after(
            "Objects/dictobject.c",
            "new_dict_with_shared_keys(PyInterpreterState *interp, PyDictKeysObject *keys)\n{\n",
            """\
    if (keys == NULL) {
        return PyDict_New();
    }
""",
        ),
    ),
]
