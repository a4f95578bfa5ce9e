"""Kinds: what bytecode may ask of a value that the verifier cannot know beforehand.

Upstream, an assertion says what the compiler guarantees; here bytecode may come from elsewhere. The verifier
(src/cpp/vm/inside/code/code_kinds.c) knows which values are lists, cells or missing; these instructions look
at theirs. All of them are cold but FOR_ITER, whose usual iterators have instructions of their own.
"""

from __future__ import annotations

from .engine import Edit, because, insert_after, insert_before, insert_between, replace

_LOOP = "Python/generated_cases.c.h"


def _trusted(anchor: str, wrong: str, count: int = 1) -> Edit:
    """After `anchor`, which names the value: SystemError where it is none of what the instruction needs."""
    return insert_after(
        _LOOP,
        anchor,
        f"""\
            if ({wrong}) {{
                _PyErr_SetString(tstate, PyExc_SystemError, "bytecode that no compiler makes");
                goto error;
            }}
""",
        count,
    )


EDITS = [
    *because(
        "a code object that a task makes is read again from what the verifier has seen",
        insert_before(
            "Objects/codeobject.c",
            """\
    PyObject *co = NULL;
    PyObject *ournames = NULL;
""",
            """\
    PyErr_SetString(PyExc_TypeError, "a task cannot make code objects; replace() changes one");
    return NULL;
""",
        ),
        insert_before(
            "Objects/codeobject.c",
            """\
    PyCodeObject *co = NULL;
    PyObject *varnames = NULL;
    PyObject *cellvars = NULL;
""",
            """\
    extern int wvm_instructions_fit(PyObject *);
    if (wvm_instructions_fit(co_code) < 0) {
        Py_XDECREF(code);
        return NULL;
    }
""",
        ),
        insert_between(
            "Objects/codeobject.c",
            """\
        co_linetable, co_exceptiontable);

error:
""",
            """\
    if (co != NULL) {
        extern PyObject *wvm_checked_copy(PyObject *);
        Py_SETREF(co, (PyCodeObject *)wvm_checked_copy((PyObject *)co));
    }
""",
            """\
    Py_XDECREF(code);
    Py_XDECREF(varnames);
""",
        ),
    ),
    *because(
        "the iterator of a generator expression is an argument, which a task may give itself",
        _trusted(
            "                /* before: [iter]; after: [iter, iter()] *or* [] (and jump over END_FOR.) */\n",
            "Py_TYPE(iter)->tp_iternext == NULL",
        ),
    ),
    *because(
        "a dictionary of constant keys takes them from where its tuple should be",
        _trusted("            assert(PyTuple_CheckExact(keys));\n", "PyTuple_GET_SIZE(keys) != oparg"),
    ),
    *because(
        "what a handler stores may be any object when it comes back",
        _trusted(
            "            assert(exc && PyExceptionInstance_Check(exc));\n",
            "!PyExceptionInstance_Check(exc)",
            2,
        ),
        _trusted("            new_exc = stack_pointer[-1];\n", "!PyExceptionInstance_Check(new_exc)"),
        insert_between(
            _LOOP,
            """\
            INSTRUCTION_STATS(POP_EXCEPT);
            PyObject *exc_value;
            exc_value = stack_pointer[-1];
""",
            """\
            if (exc_value != Py_None && !PyExceptionInstance_Check(exc_value)) {
                _PyErr_SetString(tstate, PyExc_SystemError, "bytecode that no compiler makes");
                goto error;
            }
""",
            "            _PyErr_StackItem *exc_info = tstate->exc_info;\n",
        ),
        _trusted(
            "            assert(exc_value && PyExceptionInstance_Check(exc_value));\n",
            "!PyExceptionInstance_Check(exc_value)",
        ),
        _trusted(
            "            assert(val && PyExceptionInstance_Check(val));\n", "!PyExceptionInstance_Check(val)"
        ),
        insert_between(
            _LOOP,
            """\
            match_type = stack_pointer[-1];
            exc_value = stack_pointer[-2];
""",
            """\
            if (exc_value != Py_None && !PyExceptionInstance_Check(exc_value)) {
                _PyErr_SetString(tstate, PyExc_SystemError, "bytecode that no compiler makes");
                goto error;
            }
""",
            "            if (_PyEval_CheckExceptStarTypeValid(tstate, match_type) < 0) {\n",
        ),
        insert_before(
            "Python/intrinsics.c",
            """\
    const char *msg = NULL;
    if (PyErr_GivenExceptionMatches(exc, PyExc_StopIteration)) {
""",
            """\
    if (!PyExceptionInstance_Check(exc)) {
        PyErr_SetString(PyExc_SystemError, "bytecode that no compiler makes");
        return NULL;
    }
""",
        ),
        replace(
            "Python/intrinsics.c",
            "    return _PyExc_PrepReraiseStar(orig, excs);\n",
            """\
    PyObject *checked = PyUnstable_Exc_PrepReraiseStar(orig, excs);
    if (checked == NULL || checked == Py_None || PyExceptionInstance_Check(checked)) {
        return checked;
    }
    Py_DECREF(checked);
    PyErr_SetString(PyExc_SystemError, "bytecode that no compiler makes");
    return NULL;
""",
        ),
        insert_after(
            "Objects/typevarobject.c",
            "_Py_subscript_generic(PyThreadState* unused, PyObject *params)\n{\n",
            """\
    if (!PyTuple_Check(params)) {
        PyErr_SetString(PyExc_SystemError, "bytecode that no compiler makes");
        return NULL;
    }
""",
        ),
    ),
    *because(
        "a loop of jumps that look at nothing would outlive every limit; what is pending here ends the task "
        "or asks the host, and neither is handled by the code around",
        insert_between(
            _LOOP,
            "             * (see bpo-30039).\n             */\n",
            """\
            if (_Py_atomic_load_uintptr_relaxed(&tstate->eval_breaker) & _PY_SIGNALS_PENDING_BIT) {
                if (_Py_HandlePending(tstate) != 0) goto error;
            }
""",
            "            JUMPBY(-oparg);\n            DISPATCH();\n        }\n\n        TARGET(JUMP_FORWARD)",
        ),
    ),
    *because(
        "a function is made in steps, any of which may be left out",
        _trusted(
            "            PyObject *closure = ((PyFunctionObject *)frame->f_funcobj)->func_closure;\n",
            "closure == NULL || PyTuple_GET_SIZE(closure) != co->co_nfreevars",
        ),
        _trusted(
            """\
            assert(PyFunction_Check(func));
            PyFunctionObject *func_obj = (PyFunctionObject *)func;
""",
            "!wvm_function_attribute_fits(func_obj, attr, oparg)",
        ),
        insert_after(
            "Python/ceval.c",
            "extern void wvm_stack_exhausted(void);\n",
            "extern int wvm_function_attribute_fits(PyFunctionObject *, PyObject *, int);\n",
        ),
    ),
]
