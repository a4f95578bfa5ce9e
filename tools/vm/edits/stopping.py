"""Stopping: a cancelled task unwinds, whatever it is doing."""

from __future__ import annotations

from .engine import because, insert_after, insert_before, remove, replace

EDITS = [
    *because(
        "a cancelled task unwinds past every handler: no except or finally block can keep it alive",
        insert_before(
            "Python/ceval.c",
            '#include "pycore_ceval.h"',
            """\
extern int walle_vm_unwinding(void);
extern void walle_vm_stack_exhausted(void);
""",
        ),
        replace(
            "Python/ceval.c",
            """\
            if (get_exception_handler(_PyFrame_GetCode(frame), offset, &level, &handler, &lasti) == 0) {""",
            """\
            if (walle_vm_unwinding() ||
                get_exception_handler(_PyFrame_GetCode(frame), offset, &level, &handler, &lasti) == 0) {""",
        ),
    ),
    *because(
        "the signal bit carries cancellation: any isolate takes it, not only the main interpreter",
        replace(
            "Python/ceval_gil.c",
            """\
    if (!_Py_ThreadCanHandleSignals(tstate->interp)) {
        return 0;
    }
    if (_PyErr_CheckSignalsTstate(tstate) < 0) {""",
            "    if (_PyErr_CheckSignalsTstate(tstate) < 0) {",
        ),
    ),
    *because(
        "a sleeping task must wake up when it is cancelled",
        insert_after(
            "Modules/timemodule.c",
            """\
pysleep(PyTime_t timeout)
{
    assert(timeout >= 0);
""",
            """\
    extern int walle_vm_sleep(PyTime_t timeout);
    return walle_vm_sleep(timeout);
""",
        ),
    ),
    *because(
        "a task that waits for a lock must wake up when it is cancelled: one that it holds already, one "
        "that nobody releases",
        replace(
            "Python/thread.c",
            "            r = PyThread_acquire_lock_timed(lock, microseconds, 1);\n",
            """\
            extern PyLockStatus walle_vm_wait_for_lock(PyThread_type_lock, long long);
            r = walle_vm_wait_for_lock(lock, microseconds);
""",
        ),
        replace(
            "Python/thread.c",
            "            if (_PyEval_MakePendingCalls(tstate) < 0) {",
            """\
            extern int walle_vm_raise_if_interrupted(void);
            if (walle_vm_raise_if_interrupted() < 0 || _PyEval_MakePendingCalls(tstate) < 0) {""",
        ),
        replace(
            "Modules/_threadmodule.c",
            "    PyLockStatus r = _PyMutex_LockTimed(&self->lock, timeout,",
            """\
    extern PyLockStatus walle_vm_lock(PyMutex *, PyTime_t, int);
    PyLockStatus r = walle_vm_lock(&self->lock, timeout,""",
        ),
        replace(
            "Modules/_threadmodule.c",
            """\
        r = PyThread_acquire_lock(self->rlock_lock, 1);
        Py_END_ALLOW_THREADS
    }
    if (!r) {""",
            """\
        extern PyLockStatus walle_vm_wait_for_lock(PyThread_type_lock, long long);
        r = walle_vm_wait_for_lock(self->rlock_lock, -1) == PY_LOCK_ACQUIRED;
        Py_END_ALLOW_THREADS
    }
    if (!r) {""",
        ),
    ),
    *because(
        "a task that waits for a thread that never ends must wake up when it is cancelled",
        replace(
            "Modules/_threadmodule.c",
            "    while (!PyEvent_WaitTimed(&self->thread_is_exiting, timeout_ns, detach)) {\n",
            """\
    extern int walle_vm_interrupted(void);
    const PyTime_t slice = 5000000;
    while (!PyEvent_WaitTimed(&self->thread_is_exiting,
                              timeout_ns < 0 || timeout_ns > slice ? slice : timeout_ns, detach)) {
        if (walle_vm_interrupted()) {
            return -1;
        }
""",
        ),
    ),
    *because(
        "an endless C loop over an iterator must end when the task is cancelled: those that C code may drain "
        "for ever look at the isolate's interrupt flag at every step",
        *(
            insert_after(path, '#include "Python.h"\n', "extern int walle_vm_interrupted(void);\n")
            for path in ("Objects/rangeobject.c", "Objects/iterobject.c", "Modules/itertoolsmodule.c")
        ),
        *(
            insert_after(
                path,
                f"{signature}\n{{\n",
                """\
    if (walle_vm_interrupted()) {
        return NULL;
    }
""",
            )
            for path, signature in (
                ("Objects/rangeobject.c", "rangeiter_next(_PyRangeIterObject *r)"),
                ("Objects/rangeobject.c", "longrangeiter_next(longrangeiterobject *r)"),
                ("Objects/iterobject.c", "calliter_iternext(calliterobject *it)"),
                ("Modules/itertoolsmodule.c", "cycle_next(cycleobject *lz)"),
                ("Modules/itertoolsmodule.c", "product_next(productobject *lz)"),
                ("Modules/itertoolsmodule.c", "combinations_next(combinationsobject *co)"),
                ("Modules/itertoolsmodule.c", "cwr_next(cwrobject *co)"),
                ("Modules/itertoolsmodule.c", "permutations_next(permutationsobject *po)"),
                ("Modules/itertoolsmodule.c", "count_next(countobject *lz)"),
                ("Modules/itertoolsmodule.c", "repeat_next(repeatobject *ro)"),
            )
        ),
    ),
    *because(
        "the module _pylong, which would compute with huge numbers faster, needs decimal and looks at no "
        "interrupt",
        remove("Objects/longobject.c", "#define WITH_PYLONG_MODULE 1\n"),
    ),
    *because(
        "a text of ten million digits: each digit multiplies all before",
        insert_before(
            "Objects/longobject.c",
            "        /* Multiply z by convmult, and add c. */\n",
            """\
        extern int walle_vm_interrupted(void);
        if (walle_vm_interrupted()) {
            Py_DECREF(z);
            *res = NULL;
            return 0;
        }
""",
        ),
    ),
    *because(
        "a long text is searched for every character that is stripped",
        insert_after(
            "Objects/unicodeobject.c",
            """\
            if (PyUnicode_FindChar(sepobj, ch, 0, seplen, 1) < 0)
                break;
""",
            """\
            extern int walle_vm_interrupted(void);
            if (walle_vm_interrupted()) {
                return NULL;
            }
""",
            2,
        ),
    ),
    *because(
        "a walk over shared parts must end when the task is cancelled: where objects that share parts are "
        "walked as trees, two lines of a task make work without end",
        *(
            insert_after(
                path,
                anchor,
                f"""\
    extern int walle_vm_interrupted(void);
    if (walle_vm_interrupted()) {{
        return {failed};
    }}
""",
            )
            for path, anchor, failed in (
                (
                    "Objects/listobject.c",
                    "list_richcompare_impl(PyObject *v, PyObject *w, int op)\n{\n",
                    "NULL",
                ),
                ("Objects/tupleobject.c", "tuplerichcompare(PyObject *v, PyObject *w, int op)\n{\n", "NULL"),
                ("Objects/tupleobject.c", "tuplehash(PyTupleObject *v)\n{\n", "-1"),
                (
                    "Objects/abstract.c",
                    """\
    if (PyTuple_Check(cls)) {
        /* Not a general sequence -- that opens up the road to
           recursion and stack overflow. */
""",
                    "-1",
                ),
            )
        ),
    ),
]
