// _core.vm.Pool: isolates ready to be used.
#include "vm/pool.h"

#include "pybind/vm.h"

namespace walle::pybind {

using vm::Pool;

namespace {

Held<Pool> create_pool(const std::shared_ptr<vm::Vm>& vm, size_t size, std::vector<std::string> imports) {
  vm::PoolOptions options{.size = size, .imports = std::move(imports)};
  return hand_over(without_python([&] { return Pool::create(vm, std::move(options)); }));
}

Held<vm::Isolate> take_isolate(Pool& self, const VmTerms& terms) {
  return hand_over(without_python([&] { return self.take(terms.limits, terms.context); }));
}

py::tuple pool_stats(const Pool& self) {
  const vm::PoolStats s = self.stats();
  return py::make_tuple(s.ready, s.handed_out, s.cold);
}

}  // namespace

void bind_vm_pool(py::module_& m) {
  m.def("std_imports", &vm::std_imports, "What most tasks import.");
  m.def("most_ready", [] { return vm::kMaxReady; });
  py::class_<Pool, Held<Pool>>(m, "Pool", "Isolates ready to be used.")
      .def_static("create", create_pool, py::arg("vm"), py::arg("size"), py::arg("imports"))
      .def("take", take_isolate, py::arg("terms"))
      .def("wait_until_full", [](Pool& self) { without_python([&] { self.wait_until_full(); }); })
      .def("stats", pool_stats, "Ready, handed out, made on demand.");
}

}  // namespace walle::pybind
