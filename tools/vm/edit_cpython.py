"""Copy the parts of the CPython source that the VM compiles into the build folder and edit them.

    edit_cpython.py SOURCE TARGET

Every edit names its reason and an anchor that must occur exactly as often as stated; another CPython version therefore
fails here, loudly, and never compiles into something subtly different. Files are rewritten only when their content
changes, so that incremental builds stay incremental.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDERS = ["Include", "Objects", "Python", "Parser", "Modules/_sre", "Modules/_hacl", "Modules/clinic"]
FILES = ["Modules/*.c", "Modules/*.h", "LICENSE"]
INTERRUPT = "extern int walle_vm_interrupted(void);\n"


class Edit:
    """One textual replacement: `anchor` occurs `count` times in `path` and becomes `text`."""

    def __init__(self, path: str, reason: str, anchor: str, text: str, count: int = 1) -> None:
        """Keep the five parts."""
        self.path, self.reason, self.anchor, self.text, self.count = path, reason, anchor, text, count


def iterator_check(path: str, signature: str, anchor_tail: str = "\n{\n") -> Edit:
    """Iterators that C code may drain for ever look at the isolate's interrupt flag at every step."""
    anchor = signature + anchor_tail
    return Edit(
        path,
        "an endless C loop over this iterator must end when the task is cancelled",
        anchor,
        anchor + "    if (walle_vm_interrupted()) {\n        return NULL;\n    }\n",
    )


def stack_check(path: str, signature: str, failed: str = "NULL") -> Edit:
    """C functions that recurse without counting levels end with RecursionError where the stack does."""
    anchor = signature + "\n{\n"
    return Edit(
        path,
        "nested objects of this kind would overflow the C stack and end the process",
        anchor,
        anchor
        + f"    if (WALLE_VM_STACK_LOW()) {{\n        walle_vm_stack_error();\n        return {failed};\n    }}\n",
    )


# Into typeobject.c. A lookup cannot report an error: a dictionary that cannot be made for want of the host's memory is
# that of `object`, which every isolate fills when it is made; one that cannot be completed stays partly filled.
FILL_STATIC_DICT = """\
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
    else if (type_ready_set_new(self, 0) < 0 || type_ready_fill_dict(self) < 0 || type_ready_set_hash(self) < 0) {
        PyErr_Clear();
    }
    walle_vm_restore_heap_cap(cap);
    PyErr_SetRaisedException(raised);
    return dict;
}


"""
STATIC_SUBCLASSES = """\
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

"""

# Into longobject.c and ceval.c: as floats have it, and as CPython 3.14 has it for integers.
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
    Edit(
        "Include/internal/pycore_object.h",
        "nobody traces references in an isolate: a call less per object made and a test less per object freed",
        "#define _PyReftracerTrack(obj, operation) \\\n    do { \\\n"
        "        struct _reftracer_runtime_state *tracer = &_PyRuntime.ref_tracer; \\\n"
        "        if (tracer->tracer_func != NULL) { \\\n"
        "            void *data = tracer->tracer_data; \\\n"
        "            tracer->tracer_func((obj), (operation), data); \\\n"
        "        } \\\n    } while(0)\n",
        "#define _PyReftracerTrack(obj, operation) ((void)(obj))\n"
        "#define _Py_NewReference(op) ((void)(((PyObject *)(op))->ob_refcnt = 1))\n",
    ),
    Edit(
        "Objects/object.c",
        "the function behind the macro above",
        "\n_Py_NewReference(PyObject *op)\n",
        "\n(_Py_NewReference)(PyObject *op)\n",
    ),
    Edit(
        "Objects/obmalloc.c",
        "blocks that an extension leaked must not keep the arenas of an ended isolate for ever",
        "if (_PyMem_obmalloc_state_on_heap(interp) && leaked == 0) {",
        "if (_PyMem_obmalloc_state_on_heap(interp)) {",
    ),
    Edit(
        "Objects/typeobject.c",
        "immutable heap types belong to one isolate: only truly static types may draw from the process-wide counter",
        "    if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) {\n        /* static types */",
        "    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {\n        /* static types */",
    ),
    Edit(
        "Objects/typeobject.c",
        "static types are shared by all isolates: write only what changes",
        "    type->tp_flags = type->tp_flags | Py_TPFLAGS_READY;",
        "    if (!(type->tp_flags & Py_TPFLAGS_READY)) {\n        type->tp_flags |= Py_TPFLAGS_READY;\n    }",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above",
        "        type->tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;\n    }\n\n    if (!(type",
        "        if (!(type->tp_flags & Py_TPFLAGS_DISALLOW_INSTANTIATION)) {\n"
        "            type->tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;\n        }\n    }\n\n    if (!(type",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above",
        "            // tp_new is NULL: inherit tp_new from base\n            type->tp_new = base->tp_new;",
        "            // tp_new is NULL: inherit tp_new from base\n"
        "            if (base->tp_new != NULL) {\n                type->tp_new = base->tp_new;\n            }",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above",
        "        // Py_TPFLAGS_DISALLOW_INSTANTIATION sets tp_new to NULL\n        type->tp_new = NULL;",
        "        // Py_TPFLAGS_DISALLOW_INSTANTIATION sets tp_new to NULL\n"
        "        if (type->tp_new != NULL) {\n            type->tp_new = NULL;\n        }",
    ),
    Edit(
        "Objects/typeobject.c",
        "an isolate uses few of the 200 static types: their dictionaries are filled when first asked for, which makes"
        " a new isolate three times cheaper; the heap cap is lifted meanwhile, as a lookup cannot report an error",
        "static inline PyObject *\nlookup_tp_dict(PyTypeObject *self)\n{\n",
        "static PyObject *walle_fill_static_dict(PyTypeObject *, managed_static_type_state *);\n\n"
        "static inline PyObject *\nlookup_tp_dict(PyTypeObject *self)\n{\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above; the initial fill in the main interpreter runs before READY is set and sees NULL as before",
        "        assert(state != NULL);\n        return state->tp_dict;\n",
        "        assert(state != NULL);\n"
        "        if (state->tp_dict == NULL && state->type == self && (self->tp_flags & Py_TPFLAGS_READY)) {\n"
        "            return walle_fill_static_dict(self, state);\n        }\n"
        "        return state->tp_dict;\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above",
        "    BEGIN_TYPE_LOCK();\n    res = type_ready(self, initial);\n    END_TYPE_LOCK();\n",
        "    BEGIN_TYPE_LOCK();\n"
        "    res = initial || self == &PyBaseObject_Type ? type_ready(self, initial) : 0;\n    END_TYPE_LOCK();\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above",
        "static int\ninit_static_type(PyInterpreterState *interp, PyTypeObject *self,\n",
        FILL_STATIC_DICT + "static int\ninit_static_type(PyInterpreterState *interp, PyTypeObject *self,\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "static types that nobody has asked for are in no list of subclasses, but __subclasses__() names them",
        "    PyObject *subclasses = lookup_tp_subclasses(self);  // borrowed ref\n"
        "    if (subclasses == NULL) {\n        return list;\n    }\n"
        "    assert(PyDict_CheckExact(subclasses));\n    // The loop cannot",
        "    if (walle_append_static_subclasses(self, list) < 0) {\n"
        "        Py_DECREF(list);\n        return NULL;\n    }\n"
        "    PyObject *subclasses = lookup_tp_subclasses(self);  // borrowed ref\n"
        "    if (subclasses == NULL) {\n        return list;\n    }\n"
        "    assert(PyDict_CheckExact(subclasses));\n    // The loop cannot",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above",
        "PyObject*\n_PyType_GetSubclasses(PyTypeObject *self)\n",
        STATIC_SUBCLASSES + "PyObject*\n_PyType_GetSubclasses(PyTypeObject *self)\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "as above: what was never entered needs no removal",
        "    type_dealloc_common(type);\n\n    clear_static_type_objects(",
        "    if (final) {\n        type_dealloc_common(type);\n    }\n\n    clear_static_type_objects(",
    ),
    Edit(
        "Objects/obmalloc.c",
        "no allocator is ever exchanged here: four jumps through pointers less per object",
        "_PyObject.malloc(_PyObject.ctx, size);",
        "_PyObject_Malloc(NULL, size);",
    ),
    Edit("Objects/obmalloc.c", "as above", "_PyObject.free(_PyObject.ctx, ptr);", "_PyObject_Free(NULL, ptr);"),
    Edit("Objects/obmalloc.c", "as above", "_PyMem.malloc(_PyMem.ctx, size);", "_PyObject_Malloc(NULL, size);"),
    Edit("Objects/obmalloc.c", "as above", "_PyMem.free(_PyMem.ctx, ptr);", "_PyObject_Free(NULL, ptr);"),
    Edit(
        "Include/internal/pycore_freelist.h",
        "integers of one digit come from a free list: every loop makes and drops one per turn",
        "struct _Py_dict_freelist {\n",
        "struct _Py_int_freelist {\n    int numfree;\n    PyObject *items;\n};\n\nstruct _Py_dict_freelist {\n",
    ),
    Edit(
        "Include/internal/pycore_freelist.h",
        "as above",
        "    struct _Py_float_freelist floats;\n",
        "    struct _Py_float_freelist floats;\n    struct _Py_int_freelist ints;\n",
    ),
    Edit(
        "Objects/floatobject.c",
        "as above",
        "    struct _Py_float_freelist *state = &freelists->floats;\n",
        "    while (freelists->ints.items != NULL) {\n"
        "        PyObject *next = (PyObject *)Py_TYPE(freelists->ints.items);\n"
        "        PyObject_Free(freelists->ints.items);\n"
        "        freelists->ints.items = next;\n    }\n"
        "    freelists->ints.numfree = is_finalization ? -1 : 0;\n"
        "    struct _Py_float_freelist *state = &freelists->floats;\n",
    ),
    Edit(
        "Objects/longobject.c",
        "as above",
        "    /* We could use a freelist here */\n    PyLongObject *v = PyObject_Malloc(sizeof(PyLongObject));\n",
        "    struct _Py_int_freelist *list = &_Py_object_freelists_GET()->ints;\n"
        "    PyLongObject *v = (PyLongObject *)list->items;\n"
        "    if (v != NULL) {\n        list->items = (PyObject *)Py_TYPE(v);\n        list->numfree--;\n    }\n"
        "    else {\n        v = PyObject_Malloc(sizeof(PyLongObject));\n    }\n",
    ),
    Edit(
        "Objects/longobject.c",
        "as above",
        "static inline void\n_Py_DECREF_INT(PyLongObject *op)\n",
        FREE_INT + "static inline void\n_Py_DECREF_INT(PyLongObject *op)\n",
    ),
    Edit(
        "Objects/longobject.c",
        "as above",
        "_Py_DECREF_SPECIALIZED((PyObject *)op, (destructor)PyObject_Free);",
        "_Py_DECREF_SPECIALIZED((PyObject *)op, walle_free_int);",
    ),
    Edit(
        "Objects/longobject.c",
        "as above",
        "                _Py_SetImmortal(self);\n                return;\n            }\n        }\n    }\n",
        "                _Py_SetImmortal(self);\n                return;\n            }\n        }\n"
        "        if (PyLong_CheckExact(self)) {\n            walle_free_int(self);\n            return;\n"
        "        }\n    }\n",
    ),
    Edit("Python/ceval.c", "as above", '#include "ceval_macros.h"\n', '#include "ceval_macros.h"\n' + FREE_INT),
    Edit("Python/generated_cases.c.h", "as above", "(destructor)PyObject_Free", "walle_free_int", 12),
    Edit(
        "Python/pystate.c",
        "a second constant copy of the whole runtime state costs 150 KB in the file; a heap snapshot costs nothing",
        'static const _PyRuntimeState initial = _PyRuntimeState_INIT(_PyRuntime, "");',
        "static _PyRuntimeState *walle_initial;\n#define initial (*walle_initial)",
    ),
    Edit(
        "Python/pystate.c",
        "the snapshot is taken before anything is written",
        "    void *open_code_hook = runtime->open_code_hook;\n",
        "    if (walle_initial == NULL) {\n"
        "        walle_initial = malloc(sizeof(*walle_initial));\n"
        "        if (walle_initial == NULL) {\n            return _PyStatus_NO_MEMORY();\n        }\n"
        "        memcpy(walle_initial, runtime, sizeof(*walle_initial));\n    }\n"
        "    void *open_code_hook = runtime->open_code_hook;\n",
    ),
    Edit(
        "Python/pystate.c",
        "the slot would keep pointing to the state of an isolate that another thread has ended; PyGILState is not used",
        "    _PyRuntimeState *runtime = tstate->interp->runtime;\n"
        "    PyThreadState *tcur = gilstate_tss_get(runtime);\n"
        "    assert(tstate != tcur);\n",
        "    return;\n    _PyRuntimeState *runtime = tstate->interp->runtime;\n"
        "    PyThreadState *tcur = gilstate_tss_get(runtime);\n    assert(tstate != tcur);\n",
    ),
    Edit(
        "Objects/obmalloc.c",
        "AddressSanitizer sees the bounds of malloc's blocks alone: there every object is a block of its own",
        "    if (UNLIKELY(nbytes > SMALL_REQUEST_THRESHOLD)) {",
        "#ifdef WALLE_VM_PLAIN_MALLOC\n    return NULL;\n#endif\n    if (UNLIKELY(nbytes > SMALL_REQUEST_THRESHOLD)) {",
    ),
    Edit(
        "Modules/_datetimemodule.c",
        "static types are shared by all isolates: written by the first import, which is the main interpreter's",
        "    PyDateTime_TimeZoneType.tp_base = &PyDateTime_TZInfoType;\n"
        "    PyDateTime_DateTimeType.tp_base = &PyDateTime_DateType;\n",
        "    if (PyDateTime_TimeZoneType.tp_base != &PyDateTime_TZInfoType) {\n"
        "        PyDateTime_TimeZoneType.tp_base = &PyDateTime_TZInfoType;\n"
        "        PyDateTime_DateTimeType.tp_base = &PyDateTime_DateType;\n    }\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "isolates count a static type's users while another one ends",
        "    int64_t interp_count =\n            _PyRuntime.types.managed_static.types[full_index].interp_count;",
        "    int64_t interp_count = _Py_atomic_load_int64(\n"
        "            &_PyRuntime.types.managed_static.types[full_index].interp_count);",
    ),
    Edit(
        "Python/context.c",
        "upstream gives Token.MISSING to the main interpreter alone; every isolate has its own dictionary of the type",
        "    if (!_Py_IsMainInterpreter(interp)) {\n        return _PyStatus_OK();\n    }\n\n"
        "    PyObject *missing = get_token_missing();",
        "    PyObject *missing = get_token_missing();",
    ),
    Edit(
        "Objects/unicodeobject.c",
        "interned names are immortal: upstream frees them in debug builds alone. Those above 512 bytes are blocks of"
        " malloc, not of the isolate's arenas, and outlived it",
        "#ifdef Py_DEBUG\n            // Skip the Immortal Instance check and restore\n"
        "            // the two references (key and value) ignored\n"
        "            // by PyUnicode_InternInPlace().\n            _Py_SetMortal(s, 2);\n#ifdef Py_REF_DEBUG\n",
        "            // Skip the Immortal Instance check and restore\n"
        "            // the two references (key and value) ignored\n"
        "            // by PyUnicode_InternInPlace().\n"
        "            if (!_Py_IsMainInterpreter(interp)) {\n                _Py_SetMortal(s, 2);\n            }\n"
        "#ifdef Py_DEBUG\n#ifdef Py_REF_DEBUG\n",
    ),
    Edit(
        "Include/pymacro.h",
        "no documentation: neither texts nor pointers to them, each of which would be a relocation",
        '#define PyDoc_STR(str) ""\n',
        "#define PyDoc_STR(str) NULL\n",
    ),
    Edit(
        "Include/pymacro.h",
        "as above; a constant zero is a null pointer wherever the name of a text stood",
        "#define PyDoc_STRVAR(name,str) PyDoc_VAR(name) = PyDoc_STR(str)\n",
        "#define PyDoc_STRVAR(name,str) enum { name = 0 }\n",
    ),
    Edit("Include/internal/pycore_bytes_methods.h", "as above", "extern const char _Py_", "enum { _Py_", 26),
    Edit("Include/internal/pycore_bytes_methods.h", "as above", "__doc__[];", "__doc__ = 0 };", 26),
    Edit(
        "Include/internal/pycore_bytes_methods.h",
        "as above",
        "#define PyDoc_STRVAR_shared(name,str) const char name[] = PyDoc_STR(str)\n",
        '#define PyDoc_STRVAR_shared(name,str) _Static_assert(1, "")\n',
    ),
    *(
        Edit(
            "Modules/_datetimemodule.c",
            "as above",
            f"static const char {name}_doc[] =\nPyDoc_STR(",
            f"PyDoc_STRVAR({name}_doc,",
        )
        for name in ("delta", "date", "tzinfo", "timezone", "time", "datetime")
    ),
    Edit(
        "Modules/_heapqmodule.c",
        "as above: the one text that is a value",
        "PyUnicode_FromString(__about__)",
        'PyUnicode_FromString("")',
    ),
    Edit("Python/sysmodule.c", "as above", "PyDoc_VAR(sys_doc) =\n", "enum { sys_doc = 0 };\n#if 0\n"),
    Edit("Python/sysmodule.c", "as above", "/* end of sys_doc */ ;\n", "#endif\n"),
    Edit(
        "Python/sysmodule.c",
        "300 names of modules that are mostly not here",
        '    SET_SYS("stdlib_module_names", list_stdlib_module_names());\n',
        "",
    ),
    Edit(
        "Python/initconfig.c",
        "there is no command line, so neither its parser nor its help is needed",
        "    if (config->parse_argv == 1) {\n        Py_ssize_t opt_index;\n",
        "    if (0) {\n        Py_ssize_t opt_index;\n",
    ),
    Edit(
        "Python/parking_lot.c",
        "an isolate has one thread, so hardly anybody ever waits: initialised data for 17 lists instead of 257",
        "#define NUM_BUCKETS 257\n",
        "#define NUM_BUCKETS 17\n",
    ),
    Edit(
        "Python/parking_lot.c",
        "as above",
        "    BUCKET_INIT_256(buckets, 0),\n    BUCKET_INIT(buckets, 256),\n",
        "    BUCKET_INIT_16(buckets, 0),\n    BUCKET_INIT(buckets, 16),\n",
    ),
    Edit(
        "Include/internal/pycore_unicodeobject_generated.h",
        "740 calls that a loop makes just as well, as the strings lie one behind the other: 18 KB",
        "    PyObject *string;\n    string = &_Py_ID(CANCELLED);\n",
        "    PyObject *string;\n"
        "    char *end = (char *)&_Py_SINGLETON(strings.ascii);\n"
        "    for (char *at = (char *)&_Py_SINGLETON(strings.literals); at < end;) {\n"
        "        string = (PyObject *)at;\n"
        "        size_t size = sizeof(PyASCIIObject) + ((PyASCIIObject *)at)->length + 1;\n"
        "        at += _Py_SIZE_ROUND_UP(size, _Alignof(PyASCIIObject));\n"
        "        _PyUnicode_InternStatic(interp, &string);\n"
        "    }\n"
        "    return;\n"
        "    string = &_Py_ID(CANCELLED);\n",
    ),
    Edit(
        "Modules/_hacl/include/krml/internal/target.h",
        "the rounds of SHA-2 as loops are smaller",
        "#  define KRML_UNROLL_MAX 16\n",
        "#  define KRML_UNROLL_MAX 1\n",
    ),
    Edit(
        "Include/internal/pycore_typeobject.h",
        "64 KB less per isolate",
        "#define MCACHE_SIZE_EXP 12",
        "#define MCACHE_SIZE_EXP 9",
    ),
    Edit(
        "Include/internal/pycore_function.h",
        "60 KB less per isolate",
        "#define FUNC_VERSION_CACHE_SIZE (1<<12)",
        "#define FUNC_VERSION_CACHE_SIZE (1<<8)",
    ),
    Edit(
        "Include/internal/pycore_obmalloc.h",
        "256 KB arenas and 4 KB pools: a bare isolate stays near half a megabyte",
        "#define USE_LARGE_ARENAS\n",
        "",
    ),
    Edit("Include/internal/pycore_obmalloc.h", "as above", "#define USE_LARGE_POOLS\n", "", 1),
    Edit(
        "Include/internal/pycore_obmalloc.h",
        "48 bits tell all user addresses apart (tagged pointers of malloc lie in no arena, whatever their tag): the"
        " tree of arenas takes 24 KB and not 1.1 MB of address space, mapped, searched and unmapped with every isolate",
        "#define IGNORE_BITS 0\n\n/* use the top",
        "#define IGNORE_BITS 16\n\n/* use the top",
    ),
    Edit(
        "Python/ceval.c",
        "a cancelled task unwinds past every handler: no except or finally block can keep it alive",
        "            if (get_exception_handler(_PyFrame_GetCode(frame), offset, &level, &handler, &lasti) == 0) {",
        "            if (walle_vm_unwinding() ||\n"
        "                get_exception_handler(_PyFrame_GetCode(frame), offset, &level, &handler, &lasti) == 0) {",
    ),
    Edit(
        "Python/ceval.c",
        "declarations for the edits here",
        '#include "pycore_ceval.h"',
        'extern int walle_vm_unwinding(void);\nextern void walle_vm_stack_exhausted(void);\n#include "pycore_ceval.h"',
    ),
    Edit(
        "Python/ceval.c",
        "overflow handling beyond the headroom must be an error value, never an abort of the host",
        '            Py_FatalError("Cannot recover from stack overflow.");',
        "            walle_vm_stack_exhausted();\n            ++tstate->c_recursion_remaining;\n            return -1;",
    ),
    Edit(
        "Python/ceval.c",
        "as above, for Python frames",
        '            Py_FatalError("Cannot recover from Python stack overflow.");',
        "            walle_vm_stack_exhausted();\n            return -1;",
    ),
    Edit(
        "Python/ceval_gil.c",
        "the signal bit carries cancellation: any isolate takes it, not only the main interpreter",
        "    if (!_Py_ThreadCanHandleSignals(tstate->interp)) {\n        return 0;\n    }\n"
        "    if (_PyErr_CheckSignalsTstate(tstate) < 0) {",
        "    if (_PyErr_CheckSignalsTstate(tstate) < 0) {",
    ),
    Edit(
        "Modules/timemodule.c",
        "a sleeping task must wake up when it is cancelled",
        "pysleep(PyTime_t timeout)\n{\n    assert(timeout >= 0);\n",
        "pysleep(PyTime_t timeout)\n{\n    assert(timeout >= 0);\n"
        "    extern int walle_vm_sleep(PyTime_t timeout);\n    return walle_vm_sleep(timeout);\n",
    ),
    Edit(
        "Python/thread.c",
        "a task that waits for a lock it already holds must wake up when it is cancelled",
        "            r = PyThread_acquire_lock_timed(lock, microseconds, 1);\n",
        "            extern PyLockStatus walle_vm_wait_for_lock(PyThread_type_lock, long long);\n"
        "            r = walle_vm_wait_for_lock(lock, microseconds);\n",
    ),
    Edit(
        "Modules/_threadmodule.c",
        "as above, for threading.Lock",
        "    PyLockStatus r = _PyMutex_LockTimed(&self->lock, timeout,",
        "    extern PyLockStatus walle_vm_lock(PyMutex *, PyTime_t, int);\n"
        "    PyLockStatus r = walle_vm_lock(&self->lock, timeout,",
    ),
    Edit(
        "Python/thread.c",
        "as above",
        "            if (_PyEval_MakePendingCalls(tstate) < 0) {",
        "            extern int walle_vm_raise_if_interrupted(void);\n"
        "            if (walle_vm_raise_if_interrupted() < 0 || _PyEval_MakePendingCalls(tstate) < 0) {",
    ),
    Edit("Objects/rangeobject.c", "declaration", '#include "Python.h"\n', '#include "Python.h"\n' + INTERRUPT),
    Edit("Objects/iterobject.c", "declaration", '#include "Python.h"\n', '#include "Python.h"\n' + INTERRUPT),
    Edit("Modules/itertoolsmodule.c", "declaration", '#include "Python.h"\n', '#include "Python.h"\n' + INTERRUPT),
    iterator_check("Objects/rangeobject.c", "rangeiter_next(_PyRangeIterObject *r)"),
    iterator_check("Objects/rangeobject.c", "longrangeiter_next(longrangeiterobject *r)"),
    iterator_check("Objects/iterobject.c", "calliter_iternext(calliterobject *it)"),
    iterator_check("Modules/itertoolsmodule.c", "cycle_next(cycleobject *lz)"),
    iterator_check("Modules/itertoolsmodule.c", "product_next(productobject *lz)"),
    iterator_check("Modules/itertoolsmodule.c", "combinations_next(combinationsobject *co)"),
    iterator_check("Modules/itertoolsmodule.c", "cwr_next(cwrobject *co)"),
    iterator_check("Modules/itertoolsmodule.c", "permutations_next(permutationsobject *po)"),
    iterator_check("Modules/itertoolsmodule.c", "count_next(countobject *lz)"),
    iterator_check("Modules/itertoolsmodule.c", "repeat_next(repeatobject *ro)"),
    Edit(
        "Objects/longobject.c",
        "the module _pylong, which would compute with huge numbers faster, needs decimal and looks at no interrupt",
        "#define WITH_PYLONG_MODULE 1\n",
        "",
    ),
    *(
        Edit(path, "declaration", '#include "Python.h"\n', '#include "Python.h"\n#include "vm/inside/stack.h"\n')
        for path in (
            "Modules/_functoolsmodule.c",
            "Modules/itertoolsmodule.c",
            "Objects/classobject.c",
            "Objects/enumobject.c",
            "Objects/genericaliasobject.c",
            "Objects/object.c",
            "Python/bltinmodule.c",
        )
    ),
    stack_check("Python/bltinmodule.c", "filter_next(filterobject *lz)"),
    stack_check("Python/bltinmodule.c", "map_next(mapobject *lz)"),
    stack_check("Python/bltinmodule.c", "zip_next(zipobject *lz)"),
    stack_check("Objects/enumobject.c", "enum_next(enumobject *en)"),
    *(
        stack_check("Modules/itertoolsmodule.c", f"{kind}_next({kind.replace('_', '')}object *{name})")
        for kind, name in (
            ("batched", "bo"),
            ("pairwise", "po"),
            ("groupby", "gbo"),
            ("tee", "to"),
            ("dropwhile", "lz"),
            ("takewhile", "lz"),
            ("islice", "lz"),
            ("starmap", "lz"),
            ("chain", "lz"),
            ("accumulate", "lz"),
            ("compress", "lz"),
            ("filterfalse", "lz"),
            ("zip_longest", "lz"),
        )
    ),
    stack_check(
        "Objects/classobject.c",
        "method_vectorcall(PyObject *method, PyObject *const *args,\n"
        "                  size_t nargsf, PyObject *kwnames)",
    ),
    stack_check(
        "Modules/_functoolsmodule.c",
        "partial_vectorcall(partialobject *pto, PyObject *const *args,\n"
        "                   size_t nargsf, PyObject *kwnames)",
    ),
    stack_check("Objects/object.c", "PyObject_Hash(PyObject *v)", "-1"),
    stack_check("Objects/object.c", "_PyObject_IsAbstract(PyObject *obj)", "-1"),
    stack_check("Objects/genericaliasobject.c", "_Py_make_parameters(PyObject *args)"),
    stack_check(
        "Objects/genericaliasobject.c",
        "_Py_subs_parameters(PyObject *self, PyObject *args, PyObject *parameters, PyObject *item)",
    ),
    Edit(
        "Objects/object.c",
        "freeing an object frees what it holds; where the stack ends, the rest waits until it is shorter again",
        "    destructor dealloc = type->tp_dealloc;\n"
        "#ifdef Py_DEBUG\n    PyThreadState *tstate = _PyThreadState_GET();\n",
        "    destructor dealloc = type->tp_dealloc;\n"
        "    if (WALLE_VM_STACK_LOW() && _PyObject_IS_GC(op)) {\n"
        "        if (_PyObject_GC_IS_TRACKED(op)) {\n            _PyObject_GC_UNTRACK(op);\n        }\n"
        "        _PyTrash_thread_deposit_object(_PyThreadState_GET(), op);\n"
        "        return;\n"
        "    }\n"
        "#ifdef Py_DEBUG\n    PyThreadState *tstate = _PyThreadState_GET();\n",
    ),
    Edit(
        "Objects/object.c",
        "objects that wait are freed one by one where the stack ends: each call of a deallocator would come back here",
        "    assert(tstate->c_recursion_remaining > Py_TRASHCAN_HEADROOM);\n    tstate->c_recursion_remaining--;\n",
        "    if (WALLE_VM_STACK_LOW()) {\n        return;\n    }\n"
        "    assert(tstate->c_recursion_remaining > Py_TRASHCAN_HEADROOM);\n    tstate->c_recursion_remaining--;\n",
    ),
    Edit(
        "Objects/object.c",
        "most deallocators expect a tracked object; those that do not care untrack it again",
        "        _PyObject_ASSERT(op, Py_REFCNT(op) == 0);\n        (*dealloc)(op);\n    }\n",
        "        _PyObject_ASSERT(op, Py_REFCNT(op) == 0);\n"
        "        if (!_PyObject_GC_IS_TRACKED(op)) {\n            _PyObject_GC_TRACK(op);\n        }\n"
        "        (*dealloc)(op);\n    }\n",
    ),
]


def held(path: str, function: str, arguments: str, indent: str, kept: str = "PyObject *") -> Edit:
    """A bytearray is not resized while C code that may call the task has a pointer into it."""
    anchor = f"    return {function}(PyByteArray_AS_STRING(self), PyByteArray_GET_SIZE(self){arguments});\n".replace(
        "),\x00", "),\n" + indent
    )
    call = anchor.removeprefix("    return ")
    return Edit(
        path,
        "an argument's __index__ or __buffer__ could free the bytes that are being searched",
        anchor,
        f"    ((PyByteArrayObject *)self)->ob_exports++;\n    {kept}found = {call}"
        "    ((PyByteArrayObject *)self)->ob_exports--;\n    return found;\n",
    )


def interrupt_check(path: str, anchor: str, failed: str) -> Edit:
    """Where objects that share parts are walked as trees, two lines of a task make work without end."""
    return Edit(
        path,
        "a walk over shared parts must end when the task is cancelled",
        anchor,
        anchor
        + "    extern int walle_vm_interrupted(void);\n"
        + f"    if (walle_vm_interrupted()) {{\n        return {failed};\n    }}\n",
    )


# Plain Python that ends the process in CPython 3.13.5: the task's own methods are called while C code holds a pointer
# into an object that they can change.
REENTRANCY = [
    Edit(
        "Modules/arraymodule.c",
        "the item's __index__ or __float__ could have shortened the array; the length is looked at again",
        "    if (i >= 0)",
        "    if (i >= Py_SIZE(ap)) {\n"
        '        PyErr_SetString(PyExc_IndexError, "array assignment index out of range");\n'
        "        return -1;\n    }\n    if (i >= 0)",
        14,
    ),
    Edit(
        "Python/pystrhex.c",
        "a separator's __len__ could free the bytes that are being printed",
        "        Py_ssize_t seplen = PyObject_Length((PyObject*)sep);\n",
        "        Py_ssize_t seplen = PyUnicode_Check(sep) ? PyUnicode_GET_LENGTH(sep)\n"
        "                            : PyBytes_Check(sep) ? PyBytes_GET_SIZE(sep) : PyObject_Length((PyObject*)sep);\n",
    ),
    Edit(
        "Objects/memoryobject.c",
        "the exporter's __hash__ could release the view",
        "        if (view->obj != NULL && PyObject_Hash(view->obj) == -1) {\n",
        "        self->exports++;\n"
        "        const int unhashable = view->obj != NULL && PyObject_Hash(view->obj) == -1;\n"
        "        self->exports--;\n"
        "        if (unhashable) {\n",
    ),
    Edit(
        "Python/context.c",
        "a value's __eq__ could replace the tree that is being compared",
        "    int res = _PyHamt_Eq(\n        ((PyContext *)v)->ctx_vars, ((PyContext *)w)->ctx_vars);\n",
        "    PyHamtObject *left = (PyHamtObject *)Py_NewRef(((PyContext *)v)->ctx_vars);\n"
        "    PyHamtObject *right = (PyHamtObject *)Py_NewRef(((PyContext *)w)->ctx_vars);\n"
        "    int res = _PyHamt_Eq(left, right);\n"
        "    Py_DECREF(left);\n    Py_DECREF(right);\n",
    ),
    Edit(
        "Objects/odictobject.c",
        "dict.clear(od) leaves the order's nodes behind: their keys are in the order and not in the dictionary",
        "            value = Py_NewRef(failobj);\n        }\n    }\n    else if",
        "            if (failobj) {\n                value = Py_NewRef(failobj);\n            }\n"
        "            else if (!PyErr_Occurred()) {\n"
        "                PyErr_SetObject(PyExc_KeyError, key);\n            }\n"
        "        }\n    }\n    else if",
    ),
    Edit(
        "Modules/_struct.c",
        "an item's __index__ could initialise the Struct again while it packs",
        "    PyObject *weakreflist; /* List of weak references */\n} PyStructObject;",
        "    PyObject *weakreflist; /* List of weak references */\n    int packing;\n} PyStructObject;",
    ),
    Edit(
        "Modules/_struct.c",
        "as above",
        "    Py_SETREF(self->s_format, format);\n\n    ret = prepare_s(self);\n",
        "    if (self->packing) {\n        Py_DECREF(format);\n"
        '        PyErr_SetString(PyExc_RuntimeError, "Struct() initialised again while it packs");\n'
        "        return -1;\n    }\n"
        "    Py_SETREF(self->s_format, format);\n\n    ret = prepare_s(self);\n",
    ),
    *(
        Edit(
            "Modules/_struct.c",
            "as above",
            anchor,
            f"    soself->packing++;\n    const int failed_{number} = {call};\n    soself->packing--;\n"
            f"    if (failed_{number} != 0) {{\n",
        )
        for number, (anchor, call) in enumerate(
            [
                (
                    "    if ( s_pack_internal(soself, args, 0, buf, state) != 0 ) {\n",
                    "s_pack_internal(soself, args, 0, buf, state)",
                ),
                (
                    "    if (s_pack_internal(soself, args, 2, (char*)buffer.buf + offset, state) != 0) {\n",
                    "s_pack_internal(soself, args, 2, (char*)buffer.buf + offset, state)",
                ),
            ]
        )
    ),
    Edit(
        "Modules/_struct.c",
        "a Struct that was initialised again may be longer than what its iterator has left",
        "    assert(self->index + self->so->s_size <= self->buf.len);\n",
        "    if (self->so->s_size == 0 || self->so->s_size > self->buf.len - self->index) {\n"
        '        PyErr_SetString(PyExc_RuntimeError, "Struct() initialised again while it unpacks");\n'
        "        return NULL;\n    }\n",
    ),
    *(
        held("Objects/bytearrayobject.c", f"_Py_bytes_{name}", ",\x00sub, start, end", " " * indent)
        for name, indent in (("find", 26), ("count", 27), ("index", 27), ("rfind", 27), ("rindex", 28))
    ),
    *(
        held("Objects/bytearrayobject.c", f"_Py_bytes_{name}", ",\x00subobj, start, end", " " * indent)
        for name, indent in (("startswith", 32), ("endswith", 30))
    ),
    held("Objects/bytearrayobject.c", "_Py_bytes_contains", ", arg", "", "const int "),
    Edit(
        "Objects/bytearrayobject.c",
        "a separator's __buffer__ could free the bytes that are being split",
        "    if (PyObject_GetBuffer(sep, &vsub, PyBUF_SIMPLE) != 0)\n        return NULL;\n    sub = vsub.buf;\n",
        "    if (PyObject_GetBuffer(sep, &vsub, PyBUF_SIMPLE) != 0)\n        return NULL;\n"
        "    s = PyByteArray_AS_STRING(self);\n    len = PyByteArray_GET_SIZE(self);\n    sub = vsub.buf;\n",
        2,
    ),
]

# What reaches beyond the isolate, waits where no interrupt is looked at, or uses more C stack per level than others.
REACH = [
    Edit(
        "Python/sysmodule.c",
        "frames and exceptions of all interpreters, whose threads are running",
        "    SYS__CURRENT_FRAMES_METHODDEF\n    SYS__CURRENT_EXCEPTIONS_METHODDEF\n",
        "",
    ),
    Edit(
        "Modules/timemodule.c",
        "the C library trusts the thread that it is given",
        "#ifdef HAVE_PTHREAD_GETCPUCLOCKID\n    {",
        "#if 0\n    {",
    ),
    Edit(
        "Modules/_threadmodule.c",
        "a lock that nobody releases",
        "        r = PyThread_acquire_lock(self->rlock_lock, 1);\n        Py_END_ALLOW_THREADS\n    }\n    if (!r) {",
        "        extern PyLockStatus walle_vm_wait_for_lock(PyThread_type_lock, long long);\n"
        "        r = walle_vm_wait_for_lock(self->rlock_lock, -1) == PY_LOCK_ACQUIRED;\n"
        "        Py_END_ALLOW_THREADS\n    }\n    if (!r) {",
    ),
    Edit(
        "Modules/_threadmodule.c",
        "a thread that never ends",
        "    while (!PyEvent_WaitTimed(&self->thread_is_exiting, timeout_ns, detach)) {\n",
        "    extern int walle_vm_interrupted(void);\n"
        "    const PyTime_t slice = 5000000;\n"
        "    while (!PyEvent_WaitTimed(&self->thread_is_exiting,\n"
        "                              timeout_ns < 0 || timeout_ns > slice ? slice : timeout_ns, detach)) {\n"
        "        if (walle_vm_interrupted()) {\n            return -1;\n        }\n",
    ),
    Edit(
        "Objects/listobject.c",
        "declaration",
        '#include "Python.h"\n',
        '#include "Python.h"\n#include "vm/inside/stack.h"\n',
    ),
    stack_check(
        "Objects/listobject.c",
        "list_sort_impl(PyListObject *self, PyObject *keyfunc, int reverse)\n"
        "/*[clinic end generated code: output=57b9f9c5e23fbe42 input=667bf25d0e3a3676]*/",
    ),
    Edit(
        "Objects/longobject.c",
        "a text of ten million digits: each digit multiplies all before",
        "        /* Multiply z by convmult, and add c. */\n",
        "        extern int walle_vm_interrupted(void);\n"
        "        if (walle_vm_interrupted()) {\n"
        "            Py_DECREF(z);\n            *res = NULL;\n            return 0;\n        }\n"
        "        /* Multiply z by convmult, and add c. */\n",
    ),
    Edit(
        "Objects/unicodeobject.c",
        "a long text is searched for every character that is stripped",
        "            if (PyUnicode_FindChar(sepobj, ch, 0, seplen, 1) < 0)\n                break;\n",
        "            if (PyUnicode_FindChar(sepobj, ch, 0, seplen, 1) < 0)\n                break;\n"
        "            extern int walle_vm_interrupted(void);\n"
        "            if (walle_vm_interrupted()) {\n                return NULL;\n            }\n",
        2,
    ),
    interrupt_check("Objects/listobject.c", "list_richcompare_impl(PyObject *v, PyObject *w, int op)\n{\n", "NULL"),
    interrupt_check("Objects/tupleobject.c", "tuplerichcompare(PyObject *v, PyObject *w, int op)\n{\n", "NULL"),
    interrupt_check("Objects/tupleobject.c", "tuplehash(PyTupleObject *v)\n{\n", "-1"),
    interrupt_check(
        "Objects/abstract.c",
        "    if (PyTuple_Check(cls)) {\n"
        "        /* Not a general sequence -- that opens up the road to\n"
        "           recursion and stack overflow. */\n",
        "-1",
    ),
]


# Where CPython 3.13.5 goes on after an allocation that failed, which a heap limit makes an everyday event.
OUT_OF_MEMORY = [
    Edit(
        "Objects/dictobject.c",
        "a key that could not be inserted was counted: ending the isolate met the hole in its interned names",
        "            if (result) {\n                *result = NULL;\n            }\n        }\n\n"
        "        MAINTAIN_TRACKING(mp, key, value);\n",
        "            if (result) {\n                *result = NULL;\n            }\n"
        "            return -1;\n        }\n\n"
        "        MAINTAIN_TRACKING(mp, key, value);\n",
    ),
    Edit(
        "Python/generated_cases.c.h",
        "the code of a function that cannot be made stays on the stack, where unwinding gives it back a second time",
        "            Py_DECREF(codeobj);\n            if (func_obj == NULL) {\n                goto error;\n",
        "            Py_DECREF(codeobj);\n            if (func_obj == NULL) {\n                goto pop_1_error;\n",
    ),
    Edit(
        "Parser/pegen.c",
        "a tokenizer that could not be made is no exception yet",
        "            _PyPegen_raise_tokenizer_init_error(filename_ob);\n        }\n        return NULL;\n    }\n"
        "    // This transfers the ownership to the tokenizer\n    tok->filename = Py_NewRef(filename_ob);\n\n"
        "    // We need to clear up from here on\n    mod_ty result = NULL;\n\n"
        "    int parser_flags = compute_parser_flags(flags);\n    int feature_version = flags &&",
        "            _PyPegen_raise_tokenizer_init_error(filename_ob);\n        }\n"
        "        else {\n            PyErr_NoMemory();\n        }\n        return NULL;\n    }\n"
        "    // This transfers the ownership to the tokenizer\n    tok->filename = Py_NewRef(filename_ob);\n\n"
        "    // We need to clear up from here on\n    mod_ty result = NULL;\n\n"
        "    int parser_flags = compute_parser_flags(flags);\n    int feature_version = flags &&",
    ),
    Edit(
        "Modules/_threadmodule.c",
        "the list is made last, and a module whose execution failed before has none",
        "    HEAD_LOCK(&_PyRuntime);\n    struct llist_node *node;\n    llist_for_each_safe(",
        "    if (state->shutdown_handles.next == NULL) {\n        return;\n    }\n"
        "    HEAD_LOCK(&_PyRuntime);\n    struct llist_node *node;\n    llist_for_each_safe(",
    ),
    Edit(
        "Python/frame.c",
        "a frame object that cannot be made must not take the exception along that is being raised",
        "        PyFrameObject *back = _PyFrame_GetFrameObject(prev);\n",
        "        PyObject *raised = PyErr_GetRaisedException();\n"
        "        PyFrameObject *back = _PyFrame_GetFrameObject(prev);\n",
    ),
    Edit(
        "Python/frame.c",
        "as above",
        "            PyErr_Clear();\n        }\n        else {\n"
        "            f->f_back = (PyFrameObject *)Py_NewRef(back);\n        }\n",
        "            PyErr_Clear();\n        }\n        else {\n"
        "            f->f_back = (PyFrameObject *)Py_NewRef(back);\n        }\n"
        "        PyErr_SetRaisedException(raised);\n",
    ),
    Edit(
        "Objects/typeobject.c",
        "only a missing attribute is one; a MemoryError stays what it is",
        "    if (_PyDict_SetItem_LockHeld(dict, name, value) < 0) {\n        PyErr_Format(",
        "    if (_PyDict_SetItem_LockHeld(dict, name, value) < 0) {\n"
        "        if (!PyErr_ExceptionMatches(PyExc_KeyError)) {\n            return -1;\n        }\n"
        "        PyErr_Format(",
    ),
]

ALL = [*EDITS, *REENTRANCY, *REACH, *OUT_OF_MEMORY]


def edited(path: str, text: str) -> str:
    for edit in ALL:
        if edit.path != path:
            continue
        found = text.count(edit.anchor)
        if found != edit.count:
            raise SystemExit(
                f"{path}: anchor found {found} times, expected {edit.count}: {edit.anchor!r} ({edit.reason})"
            )
        text = text.replace(edit.anchor, edit.text)
    return text


def main() -> int:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    wanted = [p for folder in FOLDERS for p in (source / folder).rglob("*") if p.is_file()]
    wanted += [p for pattern in FILES for p in source.glob(pattern)]
    known = {edit.path for edit in ALL}
    for path in wanted:
        relative = path.relative_to(source).as_posix()
        data = path.read_bytes()
        if relative in known:
            data = edited(relative, data.decode()).encode()
            known.discard(relative)
        out = target / relative
        if out.is_file() and out.read_bytes() == data:
            continue
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(data)
    if known:
        raise SystemExit(f"files to edit are missing from the source: {sorted(known)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
