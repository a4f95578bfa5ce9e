/* What the linker wants from the parts of CPython that no flavour has: files, processes, signals, tracing,
 * the command line. Each does nothing or says that it is not there. */
#include "vm/inside/run/interrupt.h"

#include <internal/pycore_ceval.h>
#include <internal/pycore_getopt.h>
#include <internal/pycore_import.h>
#include <internal/pycore_initconfig.h>
#include <internal/pycore_pylifecycle.h>
#include <internal/pycore_tracemalloc.h>

PyObject* PyOS_FSPath(PyObject* path) {
  if (PyUnicode_Check(path) || PyBytes_Check(path)) return Py_NewRef(path);
  PyErr_SetString(PyExc_TypeError, "str or bytes expected");
  return NULL;
}

/* CPython polls for signals in its long loops; here the same polls carry cancellation. */
int PyErr_CheckSignals(void) { return wvm_raise_if_interrupted(); }
int _PyErr_CheckSignalsTstate(PyThreadState* state) {
  (void)state;
  return wvm_raise_if_interrupted();
}
int PyErr_SetInterruptEx(int signal) {
  (void)signal;
  return -1;
}
int _PySignal_Init(int install) {
  (void)install;
  return 0;
}
void _PySignal_Fini(void) {}

PyStatus _PyConfig_InitPathConfig(PyConfig* config, int compute) {
  (void)config;
  (void)compute;
  return _PyStatus_OK();
}
PyStatus _PyFaulthandler_Init(int enable) {
  (void)enable;
  return _PyStatus_OK();
}
void _PyFaulthandler_Fini(void) {}
void _PyMem_DumpTraceback(int fd, const void* block) {
  (void)fd;
  (void)block;
}

PyStatus _PyTraceMalloc_Init(void) { return _PyStatus_OK(); }
int _PyTraceMalloc_Start(int frames) {
  (void)frames;
  return 0;
}
void _PyTraceMalloc_Stop(void) {}
void _PyTraceMalloc_Fini(void) {}

int _PyPerfTrampoline_Init(int activate) {
  (void)activate;
  return 0;
}
int _PyPerfTrampoline_Fini(void) { return 0; }
void _PyPerfTrampoline_FreeArenas(void) {}

int _PyOS_opterr;
Py_ssize_t _PyOS_optind;
const wchar_t* _PyOS_optarg;
void _PyOS_ResetGetOpt(void) {}
int _PyOS_GetOpt(Py_ssize_t argc, wchar_t* const* argv, int* index) {
  (void)argc;
  (void)argv;
  (void)index;
  return -1;
}
char* PyOS_Readline(FILE* in, FILE* out, const char* prompt) {
  (void)in;
  (void)out;
  (void)prompt;
  PyErr_SetString(PyExc_RuntimeError, "a task has no console");
  return NULL;
}

const char* Py_GetBuildInfo(void) { return "walle"; }
const char* _Py_gitidentifier(void) { return ""; }
const char* _Py_gitversion(void) { return ""; }

static const struct _frozen kNoFrozen[] = {{0}};
const struct _frozen* _PyImport_FrozenStdlib = kNoFrozen;
const struct _frozen* _PyImport_FrozenTest = kNoFrozen;
const struct _frozen* PyImport_FrozenModules = NULL;
static const struct _module_alias kNoAliases[] = {{0, 0}};
const struct _module_alias* _PyImport_FrozenAliases = kNoAliases;
/* The importer itself comes out of the container (boot.c), never out of a marshalled table. */
const struct _frozen* _PyImport_FrozenBootstrap = kNoFrozen;
