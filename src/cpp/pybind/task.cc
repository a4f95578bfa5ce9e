// _core.task: the manifest of a task, packed from what walle_rt.task has read and checked.
//
// Both directions speak one dict, whose keys are the manifest's members: what read_manifest() gives is what
// pack_manifest() takes.
#include "container/task/manifest.h"

#include "pybind/enums.h"
#include "pybind/stream.h"

namespace walle::pybind {

using namespace walle::container;
using stream::EventDecl;
using stream::EventKind;
using stream::FeatureField;
using stream::FieldDecl;
using stream::Sensitivity;

namespace {

using GivenPhase = std::pair<uint32_t, uint32_t>;          // wall, cpu
using GivenTrigger = std::pair<std::string, std::string>;  // name, text
using GivenColumn = std::pair<std::string, ColumnType>;    // name, type
using GivenTable = std::tuple<std::string, std::vector<GivenColumn>, int64_t, int64_t>;
using GivenFeatureField =
    std::tuple<std::string, ColumnType, uint32_t, int>;  // name, type, max size, highest
// name, fields, bytes and sends a day, minimum events, consent, expiry, graph
using GivenFeature = std::tuple<std::string, std::vector<GivenFeatureField>, int64_t, int64_t, int64_t,
                                std::string, int64_t, std::string>;
// question, module, function, answers, limits, heap
using GivenCloud = std::tuple<std::string, std::string, std::string, std::string, GivenPhase, uint64_t>;
using GivenEventField = std::tuple<std::string, ColumnType, int>;  // name, type, sensitivity
using GivenEvent = std::tuple<std::string, int, std::vector<GivenEventField>>;

// Reads members out of the dict; KeyError of Python for one that is missing, which walle_rt.task never
// leaves out.
template <class T>
void take(const py::dict& given, const char* key, T& to) {
  to = given[key].cast<T>();
}

PhaseLimits phase_of(const py::dict& given, const char* key) {
  const auto [wall, cpu] = given[key].cast<GivenPhase>();
  return {.wall_ms = wall, .cpu_ms = cpu};
}

std::vector<store::TableDecl> tables_of(const std::vector<GivenTable>& given) {
  std::vector<store::TableDecl> out;
  for (const auto& [name, columns, bytes, age] : given) {
    out.push_back({.name = name, .columns = {}, .max_bytes = bytes, .max_age_us = age});
    for (const auto& [column, type] : columns) out.back().columns.push_back({column, type});
  }
  return out;
}

std::vector<EgressFeature> features_of(const std::string& task, const std::vector<GivenFeature>& given) {
  std::vector<EgressFeature> out;
  for (const auto& [name, fields, bytes, sends, events, consent, expires, graph] : given) {
    out.push_back({.policy = {.task = task,
                              .feature = name,
                              .fields = {},
                              .bytes_per_day = bytes,
                              .sends_per_day = sends,
                              .minimum_events = events,
                              .consent = consent,
                              .expires_ts = expires},
                   .graph = graph});
    for (const auto& [field, type, size, highest] : fields)
      out.back().policy.fields.push_back({.name = field,
                                          .type = type,
                                          .max_size = size,
                                          .highest = enum_of(highest, Sensitivity::secret, "sensitivity")});
  }
  return out;
}

std::vector<EventDecl> events_of(const std::vector<GivenEvent>& given) {
  std::vector<EventDecl> out;
  for (const auto& [name, kind, fields] : given) {
    out.push_back({.name = name, .kind = enum_of(kind, EventKind::custom, "event kind"), .fields = {}});
    for (const auto& [field, type, label] : fields)
      out.back().fields.push_back(
          {.name = field, .type = type, .sensitivity = enum_of(label, Sensitivity::secret, "sensitivity")});
  }
  return out;
}

Manifest manifest_of(const py::dict& given) {
  Manifest m;
  take(given, "name", m.name);
  take(given, "version", m.version);
  take(given, "vm", m.vm);
  take(given, "priority", m.priority);
  for (const auto& [name, text] : given["triggers"].cast<std::vector<GivenTrigger>>())
    m.triggers.push_back({name, text});
  take(given, "queue", m.queue);
  m.when_full = enum_of(given["when_full"].cast<int>(), stream::WhenFull::drop_new, "queue policy");
  m.past = enum_of(given["past"].cast<int>(), stream::Past::delivered, "past");
  take(given, "module", m.module);
  take(given, "main", m.main_function);
  take(given, "preprocess", m.preprocess);
  take(given, "execute_function", m.execute_function);
  take(given, "execute_model", m.execute_model);
  take(given, "postprocess", m.postprocess);
  m.preprocess_limits = phase_of(given, "preprocess_limits");
  m.execute_limits = phase_of(given, "execute_limits");
  m.postprocess_limits = phase_of(given, "postprocess_limits");
  take(given, "heap_bytes", m.heap_bytes);
  take(given, "log_bytes", m.log_bytes);
  take(given, "state_bytes", m.state_bytes);
  take(given, "imports", m.imports);
  take(given, "host_calls", m.host_calls);
  m.tables = tables_of(given["tables"].cast<std::vector<GivenTable>>());
  m.features = features_of(m.name, given["features"].cast<std::vector<GivenFeature>>());
  take(given, "requires", m.requires_facts);
  take(given, "breaker", m.breaker);
  m.events = events_of(given["events"].cast<std::vector<GivenEvent>>());
  take(given, "pages", m.pages);
  take(given, "states", m.states);
  const auto [question, module, function, answers, limits, heap] = given["cloud"].cast<GivenCloud>();
  m.cloud = {.question = question,
             .module = module,
             .function = function,
             .answers = answers,
             .limits = {.wall_ms = limits.first, .cpu_ms = limits.second},
             .heap_bytes = heap};
  return m;
}

template <class T>
int number(T value) {
  return static_cast<int>(value);
}

std::vector<GivenTable> given_tables(const Manifest& m) {
  std::vector<GivenTable> out;
  for (const store::TableDecl& t : m.tables) {
    std::vector<GivenColumn> columns;
    for (const store::ColumnDecl& c : t.columns) columns.emplace_back(c.name, c.type);
    out.emplace_back(t.name, columns, t.max_bytes, t.max_age_us);
  }
  return out;
}

std::vector<GivenFeature> given_features(const Manifest& m) {
  std::vector<GivenFeature> out;
  for (const auto& [p, graph] : m.features) {
    std::vector<GivenFeatureField> fields;
    for (const FeatureField& f : p.fields) fields.emplace_back(f.name, f.type, f.max_size, number(f.highest));
    out.emplace_back(p.feature, fields, p.bytes_per_day, p.sends_per_day, p.minimum_events, p.consent,
                     p.expires_ts, graph);
  }
  return out;
}

std::vector<GivenEvent> given_events(const Manifest& m) {
  std::vector<GivenEvent> out;
  for (const EventDecl& e : m.events) {
    std::vector<GivenEventField> fields;
    for (const FieldDecl& f : e.fields) fields.emplace_back(f.name, f.type, number(f.sensitivity));
    out.emplace_back(e.name, number(e.kind), fields);
  }
  return out;
}

py::dict dict_of(const Manifest& m) {
  const auto phase = [](const PhaseLimits& p) { return GivenPhase(p.wall_ms, p.cpu_ms); };
  std::vector<GivenTrigger> triggers;
  for (const stream::TriggerText& t : m.triggers) triggers.emplace_back(t.name, t.text);
  py::dict out;
  out["name"] = m.name;
  out["version"] = m.version;
  out["vm"] = m.vm;
  out["priority"] = m.priority;
  out["triggers"] = triggers;
  out["queue"] = m.queue;
  out["when_full"] = number(m.when_full);
  out["past"] = number(m.past);
  out["module"] = m.module;
  out["main"] = m.main_function;
  out["preprocess"] = m.preprocess;
  out["execute_function"] = m.execute_function;
  out["execute_model"] = m.execute_model;
  out["postprocess"] = m.postprocess;
  out["preprocess_limits"] = phase(m.preprocess_limits);
  out["execute_limits"] = phase(m.execute_limits);
  out["postprocess_limits"] = phase(m.postprocess_limits);
  out["heap_bytes"] = m.heap_bytes;
  out["log_bytes"] = m.log_bytes;
  out["state_bytes"] = m.state_bytes;
  out["imports"] = m.imports;
  out["host_calls"] = m.host_calls;
  out["tables"] = given_tables(m);
  out["features"] = given_features(m);
  out["requires"] = m.requires_facts;
  out["breaker"] = m.breaker;
  out["events"] = given_events(m);
  out["pages"] = m.pages;
  out["states"] = m.states;
  const CloudPhaseSpec& c = m.cloud;
  out["cloud"] = GivenCloud(c.question, c.module, c.function, c.answers, phase(c.limits), c.heap_bytes);
  return out;
}

}  // namespace

void bind_task(py::module_& m) {
  py::module_ sub = m.def_submodule("task", "Manifests of tasks; walle_rt.task is the documented face.");
  sub.attr("MANIFEST") = std::string(kManifestName);
  sub.def(
      "pack_manifest",
      [](const py::dict& given) { return py::bytes(unwrap(pack_manifest(manifest_of(given)))); },
      py::arg("manifest"));
  sub.def(
      "read_manifest",
      [](const py::bytes& data) { return dict_of(unwrap(read_manifest(std::string_view(data)))); },
      py::arg("data"));
}

}  // namespace walle::pybind
