// _core.machine(): what this build offers on this machine.
#include <pybind11/stl.h>

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "pybind/errors.h"
#include "runtime/backend_list.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {
py::dict machine() {
  py::dict out;
  out["processors"] = base::available_processors();
  std::vector<std::string> sets;
  for (const kernels::Isa isa : kernels::supported_isas()) sets.emplace_back(kernels::isa_name(isa));
  out["instruction_sets"] = sets;
  const auto chosen = kernels::select_isa();
  out["instruction_set"] = chosen.ok() ? py::object(py::str(std::string(kernels::isa_name(*chosen)))) : py::none();
  out["backends"] = runtime::backend_names();
  return out;
}
}  // namespace

void bind_machine(py::module_& m) {
  m.def("available_processors", base::available_processors, "Processors this process may keep busy: affinity, then cgroup quota.");
  m.def("machine", machine, "Processors, instruction sets (best last) and the one chosen (None: WALLE_CPU is wrong), backends.");
}

}  // namespace walle::pybind
