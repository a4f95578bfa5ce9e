// Python values to the VM's and back; arrays and memoryviews cross as tensors that share their memory.
//
// One reader tells the kinds of Python objects apart (read_python), one builder makes Python objects
// (PythonBuilder): of Values, and of the boundary's own structures on the short way of a warm call.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "pybind/errors.h"
#include "vm/convert.h"

namespace walle::pybind {

namespace py = pybind11;

// Bytes from this size on cross by reference: below it, counting references costs more than copying.
constexpr py::ssize_t kLargeBytes = 64 << 10;

[[noreturn]] void refuse_argument(const std::string& given, const std::string& expected);
// Borrowed from the object.
std::string_view text_of(PyObject* text);
[[noreturn]] void refuse_large_integer();
inline int64_t integer_of(PyObject* integer) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow != 0) [[unlikely]]
    refuse_large_integer();
  return number;
}

// Gives what the visitor's member for the object's kind gives: none(), boolean(bool), integer(int64_t),
// real(double), text(string_view), and bytes, sequence, dict and array with the object itself, which a
// visitor may refuse to look into. Throws CoreError for what cannot cross.
template <class Visitor>
auto read_python(PyObject* object, Visitor& to) {
  if (object == Py_None) return to.none();
  if (PyBool_Check(object)) return to.boolean(object == Py_True);
  if (PyLong_Check(object)) return to.integer(integer_of(object));
  if (PyFloat_Check(object)) return to.real(PyFloat_AS_DOUBLE(object));  // numpy.float64, too
  if (PyUnicode_Check(object)) return to.text(text_of(object));
  if (PyBytes_Check(object)) return to.bytes(object);
  if (PyList_Check(object) || PyTuple_Check(object)) return to.sequence(object);
  if (PyDict_Check(object)) return to.dict(object);
  return to.array(object);
}

py::object array_to_python(const Tensor& tensor);
py::object memoryview_of(const Buffer& buffer);

// A visitor of vm::visit.
struct PythonBuilder {
  py::object none() { return py::none(); }
  py::object boolean(bool v) { return py::bool_(v); }
  py::object integer(int64_t v) { return py::int_(v); }
  py::object real(double v) { return py::float_(v); }
  py::object text(std::string_view v) { return py::str(v.data(), v.size()); }
  py::object bytes(std::string_view v) { return py::bytes(v.data(), v.size()); }
  py::object list(const auto& items) {
    using vm::visit;
    py::list out(std::size(items));
    py::ssize_t at = 0;
    for (const auto& item : items) PyList_SET_ITEM(out.ptr(), at++, visit(item, *this).release().ptr());
    return out;
  }
  py::object map(const auto& entries) {
    using vm::visit;
    py::dict out;
    for (const auto& [key, item] : entries) out[text(key)] = visit(item, *this);
    return out;
  }
  py::object tensor(const Tensor& v) { return array_to_python(v); }
  py::object buffer(const Buffer& v) { return memoryview_of(v); }
};

std::vector<vm::Value> arguments(const py::args& args);
vm::Value value_of(PyObject* object);
// The value, or the exception that walle_rt.vm makes of the failure.
py::object finish(const vm::Outcome& outcome);
// Isolate.call for the class, with as little around the call as Python allows (vm_call.cc).
py::object call_method(const py::object& isolate_class);

}  // namespace walle::pybind
