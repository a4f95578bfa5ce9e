/* Hidden symbols: included before everything else; replaces CPython's exports.h, so that nothing of
 * CPython is visible outside. */
#ifndef Py_EXPORTS_H
#define Py_EXPORTS_H
#define WALLE_HIDDEN __attribute__((visibility("hidden")))
#define Py_IMPORTED_SYMBOL WALLE_HIDDEN
#define Py_EXPORTED_SYMBOL WALLE_HIDDEN
#define Py_LOCAL_SYMBOL WALLE_HIDDEN
#define PyAPI_FUNC(type) WALLE_HIDDEN type
#define PyAPI_DATA(type) extern WALLE_HIDDEN type
#define PyMODINIT_FUNC WALLE_HIDDEN PyObject*
#endif
