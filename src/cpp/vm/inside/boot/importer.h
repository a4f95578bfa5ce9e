/* Importer: what a task may import, and where it comes from. */
#ifndef WALLE_VM_IMPORTER_H
#define WALLE_VM_IMPORTER_H

#include "vm/inside/run/state.h"

PyObject* wvm_importer_module(void);
int wvm_check_import(PyObject* name); /* -1 with ImportError: not on the task's list of imports */
void wvm_library_asks(wvm_question* question, PyObject* name);
void wvm_library_asked(const wvm_question* question);

#endif
