/* The pending exception as plain data: type, message, frames of the task, and which limit ended it. Runs with
 * room above the heap cap, because describing a MemoryError needs memory; not without a cap, because __str__
 * and __del__ are the task's code. */
#include "vm/inside/run/failure.h"
#include "vm/inside/run/arena.h"
#include "vm/inside/run/interrupt.h"

#include <frameobject.h>

/* What a person reads of a failure, each bounded because the task decides how many there are. The text lies
 * in the result's arena, outside the heap limit; what is made on the way there is a few such texts at a time,
 * for which 1 MB above the limit is plenty. */
enum { kMaxFrames = 64, kMaxMessage = 2000, kMaxNotes = 16, kMaxRelated = 32, kDescribingBytes = 1 << 20 };

static const char* const kReasonText[] = {
    [WVM_REASON_CANCELLED] = "the task was cancelled",
    [WVM_REASON_WALL] = "the task ran longer than its wall-clock limit",
    [WVM_REASON_CPU] = "the task used more processor time than its limit",
    [WVM_REASON_HEAP] = "the task kept asking for memory beyond its heap limit",
    [WVM_REASON_STACK] = "the task recursed deeper than its stack allows",
};

void wvm_fail_plain(wvm_result* result, const char* type, const char* message) {
  wvm_failure* failure = &result->failure;
  result->ok = 0;
  *failure = (wvm_failure){0};
  failure->type = wvm_arena_text(&result->arena, type, strlen(type));
  failure->message = wvm_arena_text(&result->arena, message, strlen(message));
  if (failure->type == NULL) failure->type = "MemoryError";
  if (failure->message == NULL) failure->message = "";
}

/* Whole characters; a lone surrogate is written out, as "\\udc80". What is long is cut before it is encoded:
 * a copy of 20 MB would find no memory. */
static const char* arena_utf8(void** arena, PyObject* text) {
  if (text == NULL || !PyUnicode_Check(text)) return "";
  const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
  PyObject* head = length > kMaxMessage ? PyUnicode_Substring(text, 0, kMaxMessage) : Py_NewRef(text);
  PyObject* bytes = head ? PyUnicode_AsEncodedString(head, "utf-8", "backslashreplace") : NULL;
  Py_XDECREF(head);
  if (bytes == NULL) {
    PyErr_Clear();
    return "";
  }
  const char* utf8 = PyBytes_AS_STRING(bytes);
  size_t size = (size_t)PyBytes_GET_SIZE(bytes);
  const int cut = length > kMaxMessage || size > kMaxMessage;
  char rest[64] = "";
  if (cut) snprintf(rest, sizeof rest, " ... (%lld characters in all)", (long long)length);
  if (size > kMaxMessage) {
    size = kMaxMessage;
    while (size > 0 && (utf8[size] & 0xC0) == 0x80) --size;
  }
  char* copy = wvm_arena_take(arena, size + sizeof rest);
  if (copy != NULL) {
    memcpy(copy, utf8, size);
    strcpy(copy + size, rest);
  }
  Py_DECREF(bytes);
  return copy ? copy : "";
}

/* A library file is named "<json.decoder>", a task's own file "package/module.py". */
static void copy_frames(PyObject* exception, wvm_failure* failure, void** arena) {
  PyObject* traceback = PyException_GetTraceback(exception);
  size_t total = 0;
  for (PyTracebackObject* t = (PyTracebackObject*)traceback; t != NULL; t = t->tb_next) ++total;
  const size_t kept = total > kMaxFrames ? kMaxFrames : total;
  wvm_frame* frames = wvm_arena_take(arena, kept * sizeof(wvm_frame));
  size_t number = 0;
  for (PyTracebackObject* t = (PyTracebackObject*)traceback; t != NULL && frames != NULL;
       t = t->tb_next, ++number) {
    /* Of a very deep traceback the first half and the last half say where it started and where it ended. */
    if (total > kMaxFrames && number >= kMaxFrames / 2 && number < total - kMaxFrames / 2) continue;
    PyCodeObject* code = PyFrame_GetCode(t->tb_frame);
    const int line = t->tb_lineno > 0 ? t->tb_lineno : PyCode_Addr2Line(code, t->tb_lasti);
    frames[failure->frame_count++] = (wvm_frame){arena_utf8(arena, code->co_filename),
                                                 arena_utf8(arena, code->co_qualname), line > 0 ? line : 0};
    Py_DECREF(code);
  }
  failure->frames = frames;
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

/* str() may run the task's code. Where it fails (repr() of a large key finds no memory), the first argument
 * says something. */
static PyObject* text_of(PyObject* exception) {
  PyObject* text = PyObject_Str(exception);
  if (text != NULL) return text;
  PyErr_Clear();
  PyObject* arguments = ((PyBaseExceptionObject*)exception)->args;
  if (arguments == NULL || PyTuple_GET_SIZE(arguments) == 0) return NULL;
  return Py_NewRef(PyTuple_GET_ITEM(arguments, 0));
}

static void copy_notes(PyObject* exception, wvm_failure* failure, void** arena) {
  PyObject* notes = NULL;
  if (PyObject_GetOptionalAttrString(exception, "__notes__", &notes) < 0) PyErr_Clear();
  const Py_ssize_t given = notes != NULL && PyList_CheckExact(notes) ? PyList_GET_SIZE(notes) : 0;
  const size_t kept = given > kMaxNotes ? kMaxNotes : (size_t)given;
  const char** copies = wvm_arena_take(arena, kept * sizeof(char*));
  for (size_t i = 0; copies != NULL && i < kept; ++i)
    copies[failure->note_count++] = arena_utf8(arena, PyList_GET_ITEM(notes, (Py_ssize_t)i));
  failure->notes = copies;
  Py_XDECREF(notes);
}

/* Borrowed: what this exception was raised from, or while it was handled. */
static PyObject* origin_of(PyObject* exception, uint32_t* relation) {
  const PyBaseExceptionObject* self = (PyBaseExceptionObject*)exception;
  *relation = self->cause != NULL ? WVM_CAUSE : WVM_CONTEXT;
  if (self->cause != NULL) return self->cause;
  return self->suppress_context ? NULL : self->context;
}

static PyObject* members_of(PyObject* exception) {
  if (!PyObject_TypeCheck(exception, (PyTypeObject*)PyExc_BaseExceptionGroup)) return NULL;
  PyObject* members = ((PyBaseExceptionGroupObject*)exception)->excs;
  return members != NULL && PyTuple_Check(members) ? members : NULL;
}

/* Needs running Python code (__str__), therefore only while the task is not unwinding. `left` bounds how many
 * exceptions are told: chains may be long, and groups hold groups. */
static void describe(PyObject* exception, wvm_failure* failure, void** arena, int* left) {
  copy_frames(exception, failure, arena);
  if (wvm_unwinding()) return;
  PyObject* name = PyType_GetName(Py_TYPE(exception));
  failure->type = arena_utf8(arena, name);
  PyObject* text = text_of(exception);
  failure->message = arena_utf8(arena, text);
  Py_XDECREF(name);
  Py_XDECREF(text);
  copy_notes(exception, failure, arena);
  uint32_t relation;
  PyObject* origin = Py_XNewRef(origin_of(exception, &relation));
  PyObject* members = Py_XNewRef(members_of(exception));
  const size_t wanted = (origin != NULL) + (members ? (size_t)PyTuple_GET_SIZE(members) : 0);
  const size_t room = wanted < (size_t)*left ? wanted : (size_t)*left;
  wvm_failure* related = room ? wvm_arena_take(arena, room * sizeof *related) : NULL;
  *left -= related ? (int)room : 0;
  for (size_t i = 0; related != NULL && i < room; ++i) {
    PyObject* other = i == 0 && origin ? origin : PyTuple_GET_ITEM(members, (Py_ssize_t)i - (origin != NULL));
    related[i] =
        (wvm_failure){.relation = other == origin ? relation : WVM_MEMBER, .type = "", .message = ""};
    describe(other, &related[i], arena, left);
  }
  failure->related = related;
  failure->related_count = related ? room : 0;
  Py_XDECREF(origin);
  Py_XDECREF(members);
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
  result->failure = (wvm_failure){0};
  if (exception != NULL) {
    int left = kMaxRelated;
    if (!wvm_unwinding()) result->reason = reason_of(isolate, exception);
    describe(exception, &result->failure, &result->arena, &left);
    if (result->reason == WVM_REASON_HEAP && result->failure.message != NULL && !result->failure.message[0])
      result->failure.message = "the heap limit of the task is reached";
  }
  /* Dropping frames may run destructors of the task: still inside, so that they too can be stopped. */
  Py_XDECREF(exception);
  PyErr_Clear();
  const int interrupted = atomic_load(&isolate->state);
  if (interrupted > 0) {
    forget_half_imports();
    result->reason = interrupted;
    result->failure.type = interrupted == WVM_REASON_CANCELLED ? "Cancelled" : "LimitExceeded";
    result->failure.message = kReasonText[interrupted];
  } else if (exception == NULL) {
    wvm_fail_plain(result, "SystemError", "the call failed without an exception");
  }
  isolate->heap_cap = cap;
}

void wvm_raise(const wvm_error* error) {
  PyObject* const kinds[] = {
      [WVM_RUNTIME_ERROR] = PyExc_RuntimeError,
      [WVM_TYPE_ERROR] = PyExc_TypeError,
      [WVM_VALUE_ERROR] = PyExc_ValueError,
      [WVM_KEY_ERROR] = PyExc_KeyError,
      [WVM_INDEX_ERROR] = PyExc_IndexError,
      [WVM_OVERFLOW_ERROR] = PyExc_OverflowError,
      [WVM_OS_ERROR] = PyExc_OSError,
      [WVM_MEMORY_ERROR] = PyExc_MemoryError,
      [WVM_PERMISSION_ERROR] = PyExc_PermissionError,
      [WVM_TIMEOUT_ERROR] = PyExc_TimeoutError,
      [WVM_LOOKUP_ERROR] = PyExc_LookupError,
      [WVM_FILE_NOT_FOUND_ERROR] = PyExc_FileNotFoundError,
      [WVM_FILE_EXISTS_ERROR] = PyExc_FileExistsError,
      [WVM_CONNECTION_ERROR] = PyExc_ConnectionError,
      [WVM_NOT_IMPLEMENTED_ERROR] = PyExc_NotImplementedError,
  };
  if (!PyErr_Occurred())
    PyErr_SetString(kinds[error->kind], error->text ? error->text : "no memory for the error's text");
  free(error->text);
}
