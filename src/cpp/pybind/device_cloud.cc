// _core.device.Cloud: a device and its server.
#include "container/link/device_cloud.h"
#include "link/transport_curl.h"
#include "pybind/device.h"
#include "pybind/python_transport.h"
#include "pybind/seconds.h"

namespace walle::pybind {

using container::Device;
using container::DeviceCloud;

namespace {

using CloudHeld = std::unique_ptr<DeviceCloud, DeleteUnlocked>;

std::string_view what_name(link::TaskStep::What what) {
  switch (what) {
    case link::TaskStep::What::kept: return "kept";
    case link::TaskStep::What::activated: return "activated";
    case link::TaskStep::What::turned_down: return "turned_down";
    case link::TaskStep::What::removed: return "removed";
    case link::TaskStep::What::waits: return "waits";
    case link::TaskStep::What::later: return "later";
    case link::TaskStep::What::absent: return "absent";
  }
  return "";
}

// `transport`: "libcurl", or an object of Python.
CloudHeld connect(Device& device, const std::string& url, const py::bytes& root, const std::string& app,
                  const std::string& app_version, const std::string& os_version, const std::string& model,
                  const std::string& enrol_code, const py::object& transport, const std::string& authorities,
                  double report_after_s, double pull_every_s, bool plain_enrolment) {
  std::unique_ptr<link::Transport> way;
  if (py::isinstance<py::str>(transport))
    way = unwrap(link::curl_transport({.authorities = authorities}));
  else
    way = python_transport(transport);
  container::CloudOptions options;
  options.url = url;
  options.root = root;
  options.profile.app = app;
  options.profile.app_version = app_version;
  options.profile.os_version = os_version;
  options.profile.device = model;
  options.enrol_code = enrol_code;
  options.plain_enrolment = plain_enrolment;
  options.report_after_us = static_cast<int64_t>(report_after_s * kMicroseconds);
  options.times.every_us = static_cast<int64_t>(pull_every_s * kMicroseconds);
  auto connected = unlocked(
      [&] { return DeviceCloud::connect(Env::system(), device, std::move(way), std::move(options)); });
  return CloudHeld(unwrap(std::move(connected)).release());
}

py::list taken_back_of(const link::AgentMemory& memory) {
  py::list out;
  for (const link::TakenBack& t : memory.taken_back)
    out.append(py::make_tuple(t.task, t.version, t.release,
                              std::string(link::kTakenWhyNames[static_cast<size_t>(t.why)])));
  return out;
}

// What lies in a device's folder of what was taken back there; nobody need be connected. None: nothing does
// that can be read.
py::object taken_back_in(const std::string& folder) {
  auto file = store::MirroredFile::open(Env::system(), folder + "/cloud/agent" + link::kAgentMemory,
                                        link::kMemoryKind);
  link::AgentMemory memory;
  if (!file.ok() || !link::decode_memory(file->content(), memory)) return py::none();
  return taken_back_of(memory);
}

// The names are those of walle_rt.device.CloudState and CloudTask.
py::dict status(const DeviceCloud& self) {
  const link::AgentStatus s = self.status();
  py::dict out;
  out["device"] = self.identity().device();
  out["transport"] = s.transport;
  out["epoch"] = s.memory.epoch;
  out["pulling"] = s.pulling;
  out["pulls"] = s.pulls;
  out["pulled_at_us"] = s.pulled_at_us;
  out["error"] = s.error;
  out["trouble"] = s.trouble;
  out["pending_reports"] = s.memory.reports.size();
  out["lost_reports"] = s.memory.lost_reports;
  py::list tasks;
  for (const auto& [name, task] : s.memory.tasks) {
    const bool coming = !task.coming.empty();
    tasks.append(py::make_tuple(name, task.scenario, task.active.version, task.active.release,
                                coming ? task.coming.version : "", std::string(stage_name(task.stage)),
                                task.last_good.version, task.trial));
  }
  out["tasks"] = tasks;
  out["taken_back"] = taken_back_of(s.memory);
  py::list steps;
  for (const link::TaskStep& step : s.steps)
    steps.append(py::make_tuple(step.task, step.version, std::string(what_name(step.what)), step.error));
  out["steps"] = steps;
  return out;
}

bool wait_pulls(DeviceCloud& self, uint64_t count, double timeout_s) {
  return unlocked([&] { return self.wait_pulls(count, static_cast<int64_t>(timeout_s * kMicroseconds)); });
}

}  // namespace

void bind_device_cloud(py::module_& m) {
  py::module_ sub = m.attr("device").cast<py::module_>();
  sub.def(
      "has_libcurl", [] { return link::curl_transport().ok(); },
      "Whether a libcurl is installed; it is loaded by asking.");
  sub.def("taken_back", taken_back_in, py::arg("folder"));
  py::class_<DeviceCloud, CloudHeld>(sub, "Cloud")
      .def_static("connect", connect, py::keep_alive<0, 1>(), py::arg("device"), py::arg("url"),
                  py::kw_only(), py::arg("root"), py::arg("app"), py::arg("app_version"),
                  py::arg("os_version"), py::arg("model"), py::arg("enrol_code"), py::arg("transport"),
                  py::arg("authorities"), py::arg("report_after_s"), py::arg("pull_every_s"),
                  py::arg("plain_enrolment") = false)
      .def("header", &DeviceCloud::header)
      .def("saw", &DeviceCloud::saw, py::arg("up"))
      .def("heard", &DeviceCloud::heard, py::arg("epoch"), py::arg("spread_s"))
      .def("pull", &DeviceCloud::pull)
      .def("wait_pulls", wait_pulls, py::arg("count"), py::arg("timeout_s"))
      .def("status", status)
      // (host, port) of the broker, port 0 where there is none; files of PEM.
      .def("broker",
           [](const DeviceCloud& self) {
             const link::Broker& broker = self.identity().broker();
             return py::make_tuple(broker.host, broker.port);
           })
      .def("files",
           [](const DeviceCloud& self) {
             const link::Identity& own = self.identity();
             return py::make_tuple(own.authorities_file(), own.certificate_file(), own.key_file());
           })
      .def("broker_file", &DeviceCloud::broker_file)
      .def("stop", [](DeviceCloud& self) { unlocked([&] { self.stop(); }); });
}

}  // namespace walle::pybind
