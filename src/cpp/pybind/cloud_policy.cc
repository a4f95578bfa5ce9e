// _core.policy: device headers, plans and reports; walle_rt.cloud.release and walle_rt.link are the
// documented modules.
#include <pybind11/stl.h>

#include "link/policy/decide.h"
#include "link/policy/report.h"
#include "pybind/errors.h"

namespace walle::pybind {

namespace py = pybind11;
using namespace walle::link;

namespace {

using GivenSpan = std::pair<uint32_t, uint32_t>;
using GivenCondition = std::tuple<uint8_t, uint64_t, std::vector<GivenSpan>>;  // field, salt, spans
using GivenSegment = std::vector<GivenCondition>;
// from, to, start, seconds, control, seconds until a report
using GivenRamp = std::tuple<uint64_t, uint64_t, int64_t, uint32_t, uint64_t, uint32_t>;
// id, scenario, task, version, path, SHA-256, size, segments, ramp, task.pack_params()
using GivenRelease = std::tuple<std::string, std::string, std::string, std::string, std::string, py::bytes,
                                uint64_t, std::vector<GivenSegment>, std::optional<GivenRamp>, py::bytes>;
using GivenKill = std::pair<std::string, std::string>;
// release, scenario, task, version, index in TAKEN_BACK
using GivenTakenBack = std::tuple<std::string, std::string, std::string, std::string, uint8_t>;
// device, release, scenario, task, version, control, status, phase, error type, limit, firings, failures,
// epoch, seq
using GivenReport = std::tuple<uint64_t, std::string, std::string, std::string, std::string, bool, uint8_t,
                               std::string, std::string, std::string, uint32_t, uint32_t, uint64_t, uint64_t>;

PlanSegment segment_of(const GivenSegment& given) {
  PlanSegment out;
  for (const auto& [field, salt, spans] : given) {
    PlanCondition made{.field = field, .salt = salt};
    for (const auto& [low, high] : spans) made.spans.push_back({.low = low, .high = high});
    out.conditions.push_back(std::move(made));
  }
  return out;
}

PlanRamp ramp_of(const GivenRamp& given) {
  const auto& [from, to, start, seconds, control, report] = given;
  return {.from = from,
          .to = to,
          .start_s = start,
          .seconds = seconds,
          .control = control,
          .report_seconds = report};
}

PlanRelease release_of(const GivenRelease& given) {
  const auto& [id, scenario, task, version, path, sha256, size, segments, ramp, params] = given;
  PlanRelease out{.id = id,
                  .scenario = scenario,
                  .task = task,
                  .version = version,
                  .path = path,
                  .sha256 = sha256,
                  .size = size};
  out.params = params;
  for (const GivenSegment& segment : segments) out.segments.push_back(segment_of(segment));
  if (ramp) out.ramp = ramp_of(*ramp);
  return out;
}

py::bytes write(uint64_t epoch, const std::vector<GivenRelease>& releases,
                const std::vector<GivenKill>& kills, const std::vector<GivenTakenBack>& taken_back) {
  PlanData data{.epoch = epoch};
  for (const GivenRelease& release : releases) data.releases.push_back(release_of(release));
  for (const auto& [scenario, task] : kills) data.kills.push_back({.scenario = scenario, .task = task});
  for (const auto& [release, scenario, task, version, why] : taken_back)
    data.taken_back.push_back({release, scenario, task, version, static_cast<TakenWhy>(why)});
  return unwrap(write_plan(data));
}

py::list releases_of(const Plan& plan) {
  py::list out;
  for (const PlanRelease& r : plan.releases()) {
    py::dict one;
    one["id"] = r.id;
    one["scenario"] = r.scenario;
    one["task"] = r.task;
    one["version"] = r.version;
    one["path"] = r.path;
    one["sha256"] = py::bytes(r.sha256);
    one["size"] = r.size;
    one["gray"] = r.ramp.has_value();
    one["params"] = py::bytes(r.params);
    out.append(one);
  }
  return out;
}

py::tuple decided(const Plan& plan, std::string_view header, int64_t now_s) {
  const Decision decision = decide(plan, unwrap(decode_text(header)), now_s);
  const auto name = [&](uint32_t release) -> py::object {
    if (release == kNoRelease) return py::none();
    return py::str(plan.releases()[release].id);
  };
  py::list choices;
  for (const Choice& c : decision.choices)
    choices.append(py::make_tuple(name(c.release), name(c.trial), c.cohort == Cohort::control));
  return py::make_tuple(decision.digest, choices);
}

// 0: up to date; 1: not; -1: no header. For a server's every request, to which an exception costs more than
// the answer.
int check(const Plan& plan, std::string_view header, int64_t now_s) {
  const auto decoded = decode_text(header);
  if (!decoded.ok()) return -1;
  return up_to_date(plan, *decoded, now_s) ? 0 : 1;
}

py::dict fields_of(const DeviceHeader& h) {
  py::dict out;
  out["flags"] = h.flags;
  out["os"] = static_cast<uint8_t>(h.os);
  out["ram_mb"] = h.ram_class * kRamStepMb;
  out["app"] = h.app;
  out["app_version"] = h.app_version;
  out["os_version"] = h.os_version;
  out["op_set"] = h.op_set;
  out["device"] = h.device;
  out["vm"] = h.vm;
  out["bucket"] = h.bucket;
  out["active"] = h.active;
  out["epoch"] = h.epoch;
  return out;
}

std::string profile_text(const std::string& app, const std::string& app_version, const std::string& os,
                         const std::string& os_version, const std::string& device, uint64_t ram_mb,
                         const std::string& op_set, const std::string& vm, const std::string& device_id,
                         uint32_t active, uint64_t epoch) {
  DeviceHeader header = unwrap(header_of({.app = app,
                                          .app_version = app_version,
                                          .os = os,
                                          .os_version = os_version,
                                          .device = device,
                                          .op_set = op_set,
                                          .vm = vm,
                                          .device_id = device_id,
                                          .ram_mb = ram_mb}));
  header.active = active;
  header.epoch = static_cast<uint32_t>(epoch);
  return encode_text(header);
}

py::bytes pack_reports(const std::vector<GivenReport>& given) {
  std::vector<Report> reports;
  for (const auto& [device, release, scenario, task, version, control, status, phase, error, limit, firings,
                    failures, epoch, seq] : given) {
    if (status >= kReportStatusNames.size())
      throw CoreError(
          argument_error({"status ", status}, "one of REPORT_STATUSES", "reports", "give its index"));
    reports.push_back({.device = device,
                       .release = release,
                       .scenario = scenario,
                       .task = task,
                       .version = version,
                       .cohort = control ? Cohort::control : Cohort::treated,
                       .status = static_cast<ReportStatus>(status),
                       .phase = phase,
                       .error_type = error,
                       .limit = limit,
                       .firings = firings,
                       .failures = failures,
                       .epoch = epoch,
                       .seq = seq});
  }
  return unwrap(write_reports(reports));
}

py::list unpack_reports(const py::bytes& data) {
  py::list out;
  for (const Report& r : unwrap(read_reports(std::string_view(data))))
    out.append(py::make_tuple(r.device, r.release, r.scenario, r.task, r.version, r.cohort == Cohort::control,
                              static_cast<uint8_t>(r.status), r.phase, r.error_type, r.limit, r.firings,
                              r.failures, r.epoch, r.seq));
  return out;
}

void bind_names(py::module_& m) {
  m.attr("WHOLE") = kWhole;
  m.attr("BUCKET_FIELD") = kBucketField;
  m.attr("RAM_STEP_MB") = kRamStepMb;
  py::list fields;
#define WALLE_HEADER_FIELD(name, most) fields.append(py::make_tuple(#name, most));
#include "link/policy/header_field.inc"
#undef WALLE_HEADER_FIELD
  m.attr("FIELDS") = py::tuple(fields);
  m.attr("OS_NAMES") = py::cast(std::vector<std::string>(kOsNames.begin(), kOsNames.end()));
  m.attr("REPORT_STATUSES") =
      py::cast(std::vector<std::string>(kReportStatusNames.begin(), kReportStatusNames.end()));
  m.attr("TAKEN_BACK") = py::cast(std::vector<std::string>(kTakenWhyNames.begin(), kTakenWhyNames.end()));
  m.attr("PARTLY") = kPartly;
  m.attr("HEADER") = std::string(kHeaderName);
  m.attr("REPLY") = std::string(kReplyName);
  m.def("name_hash", name_hash, py::arg("name"));
  m.def("salt_of", salt_of, py::arg("salt"));
  m.def("bucket_value", bucket_value, py::arg("salt"), py::arg("bucket"));
  m.def("device_pseudonym", device_pseudonym, py::arg("device_id"));
  m.def("app_version_key", [](std::string_view v) { return unwrap(app_version_key(v)); }, py::arg("version"));
  m.def("os_version_key", [](std::string_view v) { return unwrap(os_version_key(v)); }, py::arg("version"));
}

}  // namespace

void bind_cloud_policy(py::module_& m) {
  auto sub = m.def_submodule("policy", "Device headers, plans and reports.");
  bind_names(sub);
  sub.def("profile_header", profile_text, py::kw_only(), py::arg("app"), py::arg("app_version"),
          py::arg("os"), py::arg("os_version"), py::arg("device"), py::arg("ram_mb"), py::arg("op_set"),
          py::arg("vm"), py::arg("device_id"), py::arg("active") = 0, py::arg("epoch") = 0);
  sub.def(
      "header_fields", [](std::string_view text) { return fields_of(unwrap(decode_text(text))); },
      py::arg("text"));
  sub.def("write_plan", write, py::arg("epoch"), py::arg("releases"), py::arg("kills"),
          py::arg("taken_back") = std::vector<GivenTakenBack>());
  sub.def("write_reports", pack_reports, py::arg("reports"));
  sub.def("read_reports", unpack_reports, py::arg("data"));
  py::class_<Plan>(sub, "Plan", "A verified plan.")
      .def(py::init([](const py::bytes& data) { return unwrap(Plan::read(std::string_view(data))); }),
           py::arg("data"))
      .def_property_readonly("epoch", &Plan::epoch)
      .def_property_readonly("releases", releases_of)
      .def_property_readonly("kills",
                             [](const Plan& plan) {
                               py::list out;
                               for (const PlanKill& k : plan.kills())
                                 out.append(py::make_tuple(k.scenario, k.task));
                               return out;
                             })
      .def_property_readonly("taken_back",
                             [](const Plan& plan) {
                               py::list out;
                               for (const TakenBack& t : plan.taken_back())
                                 out.append(py::make_tuple(t.release, t.scenario, t.task, t.version,
                                                           static_cast<uint8_t>(t.why)));
                               return out;
                             })
      .def("decide", decided, py::arg("header"), py::arg("now_s"))
      .def("check", check, py::arg("header"), py::arg("now_s"));
}

}  // namespace walle::pybind
