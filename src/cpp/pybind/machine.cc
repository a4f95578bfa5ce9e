// _core.machine(): what this build offers on this machine.
#include <pybind11/stl.h>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "runtime/backend_list.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {
py::dict machine_profile() {
  const backends::Backend& host = runtime::host_backend();
  unwrap(host.ready());
  const backends::DeviceProfile p = [&] {
    const PythonUnlocked unlocked;
    return host.profile().value_or(backends::DeviceProfile{});
  }();
  py::dict out;
  out["device"] = host.device();
  out["isa"] = p.isa;
  out["flop"] = p.flop;
  out["step"] = p.step;
  out["l1_byte"] = p.l1_byte;
  out["l2_byte"] = p.l2_byte;
  out["l3_byte"] = p.l3_byte;
  out["memory_byte"] = p.memory_byte;
  out["bf16_flop"] = p.bf16_flop;
  return out;
}

py::list core_kinds() {
  py::list out;
  for (const base::CoreKind& kind : base::detected_cores()) {
    py::dict row;
    row["name"] = kind.name;
    row["count"] = kind.count;
    row["speed"] = kind.speed;
    out.append(row);
  }
  return out;
}

py::dict machine() {
  py::dict out;
  out["processors"] = base::available_processors();
  out["cores"] = core_kinds();
  out["capabilities"] = base::capability_names(base::cpu_features().has);
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
  m.def("machine_profile", machine_profile,
        "Measures what this machine does in a nanosecond; for tables of costs (walle tune fit).");
  m.def("machine", machine,
        "Processors, their kinds and capabilities, and the backends of this build with what each runs on.");
}

}  // namespace walle::pybind
