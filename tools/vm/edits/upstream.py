"""Upstream: faults of 3.13.5 that its branch has mended since, and their neighbours in the files of the VM.

docs/reference/vm-cpython.md says which release mended which. A later archive would bring them all; Debian's
stable one, which a build can still fetch in years, is 3.13.5.
"""

from __future__ import annotations

from .engine import because, insert_after, insert_before, insert_between, replace

EDITS = [
    *because(
        "an iterator's own code may make its user let go of it, as an exhausted islice, chain or cycle does",
        insert_before(
            "Objects/abstract.c",
            "/* Return next item.\n * If an error occurs, return NULL.",
            """\
static inline PyObject *
held_step(PyObject *iterator)
{
    iternextfunc step = Py_TYPE(iterator)->tp_iternext;
    if (step == NULL) {
        return PyErr_Format(PyExc_TypeError, "'%T' object is not an iterator", iterator);
    }
    extern int wvm_interrupted_call(void);
    /* One load; asking at once took 5 % of a program of lists. */
    if ((_Py_atomic_load_uintptr_relaxed(&_PyThreadState_GET()->eval_breaker) & _PY_SIGNALS_PENDING_BIT)
        && wvm_interrupted_call()) {
        return NULL;
    }
    Py_INCREF(iterator);
    PyObject *item = step(iterator);
    Py_DECREF(iterator);
    return item;
}

PyObject *
wvm_next(PyObject *iterator)
{
    return held_step(iterator);
}

""",
        ),
        replace(
            "Objects/abstract.c",
            "    result = (*Py_TYPE(iter)->tp_iternext)(iter);\n",
            "    result = held_step(iter);\n",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            """\
        item = iternext(it);
        if (item == NULL)
            goto empty;
        Py_DECREF(item);
""",
            """\
        item = lz->it == NULL ? NULL : wvm_next(lz->it);
        if (item == NULL)
            goto empty;
        Py_DECREF(item);
""",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            """\
    item = iternext(it);
    if (item == NULL)
        goto empty;
    lz->cnt++;
    oldnext""",
            """\
    item = lz->it == NULL ? NULL : wvm_next(lz->it);
    if (item == NULL)
        goto empty;
    lz->cnt++;
    oldnext""",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            "        item = iternext(it);\n        if (item == NULL) {\n            goto null_item;",
            "        item = bo->it == NULL ? NULL : wvm_next(bo->it);\n"
            "        if (item == NULL) {\n            goto null_item;",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            "        old = (*Py_TYPE(it)->tp_iternext)(it);\n        Py_XSETREF(po->old, old);",
            "        old = wvm_next(it);\n        Py_XSETREF(po->old, old);",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            "    new = (*Py_TYPE(it)->tp_iternext)(it);\n",
            "    new = wvm_next(it);\n",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            "        item = (*Py_TYPE(lz->active)->tp_iternext)(lz->active);\n",
            "        item = wvm_next(lz->active);\n",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            """\
                        PyTuple_SET_ITEM(lz->ittuple, i, NULL);
                        Py_DECREF(it);
""",
            """\
                        it = PyTuple_GET_ITEM(lz->ittuple, i);
                        PyTuple_SET_ITEM(lz->ittuple, i, NULL);
                        Py_XDECREF(it);
""",
            2,
        ),
        replace(
            "Modules/itertoolsmodule.c",
            """\
        newtotal = PyNumber_Add(lz->total, val);
    else
        newtotal = PyObject_CallFunctionObjArgs(lz->binop, lz->total, val, NULL);
""",
            """\
        newtotal = PyNumber_Add(total, val);
    else
        newtotal = PyObject_CallFunctionObjArgs(lz->binop, total, val, NULL);
    Py_DECREF(total);
""",
        ),
        insert_before(
            "Modules/itertoolsmodule.c",
            "    if (lz->binop == NULL)\n        newtotal",
            "    PyObject *total = Py_NewRef(lz->total);\n",
        ),
    ),
    *because(
        "a key's __eq__ may advance the groupby that compares it",
        replace(
            "Modules/itertoolsmodule.c",
            """\
            rcmp = PyObject_RichCompareBool(gbo->tgtkey, gbo->currkey, Py_EQ);
            if (rcmp == -1)
                return NULL;
            else if (rcmp == 0)
                break;
""",
            """\
            PyObject *target = Py_NewRef(gbo->tgtkey);
            PyObject *current = Py_NewRef(gbo->currkey);
            rcmp = PyObject_RichCompareBool(target, current, Py_EQ);
            Py_DECREF(target);
            Py_DECREF(current);
            if (rcmp == -1)
                return NULL;
            else if (rcmp == 0 && gbo->currkey != NULL)
                break;
""",
        ),
        replace(
            "Modules/itertoolsmodule.c",
            """\
    rcmp = PyObject_RichCompareBool(igo->tgtkey, gbo->currkey, Py_EQ);
    if (rcmp <= 0)
""",
            """\
    PyObject *current = Py_NewRef(gbo->currkey);
    rcmp = PyObject_RichCompareBool(igo->tgtkey, current, Py_EQ);
    Py_DECREF(current);
    if (rcmp <= 0)
""",
        ),
    ),
    *because(
        "what a sequence's iterator walks, and what iter(call, end) calls, may be given up meanwhile by a "
        "step inside a step",
        replace(
            "Objects/iterobject.c",
            "    result = PySequence_GetItem(seq, it->it_index);\n",
            """\
    Py_INCREF(seq);
    result = PySequence_GetItem(seq, it->it_index);
    Py_DECREF(seq);
""",
        ),
        replace(
            "Objects/iterobject.c",
            """\
        PyErr_Clear();
        it->it_seq = NULL;
        Py_DECREF(seq);
""",
            """\
        PyErr_Clear();
        Py_CLEAR(it->it_seq);
""",
        ),
        replace(
            "Objects/iterobject.c",
            "    result = _PyObject_CallNoArgs(it->it_callable);\n",
            """\
    PyObject *callable = Py_NewRef(it->it_callable);
    result = _PyObject_CallNoArgs(callable);
    Py_DECREF(callable);
""",
        ),
        replace(
            "Objects/iterobject.c",
            "        ok = PyObject_RichCompareBool(it->it_sentinel, result, Py_EQ);\n",
            """\
        PyObject *sentinel = Py_NewRef(it->it_sentinel);
        ok = PyObject_RichCompareBool(sentinel, result, Py_EQ);
        Py_DECREF(sentinel);
""",
        ),
        replace(
            "Objects/enumobject.c",
            "        item = PySequence_GetItem(ro->seq, index);\n",
            """\
        PyObject *seq = Py_NewRef(ro->seq);
        item = PySequence_GetItem(seq, index);
        Py_DECREF(seq);
""",
        ),
    ),
    *because(
        "the lines of a csv.reader may come from an iterator that advances the reader",
        insert_before(
            "Modules/_csv.c",
            "        if (!PyUnicode_Check(lineobj)) {\n",
            """\
        if (self->fields == NULL) {
            PyErr_SetString(module_state->error_obj, "iterator has already advanced the reader");
            Py_DECREF(lineobj);
            return NULL;
        }
""",
        ),
        insert_before(
            "Modules/_csv.c",
            "                else if (parse_save_field(self) >= 0)\n",
            "                else if (self->fields == NULL)\n                    return NULL;\n",
        ),
    ),
    *because(
        "a count's __add__ may replace it in the Counter",
        replace(
            "Modules/_collectionsmodule.c",
            "                newval = PyNumber_Add(oldval, one);\n",
            """\
                Py_INCREF(oldval);
                newval = PyNumber_Add(oldval, one);
                Py_DECREF(oldval);
""",
        ),
    ),
    *because(
        "what is encoded may be changed by the default() of one of its parts",
        replace(
            "Modules/_json.c",
            """\
        if (encoder_listencode_obj(s, writer, obj, new_newline_indent))
            goto bail;
""",
            """\
        Py_INCREF(obj);
        const int failed = encoder_listencode_obj(s, writer, obj, new_newline_indent);
        Py_DECREF(obj);
        if (failed)
            goto bail;
""",
        ),
        replace(
            "Modules/_json.c",
            """\
            if (encoder_encode_key_value(s, writer, &first, key, value,
                                         new_newline_indent,
                                         current_item_separator) < 0)
                goto bail;
""",
            """\
            Py_INCREF(key);
            Py_INCREF(value);
            const int failed = encoder_encode_key_value(s, writer, &first, key, value,
                                                        new_newline_indent,
                                                        current_item_separator);
            Py_DECREF(key);
            Py_DECREF(value);
            if (failed < 0)
                goto bail;
""",
            2,
        ),
    ),
    *because(
        "an item's __buffer__ may take it out of the list that is joined",
        replace(
            "Objects/stringlib/join.h",
            """\
            if (PyObject_GetBuffer(item, &buffers[i], PyBUF_SIMPLE) != 0) {
                PyErr_Format(PyExc_TypeError,
                             "sequence item %zd: expected a bytes-like object, "
                             "%.80s found",
                             i, Py_TYPE(item)->tp_name);
                goto error;
            }
""",
            """\
            Py_INCREF(item);
            if (PyObject_GetBuffer(item, &buffers[i], PyBUF_SIMPLE) != 0) {
                PyErr_Format(PyExc_TypeError,
                             "sequence item %zd: expected a bytes-like object, "
                             "%.80s found",
                             i, Py_TYPE(item)->tp_name);
                Py_DECREF(item);
                goto error;
            }
            Py_DECREF(item);
""",
        ),
    ),
    *because(
        "a subclass of SimpleNamespace may make something else of itself",
        insert_before(
            "Objects/namespaceobject.c",
            "    if (PyDict_Update(((_PyNamespaceObject*)result)->ns_dict,\n"
            "                      ((_PyNamespaceObject*)self)->ns_dict) < 0)\n",
            """\
    if (!PyObject_TypeCheck(result, &_PyNamespace_Type)) {
        PyErr_Format(PyExc_TypeError, "expect %N type, but %T() returned '%T' object",
                     &_PyNamespace_Type, self, result);
        Py_DECREF(result);
        return NULL;
    }
""",
        ),
    ),
    *because(
        "what a bytearray formats may resize it",
        replace(
            "Objects/bytearrayobject.c",
            "    return _PyBytes_FormatEx(PyByteArray_AS_STRING(v), PyByteArray_GET_SIZE(v), w, 1);\n",
            """\
    ((PyByteArrayObject *)v)->ob_exports++;
    PyObject *formatted = _PyBytes_FormatEx(PyByteArray_AS_STRING(v), PyByteArray_GET_SIZE(v), w, 1);
    ((PyByteArrayObject *)v)->ob_exports--;
    return formatted;
""",
        ),
    ),
    *because(
        "a length hint of 0 made the first byte go into the empty text that all bytearrays share",
        insert_before(
            "Objects/bytearrayobject.c",
            "    bytearray_obj = PyByteArray_FromStringAndSize(NULL, buf_size);\n",
            "    buf_size += buf_size == 0;\n",
        ),
    ),
    *because(
        "the state of a range's iterator is an integer and nothing else",
        insert_after(
            "Objects/rangeobject.c",
            "longrangeiter_setstate(longrangeiterobject *r, PyObject *state)\n{\n",
            """\
    if (!PyLong_CheckExact(state)) {
        PyErr_Format(PyExc_TypeError, "state must be an int, not %T", state);
        return NULL;
    }
""",
        ),
    ),
    *because(
        "a part's __repr__ may shorten the list that is shown; what __typing_subst__ gives need not be a "
        "tuple, and who has one need not be a parameter",
        replace(
            "Objects/genericaliasobject.c",
            """\
        PyObject *item = PyList_GET_ITEM(p, i);
        if (ga_repr_item(writer, item) < 0) {
            return -1;
        }
""",
            """\
        if (i >= PyList_GET_SIZE(p)) {
            break;
        }
        PyObject *item = Py_NewRef(PyList_GET_ITEM(p, i));
        const int failed = ga_repr_item(writer, item);
        Py_DECREF(item);
        if (failed < 0) {
            return -1;
        }
""",
        ),
        replace(
            "Objects/genericaliasobject.c",
            """\
            assert(iparam >= 0);
            arg = PyObject_CallOneArg(subst, argitems[iparam]);
""",
            """\
            arg = iparam >= 0
                ? PyObject_CallOneArg(subst, argitems[iparam])
                : PyErr_Format(PyExc_TypeError, "%R is no parameter of %R", arg, self);
""",
        ),
        insert_before(
            "Objects/genericaliasobject.c",
            "        if (unpack) {\n            jarg = tuple_extend",
            """\
        if (unpack && !PyTuple_Check(arg)) {
            PyErr_Format(PyExc_TypeError, "expected __typing_subst__ of %T objects to return a tuple, not %T",
                         PyTuple_GET_ITEM(args, iarg), arg);
            Py_DECREF(newargs);
            Py_DECREF(item);
            Py_DECREF(arg);
            return NULL;
        }
""",
        ),
    ),
    *because(
        "a part's __repr__ may give the partial another state",
        insert_after(
            "Modules/_functoolsmodule.c",
            """\
    arglist = PyUnicode_FromString("");
    if (arglist == NULL)
        goto done;
""",
            """\
    PyObject *args = Py_NewRef(pto->args), *kw = Py_NewRef(pto->kw), *fn = Py_NewRef(pto->fn);
""",
        ),
        replace(
            "Modules/_functoolsmodule.c",
            """\
    assert (PyTuple_Check(pto->args));
    n = PyTuple_GET_SIZE(pto->args);
    for (i = 0; i < n; i++) {
        Py_SETREF(arglist, PyUnicode_FromFormat("%U, %R", arglist,
                                        PyTuple_GET_ITEM(pto->args, i)));
        if (arglist == NULL)
            goto done;
    }
    /* Pack keyword arguments */
    assert (PyDict_Check(pto->kw));
    for (i = 0; PyDict_Next(pto->kw, &i, &key, &value);) {
        /* Prevent key.__str__ from deleting the value. */
        Py_INCREF(value);
        Py_SETREF(arglist, PyUnicode_FromFormat("%U, %S=%R", arglist,
                                                key, value));
        Py_DECREF(value);
        if (arglist == NULL)
            goto done;
    }
""",
            """\
    n = PyTuple_GET_SIZE(args);
    for (i = 0; arglist != NULL && i < n; i++) {
        Py_SETREF(arglist, PyUnicode_FromFormat("%U, %R", arglist, PyTuple_GET_ITEM(args, i)));
    }
    /* Pack keyword arguments */
    for (i = 0; arglist != NULL && PyDict_Next(kw, &i, &key, &value);) {
        Py_INCREF(key);
        Py_INCREF(value);
        Py_SETREF(arglist, PyUnicode_FromFormat("%U, %S=%R", arglist, key, value));
        Py_DECREF(key);
        Py_DECREF(value);
    }
    if (arglist == NULL) {
        goto given_back;
    }
""",
        ),
        replace(
            "Modules/_functoolsmodule.c",
            """\
    result = PyUnicode_FromFormat("%S.%S(%R%U)", mod, name, pto->fn, arglist);
    Py_DECREF(mod);
    Py_DECREF(name);
    Py_DECREF(arglist);

 done:
    Py_ReprLeave((PyObject *)pto);
    return result;
 error:
    Py_DECREF(arglist);
    Py_ReprLeave((PyObject *)pto);
    return NULL;
""",
            """\
    result = PyUnicode_FromFormat("%S.%S(%R%U)", mod, name, fn, arglist);
    Py_DECREF(mod);
    Py_DECREF(name);

 error:
    Py_DECREF(arglist);
 given_back:
    Py_DECREF(args);
    Py_DECREF(kw);
    Py_DECREF(fn);
 done:
    Py_ReprLeave((PyObject *)pto);
    return result;
""",
        ),
    ),
    *because(
        "comparing views of unusual formats calls the module struct, whose functions may be the task's and "
        "may release a view",
        replace(
            "Objects/memoryobject.c",
            """\
    if (PyTuple_GET_SIZE(v) == 1) {
        PyObject *res""",
            """\
    if (!PyTuple_Check(v)) {
        PyErr_Format(PyExc_TypeError, "unpack_from() gave %T, not a tuple", v);
        Py_DECREF(v);
        return NULL;
    }
    if (PyTuple_GET_SIZE(v) == 1) {
        PyObject *res""",
        ),
        insert_between(
            "Objects/memoryobject.c",
            "    char vfmt, wfmt;\n    int equal = MV_COMPARE_NOT_IMPL;\n",
            "    PyMemoryViewObject *held_v = NULL, *held_w = NULL;\n",
            "\n    if (op != Py_EQ && op != Py_NE)\n",
        ),
        insert_after(
            "Objects/memoryobject.c",
            "    vv = VIEW_ADDR(v);\n\n    if (PyMemoryView_Check(w)) {\n",
            "        held_w = (PyMemoryViewObject *)w;\n",
        ),
        insert_before(
            "Objects/memoryobject.c",
            "    if (!equiv_shape(vv, ww)) {\n        PyErr_Clear();\n        equal = 0;\n"
            "        goto result;\n",
            """\
    held_v = (PyMemoryViewObject *)v;
    held_v->exports++;
    if (held_w != NULL) {
        held_w->exports++;
    }
""",
        ),
        insert_before(
            "Objects/memoryobject.c",
            "    if (ww == &wbuf)\n        PyBuffer_Release(ww);\n",
            """\
    if (held_v != NULL) {
        held_v->exports--;
        if (held_w != NULL) {
            held_w->exports--;
        }
    }
""",
        ),
    ),
    *because(
        "a key's __eq__ may clear the dictionary that it is put into, whose next table is one of texts",
        replace(
            "Objects/dictobject.c",
            """\
    if (mp->ma_keys->dk_usable <= 0) {
        /* Need to resize. */
        if (insertion_resize(interp, mp, 1) < 0) {
            return -1;
        }
    }

    uint64_t new_version""",
            """\
    const int unicode = PyUnicode_CheckExact(key);
    if (mp->ma_keys->dk_usable <= 0 || (!unicode && DK_IS_UNICODE(mp->ma_keys))) {
        /* Need to resize. */
        if (insertion_resize(interp, mp, unicode) < 0) {
            return -1;
        }
    }

    uint64_t new_version""",
        ),
    ),
    *because(
        "the frame of a generator outlives what it held: no slot may keep what it has let go of",
        replace(
            "Objects/genobject.c",
            "            _PyFrame_ClearLocals((_PyInterpreterFrame *)gen->gi_iframe);\n",
            """\
            for (int i = 0; i < frame->stacktop; i++) {
                Py_CLEAR(frame->localsplus[i]);
            }
            Py_CLEAR(frame->f_locals);
""",
        ),
        insert_before(
            "Python/frame.c",
            "    f->f_frame = frame;\n    frame->owner = FRAME_OWNED_BY_FRAME_OBJECT;\n",
            """\
    for (int i = frame->stacktop; i < _PyFrame_GetCode(frame)->co_nlocalsplus; i++) {
        frame->localsplus[i] = NULL;
    }
""",
        ),
    ),
    *because(
        "dictionaries of one class share their keys: another one that gets a key is not this one",
        replace(
            "Objects/dictobject.c",
            "    Py_ssize_t orig_size = other->ma_keys->dk_nentries;\n",
            "    Py_ssize_t orig_size = other->ma_used;\n",
        ),
        replace(
            "Objects/dictobject.c",
            "        if (orig_size != other->ma_keys->dk_nentries) {\n",
            "        if (orig_size != other->ma_used) {\n",
        ),
    ),
    *because(
        "what a dictionary's values end with may change it: it is emptied first",
        replace(
            "Objects/dictobject.c",
            """\
        for (i = 0; i < n; i++) {
            Py_CLEAR(oldvalues->values[i]);
        }
        if (oldvalues->embedded) {
            oldvalues->size = 0;
        }
""",
            """\
        PyObject *ended[SHARED_KEYS_MAX_SIZE];
        assert(n <= SHARED_KEYS_MAX_SIZE);
        for (i = 0; i < n; i++) {
            ended[i] = oldvalues->values[i];
            oldvalues->values[i] = NULL;
        }
        if (oldvalues->embedded) {
            oldvalues->size = 0;
        }
""",
        ),
        replace(
            "Objects/dictobject.c",
            """\
            free_values(oldvalues, IS_DICT_SHARED(mp));
            dictkeys_decref(interp, oldkeys, false);
        }
    }
    ASSERT_CONSISTENT(mp);
""",
            """\
            free_values(oldvalues, IS_DICT_SHARED(mp));
            dictkeys_decref(interp, oldkeys, false);
        }
        for (i = 0; i < n; i++) {
            Py_XDECREF(ended[i]);
        }
    }
""",
        ),
    ),
    *because(
        "an alias whose items do not unpack",
        replace(
            "Objects/genericaliasobject.c",
            "    item = _unpack_args(item);\n",
            """\
    item = _unpack_args(item);
    if (item == NULL) {
        return NULL;
    }
""",
        ),
    ),
    *because(
        "a comparison may fill the free slot that an item was to go into",
        replace(
            "Objects/setobject.c",
            "    if (freeslot == NULL)\n        goto found_unused;\n",
            """\
    if (freeslot == NULL)
        goto found_unused;
    if (freeslot->hash != -1)
        goto restart;
""",
        ),
    ),
    *because(
        "a dictionary that was cleared and filled again may have fewer entries than its iterator stands at",
        replace(
            "Objects/dictobject.c",
            """\
    if (i < 0) {
        goto fail;
    }
    if (_PyDict_HasSplitTable(d)) {
        int index = get_index_from_order(d, i);
""",
            """\
    if (i < 0) {
        goto fail;
    }
    if (i >= (_PyDict_HasSplitTable(d) ? d->ma_values->size : k->dk_nentries)) {
        PyErr_SetString(PyExc_RuntimeError, "dictionary keys changed during iteration");
        goto fail;
    }
    if (_PyDict_HasSplitTable(d)) {
        int index = get_index_from_order(d, i);
""",
        ),
    ),
    *because(
        "the message read an argument that was not there: a type's name out of whatever lay on the stack",
        replace(
            "Objects/descrobject.c",
            """\
                        descr_name((PyDescrObject *)descr),
                        Py_TYPE(type)->tp_name);
            return NULL;
        }
    } else {
        return PyCFunction_NewEx(""",
            """\
                        descr_name((PyDescrObject *)descr), "?",
                        Py_TYPE(type)->tp_name);
            return NULL;
        }
    } else {
        return PyCFunction_NewEx(""",
        ),
    ),
]
