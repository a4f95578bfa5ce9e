"""Speed: what each object that a task makes and drops costs."""

from __future__ import annotations

from .engine import because, insert_after, insert_before, insert_between, replace

FREE_INT = """\
static inline void
walle_free_int(PyObject *op)
{
    struct _Py_int_freelist *list = &_Py_object_freelists_GET()->ints;
    if (!_PyLong_IsCompact((PyLongObject *)op) || list->numfree >= PyFloat_MAXFREELIST || list->numfree < 0) {
        PyObject_Free(op);
        return;
    }
    list->numfree++;
    Py_SET_TYPE(op, (PyTypeObject *)list->items);
    list->items = op;
}

"""

EDITS = [
    *because(
        "nobody traces references in an isolate: a call less per object made and a test less per object "
        "freed",
        replace(
            "Include/internal/pycore_object.h",
            """\
#define _PyReftracerTrack(obj, operation) \\
    do { \\
        struct _reftracer_runtime_state *tracer = &_PyRuntime.ref_tracer; \\
        if (tracer->tracer_func != NULL) { \\
            void *data = tracer->tracer_data; \\
            tracer->tracer_func((obj), (operation), data); \\
        } \\
    } while(0)
""",
            """\
#define _PyReftracerTrack(obj, operation) ((void)(obj))
#define _Py_NewReference(op) ((void)(((PyObject *)(op))->ob_refcnt = 1))
""",
        ),
        replace(
            "Objects/object.c",
            """\

_Py_NewReference(PyObject *op)
""",
            """\

(_Py_NewReference)(PyObject *op)
""",
        ),
    ),
    *because(
        "no allocator is ever exchanged here: four jumps through pointers less per object",
        replace(
            "Objects/obmalloc.c",
            "_PyObject.malloc(_PyObject.ctx, size);",
            "_PyObject_Malloc(NULL, size);",
        ),
        replace("Objects/obmalloc.c", "_PyObject.free(_PyObject.ctx, ptr);", "_PyObject_Free(NULL, ptr);"),
        replace("Objects/obmalloc.c", "_PyMem.malloc(_PyMem.ctx, size);", "_PyObject_Malloc(NULL, size);"),
        replace("Objects/obmalloc.c", "_PyMem.free(_PyMem.ctx, ptr);", "_PyObject_Free(NULL, ptr);"),
    ),
    *because(
        "integers of one digit come from a free list: every loop makes and drops one per turn",
        insert_before(
            "Include/internal/pycore_freelist.h",
            "struct _Py_dict_freelist {\n",
            """\
struct _Py_int_freelist {
    int numfree;
    PyObject *items;
};

""",
        ),
        insert_after(
            "Include/internal/pycore_freelist.h",
            "    struct _Py_float_freelist floats;\n",
            "    struct _Py_int_freelist ints;\n",
        ),
        insert_before(
            "Objects/floatobject.c",
            "    struct _Py_float_freelist *state = &freelists->floats;\n",
            """\
    while (freelists->ints.items != NULL) {
        PyObject *next = (PyObject *)Py_TYPE(freelists->ints.items);
        PyObject_Free(freelists->ints.items);
        freelists->ints.items = next;
    }
    freelists->ints.numfree = is_finalization ? -1 : 0;
""",
        ),
        replace(
            "Objects/longobject.c",
            """\
    /* We could use a freelist here */
    PyLongObject *v = PyObject_Malloc(sizeof(PyLongObject));
""",
            """\
    struct _Py_int_freelist *list = &_Py_object_freelists_GET()->ints;
    PyLongObject *v = (PyLongObject *)list->items;
    if (v != NULL) {
        list->items = (PyObject *)Py_TYPE(v);
        list->numfree--;
    }
    else {
        v = PyObject_Malloc(sizeof(PyLongObject));
    }
""",
        ),
        insert_before(
            "Objects/longobject.c",
            """\
static inline void
_Py_DECREF_INT(PyLongObject *op)
""",
            FREE_INT,
        ),
        replace(
            "Objects/longobject.c",
            "_Py_DECREF_SPECIALIZED((PyObject *)op, (destructor)PyObject_Free);",
            "_Py_DECREF_SPECIALIZED((PyObject *)op, walle_free_int);",
        ),
        insert_between(
            "Objects/longobject.c",
            """\
                _Py_SetImmortal(self);
                return;
            }
        }
""",
            """\
        if (PyLong_CheckExact(self)) {
            walle_free_int(self);
            return;
        }
""",
            "    }\n",
        ),
        insert_after("Python/ceval.c", '#include "ceval_macros.h"\n', FREE_INT),
        replace("Python/generated_cases.c.h", "(destructor)PyObject_Free", "walle_free_int", 12),
    ),
    *because(
        "each call into an isolate makes a frame: beside the functions it is called from, not among those of "
        "its file, which is cold",
        replace(
            "Python/pystate.c",
            """\
_PyInterpreterFrame *
_PyThreadState_PushFrame(""",
            """\
__attribute__((hot)) _PyInterpreterFrame *
_PyThreadState_PushFrame(""",
        ),
        replace(
            "Python/pystate.c",
            """\
void
_PyThreadState_PopFrame(""",
            """\
__attribute__((hot)) void
_PyThreadState_PopFrame(""",
        ),
    ),
]
