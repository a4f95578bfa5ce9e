// The Python VM: isolates, pools and bundles. Values cross in vm_values.cc, warm calls in vm_call.cc.
#include <pybind11/stl.h>

#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "pybind/vm_values.h"
#include "vm/host_calls.h"
#include "vm/pool.h"
#include "vm/reaper.h"

namespace walle::pybind {

namespace {

using vm::Bundle;
using vm::Isolate;
using vm::Limits;
using vm::Pool;
using vm::TaskContext;
using vm::Vm;

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
      error.discard_as_unraisable("walle_rt.vm log callback");
    }
  };
}

TaskContext context_of(const py::object& log, const std::optional<std::string>& state, const Limits& limits) {
  TaskContext context;
  context.log = log_to(log);
  if (state)
    context.kv = unwrap(
        vm::TaskState::open(*state, limits.state_bytes ? limits.state_bytes : vm::TaskState::kDefaultQuota));
  return context;
}

using Names = std::optional<std::vector<std::string>>;

Limits limits_of(uint64_t heap_bytes, uint32_t wall_ms, uint32_t cpu_ms, uint32_t depth, uint32_t stack_bytes,
                 uint64_t state_bytes, Names imports, Names host_calls) {
  Limits limits;
  limits.heap_bytes = heap_bytes;
  limits.wall_ms = wall_ms;
  limits.cpu_ms = cpu_ms;
  limits.python_depth = depth;
  limits.stack_bytes = stack_bytes;
  limits.state_bytes = state_bytes;
  limits.imports = std::move(imports);
  limits.host_calls = std::move(host_calls);
  return limits;
}

template <class Run>
auto without_gil(Run run) {
  const PythonUnlocked unlocked;
  return run();
}

void bind_vm_class(py::module_& m) {
  py::class_<Vm, std::shared_ptr<Vm>>(m, "Vm")
      .def_static("open",
                  [](const std::string& path) {
                    return std::const_pointer_cast<Vm>(unwrap(without_gil([&] { return Vm::open(path); })));
                  })
      .def_property_readonly("id", &Vm::id)
      .def_property_readonly("flavour", &Vm::flavour)
      .def_property_readonly("python", &Vm::python)
      .def_property_readonly("library", &Vm::library)
      .def("compile",
           [](const Vm& self,
              const std::vector<std::tuple<std::string, std::string, std::string, bool>>& sources) {
             std::vector<vm::Source> plain;
             for (const auto& [name, file, text, package] : sources)
               plain.push_back({name, file, text, package});
             return py::bytes(unwrap(without_gil([&] { return self.compile(plain); })));
           });
  py::class_<Bundle, std::shared_ptr<Bundle>>(m, "Bundle", py::release_gil_before_calling_cpp_dtor())
      .def_static("open",
                  [](const std::shared_ptr<Vm>& vm, const py::bytes& data) {
                    std::string bytes = data;
                    return std::const_pointer_cast<Bundle>(
                        unwrap(without_gil([&] { return Bundle::open(vm, std::move(bytes)); })));
                  })
      .def_static("load",
                  [](const std::shared_ptr<Vm>& vm, const std::string& path) {
                    return std::const_pointer_cast<Bundle>(
                        unwrap(without_gil([&] { return Bundle::load(vm, path); })));
                  })
      .def_static(
          "pack",
          [](const std::string& code, const std::vector<std::pair<std::string, py::bytes>>& resources) {
            std::vector<std::pair<std::string, std::string_view>> parts;
            for (const auto& [name, bytes] : resources) parts.emplace_back(name, std::string_view(bytes));
            return py::bytes(unwrap(vm::write_task_file(code, std::move(parts))));
          })
      .def_property_readonly("data",
                             [](const Bundle& self) {
                               return py::bytes(reinterpret_cast<const char*>(self.bytes().data()),
                                                self.bytes().size());
                             })
      .def_property_readonly("resources",
                             [](const Bundle& self) {
                               py::dict sizes;
                               for (const vm::Resource& resource : self.resources())
                                 sizes[py::str(resource.name)] = resource.bytes.size();
                               return sizes;
                             })
      .def_property_readonly("modules", &Bundle::modules);
}

// Ending an isolate may wait for another that waits for the interpreter (to drop an array): never wait while
// holding it.
template <class T>
using Held = std::unique_ptr<T, DeleteUnlocked>;

template <class T>
Held<T> hand_over(Result<std::unique_ptr<T>> made) {
  return Held<T>(unwrap(std::move(made)).release());
}

void bind_isolate(py::module_& m) {
  py::class_<Limits>(m, "Limits").def(py::init(&limits_of));
  py::class_<Isolate, Held<Isolate>> isolate(m, "Isolate");
  isolate.attr("call") = call_method(isolate);
  isolate
      .def_static(
          "create",
          [](const std::shared_ptr<Vm>& vm, const Limits& limits, const py::object& log,
             const std::optional<std::string>& state) {
            TaskContext context = context_of(log, state, limits);
            return hand_over(without_gil([&] { return Isolate::create(vm, limits, std::move(context)); }));
          })
      .def("attach",
           [](Isolate& self, const std::shared_ptr<Bundle>& bundle) { unwrap(self.attach(bundle)); })
      .def("run",
           [](Isolate& self, const std::string& text, const std::string& name, const std::string& file) {
             return finish(without_gil([&] { return self.run({name, file, text, false}); }));
           })
      .def("cancel", &Isolate::cancel)
      .def("reset", [](Isolate& self) { unwrap(without_gil([&] { return self.reset(); })); })
      .def("stats", [](const Isolate& self) {
        const vm::IsolateStats s = self.stats();
        return py::make_tuple(s.heap_bytes, s.heap_peak, s.calls, s.cancels, s.denied_allocations);
      });
}

void bind_pool(py::module_& m) {
  py::class_<Pool, Held<Pool>>(m, "Pool")
      .def_static("create",
                  [](const std::shared_ptr<Vm>& vm, size_t size, bool std_profile, const Limits& limits,
                     const py::object& log, const std::optional<std::string>& state, uint32_t grace_ms) {
                    vm::PoolOptions options{size, std_profile ? vm::Profile::std : vm::Profile::bare, limits,
                                            context_of(log, state, limits), grace_ms};
                    return hand_over(without_gil([&] { return Pool::create(vm, std::move(options)); }));
                  })
      .def("take", [](Pool& self) { return hand_over(without_gil([&] { return self.take(); })); })
      .def(
          "run",
          [](Pool& self, const std::shared_ptr<Bundle>& bundle, const std::string& module,
             const std::string& function, const py::args& args) {
            std::vector<vm::Value> values = arguments(args);
            return finish(without_gil([&] { return self.run(bundle, module, function, std::move(values)); }));
          })
      .def("wait_until_full", [](Pool& self) { without_gil([&] { self.wait_until_full(); }); })
      .def("stats", [](const Pool& self) {
        const vm::PoolStats s = self.stats();
        return py::make_tuple(s.ready, s.handed_out, s.cold, s.abandoned);
      });
}

}  // namespace

void bind_vm(py::module_& m) {
  py::module_ sub = m.def_submodule("vm", "Isolates of the Python VM; walle_rt.vm is the documented face.");
  bind_vm_class(sub);
  bind_isolate(sub);
  bind_pool(sub);
  sub.def("host_calls", &vm::host_call_names);
  end_with_python();
  sub.def("drain", [] { without_gil([] { vm::Reaper::instance().drain(); }); });
}

}  // namespace walle::pybind
