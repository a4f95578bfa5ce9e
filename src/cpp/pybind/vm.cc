// _core.vm: the Python VM. Values cross in vm_values.cc, warm calls in vm_call.cc.
#include "pybind/vm.h"

#include "container/host/host_calls.h"
#include "vm/reaper.h"

namespace walle::pybind {

void bind_vm(py::module_& m) {
  py::module_ sub = m.def_submodule("vm", "Isolates of the Python VM; walle_rt.vm is the documented API.");
  bind_vm_library(sub);
  bind_vm_bundle(sub);
  bind_vm_terms(sub);
  bind_vm_isolate(sub);
  bind_vm_pool(sub);
  end_with_python();
  sub.def("host_calls", &container::host_call_names, "Every host call, as 'walle.kv.get'.");
  sub.def(
      "drain", [] { without_python([] { vm::Reaper::instance().drain(); }); },
      "Wait until the isolates that were given up have ended.");
}

}  // namespace walle::pybind
