// _core.device.Device: events in. Tasks are in device_tasks.cc, what comes out in device_results.cc and
// device_outbox.cc.
#include "pybind/device.h"

#include <chrono>
#include <limits>

#include "pybind/seconds.h"
#include "pybind/signals.h"
#include "pybind/stream.h"
#include "stream/event/event_names.h"

namespace walle::pybind {

using container::Device;
using container::DeviceCore;
using stream::Catalog;

namespace {

// How often a wait looks for signals, as calls of isolates do.
constexpr int64_t kLookEveryUs = 100'000;

// The callback may be called and dropped on any thread; it is not called any more when Python has ended.
std::shared_ptr<PyObject> held(const py::object& callback) {
  return {callback.inc_ref().ptr(), drop_reference};
}

auto log_to(const py::object& callback) {
  return [held = held(callback)](std::string_view task, base::LogLevel level, std::string_view line) {
    const PythonLock lock;
    if (!lock) return;
    try {
      py::handle(held.get())(py::str(task.data(), task.size()), static_cast<int>(level),
                             py::str(line.data(), line.size()));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("walle_rt.device log callback");
    }
  };
}

DeviceHeld open_device(const std::string& path, const std::string& vm_library, const Catalog& catalog,
                       uint32_t workers, uint32_t ready, uint32_t hot_tasks, double cold_after_s,
                       uint32_t grace_ms, bool background, bool recorded,
                       const std::optional<GivenOffsets>& local, const py::bytes& key, const py::object& log,
                       const py::dict& app) {
  container::DeviceOptions options;
  options.vm_library = vm_library;
  options.catalog = catalog;
  options.workers = workers;
  options.ready_isolates = ready;
  options.hot_tasks = hot_tasks;
  options.cold_after_us = static_cast<int64_t>(cold_after_s * kMicroseconds);
  options.grace_ms = grace_ms;
  options.background = background;
  if (local) options.local = local_time(*local);
  if (recorded) {
    // Events of a recording may be older than any that a device keeps.
    options.processor.log.recorded_times = true;
    options.processor.log.max_age_us = std::numeric_limits<int64_t>::max() / 4;
  }
  options.commits.key = key;
  options.processor.log.key = options.commits.key;
  if (!log.is_none()) options.log = log_to(log);
  for (const auto& [name, function] : app)
    options.app[name.cast<std::string>()] = app_function(py::reinterpret_borrow<py::object>(function));
  auto opened = unlocked([&] { return Device::open(Env::system(), path, std::move(options)); });
  return DeviceHeld(unwrap(std::move(opened)).release());
}

uint64_t record(Device& self, const std::string& name, const std::string& page, const py::object& contents,
                std::optional<int64_t> ts, bool durable, bool on) {
  std::shared_ptr<DeviceCore> device = unwrap(self.core("record"));
  const std::shared_ptr<const Catalog> catalog = self.catalog();
  const int64_t when = ts ? *ts : Env::system().wall_us();
  stream::Event event = unwrap(stream::event_by_name(*catalog, name, page, when, on));
  Contents values;  // owns the texts that the event points to, until it is recorded
  event.contents = values.read(*catalog, event.event, contents);
  return unwrap(unlocked([&] {
           const std::shared_ptr<DeviceCore> held = std::move(device);
           return held->record(event, durable);
         }))
      .seq;
}

void declare(Device& self, const std::string& name, int kind, const std::vector<GivenField>& fields) {
  const stream::EventDecl declared = event_decl(name, kind, fields);
  unwrap(unlocked([&] { return self.declare(declared); }));
}

void declare_page(Device& self, const std::string& name) {
  unwrap(unlocked([&] { return self.declare_page(name); }));
}

void declare_state(Device& self, const std::string& name) {
  unwrap(unlocked([&] { return self.declare_state(name); }));
}

void advance(Device& self, std::optional<int64_t> now) {
  unwrap(on_device(self, "advance", [&](DeviceCore& device) -> Status {
    WALLE_TRY(device.advance(now ? *now : Env::system().wall_us()));
    return device.maintain();
  }));
}

void set_local(Device& self, const std::optional<GivenOffsets>& local) {
  std::optional<stream::LocalTime> given;
  if (local) given = local_time(*local);
  unwrap(on_device(self, "set_zone", [&](DeviceCore& device) { return device.set_local(given); }));
}

// In slices, so that Ctrl-C ends it.
bool wait(Device& self, std::optional<double> timeout_s) {
  using Clock = std::chrono::steady_clock;
  unwrap(self.may_wait("wait"));
  const auto begun = Clock::now();
  for (;;) {
    int64_t slice = kLookEveryUs;
    if (timeout_s) {
      const std::chrono::duration<double> gone = Clock::now() - begun;
      const double left = std::max(0.0, *timeout_s - gone.count());
      slice = std::min(slice, static_cast<int64_t>(std::min(left, 1.0) * kMicroseconds));
    }
    if (on_device(self, "wait", [&](DeviceCore& device) { return device.wait_idle(slice); })) return true;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (timeout_s && slice < kLookEveryUs) return false;
  }
}

py::dict device_stats(Device& self) {
  const container::DeviceStats s =
      on_device(self, "stats", [](DeviceCore& device) { return device.stats(); });
  py::dict out;
  out["tasks"] = s.tasks;
  out["hot"] = s.hot;
  out["workers"] = s.workers;
  out["firings"] = s.firings;
  out["failures"] = s.failures;
  out["lost_workers"] = s.lost_workers;
  out["last_event"] = s.last_event;
  out["trouble"] = s.trouble;
  return out;
}

}  // namespace

void bind_device(py::module_& m) {
  auto sub = m.def_submodule("device", "Events in, results out; walle_rt.device is the documented API.");
  DeviceClass device(sub, "Device", "One folder in which events are recorded and tasks run.");
  device
      .def_static("open", open_device, py::arg("path"), py::arg("vm_library"), py::arg("catalog"),
                  py::kw_only(), py::arg("workers"), py::arg("ready"), py::arg("hot_tasks"),
                  py::arg("cold_after_s"), py::arg("grace_ms"), py::arg("background"), py::arg("recorded"),
                  py::arg("local"), py::arg("key"), py::arg("log"), py::arg("app"))
      .def("record", record, py::arg("event"), py::arg("page"), py::arg("contents"), py::arg("ts"),
           py::arg("durable"), py::kw_only(), py::arg("on") = false)
      .def("declare", declare, py::arg("name"), py::arg("kind"), py::arg("fields"))
      .def("page", declare_page, py::arg("name"))
      .def("state", declare_state, py::arg("name"))
      .def("advance", advance, py::arg("now"))
      .def("set_local", set_local, py::arg("local"))
      .def("next_deadline",
           [](Device& self) {
             return on_device(self, "next_deadline", [](DeviceCore& core) { return core.next_deadline(); });
           })
      .def("wait", wait, py::arg("timeout_s"))
      .def("trim", [](Device& self) { on_device(self, "trim", [](DeviceCore& d) { d.trim(); }); })
      .def("stats", device_stats)
      .def_property_readonly("closed", &Device::closed)
      .def_property_readonly("catalog",
                             [](Device& self) {
                               unwrap(self.core("catalog"));
                               return Catalog(*self.catalog());
                             })
      .def(
          "may_end", [](Device& self, const char* call) { unwrap(self.may_end(call)); }, py::arg("call"))
      .def(
          "may_wait", [](Device& self, const char* call) { unwrap(self.may_wait(call)); }, py::arg("call"))
      .def("close", [](Device& self) { unwrap(unlocked([&] { return self.close(); })); });
  bind_device_tasks(device);
  bind_device_results(device);
  bind_device_outbox(device);
}

}  // namespace walle::pybind
