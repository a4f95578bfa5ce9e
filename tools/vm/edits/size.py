"""Size: what the libraries do without (docs/concepts/vm.md, Size)."""

from __future__ import annotations

from .engine import because, insert_before, insert_between, remove, replace

EDITS = [
    *because(
        "no documentation: neither texts nor pointers to them, each of which would be a relocation",
        replace("Include/pymacro.h", '#define PyDoc_STR(str) ""\n', "#define PyDoc_STR(str) NULL\n"),
        replace(
            "Include/pymacro.h",
            "#define PyDoc_STRVAR(name,str) PyDoc_VAR(name) = PyDoc_STR(str)\n",
            "#define PyDoc_STRVAR(name,str) enum { name = 0 }\n",
        ),
        replace("Include/internal/pycore_bytes_methods.h", "extern const char _Py_", "enum { _Py_", 26),
        replace("Include/internal/pycore_bytes_methods.h", "__doc__[];", "__doc__ = 0 };", 26),
        replace(
            "Include/internal/pycore_bytes_methods.h",
            "#define PyDoc_STRVAR_shared(name,str) const char name[] = PyDoc_STR(str)\n",
            '#define PyDoc_STRVAR_shared(name,str) _Static_assert(1, "")\n',
        ),
        *(
            replace(
                "Modules/_datetimemodule.c",
                f"static const char {name}_doc[] =\nPyDoc_STR(",
                f"PyDoc_STRVAR({name}_doc,",
            )
            for name in ("delta", "date", "tzinfo", "timezone", "time", "datetime")
        ),
        replace("Modules/_heapqmodule.c", "PyUnicode_FromString(__about__)", 'PyUnicode_FromString("")'),
        replace(
            "Python/sysmodule.c",
            "PyDoc_VAR(sys_doc) =\n",
            """\
enum { sys_doc = 0 };
#if 0
""",
        ),
        replace("Python/sysmodule.c", "/* end of sys_doc */ ;\n", "#endif\n"),
    ),
    *because(
        "300 names of modules that are mostly not here",
        remove("Python/sysmodule.c", '    SET_SYS("stdlib_module_names", list_stdlib_module_names());\n'),
    ),
    *because(
        "there is no command line, so neither its parser nor its help is needed",
        replace(
            "Python/initconfig.c",
            """\
    if (config->parse_argv == 1) {
        Py_ssize_t opt_index;
""",
            """\
    if (0) {
        Py_ssize_t opt_index;
""",
        ),
    ),
    *because(
        "a second constant copy of the whole runtime state costs 150 KB in the file; a heap snapshot costs "
        "nothing",
        replace(
            "Python/pystate.c",
            'static const _PyRuntimeState initial = _PyRuntimeState_INIT(_PyRuntime, "");',
            """\
static _PyRuntimeState *walle_initial;
#define initial (*walle_initial)""",
        ),
        insert_before(
            "Python/pystate.c",
            "    void *open_code_hook = runtime->open_code_hook;\n",
            """\
    if (walle_initial == NULL) {
        walle_initial = malloc(sizeof(*walle_initial));
        if (walle_initial == NULL) {
            return _PyStatus_NO_MEMORY();
        }
        memcpy(walle_initial, runtime, sizeof(*walle_initial));
    }
""",
        ),
    ),
    *because(
        "an isolate has one thread, so hardly anybody ever waits: initialised data for 17 lists instead of "
        "257",
        replace("Python/parking_lot.c", "#define NUM_BUCKETS 257\n", "#define NUM_BUCKETS 17\n"),
        replace(
            "Python/parking_lot.c",
            """\
    BUCKET_INIT_256(buckets, 0),
    BUCKET_INIT(buckets, 256),
""",
            """\
    BUCKET_INIT_16(buckets, 0),
    BUCKET_INIT(buckets, 16),
""",
        ),
    ),
    *because(
        "740 calls that a loop makes just as well, as the strings lie one behind the other: 18 KB",
        insert_between(
            "Include/internal/pycore_unicodeobject_generated.h",
            "    PyObject *string;\n",
            """\
    char *end = (char *)&_Py_SINGLETON(strings.ascii);
    for (char *at = (char *)&_Py_SINGLETON(strings.literals); at < end;) {
        string = (PyObject *)at;
        size_t size = sizeof(PyASCIIObject) + ((PyASCIIObject *)at)->length + 1;
        at += _Py_SIZE_ROUND_UP(size, _Alignof(PyASCIIObject));
        _PyUnicode_InternStatic(interp, &string);
    }
    return;
""",
            "    string = &_Py_ID(CANCELLED);\n",
        ),
    ),
    *because(
        "the rounds of SHA-2 as loops are smaller",
        replace(
            "Modules/_hacl/include/krml/internal/target.h",
            "#  define KRML_UNROLL_MAX 16\n",
            "#  define KRML_UNROLL_MAX 1\n",
        ),
    ),
]
