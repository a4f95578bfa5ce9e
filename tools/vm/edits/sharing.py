"""Sharing: static types and process-wide state are written once, before any isolate exists."""

from __future__ import annotations

from .engine import because, insert_before, replace

EDITS = [
    *because(
        "immutable heap types belong to one isolate: only truly static types may draw from the process-wide "
        "counter",
        replace(
            "Objects/typeobject.c",
            """\
    if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) {
        /* static types */""",
            """\
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        /* static types */""",
        ),
    ),
    *because(
        "static types are shared by all isolates: write only what changes",
        replace(
            "Objects/typeobject.c",
            "    type->tp_flags = type->tp_flags | Py_TPFLAGS_READY;",
            """\
    if (!(type->tp_flags & Py_TPFLAGS_READY)) {
        type->tp_flags |= Py_TPFLAGS_READY;
    }""",
        ),
        replace(
            "Objects/typeobject.c",
            """\
        type->tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    }

    if (!(type""",
            """\
        if (!(type->tp_flags & Py_TPFLAGS_DISALLOW_INSTANTIATION)) {
            type->tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
        }
    }

    if (!(type""",
        ),
        replace(
            "Objects/typeobject.c",
            """\
            // tp_new is NULL: inherit tp_new from base
            type->tp_new = base->tp_new;""",
            """\
            // tp_new is NULL: inherit tp_new from base
            if (base->tp_new != NULL) {
                type->tp_new = base->tp_new;
            }""",
        ),
        replace(
            "Objects/typeobject.c",
            """\
        // Py_TPFLAGS_DISALLOW_INSTANTIATION sets tp_new to NULL
        type->tp_new = NULL;""",
            """\
        // Py_TPFLAGS_DISALLOW_INSTANTIATION sets tp_new to NULL
        if (type->tp_new != NULL) {
            type->tp_new = NULL;
        }""",
        ),
    ),
    *because(
        "static types are shared by all isolates: written by the first import, which is the main "
        "interpreter's",
        replace(
            "Modules/_datetimemodule.c",
            """\
    PyDateTime_TimeZoneType.tp_base = &PyDateTime_TZInfoType;
    PyDateTime_DateTimeType.tp_base = &PyDateTime_DateType;
""",
            """\
    if (PyDateTime_TimeZoneType.tp_base != &PyDateTime_TZInfoType) {
        PyDateTime_TimeZoneType.tp_base = &PyDateTime_TZInfoType;
        PyDateTime_DateTimeType.tp_base = &PyDateTime_DateType;
    }
""",
        ),
    ),
    *because(
        "isolates count a static type's users while another one ends",
        replace(
            "Objects/typeobject.c",
            """\
    int64_t interp_count =
            _PyRuntime.types.managed_static.types[full_index].interp_count;""",
            """\
    int64_t interp_count = _Py_atomic_load_int64(
            &_PyRuntime.types.managed_static.types[full_index].interp_count);""",
        ),
    ),
    *because(
        "upstream gives Token.MISSING to the main interpreter alone; every isolate has its own dictionary "
        "of the type",
        replace(
            "Python/context.c",
            """\
    if (!_Py_IsMainInterpreter(interp)) {
        return _PyStatus_OK();
    }

    PyObject *missing = get_token_missing();""",
            "    PyObject *missing = get_token_missing();",
        ),
    ),
    *because(
        "the slot would keep pointing to the state of an isolate that another thread has ended; PyGILState "
        "is not used",
        insert_before(
            "Python/pystate.c",
            """\
    _PyRuntimeState *runtime = tstate->interp->runtime;
    PyThreadState *tcur = gilstate_tss_get(runtime);
    assert(tstate != tcur);
""",
            "    return;\n",
        ),
    ),
]
