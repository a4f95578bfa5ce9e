/* Fuzzes the bundle loader: whatever the structural verifier lets through must become code objects without a
 * fault, and what CPython reads lazily of them - line table, exception table, variables - must stay within
 * its bytes. Nothing is executed: the verifier does not check the kinds of values, so accepted bytecode may
 * still be hostile (docs/concepts/vm.md).
 *
 * The input is a container behind its first 44 bytes: a fuzzer cannot guess magic, VM id and checksum. */
#include "vm/inside/boot/boot.h"
#include "vm/inside/boot/isolate.h"
#include "vm/inside/code/bundle.h"
#include "vm/inside/run/attach.h"

#include <internal/pycore_code.h>

/* Names of code objects are interned for the life of their interpreter, hence a new one now and then. */
enum { kBodyAt = 44, kInputsPerIsolate = 2000 };

static wvm_isolate* isolate;
static unsigned accepted;

static void log_nothing(void* user, int level, const char* text, size_t size) {
  (void)user, (void)level, (void)text, (void)size;
}

static void require(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "bundle_fuzz: %s\n", what);
  abort();
}

static void enter_isolate(void) {
  if (isolate != NULL && accepted % kInputsPerIsolate == 0) {
    wvm_destroy(isolate);
    isolate = NULL;
  }
  wvm_result failure;
  if (isolate == NULL) isolate = wvm_create(NULL, &failure);
  require(isolate != NULL, "no isolate");
  wvm_attach_thread(isolate);
}

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  (void)argc, (void)argv;
  static const wvm_host host = {.log = log_nothing};
  char error[256] = "";
  require(wvm_start(&host, error, sizeof error) == 0, error);
  return 0;
}

static void drain(PyObject* iterator) {
  for (PyObject* item; iterator != NULL && (item = PyIter_Next(iterator)) != NULL;) Py_DECREF(item);
  Py_XDECREF(iterator);
  PyErr_Clear();
}

/* Everything about a code object that is decoded on demand. */
static void look_into(PyObject* object, int nesting) {
  PyCodeObject* code = (PyCodeObject*)object;
  /* Each call reads the line table from its start; co_lines reads all of it. */
  const int bytes = (int)_PyCode_NBYTES(code), share = bytes / 256, step = share > 4 ? share / 2 * 2 : 4;
  for (int at = 0; at < bytes; at += step) PyCode_Addr2Line(code, at);
  drain(PyObject_CallMethod(object, "co_lines", NULL));
  drain(PyObject_CallMethod(object, "co_positions", NULL));
  static const char* const kAttributes[] = {"co_code", "co_varnames", "co_cellvars", "co_freevars",
                                            "co_exceptiontable"};
  for (size_t i = 0; i < sizeof kAttributes / sizeof kAttributes[0]; ++i)
    Py_XDECREF(PyObject_GetAttrString(object, kAttributes[i]));
  PyErr_Clear();
  if (PyObject_Hash(object) == -1) PyErr_Clear(); /* constants may nest as deep as the stack */
  PyObject* constants = code->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    PyObject* constant = PyTuple_GET_ITEM(constants, i);
    if (PyCode_Check(constant)) look_into(constant, nesting + 1);
  }
}

static void read_modules(wvm_bundle* bundle) {
  ++accepted;
  enter_isolate();
  for (uint32_t i = 0; i < bundle->module_count; ++i) {
    PyObject* code = wvm_read_module(bundle, &bundle->modules[i]);
    require((code != NULL) != (PyErr_Occurred() != NULL), "code and an error, or neither");
    if (code != NULL) look_into(code, 0);
    Py_XDECREF(code);
    PyErr_Clear();
  }
  wvm_attach_thread(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint8_t* container = malloc(kBodyAt + size); /* exactly as long as the input: reads past the end are seen */
  if (container == NULL) return 0;
  memset(container, 0, kBodyAt);
  memcpy(container, "WVMB\1", 5);
  memcpy(container + 8, wvm_id, strlen(wvm_id));
  memcpy(container + kBodyAt, data, size);
  const uint32_t checksum = wvm_checksum(data, size);
  for (int i = 0; i < 4; ++i) container[40 + i] = (uint8_t)(checksum >> 8 * i);
  char error[256] = "";
  wvm_bundle* bundle = wvm_bundle_open_checked(container, kBodyAt + size, 0, error, sizeof error);
  require((bundle == NULL) == (error[0] != 0), "a refusal without a reason, or a reason without one");
  if (bundle != NULL) read_modules(bundle);
  wvm_bundle_drop(bundle);
  free(container);
  return 0;
}
