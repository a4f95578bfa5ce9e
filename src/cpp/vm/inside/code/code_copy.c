/* code.replace(): what a task makes of a code object is written, checked as a bundle is, and read again, so
 * that nothing runs that could not have come in a bundle. */
#include "vm/inside/code/bundle.h"
#include "vm/inside/code/code_writer.h"

#include <internal/pycore_code.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_opcode_utils.h>
#include <opcode.h>

enum { kWhyBytes = 128 };

/* Steals nothing; NULL with ValueError: no compiler makes such code. */
static PyObject* check_and_read(wvm_writer* w, PyCodeObject* code, wvm_buffer* pool, uint32_t* offsets) {
  wvm_bundle strings = {.string_pool = pool->data,
                        .string_offsets = offsets,
                        .string_count = (uint32_t)PyList_GET_SIZE(w->strings)};
  wvm_module module = {.file = (uint32_t)wvm_string_number(w, code->co_filename),
                       .raw_size = (uint32_t)w->out.size,
                       .stored_size = (uint32_t)w->out.size,
                       .stored = w->out.data};
  wvm_weight weight = {0};
  char why[kWhyBytes];
  if (wvm_verify_module(&strings, w->out.data, w->out.size, &weight, why, sizeof why) == 0)
    return wvm_read_module(&strings, &module);
  return PyErr_Format(PyExc_ValueError, "code that no compiler makes: %s", why);
}

/* Before CPython looks at them, which goes by the caches that its own instructions have. -1 with ValueError.
 */
int wvm_instructions_fit(PyObject* code) {
  const uint8_t* bytes = (const uint8_t*)PyBytes_AS_STRING(code);
  const Py_ssize_t size = PyBytes_GET_SIZE(code);
  Py_ssize_t at = 0;
  while (at < size && bytes[at] < MIN_INSTRUMENTED_OPCODE && _PyOpcode_Deopt[bytes[at]] == bytes[at] &&
         bytes[at] != ENTER_EXECUTOR) {
    at += 2 + 2 * _PyOpcode_Caches[bytes[at]];
  }
  if (at == size && size > 0) return 0;
  PyErr_SetString(PyExc_ValueError,
                  "code that no compiler makes: instructions of other kinds, or half of one");
  return -1;
}

/* Bytecode makes a function in steps: whether this step's part is what the function will take it for. */
int wvm_function_attribute_fits(PyFunctionObject* function, PyObject* part, int which) {
  if (which == MAKE_FUNCTION_KWDEFAULTS) return PyDict_CheckExact(part);
  if (which == MAKE_FUNCTION_ANNOTATIONS && PyDict_CheckExact(part)) return 1;
  if (!PyTuple_CheckExact(part)) return 0;
  if (which == MAKE_FUNCTION_ANNOTATIONS) return PyTuple_GET_SIZE(part) % 2 == 0;
  if (which != MAKE_FUNCTION_CLOSURE) return 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(part); ++i) {
    if (!PyCell_Check(PyTuple_GET_ITEM(part, i))) return 0;
  }
  return PyTuple_GET_SIZE(part) == ((PyCodeObject*)function->func_code)->co_nfreevars;
}

/* What code_replace_impl gives in place of `code`. */
PyObject* wvm_checked_copy(PyObject* code) {
  wvm_writer w = {.numbers = PyDict_New(), .strings = PyList_New(0), .keep_lines = 1, .is_module = 1};
  wvm_buffer pool = {0};
  uint32_t* offsets = NULL;
  PyObject* copy = NULL;
  if (w.numbers && w.strings && wvm_string_number(&w, ((PyCodeObject*)code)->co_filename) >= 0 &&
      wvm_write_value(&w, code) == 0 &&
      (offsets = calloc((size_t)PyList_GET_SIZE(w.strings) + 1, sizeof(uint32_t))) != NULL &&
      wvm_write_strings(&w, &pool, offsets) == 0 && !w.out.failed && !pool.failed) {
    copy = check_and_read(&w, (PyCodeObject*)code, &pool, offsets);
  } else if (!PyErr_Occurred()) {
    PyErr_NoMemory();
  }
  Py_XDECREF(w.numbers);
  Py_XDECREF(w.strings);
  free(w.out.data);
  free(pool.data);
  free(offsets);
  return copy;
}
