// _core.device.Device: tasks, facts, and what firings come to.
#include "pybind/device.h"
#include "pybind/run_options.h"
#include "pybind/vm_values.h"

namespace walle::pybind {

using container::Device;
using container::DeviceCore;
using container::TaskInfo;
using container::TaskResult;

namespace {

py::object text(std::string_view v) { return py::str(v.data(), v.size()); }

py::object params_dict(const container::Params& params) {
  PythonBuilder values;
  return params ? vm::visit(vm::Value(*params), values) : py::dict();
}

// The names are those of walle_rt.device.TaskInfo.
py::dict info_dict(const TaskInfo& info) {
  py::dict out;
  out["name"] = info.name;
  out["version"] = info.version;
  out["package"] = info.package;
  out["question"] = info.question;
  out["answers"] = info.answers;
  out["status"] = text(container::task_status_name(info.status));
  out["error"] = info.error;
  out["priority"] = info.priority;
  out["hot"] = info.hot;
  out["heap_bytes"] = info.heap_bytes;
  out["params"] = params_dict(info.params);
  py::list features;
  for (const container::FeatureInfo& f : info.features)
    features.append(py::make_tuple(f.name, f.stats.keys, f.stats.evicted, f.stats.reads, f.stats.bytes));
  out["features"] = py::tuple(features);
  out["missing_facts"] = py::tuple(py::cast(info.missing_facts));
  out["firings"] = info.firings;
  out["failures"] = info.failures;
  out["retries"] = info.retries;
  out["retrying"] = info.retrying;
  out["next_retry"] = info.next_retry_us;
  out["calls"] = info.calls;
  out["call_failures"] = info.call_failures;
  out["failures_in_row"] = info.failures_in_row;
  out["deaths"] = info.deaths;
  out["lost_workers"] = info.lost_workers;
  out["isolates"] = info.isolates;
  out["replaced"] = info.replaced;
  out["parked"] = info.parked;
  out["busy_us"] = info.busy_us;
  out["newest"] = info.queue.newest;
  out["settled"] = info.queue.settled;
  out["waiting"] = info.queue.waiting;
  out["in_flight"] = info.queue.in_flight;
  out["dropped"] = info.queue.dropped;
  out["coalesced"] = info.queue.coalesced;
  py::list triggers;
  for (const stream::TaskTriggerStats& t : info.queue.triggers)
    triggers.append(py::make_tuple(t.name, t.text, t.stats.fired, t.stats.suppressed, t.stats.evicted));
  out["triggers"] = py::tuple(triggers);
  return out;
}

// Names of walle_rt.device.TaskFailure.
py::object error_dict(const std::optional<container::TaskError>& error) {
  if (!error) return py::none();
  py::dict out;
  out["text"] = error->text();
  out["phase"] = text(container::phase_name(error->phase));
  out["limit"] = text(vm::reason_name(error->limit));
  out["allowed"] = error->allowed;
  out["type"] = error->type;
  out["message"] = error->message;
  out["file"] = error->file;
  out["function"] = error->function;
  out["line"] = error->line;
  out["source"] = error->source;
  out["traceback"] = error->traceback;
  return out;
}

// Names of walle_rt.device.TaskResult.
py::dict result_dict(const TaskResult& result) {
  PythonBuilder values;
  py::dict out;
  out["task"] = result.task;
  out["version"] = result.version;
  out["number"] = result.firing.number;
  out["key"] = result.firing.key;
  out["trigger"] = text(result.firing.trigger_name);
  out["seq"] = result.firing.seq;
  out["ts"] = result.firing.ts;
  out["start_ts"] = result.firing.start_ts;
  out["start_seq"] = result.firing.start_seq;
  out["last_seq"] = result.firing.last_seq;
  out["session"] = result.firing.session;
  out["page_instance"] = result.firing.page_instance;
  out["coalesced"] = result.firing.coalesced;
  out["params"] = params_dict(result.params);
  out["attempt"] = result.firing.attempt;
  out["retry_at"] = result.retry_at_us;
  out["value"] = vm::visit(result.value, values);
  out["error"] = error_dict(result.error);
  out["rows"] = result.rows;
  out["sends"] = result.sends;
  out["commit"] = result.commit;
  out["preprocess_us"] = result.times.preprocess;
  out["execute_us"] = result.times.execute;
  out["postprocess_us"] = result.times.postprocess;
  out["waited_us"] = result.waited_us;
  return out;
}

// Called by workers: an error of the callback is nobody's but Python's hook for such.
void on_result(Device& self, const py::object& callback) {
  std::function<void(const TaskResult&)> call;
  if (!callback.is_none()) {
    const std::shared_ptr<PyObject> held(callback.inc_ref().ptr(), drop_reference);
    call = [held](const TaskResult& result) {
      const PythonLock lock;
      if (!lock) return;
      try {
        py::handle(held.get())(result_dict(result));
      } catch (py::error_already_set& error) {
        error.discard_as_unraisable("walle_rt.device on_result callback");
      }
    };
  }
  on_device(self, "on_result", [&](DeviceCore& device) { device.on_result(std::move(call)); });
}

std::string install(Device& self, const py::bytes& bundle) {
  std::string bytes = bundle;  // while Python's lock is held
  return unwrap(unlocked([&] { return self.install(std::move(bytes)); }));
}

std::string install_package(Device& self, const py::bytes& manifest, const std::string& blobs) {
  const std::string bytes(manifest);
  return unwrap(unlocked([&] { return self.install_package(bytes, blobs); }));
}

std::string install_file(Device& self, const std::string& path) {
  return unwrap(unlocked([&] { return self.install_file(path); }));
}

void remove(Device& self, const std::string& task) {
  unwrap(on_device(self, "remove", [&](DeviceCore& device) { return device.remove(task); }));
}

py::object call(Device& self, const std::string& task, const std::string& function, const py::tuple& given,
                std::optional<double> timeout_s) {
  std::vector<vm::Value> values;
  for (const py::handle one : given) values.push_back(value_of(one.ptr()));
  std::optional<std::chrono::microseconds> patience;
  if (timeout_s) patience = std::chrono::ceil<std::chrono::microseconds>(timeout_from(*timeout_s));
  const vm::Value answer = unwrap(unlocked([&] { return self.call(task, function, values, patience); }));
  PythonBuilder builder;
  return vm::visit(answer, builder);
}

// What an exception says; one that cannot be asked must not end the thread.
std::string told(const py::error_already_set& error) {
  try {
    return std::string(py::str(error.type().attr("__name__"))) + ": " + std::string(py::str(error.value()));
  } catch (const py::error_already_set&) {
    return "an exception whose text cannot be had";
  }
}

void provide(Device& self, const std::string& name, const py::object& function) {
  container::AppFunction made = function.is_none() ? nullptr : app_function(function);
  unwrap(
      on_device(self, "provide", [&](DeviceCore& device) { return device.provide(name, std::move(made)); }));
}

void set_params(Device& self, const std::string& task, const py::dict& given) {
  const vm::Value values = value_of(given.ptr());
  unwrap(on_device(self, "set_params",
                   [&](DeviceCore& device) { return device.set_params(task, *values.get<vm::Map>()); }));
}

py::object features(Device& self, const std::string& task, const std::string& name, const py::list& keys) {
  const vm::Value given = value_of(keys.ptr());
  PythonBuilder values;
  return values.list(unwrap(on_device(self, "features", [&](DeviceCore& device) {
    return device.features(task, name, *given.get<vm::List>());
  })));
}

void set_fact(Device& self, const std::string& name, bool holds) {
  unwrap(on_device(self, "set_fact", [&](DeviceCore& device) { return device.set_fact(name, holds); }));
}

std::map<std::string, bool> facts(Device& self) {
  return on_device(self, "facts", [](DeviceCore& device) { return device.facts(); });
}

py::list tasks(Device& self) {
  py::list out;
  for (const TaskInfo& info : on_device(self, "tasks", [](DeviceCore& device) { return device.tasks(); }))
    out.append(info_dict(info));
  return out;
}

py::dict task(Device& self, const std::string& name) {
  return info_dict(unwrap(on_device(self, "task", [&](DeviceCore& device) { return device.task(name); })));
}

}  // namespace

// On threads of the device's own; what Python raises is the task's to read.
container::AppFunction app_function(const py::object& function) {
  const std::shared_ptr<PyObject> held(function.inc_ref().ptr(), drop_reference);
  return [held](std::span<const vm::Value> arguments) -> Result<vm::Value> {
    const PythonLock lock;
    if (!lock) return task_error("Python, which ends", "a process that goes on", "", "");
    try {
      PythonBuilder values;
      py::tuple given(arguments.size());
      for (size_t i = 0; i < arguments.size(); ++i) given[i] = vm::visit(arguments[i], values);
      const auto answer = py::reinterpret_steal<py::object>(call_or_stay(held.get(), given.ptr()));
      if (!answer) throw py::error_already_set();
      return value_of(answer.ptr());
    } catch (const py::error_already_set& error) {
      return task_error(told(error), "a function that returns", "", "see the application");
    } catch (const CoreError& error) {
      const base::ErrorText& text = error.error().text();
      return task_error(text.given, text.expected, "", "return another value");
    }
  };
}

void bind_device_tasks(DeviceClass& device) {
  device.def("install", install, py::arg("bundle"))
      .def("install_file", install_file, py::arg("path"))
      .def("install_package", install_package, py::arg("manifest"), py::arg("blobs"))
      .def("remove", remove, py::arg("task"))
      .def("call", call, py::arg("task"), py::arg("function"), py::arg("arguments"), py::arg("timeout_s"))
      .def("provide", provide, py::arg("name"), py::arg("function"))
      .def("set_params", set_params, py::arg("task"), py::arg("params"))
      .def("features", features, py::arg("task"), py::arg("name"), py::arg("keys"))
      .def("set_fact", set_fact, py::arg("name"), py::arg("holds"))
      .def("facts", facts)
      .def("on_result", on_result, py::arg("callback"))
      .def("tasks", tasks)
      .def("task", task, py::arg("name"));
}

}  // namespace walle::pybind
