/* Every built-in module of the VM. A module that is not named here does not exist. */
#include "vm/inside/run/state.h"

// clang-format off: a list
#define WALLE_MODULES(X)                                                                             \
  X(_abc) X(_bisect) X(_codecs) X(_collections) X(_contextvars) X(_csv) X(_datetime) X(_functools) X(_heapq) \
  X(_json) X(_md5) X(_operator) X(_random) X(_sha1) X(_sha2) X(_sre) X(_stat) X(_statistics)         \
  X(_string) X(_struct) X(_thread) X(_typing) X(_weakref) X(array) X(binascii) X(cmath) X(gc)        \
  X(itertools) X(math) X(time)
// clang-format on

#define DECLARE(name) extern PyObject* PyInit_##name(void);
WALLE_MODULES(DECLARE)
extern PyObject* _PyWarnings_Init(void);

#define ENTRY(name) {#name, PyInit_##name},
struct _inittab _PyImport_Inittab[] = {
    WALLE_MODULES(ENTRY){"_warnings", _PyWarnings_Init}, {"builtins", NULL}, {"sys", NULL}, {NULL, NULL}};
