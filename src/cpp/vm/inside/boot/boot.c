/* Starting the VM: one main interpreter that never ends and never runs a task. It owns what CPython shares
 * between interpreters (static types, registries) and is warmed up so that no isolate writes shared state for
 * the first time. */
#include "vm/inside/boot/boot.h"
#include "vm/inside/boot/host_calls.h"
#include "vm/inside/boot/importer.h"
#include "vm/inside/code/bundle.h"
#include "vm/inside/run/host.h"
#include "vm/inside/run/memory.h"

#include <internal/pycore_ceval.h>
#include <internal/pycore_codecs.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_import.h>
#include <internal/pycore_initconfig.h>
#include <internal/pycore_pylifecycle.h>
#include <internal/pycore_sysmodule.h>
#include <internal/pycore_typeobject.h>

extern const unsigned char wvm_library_data[];
extern const size_t wvm_library_size;

static PyThreadState* main_thread;

/* What stands for the process's streams in all of CPython (edits/reach.py): each write to it fails. */
static FILE* nowhere;

FILE* wvm_nowhere(void) { return nowhere; }

static int open_nowhere(void) {
  static char room[8];
  nowhere = fmemopen(room, sizeof room, "w");
  return nowhere == NULL ? -1 : setvbuf(nowhere, NULL, _IONBF, 0);
}

PyThreadState* wvm_main_thread(void) { return main_thread; }

/* _frozen_importlib by name, because import.c looks the importer's functions up in the module it keeps. */
static int install_importer(PyThreadState* thread) {
  wvm_bundle* const library = wvm_library();
  if (library->module_count == 0) return 0; /* the build's own compiler run: no imports */
  wvm_module* entry = wvm_bundle_find(library, "_bootstrap", sizeof "_bootstrap" - 1);
  PyObject* code = entry ? wvm_read_module(library, entry) : NULL;
  PyObject* module = code ? PyImport_AddModuleRef("_frozen_importlib") : NULL;
  PyObject* done = NULL;
  if (module != NULL) {
    PyObject* scope = PyModule_GetDict(module);
    PyObject* calls = wvm_importer_module();
    if (calls != NULL && PyDict_SetItemString(scope, "__builtins__", PyEval_GetBuiltins()) == 0 &&
        PyDict_SetItemString(scope, "_walle", calls) == 0) {
      done = PyEval_EvalCode(code, scope, scope);
    }
    Py_XDECREF(calls);
  }
  Py_XDECREF(code);
  if (done == NULL) {
    Py_XDECREF(module);
    return -1;
  }
  Py_DECREF(done);
  thread->interp->imports.importlib = module;
  PyObject* installed = PyObject_CallMethod(module, "_install", "O", PyImport_GetModuleDict());
  Py_XDECREF(installed);
  return installed == NULL ? -1 : 0;
}

static int ignore_event(PyDict_WatchEvent event, PyObject* dict, PyObject* key, PyObject* value) {
  (void)event;
  (void)dict;
  (void)key;
  (void)value;
  return 0;
}

/* What CPython's init_interp_main does and an isolate needs, without files, streams, site and locale. */
int wvm_prepare_interpreter(PyThreadState* thread) {
  PyInterpreterState* interp = thread->interp;
  if (_PySys_UpdateConfig(thread) < 0) return -1;
  struct _Py_unicode_fs_codec* codec = &interp->unicode.fs_codec;
  codec->encoding = _PyMem_RawStrdup("utf-8");
  codec->errors = _PyMem_RawStrdup("surrogateescape");
  codec->utf8 = 1;
  codec->error_handler = _Py_ERROR_SURROGATEESCAPE;
  interp->dict_state.watchers[0] = ignore_event;
  PyDict_Watch(0, interp->builtins);
  if (install_importer(thread) < 0) return -1;
  /* The registry imports "encodings". */
  return wvm_library()->module_count && PyStatus_Exception(_PyCodec_InitRegistry(interp)) ? -1 : 0;
}

/* Isolates must find every static type finished, and every lazily made table made. */
static int warm_up(void) {
  for (struct _inittab* entry = PyImport_Inittab; wvm_library()->module_count && entry->name != NULL;
       ++entry) {
    if (entry->initfunc == NULL) continue;
    PyObject* module = PyImport_ImportModule(entry->name);
    if (module == NULL) return -1;
    Py_DECREF(module);
  }
  /* int() makes its table for base 10 when the first text in that base is read. */
  PyObject* big = PyLong_FromString("123456789012345678901234567890123456789012345678901234567890", NULL, 10);
  PyObject* text = big ? PyObject_Str(big) : NULL;
  Py_XDECREF(big);
  Py_XDECREF(text);
  return text == NULL ? -1 : 0;
}

/* Assigning a version tag writes to the type; static types get theirs before any isolate exists. */
static void tag_static_types(PyObject* type) {
  if (PyType_GetFlags((PyTypeObject*)type) & Py_TPFLAGS_HEAPTYPE) return;
  PyUnstable_Type_AssignVersionTag((PyTypeObject*)type);
  PyObject* subclasses =
      PyObject_CallMethod(type, "__subclasses__", type == (PyObject*)&PyType_Type ? "O" : NULL, type);
  for (Py_ssize_t i = 0; subclasses != NULL && i < PyList_GET_SIZE(subclasses); ++i)
    tag_static_types(PyList_GET_ITEM(subclasses, i));
  Py_XDECREF(subclasses);
  PyErr_Clear();
}

static PyStatus initialise(void) {
  wvm_install_allocators();
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  /* The locale, signals and streams are the host's: nothing here may set, install or close them. */
  before.utf8_mode = 1;
  before.configure_locale = 0;
  PyStatus status = Py_PreInitialize(&before);
  if (PyStatus_Exception(status)) return status;
  wvm_install_arenas();
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  /* No files: neither a path to compute nor bytecode to write. The importer is ours
   * (wvm_prepare_interpreter). */
  config.site_import = 0;
  config.write_bytecode = 0;
  config.install_signal_handlers = 0;
  config.module_search_paths_set = 1;
  config.configure_c_stdio = 0;
  config.parse_argv = 0;
  config.optimization_level = 2;
  config._install_importlib = 0;
  status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  return status;
}

static int fail(char* error, size_t size, const char* step) {
  PyObject* exception = main_thread == NULL && _PyThreadState_GET() ? PyErr_GetRaisedException() : NULL;
  PyObject* text = exception ? PyObject_Str(exception) : NULL;
  const char* detail = text ? PyUnicode_AsUTF8(text) : NULL;
  snprintf(error, size, "%s%s%s", step, detail ? ": " : "", detail ? detail : "");
  return -1;
}

int wvm_start(const wvm_host* host, char* error, size_t error_size) {
  char why[128] = "";
  wvm_set_host_table(host);
  wvm_bundle* const library = wvm_bundle_open_checked(wvm_library_data, wvm_library_size, 1, why, sizeof why);
  if (library == NULL) return fail(error, error_size, why);
  wvm_set_library(library);
  if (open_nowhere() < 0) return fail(error, error_size, "no memory for a stream");
  const PyStatus status = initialise();
  if (PyStatus_Exception(status))
    return fail(error, error_size, status.err_msg ? status.err_msg : "the interpreter does not start");
  if (wvm_prepare_interpreter(PyThreadState_Get()) < 0)
    return fail(error, error_size, "the importer does not start");
  if (warm_up() < 0 || wvm_prepare_host_calls() < 0) return fail(error, error_size, "the warm-up failed");
  tag_static_types((PyObject*)&PyBaseObject_Type);
  main_thread = PyEval_SaveThread();
  return 0;
}
