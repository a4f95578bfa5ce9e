// _core.task: the manifest of a task, packed from what walle_rt.task has read and checked.
//
// Both directions speak one dict, whose keys are the manifest's members: what read_manifest() gives is what
// pack_manifest() takes.
#include "container/task/manifest.h"

#include <algorithm>

#include "container/host/value_codec.h"
#include "pybind/enums.h"
#include "pybind/stream.h"
#include "pybind/vm_values.h"

namespace walle::pybind {

using namespace walle::container;
using stream::EventDecl;
using stream::EventKind;
using stream::FieldDecl;
using stream::Sensitivity;

namespace {

// What Python gives and gets of each part.
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
// function, types as numbers, limits, keep, per_firing
using GivenCall = std::tuple<std::string, std::vector<int>, int, GivenPhase, bool, uint32_t>;
// attempts, first and longest delay in us, factor, waiting
using GivenRetry = std::tuple<uint32_t, int64_t, int64_t, uint32_t, uint32_t>;
// name, type as a number, default, least, most, choices
using GivenParam = std::tuple<std::string, int, py::object, py::object, py::object, py::list>;
// name, event, by, kind as a number, value, window of time in us, of number, keys
using GivenRolling = std::tuple<std::string, std::string, std::vector<std::string>, int, std::string, int64_t,
                                uint32_t, uint32_t>;
// name; from when on in UTC, offset: both in us, the first also holds before
using GivenZone = std::pair<std::string, GivenOffsets>;
using GivenEventField = std::tuple<std::string, ColumnType, int>;  // name, type, sensitivity
using GivenEvent = std::tuple<std::string, int, std::vector<GivenEventField>>;

PhaseLimits limits_of(const GivenPhase& given) { return {.wall_ms = given.first, .cpu_ms = given.second}; }
GivenPhase given_limits(const PhaseLimits& p) { return {p.wall_ms, p.cpu_ms}; }

// take(): out of what Python gave. Texts, numbers and lists of texts as they are.
template <class T>
void take(const py::handle& given, T& to) {
  to = given.cast<T>();
}

void take(const py::handle& given, stream::WhenFull& to) {
  to = enum_of(given.cast<int>(), stream::WhenFull::drop_new, "queue policy");
}

void take(const py::handle& given, stream::Past& to) {
  to = enum_of(given.cast<int>(), stream::Past::delivered, "past");
}

void take(const py::handle& given, PhaseLimits& to) { to = limits_of(given.cast<GivenPhase>()); }

void take(const py::handle& given, std::vector<stream::TriggerText>& to) {
  for (const auto& [name, text] : given.cast<std::vector<GivenTrigger>>()) to.push_back({name, text});
}

void take(const py::handle& given, std::vector<store::TableDecl>& to) {
  for (const auto& [name, columns, bytes, age] : given.cast<std::vector<GivenTable>>()) {
    to.push_back({.name = name, .columns = {}, .max_bytes = bytes, .max_age_us = age});
    for (const auto& [column, type] : columns) to.back().columns.push_back({column, type});
  }
}

void take(const py::handle& given, std::vector<EgressFeature>& to) {
  for (const auto& [name, fields, bytes, sends, events, consent, expires, graph] :
       given.cast<std::vector<GivenFeature>>()) {
    to.push_back({.policy = {.task = {},
                             .feature = name,
                             .fields = {},
                             .bytes_per_day = bytes,
                             .sends_per_day = sends,
                             .minimum_events = events,
                             .consent = consent,
                             .expires_ts = expires},
                  .graph = graph});
    for (const auto& [field, type, size, highest] : fields)
      to.back().policy.fields.push_back({.name = field,
                                         .type = type,
                                         .max_size = size,
                                         .highest = enum_of(highest, Sensitivity::secret, "sensitivity")});
  }
}

void take(const py::handle& given, std::vector<EventDecl>& to) {
  for (const auto& [name, kind, fields] : given.cast<std::vector<GivenEvent>>())
    to.push_back(event_decl(name, kind, fields));
}

void take(const py::handle& given, CloudPhaseSpec& to) {
  const auto [question, module, function, answers, limits, heap] = given.cast<GivenCloud>();
  to = {.question = question,
        .module = module,
        .function = function,
        .answers = answers,
        .limits = limits_of(limits),
        .heap_bytes = heap};
}

void take(const py::handle& given, std::vector<ParamSpec>& to) {
  for (const auto& [name, type, standard, least, most, choices] : given.cast<std::vector<GivenParam>>()) {
    to.push_back({.name = name,
                  .type = enum_of(type, static_cast<CallType>(kCallTypes - 1), "call type"),
                  .standard = value_of(standard.ptr()),
                  .least = value_of(least.ptr()),
                  .most = value_of(most.ptr()),
                  .one_of = {}});
    for (const py::handle one : choices) to.back().one_of.push_back(value_of(one.ptr()));
  }
}

void take(const py::handle& given, std::vector<stream::RollingSpec>& to) {
  for (const auto& [name, event, by, kind, value, us, events, keys] : given.cast<std::vector<GivenRolling>>())
    to.push_back({.name = name,
                  .event = event,
                  .by = by,
                  .kind = enum_of(kind, stream::kLastRollingKind, "aggregate"),
                  .value = value,
                  .over_us = us,
                  .over_events = events,
                  .keys = keys});
}

void take(const py::handle& given, ZoneSpec& to) {
  const auto [name, offsets] = given.cast<GivenZone>();
  to = {.name = name, .local = own_local_time(offsets)};
}

void take(const py::handle& given, RetrySpec& to) {
  const auto [attempts, first, longest, factor, waiting] = given.cast<GivenRetry>();
  to = {.attempts = attempts,
        .first_delay_us = first,
        .max_delay_us = longest,
        .factor = factor,
        .waiting = waiting};
}

void take(const py::handle& given, std::vector<CallSpec>& to) {
  const auto type = [](int number) {
    return enum_of(number, static_cast<CallType>(kCallTypes - 1), "call type");
  };
  for (const auto& [function, arguments, returns, limits, keep, times] :
       given.cast<std::vector<GivenCall>>()) {
    to.push_back({.function = function,
                  .returns = type(returns),
                  .limits = limits_of(limits),
                  .keep = keep,
                  .per_firing = times});
    for (const int one : arguments) to.back().arguments.push_back(type(one));
  }
}

// KeyError of Python for a member that is missing, which walle_rt.task never leaves out.
Manifest manifest_of(const py::dict& given) {
  Manifest m;
#define WALLE_MANIFEST_FIELD(member, stored, key) take(given[key], m.member);
#include "container/task/manifest_field.inc"
  for (EgressFeature& f : m.features) f.policy.task = m.name;
  return m;
}

// given(): what Python gets.
template <class T>
const T& given(const T& plain) {
  return plain;
}

int given(stream::WhenFull policy) { return static_cast<int>(policy); }
int given(stream::Past past) { return static_cast<int>(past); }
GivenPhase given(const PhaseLimits& limits) { return given_limits(limits); }

std::vector<GivenTrigger> given(const std::vector<stream::TriggerText>& triggers) {
  std::vector<GivenTrigger> out;
  for (const stream::TriggerText& t : triggers) out.emplace_back(t.name, t.text);
  return out;
}

std::vector<GivenTable> given(const std::vector<store::TableDecl>& tables) {
  std::vector<GivenTable> out;
  for (const store::TableDecl& t : tables) {
    std::vector<GivenColumn> columns;
    for (const store::ColumnDecl& c : t.columns) columns.emplace_back(c.name, c.type);
    out.emplace_back(t.name, columns, t.max_bytes, t.max_age_us);
  }
  return out;
}

std::vector<GivenFeature> given(const std::vector<EgressFeature>& features) {
  std::vector<GivenFeature> out;
  for (const auto& [p, graph] : features) {
    std::vector<GivenFeatureField> fields;
    for (const stream::FeatureField& f : p.fields)
      fields.emplace_back(f.name, f.type, f.max_size, static_cast<int>(f.highest));
    out.emplace_back(p.feature, fields, p.bytes_per_day, p.sends_per_day, p.minimum_events, p.consent,
                     p.expires_ts, graph);
  }
  return out;
}

std::vector<GivenEvent> given(const std::vector<EventDecl>& events) {
  std::vector<GivenEvent> out;
  for (const EventDecl& e : events) {
    std::vector<GivenEventField> fields;
    for (const FieldDecl& f : e.fields) fields.emplace_back(f.name, f.type, static_cast<int>(f.sensitivity));
    out.emplace_back(e.name, static_cast<int>(e.kind), fields);
  }
  return out;
}

GivenCloud given(const CloudPhaseSpec& c) {
  return {c.question, c.module, c.function, c.answers, given_limits(c.limits), c.heap_bytes};
}

std::vector<GivenParam> given(const std::vector<ParamSpec>& params) {
  PythonBuilder values;
  std::vector<GivenParam> out;
  for (const ParamSpec& p : params) {
    py::list choices;
    for (const vm::Value& one : p.one_of) choices.append(vm::visit(one, values));
    out.emplace_back(p.name, static_cast<int>(p.type), vm::visit(p.standard, values),
                     vm::visit(p.least, values), vm::visit(p.most, values), choices);
  }
  return out;
}

std::vector<GivenRolling> given(const std::vector<stream::RollingSpec>& rolling) {
  std::vector<GivenRolling> out;
  for (const stream::RollingSpec& r : rolling)
    out.emplace_back(r.name, r.event, r.by, static_cast<int>(r.kind), r.value, r.over_us, r.over_events,
                     r.keys);
  return out;
}

// The event's name and the canonical text.
std::pair<std::string, std::string> rolling_event(const std::string& text) {
  const stream::Atom event = unwrap(stream::rolling_event(text));
  return {event.event, stream::format_trigger(*stream::parse_trigger(text))};
}

GivenZone given(const ZoneSpec& zone) {
  GivenOffsets offsets;
  if (zone.local) {
    for (const stream::UtcOffset& one : zone.local->changes())
      offsets.emplace_back(one.from_us, one.offset_us);
    if (offsets.empty()) offsets.emplace_back(0, zone.local->first());
  }
  return {zone.name, offsets};
}

GivenRetry given(const RetrySpec& r) {
  return {r.attempts, r.first_delay_us, r.max_delay_us, r.factor, r.waiting};
}

std::vector<GivenCall> given(const std::vector<CallSpec>& calls) {
  std::vector<GivenCall> out;
  for (const CallSpec& c : calls) {
    std::vector<int> arguments;
    for (const CallType type : c.arguments) arguments.push_back(static_cast<int>(type));
    out.emplace_back(c.function, arguments, static_cast<int>(c.returns), given_limits(c.limits), c.keep,
                     c.per_firing);
  }
  return out;
}

py::dict dict_of(const Manifest& m) {
  py::dict out;
#define WALLE_MANIFEST_FIELD(member, stored, key) out[key] = given(m.member);
#include "container/task/manifest_field.inc"
  return out;
}

// What a release sets of a task's parameters, as the task will read it.
py::dict check_params(const py::bytes& manifest, const py::dict& given) {
  const Manifest read = unwrap(read_manifest(std::string_view(manifest)));
  const ParamsOf params{read.name, read.params, "[params] of a release"};
  using vm::visit;
  PythonBuilder builder;
  py::dict out;
  const vm::Value values = value_of(given.ptr());
  for (const auto& [name, value] : *values.get<vm::Map>())
    out[py::str(name)] = visit(unwrap(params.value(name, value)), builder);
  return out;
}

// As plans have them (docs/reference/formats/plan.md): the same bytes for the same values.
py::bytes pack_params(const py::dict& given) {
  vm::Map sorted = *value_of(given.ptr()).get<vm::Map>();
  std::ranges::sort(sorted, {}, &vm::Map::value_type::first);
  if (sorted.empty()) return std::string();
  const std::optional<std::string> packed = encode_value(vm::Value(std::move(sorted)));
  if (packed) return *packed;
  throw CoreError(argument_error("parameters with a tensor or more than 32 levels",
                                 "a bool, int, float or text each", "[params] of a release",
                                 "write plain values"));
}

}  // namespace

void bind_task(py::module_& m) {
  py::module_ sub = m.def_submodule("task", "Manifests of tasks; walle_rt.task is the documented API.");
  sub.attr("MANIFEST") = std::string(kManifestName);
  py::list fields;
#define WALLE_MANIFEST_FIELD(member, stored, key) fields.append(key);
#include "container/task/manifest_field.inc"
  sub.attr("MANIFEST_FIELDS") = py::tuple(fields);
  py::list types;
  for (int i = 0; i < kCallTypes; ++i) types.append(std::string(call_type_name(static_cast<CallType>(i))));
  sub.attr("CALL_TYPES") = py::tuple(types);
  py::list kinds;
  for (const std::string_view kind : stream::kRollingKinds) kinds.append(std::string(kind));
  sub.attr("ROLLING_KINDS") = py::tuple(kinds);
  sub.def("rolling_event", rolling_event, py::arg("text"));
  sub.def(
      "pack_manifest",
      [](const py::dict& given) { return py::bytes(unwrap(pack_manifest(manifest_of(given)))); },
      py::arg("manifest"));
  sub.def(
      "read_manifest",
      [](const py::bytes& data) { return dict_of(unwrap(read_manifest(std::string_view(data)))); },
      py::arg("data"));
  sub.def("pack_params", pack_params, py::arg("params"));
  sub.def("check_params", check_params, py::arg("manifest"), py::arg("params"));
}

}  // namespace walle::pybind
