#include "pybind/vm_values.h"

#include "pybind/arrays.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "tensor/tensor.h"
#include "vm/limits.h"

namespace walle::pybind {

namespace {

using vm::Value;

constexpr int kMaxDepth = 64;

[[noreturn]] void refuse(const std::string& given, const std::string& expected) {
  throw CoreError(argument_error(given, expected, "a task's argument", "convert it first"));
}

Value from_python(py::handle object, int depth);

std::string text_from(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text != nullptr) return {text, static_cast<size_t>(size)};
  PyErr_Clear();
  refuse("text with half of a surrogate pair", "text that UTF-8 can hold");
}

Value sequence_from(py::handle object, int depth) {
  vm::List list;
  for (const py::handle item : object) list.push_back(from_python(item, depth + 1));
  return list;
}

Value map_from(py::handle object, int depth) {
  vm::Map map;
  for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(object)) {
    if (!PyUnicode_Check(key.ptr()))
      refuse("a map key of type " + std::string(Py_TYPE(key.ptr())->tp_name), "str keys");
    map.emplace_back(text_from(key.ptr()), from_python(item, depth + 1));
  }
  return map;
}

Value array_from(py::handle object) {
  const py::array array = as_array(object, "a task's argument");
  const DType dtype = dtype_of(array);
  if (dtype == DType::undefined)
    refuse("an array of dtype " + py::str(array.dtype()).cast<std::string>(), "a numeric array");
  return borrow(array, dtype, shape_of(array, dtype, "a task's argument"), array.writeable());
}

Value bytes_from(py::handle object) {
  PyObject* p = object.ptr();
  if (PyBytes_GET_SIZE(p) < kLargeBytes) return vm::Bytes{object.cast<std::string>()};
  Py_INCREF(p);
  auto release = [p] { drop_reference(p); };
  return Buffer::wrap(PyBytes_AS_STRING(p), static_cast<size_t>(PyBytes_GET_SIZE(p)), std::move(release),
                      false);
}

Value from_python(py::handle object, int depth) {
  PyObject* p = object.ptr();
  if (depth > kMaxDepth) refuse("a value nested deeper than 64 levels", "a flatter value");
  if (object.is_none()) return {};
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_CheckExact(p)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow != 0) refuse("an integer beyond 64 bits", "an integer of at most 64 bits");
    return static_cast<int64_t>(number);
  }
  if (PyFloat_CheckExact(p)) return PyFloat_AS_DOUBLE(p);
  if (PyUnicode_Check(p)) return text_from(p);
  if (PyBytes_Check(p)) return bytes_from(object);
  if (PyList_Check(p) || PyTuple_Check(p)) return sequence_from(object, depth);
  if (PyDict_Check(p)) return map_from(object, depth);
  return array_from(object);
}

// Memory that was read-only on its way in is read-only on its way out.
py::array array_to(const Tensor& tensor) {
  py::array array = to_array(tensor);
  if (!tensor.buffer().writable()) array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::object buffer_to(const Buffer& buffer) {
  const int64_t size = static_cast<int64_t>(buffer.size());
  return py::memoryview(array_to(Tensor(DType::uint8, Shape(std::span(&size, 1)), buffer)));
}

py::object to_python(const Value& value) {
  if (value.is_none()) return py::none();
  if (const auto* v = value.get<bool>()) return py::bool_(*v);
  if (const auto* v = value.get<int64_t>()) return py::int_(*v);
  if (const auto* v = value.get<double>()) return py::float_(*v);
  if (const auto* v = value.get<std::string>()) return py::str(*v);
  if (const auto* v = value.get<vm::Bytes>()) return py::bytes(v->data);
  if (const auto* v = value.get<Tensor>()) return array_to(*v);
  if (const auto* v = value.get<Buffer>()) return buffer_to(*v);
  if (const auto* v = value.get<vm::List>()) {
    py::list list;
    for (const Value& item : *v) list.append(to_python(item));
    return list;
  }
  py::dict dict;
  for (const auto& [key, item] : *value.get<vm::Map>()) dict[py::str(key)] = to_python(item);
  return dict;
}

// What vm/__init__.py makes an exception of.
py::tuple failure_tuple(const vm::Failure& failure) {
  py::list frames;
  for (const vm::Frame& frame : failure.traceback)
    frames.append(py::make_tuple(frame.file, frame.line, frame.function));
  return py::make_tuple(failure.type, failure.message, std::string(vm::reason_name(failure.reason)), frames);
}

}  // namespace

Value value_of(py::handle object) { return from_python(object, 0); }

std::vector<Value> arguments(const py::args& args) {
  std::vector<Value> values;
  values.reserve(args.size());
  for (const py::handle item : args) values.push_back(value_of(item));
  return values;
}

py::object finish(const vm::Outcome& outcome) {
  if (outcome.ok()) return to_python(outcome.value);
  return py::module_::import("walle_rt.vm").attr("_raise_failure")(failure_tuple(*outcome.failure));
}

}  // namespace walle::pybind
