// _core.vm.Limits and _core.vm.Terms: what an isolate may use, and whom it talks to.
#include "container/host/slots.h"
#include "container/host/stream_scope.h"
#include "container/host/task_state.h"
#include "pybind/signals.h"
#include "pybind/vm.h"
#include "stream/egress/egress.h"
#include "vm/isolate.h"

namespace walle::pybind {

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

VmTerms terms_of(const std::shared_ptr<Vm>& vm, const Limits& limits, const py::object& log,
                 const std::optional<std::string>& state) {
  unwrap(vm::Isolate::check(*vm, limits));
  VmTerms terms{.limits = limits, .context = {}};
  terms.context.log = log_to(log);
  if (state)
    terms.context.set(container::kKvSlot, unwrap(container::TaskState::open(*state, limits.state_bytes)));
  return terms;
}

// Log and gate live as long as whatever was made of the terms, and are let go of on any thread.
void set_stream(VmTerms& terms, const py::object& log, const std::string& task, const py::object& gate) {
  auto& events = log.cast<stream::EventLog&>();
  auto* way_out = gate.is_none() ? nullptr : gate.cast<stream::EgressGate*>();
  const std::shared_ptr<PyObject> held_log(py::object(log).release().ptr(), drop_reference);
  const std::shared_ptr<PyObject> held_gate(py::object(gate).release().ptr(), drop_reference);
  container::StreamScope::Send send;
  if (way_out != nullptr)
    send = [way_out, task](const std::string& feature, const stream::TracedBatch& rows) -> Result<bool> {
      if (rows.rows().rows() == 0) {
        WALLE_TRY(way_out->check_columns(task, feature, rows.rows().columns));
        return false;
      }
      WALLE_TRY(way_out->send(task, feature, rows).status());
      return true;
    };
  terms.context.set(container::kStreamSlot,
                    std::shared_ptr<container::StreamScope>(
                        new container::StreamScope(events, task, std::move(send)),
                        [held_log, held_gate](container::StreamScope* scope) { delete scope; }));
}

}  // namespace

void bind_vm_terms(py::module_& m) {
  py::class_<Limits>(m, "Limits", "What one isolate may use; 0 and None: unlimited.")
      .def(py::init(&limits_of), py::kw_only(), py::arg("heap_bytes"), py::arg("wall_ms"), py::arg("cpu_ms"),
           py::arg("depth"), py::arg("stack_bytes"), py::arg("state_bytes"), py::arg("log_bytes"),
           py::arg("imports"), py::arg("host_calls"));
  py::class_<VmTerms>(m, "Terms", "What isolates are given: limits, a log, a state file.")
      .def(py::init(&terms_of), py::arg("vm"), py::arg("limits"), py::arg("log"), py::arg("state"))
      .def("set_stream", set_stream, py::arg("log"), py::arg("task"), py::arg("gate"),
           "For one isolate: the log that walle.stream reads, and the gate that it sends through, if any.");
}

}  // namespace walle::pybind
