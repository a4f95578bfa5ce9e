/* The pending exception as plain data: type, message, frames of the task, and which limit ended it. Runs with
 * room above the heap cap, because describing a MemoryError needs memory; not without a cap, because __str__
 * and __del__ are the task's code. */
#include "vm/inside/inside.h"

#include <frameobject.h>

enum { kMaxFrames = 64, kMaxMessage = 2000, kDescribingBytes = 1 << 20 };

static const char* const kReasonText[] = {
    [WVM_REASON_CANCELLED] = "the task was cancelled",
    [WVM_REASON_WALL] = "the task ran longer than its wall-clock limit",
    [WVM_REASON_CPU] = "the task used more processor time than its limit",
    [WVM_REASON_HEAP] = "the task kept asking for memory beyond its heap limit",
    [WVM_REASON_STACK] = "the task recursed deeper than its stack allows",
};

void wvm_fail_plain(wvm_result* result, const char* type, const char* message) {
  result->ok = 0;
  result->type = wvm_arena_text(&result->arena, type, strlen(type));
  result->message = wvm_arena_text(&result->arena, message, strlen(message));
  if (result->type == NULL) result->type = "MemoryError";
  if (result->message == NULL) result->message = "";
}

/* Whole characters; a lone surrogate is written out, as "\\udc80". */
static const char* arena_utf8(void** arena, PyObject* text) {
  PyObject* bytes =
      text && PyUnicode_Check(text) ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
  if (bytes == NULL) PyErr_Clear();
  const char* utf8 = bytes ? PyBytes_AS_STRING(bytes) : "";
  size_t size = bytes ? (size_t)PyBytes_GET_SIZE(bytes) : 0;
  if (size > kMaxMessage) {
    size = kMaxMessage;
    while (size > 0 && (utf8[size] & 0xC0) == 0x80) --size;
  }
  const char* copy = wvm_arena_text(arena, utf8, size);
  Py_XDECREF(bytes);
  return copy ? copy : "";
}

/* A library file is named "<json.decoder>", a task's own file "package/module.py". */
static void copy_frames(PyObject* exception, wvm_result* result) {
  PyObject* traceback = PyException_GetTraceback(exception);
  size_t total = 0;
  for (PyTracebackObject* t = (PyTracebackObject*)traceback; t != NULL; t = t->tb_next) ++total;
  const size_t kept = total > kMaxFrames ? kMaxFrames : total;
  wvm_frame* frames = wvm_arena_take(&result->arena, kept * sizeof(wvm_frame));
  size_t number = 0;
  for (PyTracebackObject* t = (PyTracebackObject*)traceback; t != NULL && frames != NULL;
       t = t->tb_next, ++number) {
    /* Of a very deep traceback the first half and the last half say where it started and where it ended. */
    if (total > kMaxFrames && number >= kMaxFrames / 2 && number < total - kMaxFrames / 2) continue;
    PyCodeObject* code = PyFrame_GetCode(t->tb_frame);
    const int line = t->tb_lineno > 0 ? t->tb_lineno : PyCode_Addr2Line(code, t->tb_lasti);
    frames[result->frame_count++] =
        (wvm_frame){arena_utf8(&result->arena, code->co_filename),
                    arena_utf8(&result->arena, code->co_qualname), line > 0 ? line : 0};
    Py_DECREF(code);
  }
  result->frames = frames;
  Py_XDECREF(traceback);
}

static int reason_of(const wvm_isolate* isolate, PyObject* exception) {
  if (PyErr_GivenExceptionMatches(exception, PyExc_RecursionError)) return WVM_REASON_STACK;
  if (PyErr_GivenExceptionMatches(exception, PyExc_MemoryError) &&
      wvm_count(&isolate->denied) > isolate->denied_before)
    return WVM_REASON_HEAP;
  if (PyErr_GivenExceptionMatches(exception, PyExc_ImportError) ||
      PyErr_GivenExceptionMatches(exception, PyExc_PermissionError)) {
    return isolate->refused;
  }
  return WVM_REASON_NONE;
}

/* Needs running Python code (__str__), therefore only while the task is not unwinding. */
static void describe(PyObject* exception, wvm_result* result) {
  PyObject* name = PyType_GetName(Py_TYPE(exception));
  result->type = arena_utf8(&result->arena, name);
  PyObject* text = PyObject_Str(exception);
  if (text == NULL) PyErr_Clear();
  result->message = arena_utf8(&result->arena, text);
  if (result->message[0] == 0 && result->reason == WVM_REASON_HEAP)
    result->message = "the heap limit of the task is reached";
  Py_XDECREF(name);
  Py_XDECREF(text);
}

/* Unwinding skipped the importer's own clean-up: modules whose import was cut short must not pass for
 * imported ones. */
static void forget_half_imports(void) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* names = PyDict_Keys(modules);
  for (Py_ssize_t i = 0; names != NULL && i < PyList_GET_SIZE(names); ++i) {
    PyObject* module = PyDict_GetItemWithError(modules, PyList_GET_ITEM(names, i));
    PyObject* spec =
        module && PyModule_Check(module) ? PyDict_GetItemString(PyModule_GetDict(module), "__spec__") : NULL;
    PyObject* busy = spec && spec != Py_None ? PyObject_GetAttrString(spec, "_initializing") : NULL;
    if (busy == Py_True) PyDict_DelItem(modules, PyList_GET_ITEM(names, i));
    Py_XDECREF(busy);
    PyErr_Clear();
  }
  Py_XDECREF(names);
}

void wvm_fail(wvm_isolate* isolate, wvm_result* result) {
  const size_t cap = isolate->heap_cap;
  if (cap)
    isolate->heap_cap =
        (wvm_count(&isolate->heap) > cap ? wvm_count(&isolate->heap) : cap) + kDescribingBytes;
  PyObject* exception = PyErr_GetRaisedException();
  result->ok = 0;
  if (exception != NULL) copy_frames(exception, result);
  if (exception != NULL && !wvm_unwinding()) {
    result->reason = reason_of(isolate, exception);
    describe(exception, result);
  }
  /* Dropping frames may run destructors of the task: still inside, so that they too can be stopped. */
  Py_XDECREF(exception);
  PyErr_Clear();
  const int interrupted = atomic_load(&isolate->state);
  if (interrupted > 0) {
    forget_half_imports();
    result->reason = interrupted;
    result->type = interrupted == WVM_REASON_CANCELLED ? "Cancelled" : "LimitExceeded";
    result->message = kReasonText[interrupted];
  } else if (exception == NULL) {
    wvm_fail_plain(result, "SystemError", "the call failed without an exception");
  }
  isolate->heap_cap = cap;
}
