// A warm call is so short that what carries it counts: it crosses here without pybind11's dispatcher, and
// numbers, text and bytes without a Value.
#include <array>

#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "pybind/vm_values.h"
#include "vm/convert.h"
#include "vm/isolate.h"

namespace walle::pybind {

namespace {

using vm::Isolate;

constexpr size_t kFew = 6;

// What a call left behind, for as long as this lives.
class Answer {
 public:
  explicit Answer(Isolate& isolate) : isolate_(isolate) {}
  ~Answer() { isolate_.release(result); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  walle_vm_result result;  // the call fills it in

 private:
  Isolate& isolate_;
};

// Text and bytes are borrowed from the object. False, without an exception: the long way knows what to do or
// to say.
bool plain_of(PyObject* object, walle_vm_value& out) {
  if (object == Py_None) {
    out.kind = WALLE_VM_NONE;
  } else if (PyBool_Check(object)) {
    out.kind = WALLE_VM_BOOL;
    out.as.integer = object == Py_True;
  } else if (PyLong_CheckExact(object)) {
    int overflow = 0;
    out.kind = WALLE_VM_INT;
    out.as.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  } else if (PyFloat_CheckExact(object)) {
    out.kind = WALLE_VM_FLOAT;
    out.as.real = PyFloat_AS_DOUBLE(object);
  } else if (PyUnicode_CheckExact(object)) {
    Py_ssize_t size = 0;
    out.kind = WALLE_VM_STR;
    out.as.text = PyUnicode_AsUTF8AndSize(object, &size);
    out.size = static_cast<uint64_t>(size);
    if (out.as.text == nullptr) PyErr_Clear();
    return out.as.text != nullptr;
  } else if (PyBytes_CheckExact(object) && PyBytes_GET_SIZE(object) < kLargeBytes) {
    out.kind = WALLE_VM_BYTES;
    out.as.text = PyBytes_AS_STRING(object);
    out.size = static_cast<uint64_t>(PyBytes_GET_SIZE(object));
  } else {
    return false;
  }
  return true;
}

PyObject* answer_of(const walle_vm_result& result) {
  if (!result.ok) return finish(vm::incoming(result)).release().ptr();
  const walle_vm_value& value = result.value;
  switch (value.kind) {
    case WALLE_VM_NONE: return Py_NewRef(Py_None);
    case WALLE_VM_BOOL: return PyBool_FromLong(value.as.integer != 0);
    case WALLE_VM_INT: return PyLong_FromLongLong(value.as.integer);
    case WALLE_VM_FLOAT: return PyFloat_FromDouble(value.as.real);
    case WALLE_VM_STR: return PyUnicode_FromStringAndSize(value.as.text, static_cast<Py_ssize_t>(value.size));
    case WALLE_VM_BYTES: return PyBytes_FromStringAndSize(value.as.text, static_cast<Py_ssize_t>(value.size));
    default: return finish(vm::incoming(result)).release().ptr();
  }
}

PyObject* call_long(Isolate& isolate, const char* module, const char* function, PyObject* const* args,
                    size_t count) {
  std::vector<vm::Value> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.push_back(value_of(args[i]));
  vm::Outcome outcome;
  {
    const PythonUnlocked unlocked;
    outcome = isolate.invoke(module, function, values);
  }
  return finish(outcome).release().ptr();
}

PyObject* call(Isolate& isolate, const char* module, const char* function, PyObject* const* args,
               size_t count) {
  std::array<walle_vm_value, kFew> plain;
  bool all = count <= kFew;
  for (size_t i = 0; all && i < count; ++i) all = plain_of(args[i], plain[i]);
  if (!all) return call_long(isolate, module, function, args, count);
  Answer answer(isolate);
  {
    const PythonUnlocked unlocked;
    isolate.invoke_plain(module, function, {plain.data(), count}, answer.result);
  }
  return answer_of(answer.result);
}

PyObject* call_isolate(PyObject* self, const char* module, PyObject* name, PyObject* const* args,
                       Py_ssize_t count) {
  try {
    auto* isolate = static_cast<Isolate*>(
        reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().value_ptr());
    if (isolate == nullptr) throw py::type_error("an Isolate that create() did not make");
    const char* function = module != nullptr ? PyUnicode_AsUTF8(name) : nullptr;
    if (function == nullptr) return nullptr;
    return call(*isolate, module, function, args, static_cast<size_t>(count));
  } catch (py::error_already_set& error) {
    error.restore();
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind&) {
    throw;  // Python ends this thread, which was converting an argument
#endif
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

// What walle_rt.vm.Isolate.call is; a Python function around it took longer than the call.
PyObject* call_by_name(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const bool known = named == 0 || (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0),
                                                                                   "module") == 0);
  if (count < 1 || !known) {
    PyErr_SetString(PyExc_TypeError, "expected call(function, *args, module='main')");
    return nullptr;
  }
  return call_isolate(self, named == 0 ? "main" : PyUnicode_AsUTF8(args[count]), args[0], args + 1,
                      count - 1);
}

template <class Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

PyMethodDef call_definition = {"call", as_method(call_by_name), METH_FASTCALL | METH_KEYWORDS,
                               "call(function, *args, module='main')"};

}  // namespace

py::object call_method(const py::object& isolate_class) {
  return py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(isolate_class.ptr()), &call_definition));
}

}  // namespace walle::pybind
