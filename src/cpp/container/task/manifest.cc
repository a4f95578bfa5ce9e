// What a manifest may say. One that is wrong has been altered or was made by hand: walle_rt.task checks the
// same when it compiles a task, with file and line, so that these messages name only the part.
#include "container/task/manifest.h"

#include <algorithm>

#include "base/names.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::container {

using base::NameKind;
using base::shown_name;

namespace {

constexpr const char* kManifestWhere = "the manifest of a task";

Error wrong(Text given, Text expected) {
  return task_error(given, expected, kManifestWhere, "compile the task again from its folder");
}

Error wrong_number(Text what, uint64_t given, uint64_t least, uint64_t most) {
  return wrong({what, " ", given}, {least, " to ", most});
}

Status within(Text what, uint64_t given, uint64_t least, uint64_t most) {
  if (given < least || given > most) return wrong_number(what, given, least, most);
  return {};
}

Status check_name(NameKind kind, std::string_view name) {
  return base::check_name(kind, name, kManifestWhere, base::ErrorGroup::task);
}

// Of a name that may be left out.
Status check_given(NameKind kind, std::string_view name) {
  return name.empty() ? Status() : check_name(kind, name);
}

// Names of one kind differ. `name_of` gives the name of an element.
template <class T, class NameOf>
Status distinct(const std::string& what, const std::vector<T>& all, NameOf name_of) {
  std::vector<std::string_view> names;
  for (const T& each : all) names.push_back(name_of(each));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return wrong({what, " ", shown_name(*twice), " twice"}, "distinct names");
}

Status check_triggers(const Manifest& m) {
  WALLE_TRY(within("number of triggers", m.triggers.size(), 1, kMaxTaskTriggers));
  for (const stream::TriggerText& t : m.triggers) {
    WALLE_TRY(check_name(NameKind::trigger, t.name));
    if (auto spec = stream::parse_trigger(t.text); !spec.ok())
      return std::move(spec.take_error().within({"trigger '", t.name, "' of task '", m.name, "'"}));
  }
  WALLE_TRY(distinct("trigger", m.triggers,
                     [](const stream::TriggerText& t) -> std::string_view { return t.name; }));
  WALLE_TRY(within("queue", m.queue, 1, stream::kMaxQueue));
  WALLE_TRY(within("queue policy", static_cast<uint64_t>(m.when_full), 0,
                   static_cast<uint64_t>(stream::WhenFull::drop_new)));
  return within("past", static_cast<uint64_t>(m.past), 0, static_cast<uint64_t>(stream::Past::delivered));
}

Status check_entry(const Manifest& m) {
  WALLE_TRY(check_name(NameKind::task_module, m.module));
  if (!m.phased()) {
    if (!m.preprocess.empty() || !m.execute_function.empty() || !m.execute_model.empty() ||
        !m.postprocess.empty())
      return wrong("a main function and phases beside it", "one of both");
    return check_name(NameKind::function, m.main_function);
  }
  if (m.postprocess_event && m.postprocess.empty())
    return wrong("an event for postprocess, which is not there", "a postprocess function that takes it");
  if (m.execute_function.empty() == m.execute_model.empty())
    return wrong(
        {"an entry without main and with ", m.execute_model.empty() ? "no execute" : "two things to execute"},
        "main, or execute as a function or as a model");
  for (const std::string& name : {m.preprocess, m.execute_function, m.postprocess})
    WALLE_TRY(check_given(NameKind::function, name));
  WALLE_TRY(check_given(NameKind::file, m.execute_model));
  // An event is no tensor: something has to make the model's inputs.
  if (!m.execute_model.empty() && m.preprocess.empty())
    return wrong("a model to execute without preprocess", "a preprocess function that makes its inputs");
  return {};
}

Status check_limits(const Manifest& m) {
  for (const auto& [what, phase] :
       {std::pair<const char*, const PhaseLimits&>{"preprocess", m.preprocess_limits},
        {"execute", m.execute_limits},
        {"postprocess", m.postprocess_limits}}) {
    WALLE_TRY(within({what, ".wall_ms"}, phase.wall_ms, 1, kMaxPhaseMs));
    WALLE_TRY(within({what, ".cpu_ms"}, phase.cpu_ms, 0, kMaxPhaseMs));
  }
  // An isolate that runs nothing takes two arenas of 256 KB.
  WALLE_TRY(within("heap_bytes", m.heap_bytes, uint64_t{1} << 20, kMaxTaskBytes));
  WALLE_TRY(within("log_bytes", m.log_bytes, 0, kMaxTaskBytes));
  WALLE_TRY(within("state_bytes", m.state_bytes, 0, kMaxStateBytes));
  WALLE_TRY(within("state_keys", m.state_keys, 0, kMaxStateKeys));
  WALLE_TRY(within("priority", m.priority, 0, kHighestPriority));
  return within("breaker", m.breaker, 1, kMaxBreaker);
}

Status check_retry(const RetrySpec& r) {
  const auto delay = [](const char* what, int64_t us, int64_t least) {
    return within(what, static_cast<uint64_t>(us), static_cast<uint64_t>(least), kMaxRetryDelayUs);
  };
  WALLE_TRY(within("retry.attempts", r.attempts, 1, kMaxAttempts));
  WALLE_TRY(within("retry.factor", r.factor, 1, kMaxRetryFactor));
  WALLE_TRY(within("retry.waiting", r.waiting, 1, kMaxRetries));
  WALLE_TRY(delay("retry.first_delay_us", r.first_delay_us, 1));
  return delay("retry.max_delay_us", r.max_delay_us, r.first_delay_us);
}

Status check_names(const std::string& what, NameKind kind, const std::vector<std::string>& names,
                   size_t most) {
  WALLE_TRY(within({"number of ", what}, names.size(), 0, most));
  for (const std::string& name : names) WALLE_TRY(check_name(kind, name));
  return distinct(what, names, [](const std::string& n) -> std::string_view { return n; });
}

Status check_tables(const std::vector<store::TableDecl>& tables) {
  WALLE_TRY(within("number of result tables", tables.size(), 0, kMaxTaskTables));
  for (const store::TableDecl& t : tables) {
    WALLE_TRY(check_name(NameKind::table, t.name));
    WALLE_TRY(within({"columns of table ", t.name}, t.columns.size(), 1, store::kMaxTableColumns));
    for (const store::ColumnDecl& c : t.columns) {
      WALLE_TRY(check_name(NameKind::column, c.name));
      WALLE_TRY(within({"type of column ", c.name}, static_cast<uint64_t>(c.type), 0,
                       static_cast<uint64_t>(ColumnType::bytes)));
    }
    WALLE_TRY(
        distinct("column", t.columns, [](const store::ColumnDecl& c) -> std::string_view { return c.name; }));
    WALLE_TRY(
        within({"max_bytes of table ", t.name}, static_cast<uint64_t>(t.max_bytes), 4096, kMaxTaskBytes));
    if (t.max_age_us < 0) return wrong({"a negative max_age of table '", t.name, "'"}, "at least 0");
  }
  return distinct("result table", tables,
                  [](const store::TableDecl& t) -> std::string_view { return t.name; });
}

Status check_features(const Manifest& m) {
  WALLE_TRY(within("number of egress features", m.features.size(), 0, kMaxTaskFeatures));
  for (const EgressFeature& f : m.features) {
    const stream::EgressPolicy& p = f.policy;
    WALLE_TRY(check_name(NameKind::feature, p.feature));
    if (p.task != m.name)
      return wrong({"feature '", p.feature, "' of task ", shown_name(p.task)}, "this task's own");
    WALLE_TRY(within({"fields of feature ", p.feature}, p.fields.size(), 1, store::kMaxTableColumns));
    for (const stream::FeatureField& field : p.fields) {
      WALLE_TRY(check_name(NameKind::column, field.name));
      if (!stream::is_feature_type(field.type) || field.highest > stream::Sensitivity::secret)
        return wrong({"column '", field.name, "' of feature '", p.feature, "'"},
                     "a known type and sensitivity");
    }
    WALLE_TRY(distinct("column", p.fields,
                       [](const stream::FeatureField& field) -> std::string_view { return field.name; }));
    if (p.bytes_per_day < 0 || p.sends_per_day < 0 || p.minimum_events < 1 || p.expires_ts < 0)
      return wrong({"budgets of feature '", p.feature, "'"}, "none negative, and at least 1 event");
    WALLE_TRY(check_given(NameKind::consent, p.consent));
    WALLE_TRY(check_given(NameKind::file, f.graph));
  }
  return distinct("egress feature", m.features,
                  [](const EgressFeature& f) -> std::string_view { return f.policy.feature; });
}

Status check_events(const Manifest& m) {
  WALLE_TRY(within("number of events", m.events.size(), 0, kMaxTaskNames));
  WALLE_TRY(within("number of pages", m.pages.size(), 0, kMaxTaskNames));
  // The catalogue itself knows what may be declared; a new one has room for all that is allowed here.
  stream::Catalog catalog;
  for (const stream::EventDecl& e : m.events) WALLE_TRY(catalog.adopt(e));
  for (const std::string& page : m.pages) {
    WALLE_TRY(check_name(NameKind::page, page));  // to the catalogue the empty one is no page
    WALLE_TRY(catalog.page(page).status());
  }
  for (const std::string& state : m.states) WALLE_TRY(catalog.state(state).status());
  return {};
}

// Names that the device makes triggers and a field of.
Status check_timers(const Manifest& m) {
  WALLE_TRY(check_names("timers", NameKind::trigger, m.timer_names, kMaxTaskTimers));
  for (const std::string& name : m.timer_names)
    if (std::ranges::find(m.triggers, name, &stream::TriggerText::name) != m.triggers.end())
      return wrong({"timer ", shown_name(name), ", which is a trigger, too"}, "another name");
  return within("timers that wait", m.timers_most, 1, kMaxTimersWaiting);
}

Status check_record(const Manifest& m) {
  WALLE_TRY(check_names("recorded events", NameKind::event, m.record_events, kMaxTaskNames));
  for (const std::string& name : m.record_events) {
    const auto event = std::ranges::find(m.events, name, &stream::EventDecl::name);
    if (event == m.events.end() || event->kind != stream::EventKind::custom)
      return wrong({"recorded event ", shown_name(name)}, "a custom event that the task declares");
  }
  for (const stream::EventDecl& e : m.events)
    if (e.name == "timer_due" ||
        std::ranges::find(e.fields, "_record", &stream::FieldDecl::name) != e.fields.end())
      return wrong({"event ", shown_name(e.name), " as declared"},
                   "another name than timer_due, and no field _record: both are the device's own");
  WALLE_TRY(within("record.per_firing", m.record_per_firing, 1, kMaxRecordPerFiring));
  return within("record.per_day", m.record_per_day, 1, kMaxRecordPerDay);
}

Status check_cloud(const Manifest& m) {
  const CloudPhaseSpec& c = m.cloud;
  if (c.question.empty()) return {};
  if (std::ranges::none_of(m.features,
                           [&](const EgressFeature& f) { return f.policy.feature == c.question; }))
    return wrong({"question ", shown_name(c.question)}, "an egress feature of the task");
  if (!c.answers.empty() &&
      std::ranges::none_of(m.tables, [&](const store::TableDecl& t) { return t.name == c.answers; }))
    return wrong({"answers ", shown_name(c.answers)}, "a result table of the task");
  WALLE_TRY(check_name(NameKind::task_module, c.module));
  WALLE_TRY(check_name(NameKind::function, c.function));
  WALLE_TRY(within("cloud.wall_ms", c.limits.wall_ms, 1, kMaxPhaseMs));
  WALLE_TRY(within("cloud.cpu_ms", c.limits.cpu_ms, 0, kMaxPhaseMs));
  return within("cloud.heap_bytes", c.heap_bytes, uint64_t{1} << 20, kMaxTaskBytes);
}

Status check_params(const Manifest& m) {
  WALLE_TRY(within("number of parameters", m.params.size(), 0, kMaxTaskParams));
  for (const ParamSpec& p : m.params) {
    WALLE_TRY(check_name(NameKind::function, p.name));
    if (Status means = check_param(p); !means.ok())
      return wrong({"parameter '", p.name, "': ", means.error().message()}, "one that means something");
  }
  return distinct("parameter", m.params, [](const ParamSpec& p) -> std::string_view { return p.name; });
}

Status check_rolling(const Manifest& m) {
  WALLE_TRY(within("number of features kept per key", m.rolling.size(), 0, kMaxTaskRolling));
  for (const stream::RollingSpec& r : m.rolling) {
    WALLE_TRY(check_name(NameKind::function, r.name));
    for (const std::string& field : r.by) WALLE_TRY(check_name(NameKind::field, field));
    WALLE_TRY(check_given(NameKind::field, r.value));
    if (Status means = stream::check_rolling(r); !means.ok())
      return wrong({"feature '", r.name, "': ", means.error().message()}, "one that means something");
  }
  return distinct("feature kept per key", m.rolling,
                  [](const stream::RollingSpec& r) -> std::string_view { return r.name; });
}

Status check_zone(const ZoneSpec& zone) {
  WALLE_TRY(check_given(NameKind::zone, zone.name));
  if (zone.name.empty() != !zone.local)
    return wrong({"zone '", zone.name, zone.local ? "' with offsets" : "' without offsets"},
                 "both or neither");
  if (zone.local && !zone.local->valid())
    return wrong({"offsets of zone '", zone.name, "' that are none"},
                 {"at most ", stream::kMaxOffsetChanges, " in order of time, each within 26 h"});
  return {};
}

// `what` they are: "call" of an app, or "app" function.
Status check_calls(const char* what, const std::vector<CallSpec>& calls) {
  WALLE_TRY(within({"number of ", what, "s"}, calls.size(), 0, kMaxTaskCalls));
  for (const CallSpec& c : calls) {
    WALLE_TRY(check_name(NameKind::function, c.function));
    WALLE_TRY(within({"arguments of ", what, " ", c.function}, c.arguments.size(), 0, kMaxCallArguments));
    for (const CallType type : c.arguments)
      WALLE_TRY(within({"type in ", what, " ", c.function}, static_cast<uint64_t>(type), 0, kCallTypes - 1));
    WALLE_TRY(
        within({"type of ", what, " ", c.function}, static_cast<uint64_t>(c.returns), 0, kCallTypes - 1));
    WALLE_TRY(within({c.function, ".wall_ms"}, c.limits.wall_ms, 1, kMaxPhaseMs));
    WALLE_TRY(within({c.function, ".cpu_ms"}, c.limits.cpu_ms, 0, kMaxPhaseMs));
  }
  return distinct(what, calls, [](const CallSpec& c) -> std::string_view { return c.function; });
}

}  // namespace

int64_t RetrySpec::delay_us(uint32_t attempt) const {
  int64_t out = first_delay_us;
  // Bounded at each step: the longest delay times the factor fits.
  for (; attempt > 1 && out < max_delay_us; --attempt) out *= factor;
  return std::min(out, max_delay_us);
}

Status verify_manifest(const Manifest& m) {
  WALLE_TRY(check_name(NameKind::task, m.name));
  WALLE_TRY(check_name(NameKind::version, m.version));
  WALLE_TRY(check_given(NameKind::python, m.vm));
  WALLE_TRY(check_triggers(m));
  WALLE_TRY(check_entry(m));
  WALLE_TRY(check_limits(m));
  WALLE_TRY(check_retry(m.retry));
  WALLE_TRY(check_names("imports", NameKind::library, m.imports, kMaxTaskNames));
  WALLE_TRY(check_names("host calls", NameKind::host_call, m.host_calls, kMaxTaskNames));
  WALLE_TRY(check_tables(m.tables));
  WALLE_TRY(check_features(m));
  WALLE_TRY(check_names("required facts", NameKind::fact, m.requires_facts, kMaxTaskFacts));
  WALLE_TRY(check_cloud(m));
  WALLE_TRY(check_calls("call", m.calls));
  WALLE_TRY(check_calls("app", m.app));
  for (const CallSpec& c : m.app)
    WALLE_TRY(within({c.function, ".per_firing"}, c.per_firing, 1, kMaxAppPerFiring));
  WALLE_TRY(check_params(m));
  WALLE_TRY(check_rolling(m));
  WALLE_TRY(check_zone(m.zone));
  WALLE_TRY(check_events(m));
  WALLE_TRY(check_timers(m));
  return check_record(m);
}

}  // namespace walle::container
