// _core.vm.Isolate.
#include "vm/isolate.h"

#include "pybind/signals.h"
#include "pybind/vm.h"
#include "pybind/vm_values.h"
#include "vm/fork.h"

namespace walle::pybind {

using vm::Bundle;
using vm::Isolate;
using vm::Vm;

namespace {

Held<Isolate> create_isolate(const std::shared_ptr<Vm>& vm, const VmTerms& terms) {
  // Without Python's lock: making one waits for one that ends, which may wait for the lock to drop an array.
  return hand_over(without_python([&] { return Isolate::create(vm, terms.limits, terms.context); }));
}

py::object run_source(Isolate& self, const std::string& text, const std::string& module,
                      const std::string& file) {
  unwrap(vm::refuse_forked_child("Isolate.run"));
  Signals signals;
  vm::Outcome outcome;
  {
    const PythonUnlocked unlocked;
    outcome = self.run({module, file, text, false}, signals.attention(unlocked));
  }
  signals.rethrow();
  return finish(outcome);
}

py::tuple isolate_stats(const Isolate& self) {
  const vm::IsolateStats s = self.stats();
  return py::make_tuple(s.heap_bytes, s.heap_peak, s.calls, s.cancels, s.denied_allocations);
}

}  // namespace

void bind_vm_isolate(py::module_& m) {
  py::class_<Isolate, Held<Isolate>> isolate(m, "Isolate", "One interpreter of its own.");
  // Past pybind11's dispatcher: vm_call.cc says why.
  isolate.attr("call") = call_method(isolate);
  isolate.def_static("create", create_isolate, py::arg("vm"), py::arg("terms"))
      .def(
          "attach", [](Isolate& self, const std::shared_ptr<Bundle>& bundle) { unwrap(self.attach(bundle)); },
          py::arg("bundle"))
      .def("run", run_source, py::arg("source"), py::arg("module"), py::arg("file"))
      .def("cancel", &Isolate::cancel)
      .def("reset", [](Isolate& self) { unwrap(without_python([&] { return self.reset(); })); })
      .def("stats", isolate_stats, "Heap bytes, their peak, calls, cancels, refused allocations.");
}

}  // namespace walle::pybind
