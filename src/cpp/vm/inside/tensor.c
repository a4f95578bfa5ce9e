/* walle.Tensor: a native buffer inside an isolate, shared with the host by reference count and read or
 * written through the buffer protocol. Never copies; tobytes() and tolist() do, because they say so. */
#include "vm/inside/inside.h"

#include <structmember.h>

typedef struct {
  PyObject_HEAD wvm_tensor* tensor;
  size_t charged; /* bytes counted against the task's heap limit: those that it made itself */
  Py_ssize_t shape[WVM_MAX_RANK];
  Py_ssize_t strides[WVM_MAX_RANK];
} tensor_object;

/* By dtype number. Those without a buffer format cannot enter a task. */
static const struct {
  const char* name;
  char format[2];
  uint8_t size;
} kTypes[] = {
#define WALLE_DTYPE(number, id, name, type, bytes, group, numpy_kind, format, numpy_name) \
  {name, {format, 0}, bytes},
#include "tensor/kinds/dtype.inc"
};
enum { kTypeCount = sizeof kTypes / sizeof kTypes[0] };

static int can_enter(int dtype) { return dtype < kTypeCount && kTypes[dtype].format[0] != 0; }

/* What a tensor takes in the host beside its elements: the object that is lent, the tensor in it, the owner
 * of the buffer, and what 64-byte alignment leaves unused. Under a limit of 32 MB, which is 186,000 objects
 * of ours, the process grew by 81 MB more than the limit: 435 bytes each. */
enum { kHeaderBytes = 448 };

static size_t weight(int64_t bytes) { return (size_t)bytes + kHeaderBytes; }

static void fill_layout(tensor_object* self) {
  const wvm_tensor* t = self->tensor;
  Py_ssize_t stride = kTypes[t->dtype].size;
  for (int axis = t->rank - 1; axis >= 0; --axis) {
    self->shape[axis] = (Py_ssize_t)t->shape[axis];
    self->strides[axis] = stride;
    stride *= self->shape[axis];
  }
}

/* Steals the reference to `tensor`. */
static PyObject* adopt(PyTypeObject* type, wvm_tensor* tensor) {
  tensor_object* self = (tensor_object*)type->tp_alloc(type, 0);
  if (self == NULL) {
    tensor->release(tensor);
    return NULL;
  }
  self->tensor = tensor;
  fill_layout(self);
  return (PyObject*)self;
}

PyObject* wvm_tensor_wrap(wvm_tensor* tensor, int charged) {
  PyObject* type = wvm_tensor_type();
  if (type == NULL) return NULL;
  if (!can_enter(tensor->dtype)) {
    PyErr_SetString(PyExc_TypeError, "tensors of this element type cannot enter a task");
    return NULL;
  }
  const size_t bytes = charged ? weight(tensor->bytes) : 0;
  if (bytes && wvm_charge(bytes, 0) < 0) return NULL;
  tensor->retain(tensor);
  PyObject* self = adopt((PyTypeObject*)type, tensor);
  if (self == NULL)
    wvm_discharge(bytes);
  else
    ((tensor_object*)self)->charged = bytes;
  return self;
}

wvm_tensor* wvm_tensor_of(PyObject* object) {
  const wvm_isolate* isolate = wvm_current;
  if (isolate == NULL || isolate->tensor_type == NULL ||
      Py_TYPE(object) != (PyTypeObject*)isolate->tensor_type)
    return NULL;
  return ((tensor_object*)object)->tensor;
}

static int shape_from(PyObject* object, int64_t* shape) {
  PyObject* items = PySequence_Fast(object, "shape is a sequence of integers");
  if (items != NULL && PyList_Check(items))
    Py_SETREF(items, PyList_AsTuple(items)); /* an item's __index__ could shorten a list */
  if (items == NULL) return -1;
  const Py_ssize_t rank = PySequence_Fast_GET_SIZE(items);
  int ok = rank <= WVM_MAX_RANK;
  if (!ok) PyErr_Format(PyExc_ValueError, "rank %zd; at most %d", rank, WVM_MAX_RANK);
  for (Py_ssize_t i = 0; ok && i < rank; ++i) {
    shape[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items, i));
    if (shape[i] < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "dimensions are not negative");
      ok = 0;
    }
  }
  Py_DECREF(items);
  return ok ? (int)rank : -1;
}

static int fill_from(wvm_tensor* tensor, PyObject* data) {
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return -1;
  const int fits = view.len == tensor->bytes;
  if (fits)
    memcpy(tensor->data, view.buf, (size_t)view.len);
  else
    PyErr_Format(PyExc_ValueError, "%zd bytes given; the shape needs %lld", view.len,
                 (long long)tensor->bytes);
  PyBuffer_Release(&view);
  return fits ? 0 : -1;
}

static int dtype_from(const char* name) {
  for (int i = 1; i < kTypeCount; ++i) {
    if (can_enter(i) && strcmp(kTypes[i].name, name) == 0) return i;
  }
  PyErr_Format(PyExc_ValueError, "dtype '%s' is not known; use float32, int64, uint8, bool ...", name);
  return -1;
}

/* Tensor(dtype, shape, data=None): zeros, or a copy of contiguous bytes. */
static PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"dtype", "shape", "data", NULL};
  const char* dtype_name;
  PyObject *shape_object, *data = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|O", names, &dtype_name, &shape_object, &data))
    return NULL;
  int64_t shape[WVM_MAX_RANK];
  const int dtype = dtype_from(dtype_name);
  const int rank = dtype < 0 ? -1 : shape_from(shape_object, shape);
  if (rank < 0) return NULL;
  int64_t bytes = kTypes[dtype].size;
  for (int i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(bytes, shape[i], &bytes)) return PyErr_NoMemory();
  }
  if (wvm_charge(weight(bytes), 1) < 0) return NULL;
  wvm_tensor* tensor = wvm_host_table()->allocate_tensor((uint8_t)dtype, (uint8_t)rank, shape);
  PyObject* self = tensor ? adopt(type, tensor) : PyErr_NoMemory();
  if (self == NULL) {
    wvm_discharge(weight(bytes));
    return NULL;
  }
  ((tensor_object*)self)->charged = weight(bytes);
  if (data == Py_None)
    memset(tensor->data, 0, (size_t)tensor->bytes);
  else if (fill_from(tensor, data) < 0)
    Py_CLEAR(self);
  return self;
}

static void tensor_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  wvm_tensor* tensor = ((tensor_object*)object)->tensor;
  wvm_discharge(((tensor_object*)object)->charged);
  if (tensor != NULL) tensor->release(tensor);
  type->tp_free(object);
  Py_DECREF(type);
}

static int tensor_buffer(PyObject* object, Py_buffer* view, int flags) {
  tensor_object* self = (tensor_object*)object;
  const wvm_tensor* t = self->tensor;
  if ((flags & PyBUF_WRITABLE) && t->read_only) {
    PyErr_SetString(PyExc_BufferError, "this tensor is read-only");
    view->obj = NULL;
    return -1;
  }
  *view = (Py_buffer){.buf = t->data,
                      .obj = Py_NewRef(object),
                      .len = (Py_ssize_t)t->bytes,
                      .itemsize = kTypes[t->dtype].size,
                      .readonly = t->read_only,
                      .ndim = t->rank,
                      .format = (flags & PyBUF_FORMAT) ? (char*)kTypes[t->dtype].format : NULL,
                      .shape = (flags & PyBUF_ND) ? self->shape : NULL,
                      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL};
  return 0;
}

static PyObject* tensor_shape(PyObject* object, void* context) {
  (void)context;
  tensor_object* self = (tensor_object*)object;
  PyObject* shape = PyTuple_New(self->tensor->rank);
  for (int i = 0; shape != NULL && i < self->tensor->rank; ++i)
    PyTuple_SET_ITEM(shape, i, PyLong_FromSsize_t(self->shape[i]));
  return shape;
}

static PyObject* tensor_dtype(PyObject* object, void* context) {
  (void)context;
  return PyUnicode_FromString(kTypes[((tensor_object*)object)->tensor->dtype].name);
}

static PyObject* tensor_nbytes(PyObject* object, void* context) {
  (void)context;
  return PyLong_FromLongLong(((tensor_object*)object)->tensor->bytes);
}

static PyObject* through_view(PyObject* object, const char* method) {
  PyObject* view = PyMemoryView_FromObject(object);
  PyObject* result = view ? PyObject_CallMethod(view, method, NULL) : NULL;
  Py_XDECREF(view);
  return result;
}

static PyObject* tensor_tolist(PyObject* object, PyObject* unused) {
  (void)unused;
  return through_view(object, "tolist");
}

static PyObject* tensor_tobytes(PyObject* object, PyObject* unused) {
  (void)unused;
  const wvm_tensor* t = ((tensor_object*)object)->tensor;
  return PyBytes_FromStringAndSize(t->data, (Py_ssize_t)t->bytes);
}

static PyObject* tensor_repr(PyObject* object) {
  PyObject* shape = tensor_shape(object, NULL);
  PyObject* text = shape ? PyUnicode_FromFormat("walle.Tensor('%s', %R)",
                                                kTypes[((tensor_object*)object)->tensor->dtype].name, shape)
                         : NULL;
  Py_XDECREF(shape);
  return text;
}

static PyObject* tensor_item(PyObject* object, PyObject* index) {
  PyObject* view = PyMemoryView_FromObject(object);
  PyObject* item = view ? PyObject_GetItem(view, index) : NULL;
  Py_XDECREF(view);
  return item;
}

static int tensor_set_item(PyObject* object, PyObject* index, PyObject* item) {
  PyObject* view = PyMemoryView_FromObject(object);
  const int status = view == NULL ? -1
                     : item       ? PyObject_SetItem(view, index, item)
                                  : PyObject_DelItem(view, index);
  Py_XDECREF(view);
  return status;
}

static Py_ssize_t tensor_length(PyObject* object) {
  const tensor_object* self = (tensor_object*)object;
  return self->tensor->rank ? self->shape[0] : 1;
}

static PyMethodDef kMethods[] = {
    {"tolist", tensor_tolist, METH_NOARGS, NULL}, {"tobytes", tensor_tobytes, METH_NOARGS, NULL}, {0}};
static PyGetSetDef kProperties[] = {{"shape", tensor_shape, NULL, NULL, NULL},
                                    {"dtype", tensor_dtype, NULL, NULL, NULL},
                                    {"nbytes", tensor_nbytes, NULL, NULL, NULL},
                                    {0}};
static PyType_Slot kSlots[] = {{Py_tp_new, tensor_new},          {Py_tp_dealloc, tensor_dealloc},
                               {Py_bf_getbuffer, tensor_buffer}, {Py_tp_methods, kMethods},
                               {Py_tp_getset, kProperties},      {Py_tp_repr, tensor_repr},
                               {Py_mp_subscript, tensor_item},   {Py_mp_ass_subscript, tensor_set_item},
                               {Py_mp_length, tensor_length},    {0, NULL}};
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
