// _core.vm.Isolate and its Limits.
#include "vm/isolate.h"

#include "pybind/signals.h"
#include "pybind/vm.h"
#include "pybind/vm_values.h"
#include "vm/fork.h"

namespace walle::pybind {

using vm::Bundle;
using vm::Isolate;
using vm::Limits;
using vm::Vm;

namespace {

using Names = std::optional<std::vector<std::string>>;

Limits limits_of(uint64_t heap_bytes, uint32_t wall_ms, uint32_t cpu_ms, uint32_t depth, uint32_t stack_bytes,
                 uint64_t state_bytes, uint64_t log_bytes, Names imports, Names host_calls) {
  Limits limits;
  limits.heap_bytes = heap_bytes;
  limits.wall_ms = wall_ms;
  limits.cpu_ms = cpu_ms;
  limits.python_depth = depth;
  limits.stack_bytes = stack_bytes;
  limits.state_bytes = state_bytes;
  limits.log_bytes = log_bytes;
  limits.imports = std::move(imports);
  limits.host_calls = std::move(host_calls);
  return limits;
}

// The callback may be called and dropped on any thread. Lines that come when Python has ended are lost.
std::function<void(base::LogLevel, std::string_view)> log_to(const py::object& callback) {
  if (callback.is_none()) return {};
  const std::shared_ptr<PyObject> held(callback.inc_ref().ptr(), drop_reference);
  return [held](base::LogLevel level, std::string_view line) {
    const PythonLock lock;
    if (!lock) return;
    try {
      py::handle(held.get())(static_cast<int>(level), py::str(line.data(), line.size()));
    } catch (py::error_already_set& error) {
      if (!Signals::take(error)) error.discard_as_unraisable("walle_rt.vm log callback");
    }
  };
}

Held<Isolate> create(const std::shared_ptr<Vm>& vm, const Limits& limits, const py::object& log,
                     const std::optional<std::string>& state) {
  // Without Python's lock: making one waits for one that ends, which may wait for the lock to drop an array.
  vm::TaskContext context = context_of(log, state, limits);
  return hand_over(without_python([&] { return Isolate::create(vm, limits, std::move(context)); }));
}

py::object run(Isolate& self, const std::string& text, const std::string& module, const std::string& file) {
  unwrap(vm::refuse_forked_child("Isolate.run"));
  Signals signals;
  const vm::Outcome outcome =
      without_python([&] { return self.run({module, file, text, false}, signals.attention()); });
  signals.rethrow();
  return finish(outcome);
}

py::tuple stats(const Isolate& self) {
  const vm::IsolateStats s = self.stats();
  return py::make_tuple(s.heap_bytes, s.heap_peak, s.calls, s.cancels, s.denied_allocations);
}

}  // namespace

vm::TaskContext context_of(const py::object& log, const std::optional<std::string>& state,
                           const Limits& limits) {
  vm::TaskContext context;
  context.log = log_to(log);
  const uint64_t quota = limits.state_bytes != 0 ? limits.state_bytes : vm::TaskState::kDefaultQuota;
  if (state) context.kv = unwrap(vm::TaskState::open(*state, quota));
  return context;
}

void bind_vm_isolate(py::module_& m) {
  py::class_<Limits>(m, "Limits", "What one isolate may use; 0 and None: unlimited.")
      .def(py::init(&limits_of), py::arg("heap_bytes"), py::arg("wall_ms"), py::arg("cpu_ms"),
           py::arg("depth"), py::arg("stack_bytes"), py::arg("state_bytes"), py::arg("log_bytes"),
           py::arg("imports"), py::arg("host_calls"));
  py::class_<Isolate, Held<Isolate>> isolate(m, "Isolate", "One interpreter of its own.");
  // Past pybind11's dispatcher: vm_call.cc says why.
  isolate.attr("call") = call_method(isolate);
  isolate.def_static("create", create, py::arg("vm"), py::arg("limits"), py::arg("log"), py::arg("state"))
      .def(
          "attach", [](Isolate& self, const std::shared_ptr<Bundle>& bundle) { unwrap(self.attach(bundle)); },
          py::arg("bundle"))
      .def("run", run, py::arg("source"), py::arg("module"), py::arg("file"))
      .def("cancel", &Isolate::cancel)
      .def("reset", [](Isolate& self) { unwrap(without_python([&] { return self.reset(); })); })
      .def("stats", stats, "Heap bytes, their peak, calls, cancels, refused allocations.");
}

}  // namespace walle::pybind
