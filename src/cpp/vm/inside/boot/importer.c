/* The module _walle: what the Python part of the importer (lib/_bootstrap.py) needs from C, and the modules
 * made out of the host-call table. */
#include "vm/inside/boot/importer.h"
#include "vm/inside/boot/host_calls.h"
#include "vm/inside/code/bundle.h"
#include "vm/inside/run/host.h"
#include "vm/inside/values/tensor.h"

#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_import.h>
#include <internal/pycore_pylifecycle.h>
#include <opcode_ids.h>

/* Where a module comes from; lib/_bootstrap.py uses the same numbers. */
enum { kNowhere = 0, kBuiltin = 1, kModule = 2, kPackage = 3, kHost = 4 };

static struct _inittab* find_builtin(const char* name) {
  for (struct _inittab* entry = PyImport_Inittab; entry->name != NULL; ++entry) {
    if (entry->initfunc != NULL && strcmp(entry->name, name) == 0) return entry;
  }
  return NULL;
}

/* The library hides a task's modules of the same name, so that it always finds its own. */
static wvm_module* find_module(const char* name, size_t size, wvm_bundle** owner) {
  const wvm_isolate* isolate = wvm_current;
  wvm_module* found = wvm_bundle_find(*owner = wvm_library(), name, size);
  for (size_t i = 0; found == NULL && isolate != NULL && i < isolate->bundle_count; ++i) {
    found = wvm_bundle_find(*owner = isolate->bundles[i], name, size);
  }
  return found;
}

/* Part of the importer: the library's own code in the files that import on behalf of whoever calls them. */
static int is_importer(const PyCodeObject* code) {
  return (code->co_flags & WVM_LIBRARY_CODE) != 0 &&
         (PyUnicode_EqualToUTF8(code->co_filename, "<_bootstrap>") ||
          PyUnicode_EqualToUTF8(code->co_filename, "<_warm>"));
}

/* The innermost frame that is not the importer's own. Walks the interpreter's records: asking for frame
 * objects allocates one per level, and a task with a full heap would then count as nobody. */
static _PyInterpreterFrame* asking_frame(void) {
  _PyInterpreterFrame* frame = _PyThreadState_GetFrame(_PyThreadState_GET());
  while (frame != NULL && is_importer(_PyFrame_GetCode(frame)))
    frame = _PyFrame_GetFirstComplete(frame->previous);
  return frame;
}

static int is_of_task(_PyInterpreterFrame* frame) {
  return (_PyFrame_GetCode(frame)->co_flags & WVM_LIBRARY_CODE) == 0;
}

/* Whether the frame is at an import statement: what a task makes the library call may be __import__ itself
 * (Counter(map(__import__, names))). */
static int is_importing(_PyInterpreterFrame* frame) {
  PyCodeObject* code = _PyFrame_GetCode(frame);
  return _Py_GetBaseOpcode(code, (int)(frame->instr_ptr - _PyCode_CODE(code))) == IMPORT_NAME;
}

static size_t top_length(const char* name) { return strcspn(name, "."); }

static int same_top(const char* one, const char* other) {
  const size_t length = top_length(one);
  return length == top_length(other) && memcmp(one, other, length) == 0;
}

/* C code that imports has no frame of its own, so it stands in that of the task which called it. The name is
 * compared as well: between the two a task may have put an __import__ of its own that asks for another. */
static int asked_by_c(const wvm_isolate* isolate, const _PyInterpreterFrame* frame, const char* name) {
  for (const wvm_question* each = isolate->question; each != NULL; each = each->outer) {
    const char* asked = each->frame == frame ? PyUnicode_AsUTF8(each->name) : NULL;
    if (asked != NULL && same_top(asked, name)) return 1;
  }
  return 0;
}

/* Told by a mark that only library code has: a task may call the importer's functions itself, and name its
 * files as the library's. What the library was made to call is asked by whoever made it; without a frame of
 * the task's it is the host. */
static int asked_by_task(const wvm_isolate* isolate, const char* name) {
  _PyInterpreterFrame* frame = asking_frame();
  if (frame == NULL || asked_by_c(isolate, frame, name)) return 0;
  if (!is_of_task(frame) && is_importing(frame)) return 0;
  while (frame != NULL && !is_of_task(frame)) frame = _PyFrame_GetFirstComplete(frame->previous);
  return frame != NULL;
}

void wvm_library_asks(wvm_question* question, PyObject* name) {
  wvm_isolate* isolate = wvm_current;
  *question = (wvm_question){name, _PyThreadState_GetFrame(_PyThreadState_GET()),
                             isolate == NULL ? NULL : isolate->question};
  if (isolate != NULL) isolate->question = question;
}

void wvm_library_asked(const wvm_question* question) {
  if (wvm_current != NULL) wvm_current->question = question->outer;
}

/* 1: on the list of imports; a list names whole packages. */
static int is_listed(const wvm_isolate* isolate, const char* name) {
  for (size_t i = 0; isolate->imports[i] != NULL; ++i) {
    if (same_top(isolate->imports[i], name)) return 1;
  }
  return 0;
}

static int is_of_a_bundle(const char* name) {
  wvm_bundle* owner;
  return find_module(name, strlen(name), &owner) != NULL && owner != wvm_library();
}

/* -1 with ImportError. */
static int refuse_import(wvm_isolate* isolate, PyObject* name) {
  isolate->refused = WVM_REASON_IMPORT;
  PyErr_Format(PyExc_ImportError, "import of %R is not allowed for this task", name);
  return -1;
}

/* An allow-list is asked for top-level names, and only for imports written in the task itself: what a library
 * module imports for its own use is the library's business. -1 with ImportError. */
static int check_import(PyObject* name) {
  wvm_isolate* isolate = wvm_current;
  if (isolate == NULL || isolate->imports == NULL) return 0;
  const char* text = PyUnicode_AsUTF8(name);
  if (text == NULL) return -1;
  /* What the importer itself asks for to say what there is instead of an absent module: texts alone. */
  if (is_listed(isolate, text) || strcmp(text, "_instead") == 0) return 0;
  if (is_of_a_bundle(text) || !asked_by_task(isolate, text)) return 0;
  return refuse_import(isolate, name);
}

/* What the start of an interpreter makes without the importer. */
static int is_from_the_start(const char* name) {
  static const char* const kNames[] = {"sys", "builtins", "_walle", "_frozen_importlib"};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    if (strcmp(kNames[i], name) == 0) return 1;
  }
  return 0;
}

/* No top-level name of the VM's own modules is as long. */
enum { kTopRoom = 64 };

static int is_of_the_vm(const char* name) {
  char top[kTopRoom];
  const size_t length = top_length(name);
  if (length >= sizeof top) return 0;
  memcpy(top, name, length);
  top[length] = 0;
  return find_builtin(top) != NULL || is_from_the_start(top) ||
         wvm_bundle_find(wvm_library(), top, length) != NULL;
}

/* Asked for every import statement and call of __import__, also where the module is there already (an edit in
 * import.c). What only sys.modules knows - the module of run(), what a task has put there - is the task's. */
int wvm_check_import(PyObject* name) {
  const wvm_isolate* isolate = wvm_current;
  if (isolate == NULL || isolate->imports == NULL) return 0;
  if (!PyUnicode_CheckExact(name)) { /* the table of modules may find it equal to another name */
    PyErr_SetString(PyExc_TypeError, "the name of a module is a str");
    return -1;
  }
  const char* text = PyUnicode_AsUTF8(name);
  if (text == NULL) return -1;
  return is_of_the_vm(text) ? check_import(name) : 0;
}

static int is_host_module(const char* name) {
  const wvm_host* host = wvm_host_table();
  for (size_t i = 0; i < host->function_count; ++i) {
    if (strcmp(host->functions[i].module, name) == 0) return 1;
  }
  return 0;
}

static PyObject* importer_find(PyObject* self, PyObject* name) {
  (void)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == NULL) return NULL;
  /* In this order nothing of a task can stand in for a part of Python. */
  if (find_builtin(text) != NULL) return PyLong_FromLong(kBuiltin);
  wvm_bundle* owner;
  const wvm_module* module = find_module(text, (size_t)size, &owner);
  if (module != NULL) return PyLong_FromLong(module->is_package ? kPackage : kModule);
  return PyLong_FromLong(is_host_module(text) ? kHost : kNowhere);
}

static PyObject* importer_code(PyObject* self, PyObject* name) {
  (void)self;
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == NULL) return NULL;
  wvm_bundle* owner;
  wvm_module* module = find_module(text, (size_t)size, &owner);
  if (check_import(name) < 0) return NULL;
  if (module == NULL) return PyErr_Format(PyExc_ImportError, "no module %R", name);
  return wvm_read_module(owner, module);
}

static PyObject* importer_builtin(PyObject* self, PyObject* spec) {
  (void)self;
  PyObject* name = PyObject_GetAttrString(spec, "name");
  const char* text = name && check_import(name) == 0 ? PyUnicode_AsUTF8(name) : NULL;
  const struct _inittab* entry = text ? find_builtin(text) : NULL;
  PyObject* module = NULL;
  if (entry != NULL) {
    PyObject* made = entry->initfunc();
    if (made != NULL && PyObject_TypeCheck(made, &PyModuleDef_Type)) {
      /* Executed at once: functions of a module without its state would look for it at NULL. */
      module = PyModule_FromDefAndSpec((PyModuleDef*)made, spec);
      if (module != NULL && PyModule_Check(module) && PyModule_ExecDef(module, (PyModuleDef*)made) < 0)
        Py_CLEAR(module);
    } else if (made != NULL) {
      PyErr_Format(PyExc_SystemError, "%s does not initialise per interpreter", text);
      Py_DECREF(made);
    }
  } else if (text != NULL) {
    PyErr_Format(PyExc_ImportError, "no built-in module %R", name);
  }
  Py_XDECREF(name);
  return module;
}

static PyObject* importer_check(PyObject* self, PyObject* name) {
  (void)self;
  return check_import(name) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject* importer_log(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  Py_ssize_t size;
  if (count != 2) return PyErr_Format(PyExc_TypeError, "log(level, text)");
  const long level = PyLong_AsLong(args[0]);
  const char* text = PyUnicode_AsUTF8AndSize(args[1], &size);
  if (text == NULL || (level == -1 && PyErr_Occurred())) return NULL;
  const wvm_isolate* isolate = wvm_current;
  if (isolate != NULL && isolate->user != NULL)
    wvm_host_table()->log(isolate->user, (int)level, text, (size_t)size);
  Py_RETURN_NONE;
}

static PyObject* importer_host(PyObject* self, PyObject* name) {
  (void)self;
  const char* text = PyUnicode_AsUTF8(name);
  if (text == NULL) return NULL;
  PyObject* module = wvm_host_module(text);
  if (module == NULL && !PyErr_Occurred()) PyErr_Format(PyExc_ImportError, "no host module %R", name);
  return module;
}

static PyObject* importer_tensor(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return Py_XNewRef(wvm_tensor_type());
}

static PyObject* importer_urandom(PyObject* self, PyObject* size) {
  (void)self;
  const Py_ssize_t bytes = PyLong_AsSsize_t(size);
  if (bytes < 0) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "negative size");
  PyObject* out = PyBytes_FromStringAndSize(NULL, bytes);
  if (out != NULL && _PyOS_URandom(PyBytes_AS_STRING(out), bytes) < 0) Py_CLEAR(out);
  return out;
}

static PyMethodDef kMethods[] = {{"find", importer_find, METH_O, NULL},
                                 {"code", importer_code, METH_O, NULL},
                                 {"builtin", importer_builtin, METH_O, NULL},
                                 {"check", importer_check, METH_O, NULL},
                                 {"host", importer_host, METH_O, NULL},
                                 {"log", (PyCFunction)(void*)importer_log, METH_FASTCALL, NULL},
                                 {"tensor", importer_tensor, METH_NOARGS, NULL},
                                 {"urandom", importer_urandom, METH_O, NULL},
                                 {0}};
static struct PyModuleDef kDefinition = {
    PyModuleDef_HEAD_INIT, "_walle", NULL, 0, kMethods, NULL, NULL, NULL, NULL};

PyObject* wvm_importer_module(void) {
  PyObject* module = PyModule_New("_walle");
  if (module != NULL && PyModule_AddFunctions(module, kDefinition.m_methods) < 0) Py_CLEAR(module);
  return module;
}
