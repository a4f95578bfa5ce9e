"""Reach: what a task could see or touch beyond its isolate."""

from __future__ import annotations

from .engine import because, insert_after, insert_before, remove, replace

EDITS = [
    *because(
        "frames and exceptions of all interpreters, whose threads are running",
        remove(
            "Python/sysmodule.c",
            """\
    SYS__CURRENT_FRAMES_METHODDEF
    SYS__CURRENT_EXCEPTIONS_METHODDEF
""",
        ),
    ),
    *because(
        "the host's streams: without a sys.stderr - a task may delete it - and where it reports on itself, "
        "CPython writes to the process's own. Not in pylifecycle.c, whose last words come before an abort",
        insert_after(
            "Include/Python.h",
            "#  include <stdio.h>              // FILE*\n",
            """\
#  ifndef WVM_REAL_STREAMS
extern __attribute__((visibility("hidden"))) FILE *wvm_nowhere(void);
#    undef stdout
#    undef stderr
#    define stdout (wvm_nowhere())
#    define stderr (wvm_nowhere())
#  endif
""",
        ),
        # It would take a lock that is held, which ends the process.
        insert_after("Objects/object.c", "_PyObject_Dump(PyObject* op)\n{\n", "    return;\n"),
        remove("Python/sysmodule.c", "    SYS__DEBUGMALLOCSTATS_METHODDEF\n"),
        remove("Python/sysmodule.c", "    SYS__BASEREPL_METHODDEF\n"),
    ),
    *because(
        "a type of the compiler's own tests, found among the subclasses of object: use_label(-1) wrote in "
        "front of its memory",
        replace(
            "Python/instruction_sequence.c",
            "    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,/* tp_flags */\n",
            "    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,\n",
        ),
        replace(
            "Python/instruction_sequence.c",
            "    inst_seq_methods,                       /* tp_methods */\n",
            "    0,                                      /* tp_methods */\n",
        ),
        replace(
            "Python/instruction_sequence.c",
            "    inst_seq_new,                           /* tp_new */\n",
            "    0,                                      /* tp_new */\n",
        ),
    ),
    *because(
        "the C library trusts the thread that it is given",
        replace(
            "Modules/timemodule.c",
            """\
#ifdef HAVE_PTHREAD_GETCPUCLOCKID
    {""",
            """\
#if 0
    {""",
        ),
    ),
    *because(
        "a list of imports counts for modules that are loaded already as well: the fast path would serve "
        "them without asking the importer",
        insert_before(
            "Python/import.c",
            """\
    mod = import_get_module(tstate, abs_name);
    if (mod == NULL && _PyErr_Occurred(tstate)) {
        goto error;
    }

    if (mod != NULL && mod != Py_None) {
        if (import_ensure_initialized(tstate->interp, mod, abs_name) < 0) {
            goto error;
        }
    }
    else {
        Py_XDECREF(mod);
        mod = import_find_and_load(tstate, abs_name);
        if (mod == NULL) {
            goto error;
        }
    }
""",
            """\
    extern int wvm_check_import(PyObject *name);
    if (wvm_check_import(abs_name) < 0) {
        goto error;
    }
""",
        ),
    ),
    *because(
        "what C code imports for its own use (time.strptime its _strptime) is asked for in the frame of the "
        "task that called it, and is the library's question all the same",
        insert_before(
            "Python/import.c",
            """\
    r = PyObject_CallFunction(import, "OOOOi", module_name, globals,
                              globals, from_list, 0, NULL);
""",
            """\
    extern void wvm_library_asks(void **question, PyObject *name);
    extern void wvm_library_asked(void **question);
    void *question[3];
    wvm_library_asks(question, module_name);
""",
        ),
        insert_after(
            "Python/import.c",
            """\
    r = PyObject_CallFunction(import, "OOOOi", module_name, globals,
                              globals, from_list, 0, NULL);
""",
            "    wvm_library_asked(question);\n",
        ),
    ),
]
