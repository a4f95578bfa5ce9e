#include "pybind/errors.h"

namespace py = pybind11;

namespace walle::pybind {

namespace {
const char* python_class(base::ErrorGroup group) {
  switch (group) {
    case base::ErrorGroup::argument: return "ArgumentError";
    case base::ErrorGroup::model: return "ModelError";
    case base::ErrorGroup::resource: return "ResourceError";
    case base::ErrorGroup::backend: return "BackendError";
    case base::ErrorGroup::task: return "TaskError";
    case base::ErrorGroup::network: return "NetworkError";
    case base::ErrorGroup::internal: return "InternalError";
    case base::ErrorGroup::timeout: return "DeadlineError";
    case base::ErrorGroup::cancelled: return "CancelledError";
  }
  return "InternalError";
}

void raise(const Error& error) {
  // The classes are Python's own, so that they can carry docs and attributes; importing again is a look-up.
  const py::object cls = py::module_::import("walle_rt.errors").attr(python_class(error.group()));
  const base::ErrorText& t = error.text();
  py::object instance = cls(error.message(), py::arg("given") = t.given, py::arg("expected") = t.expected,
                            py::arg("where") = t.where, py::arg("next_step") = t.next);
  PyErr_SetObject(cls.ptr(), instance.ptr());
}
}  // namespace

void bind_errors(py::module_&) {
  // For this module alone: other extension modules have their own idea of what a failed allocation means.
  py::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const std::bad_alloc&) {
      raise(resource_error("a request for memory was refused", "enough free memory", "native core",
                           "use smaller inputs or a smaller model"));
    }
  });
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const CoreError& e) {
      raise(e.error());
    }
  });
}

}  // namespace walle::pybind
