"""Stopping: a cancelled task unwinds, whatever it is doing."""

from __future__ import annotations

from .engine import because, insert_after, insert_before, insert_between, remove, replace

# Once in 65,536 entries looked at, in both loops of set_table_resize(): the old table stays.
_STOP_A_GROWING_SET = """\
            if (probes > (1 << 16)) {
                probes = 0;
                if (wvm_must_stop()) {
                    so->table = oldtable;
                    so->mask = oldmask;
                    PyMem_Free(newtable);
                    wvm_interrupted();
                    return -1;
                }
            }
"""

EDITS = [
    *because(
        "a cancelled task unwinds past every handler: no except or finally block can keep it alive",
        insert_before(
            "Python/ceval.c",
            '#include "pycore_ceval.h"',
            """\
extern int wvm_unwinding(void);
extern void wvm_stack_exhausted(void);
""",
        ),
        replace(
            "Python/ceval.c",
            """\
            if (get_exception_handler(_PyFrame_GetCode(frame), offset, &level, &handler, &lasti) == 0) {""",
            """\
            if (wvm_unwinding() ||
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
    extern int wvm_sleep(PyTime_t timeout);
    return wvm_sleep(timeout);
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
            extern PyLockStatus wvm_wait_for_lock(PyThread_type_lock, long long);
            r = wvm_wait_for_lock(lock, microseconds);
""",
        ),
        replace(
            "Python/thread.c",
            "            if (_PyEval_MakePendingCalls(tstate) < 0) {",
            """\
            extern int wvm_raise_if_interrupted(void);
            if (wvm_raise_if_interrupted() < 0 || _PyEval_MakePendingCalls(tstate) < 0) {""",
        ),
        replace(
            "Modules/_threadmodule.c",
            "    PyLockStatus r = _PyMutex_LockTimed(&self->lock, timeout,",
            """\
    extern PyLockStatus wvm_lock(PyMutex *, PyTime_t, int);
    PyLockStatus r = wvm_lock(&self->lock, timeout,""",
        ),
        replace(
            "Modules/_threadmodule.c",
            """\
        r = PyThread_acquire_lock(self->rlock_lock, 1);
        Py_END_ALLOW_THREADS
    }
    if (!r) {""",
            """\
        extern PyLockStatus wvm_wait_for_lock(PyThread_type_lock, long long);
        r = wvm_wait_for_lock(self->rlock_lock, -1) == PY_LOCK_ACQUIRED;
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
    extern int wvm_interrupted(void);
    const PyTime_t slice = 5000000;
    while (!PyEvent_WaitTimed(&self->thread_is_exiting,
                              timeout_ns < 0 || timeout_ns > slice ? slice : timeout_ns, detach)) {
        if (wvm_interrupted()) {
            return -1;
        }
""",
        ),
    ),
    *because(
        "an endless C loop must end when the task is cancelled: whatever counts a level of C recursion - "
        "calls, comparisons, representations - looks at the signal bit, which costs it one load",
        replace(
            "Include/internal/pycore_ceval.h",
            """\
static inline int _Py_MakeRecCheck(PyThreadState *tstate) {
    return tstate->c_recursion_remaining-- < 0;
}
""",
            """\
static inline int _Py_MakeRecCheck(PyThreadState *tstate) {
    return tstate->c_recursion_remaining-- < 0
           || (_Py_atomic_load_uintptr_relaxed(&tstate->eval_breaker)
               & 2 /* _PY_SIGNALS_PENDING_BIT */);
}
""",
        ),
        insert_after(
            "Python/ceval.c",
            """\
_Py_CheckRecursiveCall(PyThreadState *tstate, const char *where)
{
""",
            """\
    extern int wvm_interrupted_call(void);
    if (wvm_interrupted_call()) {
        ++tstate->c_recursion_remaining;
        return -1;
    }
    if (tstate->c_recursion_remaining >= 0) {
        return 0;
    }
""",
        ),
        *(
            insert_after(
                path,
                f"{signature}\n{{\n",
                """\
    extern int wvm_interrupted(void);
    if (wvm_interrupted()) {
        return NULL;
    }
""",
            )
            for path, signature in (
                ("Objects/rangeobject.c", "rangeiter_next(_PyRangeIterObject *r)"),
                ("Objects/rangeobject.c", "longrangeiter_next(longrangeiterobject *r)"),
            )
        ),
    ),
    *because(
        "sums of long things, hashes of long integers, and sorts of long texts that are alike: each step may "
        "take as long as the heap allows, and there may be as many",
        insert_after(
            "Python/bltinmodule.c",
            """\
           https://bugs.python.org/issue18305 */
""",
            """\
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
            Py_DECREF(item);
            Py_SETREF(result, NULL);
            break;
        }
""",
        ),
        insert_after(
            "Objects/object.c",
            """\
PyObject_Hash(PyObject *v)
{
""",
            """\
    /* Not texts and addresses: their hashes are asked for while things are taken apart. */
    extern int wvm_interrupted_call(void);
    if (!PyUnicode_CheckExact(v) &&
        !(PyLong_CheckExact(v) && _PyLong_DigitCount((PyLongObject *)v) <= 3) &&
        wvm_interrupted_call()) {
        return -1;
    }
""",
        ),
        *(
            insert_after(
                "Objects/listobject.c",
                f"unsafe_{kind}_compare(PyObject *v, PyObject *w, MergeState *ms)\n{{\n",
                """\
    extern int wvm_interrupted(void);
    if (wvm_interrupted()) {
        return -1;
    }
""",
            )
            for kind in ("latin", "object")
        ),
    ),
    *because(
        "searching a text backwards takes as many steps as both lengths multiplied: it gives up, as if there "
        "were nothing, and the call that asked is left at once",
        insert_between(
            "Objects/stringlib/fastsearch.h",
            """\
                         const STRINGLIB_CHAR* p, Py_ssize_t m,
                         Py_ssize_t maxcount, int mode)
{
""",
            """\
    extern int wvm_must_stop(void);
    Py_ssize_t matched = 0;
""",
            """\
    /* create compressed boyer-moore delta 1 table */
    unsigned long mask = 0;
    Py_ssize_t i, j, mlast = m - 1, skip = m - 1, w = n - m;

    /* process pattern[0] outside the loop */
""",
        ),
        insert_before(
            "Objects/stringlib/fastsearch.h",
            """\
            /* miss: check if previous character is part of pattern */
""",
            """\
            matched += mlast - j;
            if (matched > (1 << 16)) {
                matched = 0;
                if (wvm_must_stop()) {
                    return -1;
                }
            }
""",
        ),
    ),
    *because(
        "the greatest common divisor of two integers of a million digits takes a square of that",
        insert_after(
            "Objects/longobject.c",
            "    while ((size_a = _PyLong_DigitCount(a)) > 2) {\n",
            """\
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
            goto error;
        }
""",
        ),
    ),
    *because(
        "equal hashes: a table that grows puts every key behind all others, without a comparison. The old "
        "table stays where the task is stopped meanwhile",
        replace(
            "Objects/dictobject.c",
            """\
static void
build_indices_generic(PyDictKeysObject *keys, PyDictKeyEntry *ep, Py_ssize_t n)
{
""",
            """\
extern int wvm_must_stop(void);
extern int wvm_interrupted(void);

static int
build_indices_generic(PyDictKeysObject *keys, PyDictKeyEntry *ep, Py_ssize_t n)
{
    size_t probes = 0;
""",
        ),
        insert_between(
            "Objects/dictobject.c",
            """\
        Py_hash_t hash = ep->me_hash;
        size_t i = hash & mask;
        for (size_t perturb = hash; dictkeys_get_index(keys, i) != DKIX_EMPTY;) {
            perturb >>= PERTURB_SHIFT;
            i = mask & (i*5 + perturb + 1);
""",
            """\
            ++probes;
        }
        if (probes > (1 << 16)) {
            probes = 0;
            if (wvm_must_stop()) {
                return -1;
            }
""",
            """\
        }
        dictkeys_set_index(keys, i, ix);
    }
}

static void
build_indices_unicode(""",
        ),
        replace(
            "Objects/dictobject.c",
            """\
        dictkeys_set_index(keys, i, ix);
    }
}

static void
build_indices_unicode(""",
            """\
        dictkeys_set_index(keys, i, ix);
    }
    return 0;
}

static void
build_indices_unicode(""",
        ),
        insert_between(
            "Objects/dictobject.c",
            """\
                    while (ep->me_value == NULL)
                        ep++;
                    newentries[i] = *ep++;
                }
            }
            """,
            """\
/* The entries still belong to the old keys. */
            if (""",
            "build_indices_generic(newkeys, newentries, numentries);\n",
        ),
        replace(
            "Objects/dictobject.c",
            "            if (build_indices_generic(newkeys, newentries, numentries);\n",
            """\
            if (build_indices_generic(newkeys, newentries, numentries) < 0) {
                free_keys_object(newkeys, false);
                wvm_interrupted();
                return -1;
            }
""",
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
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
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
            extern int wvm_interrupted(void);
            if (wvm_interrupted()) {
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
    extern int wvm_interrupted(void);
    if (wvm_interrupted()) {{
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
    *because(
        "the same in sets",
        replace(
            "Objects/setobject.c",
            """\
static void
set_insert_clean(setentry *table, size_t mask, PyObject *key, Py_hash_t hash)
{
""",
            """\
extern int wvm_must_stop(void);
extern int wvm_interrupted(void);

/* How many places were taken. */
static size_t
set_insert_clean(setentry *table, size_t mask, PyObject *key, Py_hash_t hash)
{
    size_t probes = 0;
""",
        ),
        insert_after(
            "Objects/setobject.c",
            """\
                entry++;
                if (entry->key == NULL)
                    goto found_null;
            }
        }
""",
            "        probes += LINEAR_PROBES;\n",
        ),
        insert_between(
            "Objects/setobject.c",
            """\
  found_null:
    entry->key = key;
    entry->hash = hash;
""",
            "    return probes;\n",
            "}\n",
        ),
        insert_after(
            "Objects/setobject.c",
            """\
    newmask = (size_t)so->mask;
    if (so->fill == so->used) {
""",
            "        size_t probes = 0;\n",
        ),
        replace(
            "Objects/setobject.c",
            """\
            if (entry->key != NULL) {
                set_insert_clean(newtable, newmask, entry->key, entry->hash);
            }
""",
            """\
            if (entry->key != NULL) {
                probes += set_insert_clean(newtable, newmask, entry->key, entry->hash);
            }
"""
            + _STOP_A_GROWING_SET,
        ),
        replace(
            "Objects/setobject.c",
            """\
        so->fill = so->used;
        for (entry = oldtable; entry <= oldtable + oldmask; entry++) {
            if (entry->key != NULL && entry->key != dummy) {
                set_insert_clean(newtable, newmask, entry->key, entry->hash);
            }
        }
""",
            """\
        size_t probes = 0;
        for (entry = oldtable; entry <= oldtable + oldmask; entry++) {
            if (entry->key != NULL && entry->key != dummy) {
                probes += set_insert_clean(newtable, newmask, entry->key, entry->hash);
            }
"""
            + _STOP_A_GROWING_SET
            + """\
        }
        so->fill = so->used;
""",
        ),
        insert_after(
            "Objects/setobject.c",
            """\
    if (so->fill == 0) {
        setentry *newtable = so->table;
        size_t newmask = (size_t)so->mask;
""",
            "        size_t probes = 0;\n        Py_ssize_t inserted = 0;\n",
        ),
        replace(
            "Objects/setobject.c",
            """\
                set_insert_clean(newtable, newmask, Py_NewRef(key),
                                 other_entry->hash);
            }
""",
            """\
                probes += set_insert_clean(newtable, newmask, Py_NewRef(key),
                                           other_entry->hash);
                ++inserted;
            }
            if (probes > (1 << 16)) {
                probes = 0;
                if (wvm_must_stop()) {
                    so->fill = inserted;
                    so->used = inserted;
                    wvm_interrupted();
                    return -1;
                }
            }
""",
        ),
    ),
    *because(
        "a class of a thousand bases with long ancestries takes seconds to order",
        insert_after(
            "Objects/typeobject.c",
            "        candidate = PyTuple_GET_ITEM(cur_tuple, remain[i]);\n",
            """\
        extern int wvm_interrupted(void);
        if (wvm_interrupted()) {
            res = -1;
            goto out;
        }
""",
        ),
    ),
    *because(
        "one step of a regular expression may read all of a text, and there are as many steps as characters",
        insert_after(
            "Modules/_sre/sre_lib.h",
            """\
    Py_ssize_t i;
    INIT_TRACE(state);

    /* adjust end */
""",
            """\
    if (PyErr_CheckSignals()) {
        return SRE_ERROR_INTERRUPTED;
    }
""",
        ),
    ),
]
