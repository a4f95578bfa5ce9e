"""Ordering: an OrderedDict that is changed by a key's own comparison.

Its nodes are found through the dictionary's index, and each look into that runs `__eq__` of keys with the
same hash. Upstream has mended copy() (3.13.15); the same assumption - that what was found before a look is
there behind it - lies in every other use of the nodes. One rule for all: who has looked, looks whether the
order and the table are still those, and says so if not, as iteration does.
"""

from __future__ import annotations

from .engine import because, insert_after, insert_before, insert_between, replace

_FILE = "Objects/odictobject.c"

EDITS = [
    *because(
        "a look into the dictionary may free nodes, the table of nodes and the dictionary's keys",
        replace(
            _FILE,
            "    PyDictKeysObject *keys = ((PyDictObject *)od)->ma_keys;\n    Py_ssize_t ix;\n",
            "    Py_ssize_t ix;\n",
        ),
        replace(
            _FILE,
            "        return keys->dk_nentries;  /* index of new entry */\n",
            "        return ((PyDictObject *)od)->ma_keys->dk_nentries;  /* index of new entry */\n",
        ),
        insert_before(
            _FILE,
            "#define ONE ((Py_ssize_t)1)\n",
            """\
/* Whether neither the order nor the dictionary's table is another than before a look into it. */
static int
odict_unchanged(PyODictObject *od, size_t state, PyDictKeysObject *keys, Py_ssize_t size)
{
    PyDictKeysObject *now = ((PyDictObject *)od)->ma_keys;
    if (od->od_state == state && now == keys && size == (Py_ssize_t)1 << now->dk_log2_size) {
        return 1;
    }
    PyErr_SetString(PyExc_RuntimeError, "OrderedDict mutated during lookup");
    return 0;
}

""",
        ),
        replace(
            _FILE,
            """\
    size = ONE << (((PyDictObject *)od)->ma_keys->dk_log2_size);
""",
            """\
    const size_t state = od->od_state;
    PyDictKeysObject *keys = ((PyDictObject *)od)->ma_keys;
    size = ONE << (keys->dk_log2_size);
""",
        ),
        replace(
            _FILE,
            """\
        i = _odict_get_index_raw(od, _odictnode_KEY(node),
                                 _odictnode_HASH(node));
        if (i < 0) {
""",
            """\
        PyObject *key = Py_NewRef(_odictnode_KEY(node));
        i = _odict_get_index_raw(od, key, _odictnode_HASH(node));
        Py_DECREF(key);
        if (i < 0 || !odict_unchanged(od, state, keys, size)) {
""",
        ),
        replace(
            _FILE,
            "    return _odict_get_index_raw(od, key, hash);\n",
            """\
    const size_t state = od->od_state;
    keys = ((PyDictObject *)od)->ma_keys;
    Py_ssize_t index = _odict_get_index_raw(od, key, hash);
    if (index >= 0 && !odict_unchanged(od, state, keys, od->od_fast_nodes_size)) {
        return -1;
    }
    return index;
""",
        ),
        replace(
            _FILE,
            """\
    assert(node == od->od_fast_nodes[i]);
    if (node == NULL) {
""",
            """\
    if (node != od->od_fast_nodes[i]) {
        PyErr_SetString(PyExc_RuntimeError, "OrderedDict mutated during lookup");
        return -1;
    }
    if (node == NULL) {
""",
        ),
    ),
    *because(
        "popitem() of a key that the dictionary no longer has kept the key for ever",
        replace(
            _FILE,
            """\
    if (value == NULL)
        return NULL;
    item = PyTuple_Pack(2, key, value);
""",
            """\
    if (value == NULL) {
        Py_DECREF(key);
        return NULL;
    }
    item = PyTuple_Pack(2, key, value);
""",
        ),
    ),
    *because(
        "copy() goes from node to node while keys and values are put into the copy",
        insert_between(
            _FILE,
            "    _ODictNode *node;\n    PyObject *od_copy;\n",
            "    const size_t state = od->od_state;\n",
            "\n",
        ),
        replace(
            _FILE,
            """\
            PyObject *key = _odictnode_KEY(node);
            PyObject *value = _odictnode_VALUE(node, od);
            if (value == NULL) {
                if (!PyErr_Occurred())
                    PyErr_SetObject(PyExc_KeyError, key);
                goto fail;
            }
            if (_PyODict_SetItem_KnownHash((PyObject *)od_copy, key, value,
                                           _odictnode_HASH(node)) != 0)
                goto fail;
""",
            """\
            PyObject *key = Py_NewRef(_odictnode_KEY(node));
            Py_hash_t hash = _odictnode_HASH(node);
            PyObject *value = Py_XNewRef(PyODict_GetItemWithError((PyObject *)od, key));
            int res = value == NULL
                          ? -1
                          : _PyODict_SetItem_KnownHash((PyObject *)od_copy, key, value, hash);
            if (value == NULL && !PyErr_Occurred())
                PyErr_SetObject(PyExc_KeyError, key);
            Py_XDECREF(value);
            Py_DECREF(key);
            if (res != 0 || !odict_as_before(od, state))
                goto fail;
""",
        ),
        replace(
            _FILE,
            """\
            PyObject *value = PyObject_GetItem((PyObject *)od,
                                               _odictnode_KEY(node));
            if (value == NULL)
                goto fail;
            res = PyObject_SetItem((PyObject *)od_copy,
                                   _odictnode_KEY(node), value);
            Py_DECREF(value);
            if (res != 0)
                goto fail;
""",
            """\
            PyObject *key = Py_NewRef(_odictnode_KEY(node));
            PyObject *value = PyObject_GetItem((PyObject *)od, key);
            res = value == NULL ? -1 : PyObject_SetItem((PyObject *)od_copy, key, value);
            Py_XDECREF(value);
            Py_DECREF(key);
            if (res != 0 || !odict_as_before(od, state))
                goto fail;
""",
        ),
        insert_before(
            _FILE,
            'PyDoc_STRVAR(odict_copy__doc__, "od.copy()',
            """\
static int
odict_as_before(PyODictObject *od, size_t state)
{
    if (od->od_state == state) {
        return 1;
    }
    PyErr_SetString(PyExc_RuntimeError, "OrderedDict mutated during iteration");
    return 0;
}

""",
        ),
    ),
    *because(
        "an iterator may be stepped, and end, in the comparison of its own step",
        replace(
            _FILE,
            """\
    node = _odict_find_node(di->di_odict, di->di_current);
    if (node == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, di->di_current);
        /* Must have been deleted. */
        Py_CLEAR(di->di_current);
        return NULL;
    }
    key = di->di_current;
""",
            """\
    key = Py_NewRef(di->di_current);
    node = _odict_find_node(di->di_odict, key);
    if (node != NULL && di->di_current != key) {
        PyErr_SetString(PyExc_RuntimeError, "OrderedDict iterator stepped in its own step");
        node = NULL;
    }
    if (node == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, key);
        /* Must have been deleted. */
        Py_CLEAR(di->di_current);
        Py_DECREF(key);
        return NULL;
    }
    Py_DECREF(key);  /* di_current's */
""",
        ),
        replace(
            _FILE,
            "    PyObject *key = odictiter_nextkey(di);  /* new reference */\n\n    if (key == NULL)\n"
            "        return NULL;\n",
            """\
    PyODictObject *od = (PyODictObject *)Py_XNewRef(di->di_odict);
    PyObject *key = odictiter_nextkey(di);  /* new reference */

    if (key == NULL) {
        Py_XDECREF(od);
        return NULL;
    }
""",
        ),
        replace(
            _FILE,
            """\
    if (! (di->kind & _odict_ITER_VALUES)) {
        return key;
    }

    value = PyODict_GetItem((PyObject *)di->di_odict, key);  /* borrowed */
    if (value == NULL) {
""",
            """\
    if (! (di->kind & _odict_ITER_VALUES)) {
        Py_DECREF(od);
        return key;
    }

    value = Py_XNewRef(PyODict_GetItemWithError((PyObject *)od, key));
    Py_DECREF(od);
    if (value == NULL) {
""",
        ),
        replace(
            _FILE,
            """\
        Py_DECREF(key);
        goto done;
    }
    Py_INCREF(value);

    /* Handle the values case. */
""",
            """\
        Py_DECREF(key);
        goto done;
    }

    /* Handle the values case. */
""",
        ),
    ),
    *because(
        "what the tuple held goes when it holds the new pair: a collection in between sees what is freed",
        replace(
            _FILE,
            """\
        Py_INCREF(result);
        Py_DECREF(PyTuple_GET_ITEM(result, 0));  /* borrowed */
        Py_DECREF(PyTuple_GET_ITEM(result, 1));  /* borrowed */
""",
            """\
        Py_INCREF(result);
        PyObject *old_key = PyTuple_GET_ITEM(result, 0);
        PyObject *old_value = PyTuple_GET_ITEM(result, 1);
        PyTuple_SET_ITEM(result, 0, key);
        PyTuple_SET_ITEM(result, 1, value);
        Py_DECREF(old_key);
        Py_DECREF(old_value);
""",
        ),
        insert_after(
            _FILE,
            """\
        if (!_PyObject_GC_IS_TRACKED(result)) {
            _PyObject_GC_TRACK(result);
        }
""",
            "        return result;\n",
        ),
    ),
]
