// _core.machine(): what this build offers on this machine.
#include <pybind11/stl.h>

#include "base/thread_pool.h"
#include "pybind/errors.h"
#include "runtime/backend_list.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {
py::dict machine() {
  py::dict out;
  out["processors"] = base::available_processors();
  py::dict backends;
  for (const std::string& name : runtime::backend_names())
    backends[name.c_str()] = runtime::backend_target(name);
  out["backends"] = backends;
  return out;
}
}  // namespace

void bind_machine(py::module_& m) {
  m.def("available_processors", base::available_processors,
        "Processors this process may keep busy: affinity, then cgroup quota.");
  m.def("machine", machine, "Processors, and the backends of this build with what each runs on.");
}

}  // namespace walle::pybind
