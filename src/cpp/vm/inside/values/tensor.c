/* walle.Tensor: the object, its memory, the buffer protocol and its properties. */
#include "vm/inside/values/tensor.h"
#include "vm/inside/run/arena.h"
#include "vm/inside/run/interrupt.h"
#include "vm/inside/run/memory.h"

const wvm_dtype wvm_dtypes[] = {
#define WALLE_DTYPE(number, id, name, type, bits, group, numpy_kind, format, numpy_name) \
  {name, {format, 0}, (bits + 7) / 8},
#include "tensor/kinds/dtype.inc"
};
enum { kTypeCount = sizeof wvm_dtypes / sizeof wvm_dtypes[0] };

/* For results of operators, whose operands are held: finalisers may run. */
static int charge_after_collecting(size_t bytes) { return wvm_charge(bytes, 1); }

const wvm_budget wvm_task_budget = {
    .charge = charge_after_collecting, .discharge = wvm_discharge, .must_stop = wvm_must_stop};

static int can_enter(int dtype) { return dtype < kTypeCount && wvm_dtypes[dtype].format[0] != 0; }

int wvm_dtype_named(const char* name) {
  for (int i = 1; i < kTypeCount; ++i) {
    if (can_enter(i) && strcmp(wvm_dtypes[i].name, name) == 0) return i;
  }
  PyErr_Format(PyExc_ValueError, "dtype '%.100s' is not known; use float32, int64, uint8, bool ...", name);
  return -1;
}

int wvm_is_dense(const wvm_view* view) {
  int64_t step = 1;
  for (int axis = view->rank - 1; axis >= 0; --axis) {
    if (view->shape[axis] == 0) return 1;
    if (view->shape[axis] != 1 && view->stride[axis] != step) return 0;
    step *= view->shape[axis];
  }
  return 1;
}

int wvm_refuse_write(const tensor_object* self) {
  if (!self->view.tensor->read_only) return 0;
  PyErr_SetString(PyExc_ValueError,
                  "this tensor is read-only: the host's array is, or it had to be copied on its way in, so "
                  "that what is written would be lost; write to copy() and return that");
  return -1;
}

int wvm_is_tensor(PyObject* object) {
  const wvm_isolate* isolate = wvm_current;
  return isolate != NULL && Py_TYPE(object) == (PyTypeObject*)isolate->tensor_type;
}

/* What a tensor takes in the host beside its elements: the object that is lent, the tensor in it, the owner
 * of the buffer, and what 64-byte alignment leaves unused. Under a limit of 32 MB, which is 186,000 objects
 * of ours, the process grew by 81 MB more than the limit: 435 bytes each. */
enum { kHeaderBytes = 448 };

static tensor_object* adopt(const wvm_view* view) {
  PyTypeObject* type = (PyTypeObject*)wvm_tensor_type();
  tensor_object* self = type ? (tensor_object*)type->tp_alloc(type, 0) : NULL;
  if (self == NULL) return NULL;
  const Py_ssize_t size = wvm_dtypes[view->tensor->dtype].size;
  self->view.tensor = view->tensor;
  self->view.offset = view->offset;
  self->view.rank = view->rank;
  for (int axis = 0; axis < view->rank; ++axis) {
    self->view.shape[axis] = view->shape[axis];
    self->view.stride[axis] = view->stride[axis];
    self->strides[axis] = (Py_ssize_t)view->stride[axis] * size;
  }
  return self;
}

PyObject* wvm_tensor_result(const wvm_view* view) {
  const size_t bytes = (size_t)view->tensor->bytes;
  const int counted = wvm_charge(kHeaderBytes, 0) == 0;
  tensor_object* self = counted ? adopt(view) : NULL;
  if (self == NULL) {
    view->tensor->release(view->tensor);
    wvm_discharge(counted ? bytes + kHeaderBytes : bytes);
    return NULL;
  }
  self->charged = bytes + kHeaderBytes;
  return (PyObject*)self;
}

PyObject* wvm_tensor_window(tensor_object* of, const wvm_view* view) {
  tensor_object* self = adopt(view);
  if (self == NULL) return NULL;
  view->tensor->retain(view->tensor);
  self->base = (tensor_object*)Py_NewRef(of->base != NULL ? of->base : of);
  return (PyObject*)self;
}

static wvm_view whole(wvm_tensor* tensor) {
  wvm_view view = {.tensor = tensor, .rank = tensor->rank};
  int64_t step = 1;
  for (int axis = tensor->rank - 1; axis >= 0; --axis) {
    view.shape[axis] = tensor->shape[axis];
    view.stride[axis] = step;
    step = (int64_t)((uint64_t)step * (uint64_t)tensor->shape[axis]); /* wraps beside an axis of none only */
  }
  return view;
}

PyObject* wvm_tensor_wrap(wvm_tensor* tensor, int charged) {
  if (!can_enter(tensor->dtype)) {
    PyErr_SetString(PyExc_TypeError, "tensors of this element type cannot enter a task");
    return NULL;
  }
  const size_t bytes = charged ? (size_t)tensor->bytes + kHeaderBytes : 0;
  if (bytes && wvm_charge(bytes, 0) < 0) return NULL;
  const wvm_view view = whole(tensor);
  tensor_object* self = adopt(&view);
  if (self == NULL) {
    wvm_discharge(bytes);
    return NULL;
  }
  tensor->retain(tensor);
  self->charged = bytes;
  return (PyObject*)self;
}

static int is_whole(const wvm_view* view) {
  const wvm_tensor* tensor = view->tensor;
  if (view->offset != 0 || view->rank != tensor->rank || !wvm_is_dense(view)) return 0;
  return view->rank == 0 || memcmp(view->shape, tensor->shape, view->rank * sizeof(int64_t)) == 0;
}

wvm_tensor* wvm_tensor_of(PyObject* object, void** arena) {
  const wvm_view* view = &((tensor_object*)object)->view;
  if (is_whole(view)) return view->tensor;
  wvm_tensor* made = wvm_arrays_of_host()->dense(view);
  if (made == NULL || wvm_arena_hold(arena, made) < 0) {
    if (made != NULL) made->release(made);
    PyErr_NoMemory();
    return NULL;
  }
  return made;
}

static void tensor_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  tensor_object* self = (tensor_object*)object;
  wvm_discharge(self->charged);
  if (self->view.tensor != NULL) self->view.tensor->release(self->view.tensor);
  Py_XDECREF(self->base);
  type->tp_free(object);
  Py_DECREF(type);
}

static int tensor_buffer(PyObject* object, Py_buffer* view, int flags) {
  tensor_object* self = (tensor_object*)object;
  const wvm_view* window = &self->view;
  const char* wrong = NULL;
  if ((flags & PyBUF_WRITABLE) && window->tensor->read_only) wrong = "this tensor is read-only";
  const int ordered =
      flags & (PyBUF_C_CONTIGUOUS | PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES;
  const int any_layout = (flags & PyBUF_STRIDES) == PyBUF_STRIDES && !ordered;
  if (!any_layout && !wvm_is_dense(window)) wrong = "this tensor is a view with strides; use copy()";
  if (wrong != NULL) {
    PyErr_SetString(PyExc_BufferError, wrong);
    view->obj = NULL;
    return -1;
  }
  const int dtype = wvm_dtype_of(self);
  *view = (Py_buffer){.buf = wvm_first(window),
                      .obj = Py_NewRef(object),
                      .len = (Py_ssize_t)wvm_elements(window) * wvm_dtypes[dtype].size,
                      .itemsize = wvm_dtypes[dtype].size,
                      .readonly = window->tensor->read_only,
                      .ndim = window->rank,
                      .format = (flags & PyBUF_FORMAT) ? (char*)wvm_dtypes[dtype].format : NULL,
                      .shape = (flags & PyBUF_ND) ? (Py_ssize_t*)window->shape : NULL,
                      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL};
  return 0;
}

static PyObject* tensor_shape(PyObject* object, void* context) {
  (void)context;
  const wvm_view* view = &((tensor_object*)object)->view;
  PyObject* shape = PyTuple_New(view->rank);
  for (int i = 0; shape != NULL && i < view->rank; ++i) {
    PyObject* size = PyLong_FromLongLong(view->shape[i]);
    if (size == NULL) Py_CLEAR(shape);
    if (shape != NULL) PyTuple_SET_ITEM(shape, i, size);
  }
  return shape;
}

static PyObject* tensor_dtype(PyObject* object, void* context) {
  (void)context;
  return PyUnicode_FromString(wvm_dtypes[wvm_dtype_of((tensor_object*)object)].name);
}

static PyObject* tensor_size(PyObject* object, void* context) {
  (void)context;
  return PyLong_FromLongLong(wvm_elements(&((tensor_object*)object)->view));
}

static PyObject* tensor_ndim(PyObject* object, void* context) {
  (void)context;
  return PyLong_FromLong(((tensor_object*)object)->view.rank);
}

static PyObject* tensor_nbytes(PyObject* object, void* context) {
  (void)context;
  const tensor_object* self = (tensor_object*)object;
  return PyLong_FromLongLong(wvm_elements(&self->view) * wvm_dtypes[wvm_dtype_of(self)].size);
}

static PyObject* tensor_readonly(PyObject* object, void* context) {
  (void)context;
  return PyBool_FromLong(((tensor_object*)object)->view.tensor->read_only);
}

static PyObject* tensor_transposed(PyObject* object, void* context) {
  (void)context;
  return wvm_tensor_reversed(object);
}

static Py_ssize_t tensor_length(PyObject* object) {
  const wvm_view* view = &((tensor_object*)object)->view;
  if (view->rank > 0) return (Py_ssize_t)view->shape[0];
  PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no length; use item()");
  return -1;
}

static PyGetSetDef kProperties[] = {
    {"shape", tensor_shape, NULL, NULL, NULL},   {"dtype", tensor_dtype, NULL, NULL, NULL},
    {"size", tensor_size, NULL, NULL, NULL},     {"ndim", tensor_ndim, NULL, NULL, NULL},
    {"nbytes", tensor_nbytes, NULL, NULL, NULL}, {"readonly", tensor_readonly, NULL, NULL, NULL},
    {"T", tensor_transposed, NULL, NULL, NULL},  {0}};
/* Their names in CPython and here. */
#define BINARY_SLOTS(name, op) {Py_nb_##name, wvm_nb_##name}, {Py_nb_inplace_##name, wvm_nb_inplace_##name},
static PyType_Slot kSlots[] = {WVM_TENSOR_OPERATORS(BINARY_SLOTS){Py_nb_negative, wvm_nb_negative},
                               {Py_nb_positive, wvm_nb_positive},
                               {Py_nb_absolute, wvm_nb_absolute},
                               {Py_nb_invert, wvm_nb_invert},
                               {Py_nb_power, wvm_nb_power},
                               {Py_nb_inplace_power, wvm_nb_inplace_power},
                               {Py_nb_divmod, wvm_nb_divmod},
                               {Py_nb_matrix_multiply, wvm_nb_matrix_multiply},
                               {Py_nb_bool, wvm_nb_bool},
                               {Py_nb_int, wvm_nb_int},
                               {Py_nb_float, wvm_nb_float},
                               {Py_nb_index, wvm_nb_index},
                               {Py_tp_new, wvm_tensor_new},
                               {Py_tp_dealloc, tensor_dealloc},
                               {Py_bf_getbuffer, tensor_buffer},
                               {Py_tp_methods, wvm_tensor_methods},
                               {Py_tp_getset, kProperties},
                               {Py_tp_repr, wvm_tensor_repr},
                               {Py_tp_richcompare, wvm_tensor_compare},
                               {Py_tp_hash, PyObject_HashNotImplemented},
                               {Py_mp_subscript, wvm_tensor_subscript},
                               {Py_mp_ass_subscript, wvm_tensor_set_subscript},
                               {Py_mp_length, tensor_length},
                               {Py_sq_length, tensor_length},
                               {Py_sq_item, wvm_tensor_at},
                               {Py_sq_contains, wvm_tensor_contains},
                               {0, NULL}};
static PyType_Spec kSpec = {"walle.Tensor", sizeof(tensor_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, kSlots};

PyObject* wvm_tensor_type(void) {
  wvm_isolate* isolate = wvm_current;
  if (isolate == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "tensors exist inside isolates only");
    return NULL;
  }
  if (isolate->tensor_type == NULL) isolate->tensor_type = PyType_FromSpec(&kSpec);
  return isolate->tensor_type;
}
