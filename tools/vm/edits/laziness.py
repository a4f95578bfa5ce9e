"""Laziness: what a static type needs is made when an isolate first asks for it; most are never asked for.

An isolate uses about thirty of the two hundred. A lookup cannot report an error: a dictionary that cannot be
made for want of the host's memory is that of `object`, which every isolate fills when it is made; one that
cannot be completed stays partly filled. The isolate's own limit must not be what filling fails of, so the
heap cap is lifted meanwhile. The first fill, in the main interpreter, runs before READY is set and sees NULL
as in upstream.
"""

from __future__ import annotations

from .engine import because, insert_before, insert_between, replace

EDITS = [
    *because(
        "an isolate uses few of the 200 static types: their dictionaries are filled when first asked for, "
        "which makes a new isolate three times cheaper",
        insert_before(
            "Objects/typeobject.c",
            """\
static inline PyObject *
lookup_tp_dict(PyTypeObject *self)
{
""",
            """\
static PyObject *walle_fill_static_dict(PyTypeObject *, managed_static_type_state *);

""",
        ),
        insert_between(
            "Objects/typeobject.c",
            "        assert(state != NULL);\n",
            """\
        if (state->tp_dict == NULL && state->type == self && (self->tp_flags & Py_TPFLAGS_READY)) {
            return walle_fill_static_dict(self, state);
        }
""",
            "        return state->tp_dict;\n",
        ),
        replace(
            "Objects/typeobject.c",
            """\
    BEGIN_TYPE_LOCK();
    res = type_ready(self, initial);
    END_TYPE_LOCK();
""",
            """\
    BEGIN_TYPE_LOCK();
    res = initial || self == &PyBaseObject_Type ? type_ready(self, initial) : 0;
    END_TYPE_LOCK();
""",
        ),
        insert_before(
            "Objects/typeobject.c",
            """\
static int
init_static_type(PyInterpreterState *interp, PyTypeObject *self,
""",
            """\
extern size_t walle_vm_lift_heap_cap(void);
extern void walle_vm_restore_heap_cap(size_t);

static PyObject *
walle_fill_static_dict(PyTypeObject *self, managed_static_type_state *state)
{
    PyObject *raised = PyErr_GetRaisedException();
    size_t cap = walle_vm_lift_heap_cap();
    PyObject *dict = state->tp_dict = PyDict_New();
    if (dict == NULL) {
        dict = lookup_tp_dict(&PyBaseObject_Type);
    }
    else if (type_ready_set_new(self, 0) < 0 || type_ready_fill_dict(self) < 0 || \
type_ready_set_hash(self) < 0) {
        PyErr_Clear();
    }
    walle_vm_restore_heap_cap(cap);
    PyErr_SetRaisedException(raised);
    return dict;
}


""",
        ),
    ),
    *because(
        "static types that nobody has asked for are in no list of subclasses, but __subclasses__() names "
        "them",
        insert_before(
            "Objects/typeobject.c",
            """\
    PyObject *subclasses = lookup_tp_subclasses(self);  // borrowed ref
    if (subclasses == NULL) {
        return list;
    }
    assert(PyDict_CheckExact(subclasses));
    // The loop cannot""",
            """\
    if (walle_append_static_subclasses(self, list) < 0) {
        Py_DECREF(list);
        return NULL;
    }
""",
        ),
        insert_before(
            "Objects/typeobject.c",
            """\
PyObject*
_PyType_GetSubclasses(PyTypeObject *self)
""",
            """\
static int
walle_append_static_subclasses(PyTypeObject *self, PyObject *list)
{
    PyInterpreterState *interp = _PyInterpreterState_GET();
    if (!(self->tp_flags & _Py_TPFLAGS_STATIC_BUILTIN) || _Py_IsMainInterpreter(interp)) {
        return 0;
    }
    for (size_t i = 0; i < _Py_MAX_MANAGED_STATIC_BUILTIN_TYPES + _Py_MAX_MANAGED_STATIC_EXT_TYPES; i++) {
        PyTypeObject *type = i < _Py_MAX_MANAGED_STATIC_BUILTIN_TYPES
            ? interp->types.builtins.initialized[i].type
            : interp->types.for_extensions.initialized[i - _Py_MAX_MANAGED_STATIC_BUILTIN_TYPES].type;
        if (type != NULL && type->tp_base == self && PyList_Append(list, (PyObject *)type) < 0) {
            return -1;
        }
    }
    return 0;
}

""",
        ),
    ),
    *because(
        "static types that nobody has asked for were never entered into the lists of their bases and need "
        "no removal",
        replace(
            "Objects/typeobject.c",
            """\
    type_dealloc_common(type);

    clear_static_type_objects(""",
            """\
    if (final) {
        type_dealloc_common(type);
    }

    clear_static_type_objects(""",
        ),
    ),
]
