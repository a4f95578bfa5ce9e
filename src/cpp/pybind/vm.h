// The topics of _core.vm, and what they share.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "vm/context.h"
#include "vm/limits.h"

namespace walle::pybind {

namespace py = pybind11;

// bind_vm_<name>() lives in pybind/vm_<name>.cc.
void bind_vm_library(py::module_& m);
void bind_vm_bundle(py::module_& m);
void bind_vm_terms(py::module_& m);
void bind_vm_isolate(py::module_& m);
void bind_vm_pool(py::module_& m);

template <class Run>
auto without_python(Run run) {
  const PythonUnlocked unlocked;
  return run();
}

// Ending an isolate may wait for another that waits for the interpreter (to drop an array): never wait while
// holding it.
template <class T>
using Held = std::unique_ptr<T, DeleteUnlocked>;

template <class T>
Held<T> hand_over(Result<std::unique_ptr<T>> made) {
  return Held<T>(unwrap(std::move(made)).release());
}

// What an isolate is given: made once, given to many.
struct VmTerms {
  vm::Limits limits;
  vm::TaskContext context;
};

}  // namespace walle::pybind
