#include "pybind/vm_values.h"

#include <pybind11/stl.h>

#include "base/unreached.h"
#include "pybind/arrays.h"
#include "pybind/python_lock.h"
#include "tensor/tensor.h"
#include "vm/limits.h"

namespace walle::pybind {

namespace {

using vm::Value;

// As inside the VM (vm/inside/values/values.c), so that the message comes from here.
constexpr int kMaxDepth = 64;
constexpr const char* kArgument = "a task's argument";

// NumPy's scalars (numpy.float32(1), numpy.int64(2)) are numbers, not arrays of rank 0.
bool is_numpy_scalar(py::handle object) {
  static PyObject* const generic = py::object(py::module_::import("numpy").attr("generic")).release().ptr();
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(generic));
}

Value number_of(py::handle scalar) {
  const py::object number = scalar.attr("item")();
  if (PyBool_Check(number.ptr())) return number.ptr() == Py_True;
  if (PyLong_CheckExact(number.ptr())) return integer_of(number.ptr());
  if (PyFloat_CheckExact(number.ptr())) return PyFloat_AS_DOUBLE(number.ptr());
  refuse_argument("a scalar of type " + std::string(Py_TYPE(scalar.ptr())->tp_name),
                  "a boolean, an integer or a number of float64 at most");
}

// Whether what is written to `array` is seen by whoever holds `object`, which it was made of.
bool shares_memory(py::handle object, const py::array& array) {
  if (py::isinstance<py::array>(object)) return array.ptr() == object.ptr();
  return !array.base().is_none();  // a view; an array of its own is a copy
}

// A copy that owns itself, but for arrays and large bytes, which it shares.
class ValueReader {
 public:
  Value none() { return {}; }
  Value boolean(bool v) { return v; }
  Value integer(int64_t v) { return v; }
  Value real(double v) { return v; }
  Value text(std::string_view v) { return std::string(v); }

  Value bytes(PyObject* object) {
    const auto size = static_cast<size_t>(PyBytes_GET_SIZE(object));
    if (PyBytes_GET_SIZE(object) < kLargeBytes) return vm::Bytes{{PyBytes_AS_STRING(object), size}};
    // Shared: bytes never change. Small ones are copied, which costs less than the release on
    // some thread later.
    Py_INCREF(object);
    return Buffer::wrap(PyBytes_AS_STRING(object), size, [object] { drop_reference(object); }, false);
  }

  Value sequence(py::handle object) {
    vm::List list;
    for (const py::handle item : object) list.push_back(part(item));
    return list;
  }

  Value dict(py::handle object) {
    vm::Map map;
    for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(object)) {
      if (!PyUnicode_Check(key.ptr()))
        refuse_argument("a map key of type " + std::string(Py_TYPE(key.ptr())->tp_name), "str keys");
      map.emplace_back(text_of(key.ptr()), part(item));
    }
    return map;
  }

  Value array(py::handle object) {
    if (is_numpy_scalar(object)) return number_of(object);
    const py::array array = as_array(object, kArgument);
    const DType dtype = dtype_of(array);
    if (dtype == DType::undefined)
      refuse_argument("an array of dtype " + py::str(array.dtype()).cast<std::string>(), "a numeric array");
    // A task's write into a copy would be lost, so a copy is read-only there.
    const bool writable = array.writeable() && shares_memory(object, array);
    return borrow(array, dtype, shape_of(array, dtype, kArgument), writable);
  }

 private:
  // Whatever lies in a list or a dict: a list may lie in itself.
  Value part(py::handle object) {
    if (depth_ == kMaxDepth)
      refuse_argument("a value nested deeper than " + std::to_string(kMaxDepth) + " levels",
                      "a flatter value");
    ++depth_;
    Value value = read_python(object.ptr(), *this);
    --depth_;
    return value;
  }

  int depth_ = 0;
};

const char* relation_name(vm::Relation relation) {
  switch (relation) {
    case vm::Relation::cause: return "cause";
    case vm::Relation::context: return "context";
    case vm::Relation::member: return "member";
  }
  return base::unreached("");
}

// What walle_rt.vm makes an exception of.
py::tuple failure_tuple(const vm::Failure& failure) {
  py::list frames;
  for (const vm::Frame& frame : failure.traceback)
    frames.append(py::make_tuple(frame.file, frame.line, frame.function, frame.source));
  py::list related;
  for (const vm::Failure& other : failure.related)
    related.append(py::make_tuple(relation_name(other.relation), failure_tuple(other)));
  return py::make_tuple(failure.type, failure.message, vm::reason_name(failure.reason), frames, failure.notes,
                        related);
}

}  // namespace

void refuse_argument(const std::string& given, const std::string& expected) {
  throw CoreError(argument_error(given, expected, kArgument, "convert it first"));
}

std::string_view text_of(PyObject* text) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (utf8 != nullptr) return {utf8, static_cast<size_t>(size)};
  PyErr_Clear();
  refuse_argument("text with half of a surrogate pair", "text that UTF-8 can hold");
}

void refuse_large_integer() { refuse_argument("an integer beyond 64 bits", "an integer of at most 64 bits"); }

// Memory that was read-only on its way in is read-only on its way out.
py::object array_to_python(const Tensor& tensor) {
  py::array array = to_array(tensor);
  if (!tensor.buffer().writable()) array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::object memoryview_of(const Buffer& buffer) {
  const auto size = static_cast<int64_t>(buffer.size());
  return py::memoryview(array_to_python(Tensor(DType::uint8, Shape(std::span(&size, 1)), buffer)));
}

Value value_of(PyObject* object) {
  ValueReader reader;
  return read_python(object, reader);
}

std::vector<Value> arguments(const py::args& args) {
  std::vector<Value> values;
  values.reserve(args.size());
  for (const py::handle item : args) values.push_back(value_of(item.ptr()));
  return values;
}

py::object finish(const vm::Outcome& outcome) {
  if (!outcome.ok())
    return py::module_::import("walle_rt.vm").attr("_raise_failure")(failure_tuple(*outcome.failure));
  PythonBuilder builder;
  return vm::visit(outcome.value, builder);
}

}  // namespace walle::pybind
