"""State: what scripts hand to private constructors, `__setstate__` and `__reduce__`, upstream trusts.

Pickles are meant to hold what objects said of themselves; a task calls the same functions with anything. Each
of them checks what the code behind it relies on.
"""

from __future__ import annotations

from .engine import because, insert_after, insert_before, remove, replace

_SRE = "Modules/_sre/sre.c"
_ITERTOOLS = "Modules/itertoolsmodule.c"
_DATETIME = "Modules/_datetimemodule.c"
_MORE_THAN_THERE_IS = """\
    if ({wrong}) {{
        PyErr_SetString(PyExc_ValueError, "a state with more items than there are");
        return NULL;
    }}
"""


def _sane(function: str, state: str) -> str:
    """The check in front of a constructor's copy of `state`."""
    return f"""\
    if (!{function}((const unsigned char *){state})) {{
        PyErr_SetString(PyExc_TypeError, "no state of a date or time");
        return NULL;
    }}
"""


EDITS = [
    *because(
        "a raw program of _sre: sets and blocks of hints that end before they begin, tables whose size "
        "overflows, a prefix that skips what is none or never gets on, and single characters of any length",
        insert_before(
            _SRE,
            "            /* Stop 1 before the end; we check the FAILURE below */\n",
            "            if (skip < 2)\n                FAIL;\n",
        ),
        insert_before(
            _SRE,
            "            offset = 256/sizeof(SRE_CODE); /* 256-byte table */\n",
            "            if (arg > 256)\n                FAIL;\n",
        ),
        insert_after(
            _SRE,
            """\
                GET_ARG; flags = arg;
                GET_ARG;
                GET_ARG;
""",
            "                if (skip < 4 || newcode < code)\n                    FAIL;\n",
        ),
        replace(
            _SRE,
            """\
                    GET_ARG; prefix_len = arg;
                    GET_ARG;
""",
            """\
                    GET_ARG; prefix_len = arg;
                    GET_ARG;
                    if (newcode < code || prefix_len == 0 || arg > prefix_len
                        || 2 * (uintptr_t)arg > (uintptr_t)(end - newcode))
                        FAIL;
                    for (i = 0; i < arg; i++) {
                        if (newcode[2 * i] != SRE_OP_LITERAL)
                            FAIL;
                    }
""",
        ),
        replace(
            _SRE,
            """\
                        if (code[i] >= prefix_len)
                            FAIL;
""",
            """\
                        if (code[i] > i)
                            FAIL;
""",
        ),
        insert_before(
            _SRE,
            "                    if (_validate_charset(code, newcode-1))\n",
            "                    if (newcode == code)\n                        FAIL;\n",
        ),
        replace(
            _SRE,
            """\
                if (_validate_inner(code, code+skip-4, groups))
                    FAIL;
""",
            """\
                if (_validate_inner(code, code+skip-4, groups))
                    FAIL;
                if (code + _unit_length(code, end) != code+skip-4)
                    FAIL;
""",
        ),
        insert_before(
            _SRE,
            "static int\n_validate_inner(SRE_CODE *code, SRE_CODE *end, Py_ssize_t groups)\n",
            """\
/* Of the instruction for one character that stands here; 0: another one. */
static Py_ssize_t
_unit_length(const SRE_CODE *code, const SRE_CODE *end)
{
    switch (*code) {
    case SRE_OP_ANY:
    case SRE_OP_ANY_ALL:
        return 1;
    case SRE_OP_LITERAL:
    case SRE_OP_NOT_LITERAL:
    case SRE_OP_LITERAL_IGNORE:
    case SRE_OP_NOT_LITERAL_IGNORE:
    case SRE_OP_LITERAL_UNI_IGNORE:
    case SRE_OP_NOT_LITERAL_UNI_IGNORE:
    case SRE_OP_LITERAL_LOC_IGNORE:
    case SRE_OP_NOT_LITERAL_LOC_IGNORE:
        return 2;
    case SRE_OP_IN:
    case SRE_OP_IN_IGNORE:
    case SRE_OP_IN_UNI_IGNORE:
    case SRE_OP_IN_LOC_IGNORE:
        return 1 + (Py_ssize_t)code[1];
    default:
        return 0;
    }
}

""",
        ),
    ),
    *because(
        "states of combinatoric iterators with more places than the pool has items",
        insert_before(
            _ITERTOOLS,
            "    for (i=0; i<lz->r; i++) {\n        Py_ssize_t max;\n",
            _MORE_THAN_THERE_IS.format(wrong="lz->r > n"),
        ),
        insert_after(
            _ITERTOOLS,
            "    n = PyTuple_GET_SIZE(lz->pool);\n",
            _MORE_THAN_THERE_IS.format(wrong="n == 0 && lz->r > 0"),
        ),
        insert_after(
            _ITERTOOLS,
            """\
    n = PyTuple_GET_SIZE(po->pool);
    if (PyTuple_GET_SIZE(indices) != n || PyTuple_GET_SIZE(cycles) != po->r) {
        PyErr_SetString(PyExc_ValueError, "invalid arguments");
        return NULL;
    }
""",
            _MORE_THAN_THERE_IS.format(wrong="po->r > n"),
        ),
    ),
    *because(
        "the place of a tee beyond what was read: the cells between would stay unset",
        replace(
            _ITERTOOLS,
            "    if (index < 0 || index > LINKCELLS) {\n",
            "    if (index < 0 || index > LINKCELLS || index > tdo->numread) {\n",
        ),
    ),
    *because(
        "__reduce__ and __setstate__ of a cycle share its list, which may be shortened",
        replace(
            _ITERTOOLS,
            """\
    item = PyList_GET_ITEM(lz->saved, lz->index);
    lz->index++;
""",
            """\
    if (lz->index >= PyList_GET_SIZE(lz->saved))
        lz->index = 0;
    item = PyList_GET_ITEM(lz->saved, lz->index);
    lz->index++;
""",
        ),
    ),
    *because(
        "__setstate__ of a partial that is being called would free the arguments of the call",
        replace(
            "Modules/_functoolsmodule.c",
            """\
partial_vectorcall(partialobject *pto, PyObject *const *args,
                   size_t nargsf, PyObject *kwnames)
{
""",
            """\
partial_vectorcall_held(partialobject *pto, PyObject *const *args,
                        size_t nargsf, PyObject *kwnames);

static PyObject *
partial_vectorcall(partialobject *pto, PyObject *const *args,
                   size_t nargsf, PyObject *kwnames)
{
    PyObject *fn = Py_NewRef(pto->fn);
    PyObject *given = Py_NewRef(pto->args);
    PyObject *result = partial_vectorcall_held(pto, args, nargsf, kwnames);
    Py_DECREF(fn);
    Py_DECREF(given);
    return result;
}

static PyObject *
partial_vectorcall_held(partialobject *pto, PyObject *const *args,
                        size_t nargsf, PyObject *kwnames)
{
""",
        ),
        replace(
            "Modules/_functoolsmodule.c",
            "    PyObject *res = PyObject_Call(pto->fn, args2, kwargs2);\n",
            """\
    PyObject *fn = Py_NewRef(pto->fn);
    PyObject *res = PyObject_Call(fn, args2, kwargs2);
    Py_DECREF(fn);
""",
        ),
    ),
    *because(
        "dates and times from bytes, of which upstream looks at the month or the hour alone: names of days "
        "and months are looked up by what the others make",
        insert_before(
            _DATETIME,
            "/* year, month -> number of days in year preceding first day of month */\n",
            """\
/* The states that pickles hold, without the bit of fold. */
static int
wvm_sane_date(const unsigned char *state)
{
    const int year = state[0] * 256 + state[1];
    const int month = state[2] & 0x7F;
    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && state[3] >= 1
           && state[3] <= days_in_month(year, month);
}

static int
wvm_sane_time(const unsigned char *state)
{
    return (state[0] & 0x7F) < 24 && state[1] < 60 && state[2] < 60
           && state[3] * 65536 + state[4] * 256 + state[5] < 1000000;
}

static int
wvm_sane_datetime(const unsigned char *state)
{
    return wvm_sane_date(state) && wvm_sane_time(state + 4);
}

""",
        ),
        insert_before(
            _DATETIME,
            "    me = (PyDateTime_Date *) (type->tp_alloc(type, 0));\n    if (me != NULL) {\n"
            "        const char *pdata",
            _sane("wvm_sane_date", "PyBytes_AS_STRING(state)"),
        ),
        insert_before(
            _DATETIME,
            "    me = (PyDateTime_Time *) (type->tp_alloc(type, aware));\n    if (me != NULL) {\n"
            "        const char *pdata",
            _sane("wvm_sane_time", "PyBytes_AS_STRING(state)"),
        ),
        insert_before(
            _DATETIME,
            "    me = (PyDateTime_DateTime *) (type->tp_alloc(type , aware));\n    if (me != NULL) {\n"
            "        const char *pdata",
            _sane("wvm_sane_datetime", "PyBytes_AS_STRING(state)"),
        ),
    ),
    *because(
        "what objects of C hold inside - dictionaries of types and of caches, tuples that are being filled, "
        "lists with an index into them - can be changed by whoever finds it, and these functions give it to "
        "anybody. A collector that keeps what it finds does, too",
        remove(
            "Modules/gcmodule.c",
            "    GC_GET_OBJECTS_METHODDEF\n",
        ),
        remove(
            "Modules/gcmodule.c",
            "    GC_GET_REFERRERS_METHODDEF\n    GC_GET_REFERENTS_METHODDEF\n",
        ),
        replace(
            "Modules/gcmodule.c",
            "    gcstate->debug = flags;\n",
            "    gcstate->debug = flags & ~_PyGC_DEBUG_SAVEALL;\n",
        ),
    ),
    *because(
        "the other side of a comparison or union with a type's __dict__ was given the dictionary itself",
        insert_before(
            "Objects/descrobject.c",
            "static PyObject *\nmappingproxy_or(PyObject *left, PyObject *right)\n",
            """\
/* What the other side of an operator may see: no dictionary that it could change. */
static PyObject *
wvm_shown(PyObject *side, PyObject *other)
{
    if (!PyObject_TypeCheck(side, &PyDictProxy_Type)) {
        return Py_NewRef(side);
    }
    PyObject *mapping = ((mappingproxyobject *)side)->mapping;
    const int harmless = PyDict_CheckExact(other) ||
        (PyObject_TypeCheck(other, &PyDictProxy_Type) &&
         PyDict_CheckExact(((mappingproxyobject *)other)->mapping));
    return PyDict_CheckExact(mapping) && !harmless ? PyDict_Copy(mapping) : Py_NewRef(mapping);
}

static PyObject *
wvm_operate(PyObject *left, PyObject *right, int op)
{
    PyObject *one = wvm_shown(left, right);
    PyObject *two = one == NULL ? NULL : wvm_shown(right, left);
    PyObject *result = two == NULL ? NULL
                       : op < 0 ? PyNumber_Or(one, two) : PyObject_RichCompare(one, two, op);
    Py_XDECREF(one);
    Py_XDECREF(two);
    return result;
}

""",
        ),
        replace(
            "Objects/descrobject.c",
            """\
    if (PyObject_TypeCheck(left, &PyDictProxy_Type)) {
        left = ((mappingproxyobject*)left)->mapping;
    }
    if (PyObject_TypeCheck(right, &PyDictProxy_Type)) {
        right = ((mappingproxyobject*)right)->mapping;
    }
    return PyNumber_Or(left, right);
""",
            "    return wvm_operate(left, right, -1);\n",
        ),
        replace(
            "Objects/descrobject.c",
            """\
    mappingproxyobject *v = (mappingproxyobject *)self;
    return PyObject_RichCompare(v->mapping, w, op);
""",
            "    return wvm_operate(self, w, op);\n",
        ),
    ),
]
