// _core.vm.Pool: isolates ready to be used.
#include "vm/pool.h"

#include "pybind/signals.h"
#include "pybind/vm.h"
#include "pybind/vm_values.h"
#include "vm/fork.h"

namespace walle::pybind {

using vm::Bundle;
using vm::Pool;

namespace {

Held<Pool> create_pool(const std::shared_ptr<vm::Vm>& vm, size_t size, std::vector<std::string> imports,
                       uint32_t grace_ms) {
  vm::PoolOptions options{.size = size, .imports = std::move(imports), .grace_ms = grace_ms};
  return hand_over(without_python([&] { return Pool::create(vm, std::move(options)); }));
}

Held<vm::Isolate> take_isolate(Pool& self, const VmTerms& terms) {
  return hand_over(without_python([&] { return self.take(terms.limits, terms.context); }));
}

py::object run_in_pool(Pool& self, const VmTerms& terms, const std::optional<std::shared_ptr<Bundle>>& bundle,
                       const std::string& module, const std::string& function, const py::args& args) {
  // Converted before the lock is given away: the worker that runs the call never sees an object of the host.
  std::vector<vm::Value> values = arguments(args);
  unwrap(vm::refuse_forked_child("Pool.run"));
  Signals signals;
  const vm::Outcome outcome = without_python([&] {
    return self.run(bundle.value_or(nullptr), module, function, std::move(values), terms.limits,
                    terms.context, signals.attention());
  });
  signals.rethrow();
  return finish(outcome);
}

py::tuple pool_stats(const Pool& self) {
  const vm::PoolStats s = self.stats();
  return py::make_tuple(s.ready, s.handed_out, s.cold, s.abandoned);
}

}  // namespace

void bind_vm_pool(py::module_& m) {
  m.def("std_imports", &vm::std_imports, "What most tasks import.");
  m.def("most_ready", [] { return vm::kMaxReady; });
  py::class_<Pool, Held<Pool>>(m, "Pool", "Isolates ready to be used.")
      .def_static("create", create_pool, py::arg("vm"), py::arg("size"), py::arg("imports"),
                  py::arg("grace_ms"))
      .def("take", take_isolate, py::arg("terms"))
      .def("run", run_in_pool, py::arg("terms"), py::arg("bundle"), py::arg("module"), py::arg("function"))
      .def("wait_until_full", [](Pool& self) { without_python([&] { self.wait_until_full(); }); })
      .def("stats", pool_stats, "Ready, handed out, made on demand, worker threads given up.");
}

}  // namespace walle::pybind
