/* walle.Tensor, shared by the tensor_*.c files: a window of a native buffer. What it computes happens on the
 * host's side of the boundary (wvm_arrays); here are Python's protocols.
 *
 * Invariants: `view.tensor` is retained; a window of another tensor object's memory holds that object in
 * `base`, which has no base itself and carries the charge. */
#ifndef WALLE_VM_TENSOR_H
#define WALLE_VM_TENSOR_H

#include "vm/inside/run/host.h"

typedef struct tensor_object {
  PyObject_HEAD struct tensor_object* base; /* NULL: the memory is this object's own */
  size_t charged;                           /* bytes counted against the task's heap limit */
  wvm_view view;
  Py_ssize_t strides[WVM_MAX_RANK]; /* in bytes, for the buffer protocol */
} tensor_object;

/* By dtype number. Those without a buffer format cannot enter a task. */
typedef struct {
  const char* name;
  char format[2];
  uint8_t size;
} wvm_dtype;
extern const wvm_dtype wvm_dtypes[];
/* Their numbers: WVM_float32, WVM_boolean ... */
enum {
#define WALLE_DTYPE(number, id, ...) WVM_##id = number,
#include "tensor/kinds/dtype.inc"
};

extern const wvm_budget wvm_task_budget;
static inline const wvm_arrays* wvm_arrays_of_host(void) { return wvm_host_table()->arrays; }

static inline int wvm_dtype_of(const tensor_object* self) { return self->view.tensor->dtype; }
static inline int64_t wvm_elements(const wvm_view* view) {
  int64_t elements = 1;
  for (int axis = 0; axis < view->rank; ++axis) elements *= view->shape[axis];
  return elements;
}
static inline char* wvm_first(const wvm_view* view) {
  return (char*)view->tensor->data + view->offset * wvm_dtypes[view->tensor->dtype].size;
}

/* tensor.c */
PyObject* wvm_tensor_wrap(wvm_tensor* tensor,
                          int charged); /* retains; charged: counts as the task's memory */
int wvm_is_tensor(PyObject* object);
/* A tensor of just its elements, borrowed from the object or held by the arena. NULL with an exception set.
 */
wvm_tensor* wvm_tensor_of(PyObject* object, void** arena);
PyObject* wvm_tensor_type(void);                   /* borrowed */
int wvm_dtype_named(const char* name);             /* -1 with ValueError set */
PyObject* wvm_tensor_result(const wvm_view* view); /* steals view->tensor, whose bytes are charged */
PyObject* wvm_tensor_window(tensor_object* of, const wvm_view* view); /* another view of its memory */
int wvm_is_dense(const wvm_view* view);
int wvm_refuse_write(const tensor_object* self); /* -1 with ValueError set when it is read-only */

/* tensor_make.c */
PyObject* wvm_tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
PyObject* wvm_tensor_from_nested(PyObject* values, int dtype); /* dtype 0: what the numbers ask for */

/* tensor_text.c */
PyObject* wvm_tensor_element(int dtype, const char* at);
PyObject* wvm_tensor_tolist(PyObject* object, PyObject* unused);
PyObject* wvm_tensor_repr(PyObject* object);

/* tensor_index.c */
PyObject* wvm_tensor_subscript(PyObject* object, PyObject* key);
int wvm_tensor_set_subscript(PyObject* object, PyObject* key, PyObject* value);
PyObject* wvm_tensor_at(PyObject* object, Py_ssize_t index);

PyObject* wvm_tensor_tobytes(PyObject* object, PyObject* unused);

/* tensor_operators.c */
#define WVM_TENSOR_OPERATORS(X)     \
  X(add, WVM_ADD)                   \
  X(subtract, WVM_SUBTRACT)         \
  X(multiply, WVM_MULTIPLY)         \
  X(true_divide, WVM_DIVIDE)        \
  X(floor_divide, WVM_FLOOR_DIVIDE) \
  X(remainder, WVM_REMAINDER)       \
  X(and, WVM_AND)                   \
  X(or, WVM_OR)                     \
  X(xor, WVM_XOR)                   \
  X(lshift, WVM_LEFT_SHIFT)         \
  X(rshift, WVM_RIGHT_SHIFT)
#define WVM_DECLARE(name, op)                        \
  PyObject* wvm_nb_##name(PyObject* x, PyObject* y); \
  PyObject* wvm_nb_inplace_##name(PyObject* x, PyObject* y);
WVM_TENSOR_OPERATORS(WVM_DECLARE)
#undef WVM_DECLARE
PyObject* wvm_nb_power(PyObject* x, PyObject* y, PyObject* modulus);
PyObject* wvm_nb_inplace_power(PyObject* x, PyObject* y, PyObject* modulus);
PyObject* wvm_nb_divmod(PyObject* x, PyObject* y);
PyObject* wvm_nb_matrix_multiply(PyObject* x, PyObject* y);
PyObject* wvm_nb_negative(PyObject* x);
PyObject* wvm_nb_positive(PyObject* x);
PyObject* wvm_nb_absolute(PyObject* x);
PyObject* wvm_nb_invert(PyObject* x);
PyObject* wvm_tensor_compare(PyObject* x, PyObject* y, int op);
PyObject* wvm_tensor_exp(PyObject* x, PyObject* unused);
PyObject* wvm_tensor_log(PyObject* x, PyObject* unused);
PyObject* wvm_tensor_clip(PyObject* x, PyObject* args, PyObject* kwargs);
PyObject* wvm_tensor_where(PyObject* x, PyObject* args, PyObject* kwargs);
/* 1; 0: no operand; -1 with an exception set. `kept` is what `out` points to, the caller's to drop. */
int wvm_operand_from(PyObject* object, wvm_operand* out, PyObject** kept);

/* tensor_methods.c */
extern PyMethodDef wvm_tensor_methods[];
PyObject* wvm_tensor_reversed(PyObject* object); /* its axes, last to first */
int wvm_nb_bool(PyObject* x);
PyObject* wvm_nb_int(PyObject* x);
PyObject* wvm_nb_float(PyObject* x);
PyObject* wvm_nb_index(PyObject* x);
int wvm_tensor_contains(PyObject* object, PyObject* value);

#endif
