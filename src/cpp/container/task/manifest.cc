// What a manifest may say. One that is wrong has been altered or was made by hand: walle_rt.task checks the
// same when it compiles a task, with file and line, so that these messages name only the part.
#include "container/task/manifest.h"

#include <algorithm>

#include "container/task/task_names.h"
#include "stream/trigger/trigger_spec.h"
#include "vm/task_file.h"

namespace walle::container {

namespace {

Error wrong(Text given, Text expected) {
  return task_error(given, expected, "the manifest of a task", "compile the task again from its folder");
}

Error wrong_number(Text what, uint64_t given, uint64_t least, uint64_t most) {
  return wrong({what, " ", given}, {least, " to ", most});
}

Status within(Text what, uint64_t given, uint64_t least, uint64_t most) {
  if (given < least || given > most) return wrong_number(what, given, least, most);
  return {};
}

Status check_name(const std::string& what, const std::string& name) {
  if (valid_task_name(name)) return {};
  return wrong({what, " '", shown_name(name), "'"}, kTaskNameRule);
}

// Names of one kind differ. `name_of` gives the name of an element.
template <class T, class NameOf>
Status distinct(const std::string& what, const std::vector<T>& all, NameOf name_of) {
  std::vector<std::string_view> names;
  for (const T& each : all) names.push_back(name_of(each));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return wrong({what, " '", shown_name(*twice), "' twice"}, "distinct names");
}

Status check_triggers(const Manifest& m) {
  WALLE_TRY(within("number of triggers", m.triggers.size(), 1, kMaxTaskTriggers));
  for (const stream::TriggerText& t : m.triggers) {
    WALLE_TRY(check_name("trigger", t.name));
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

Status check_function(const std::string& what, const std::string& name, bool dotted = false) {
  if (valid_identifier(name, dotted)) return {};
  return wrong({what, " '", shown_name(name), "'"}, "the name of a function in the task's module");
}

Status check_entry(const Manifest& m) {
  WALLE_TRY(check_function("module", m.module, true));
  if (!m.phased()) {
    if (!m.preprocess.empty() || !m.execute_function.empty() || !m.execute_model.empty() ||
        !m.postprocess.empty())
      return wrong("a main function and phases beside it", "one of both");
    return check_function("main", m.main_function);
  }
  if (m.execute_function.empty() == m.execute_model.empty())
    return wrong(
        {"an entry without main and with ", m.execute_model.empty() ? "no execute" : "two things to execute"},
        "main, or execute as a function or as a model");
  for (const auto& [what, name] : {std::pair<const char*, const std::string&>{"preprocess", m.preprocess},
                                   {"execute", m.execute_function},
                                   {"postprocess", m.postprocess}})
    if (!name.empty()) WALLE_TRY(check_function(what, name));
  if (!m.execute_model.empty() && !vm::valid_resource_name(m.execute_model))
    return wrong({"model '", shown_name(m.execute_model), "'"}, "the name of a resource");
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
  WALLE_TRY(within("state_bytes", m.state_bytes, 0, kMaxTaskBytes));
  WALLE_TRY(within("priority", m.priority, 0, kHighestPriority));
  return within("breaker", m.breaker, 1, kMaxBreaker);
}

Status check_names(const std::string& what, const std::vector<std::string>& names, size_t most, bool dotted) {
  WALLE_TRY(within({"number of ", what}, names.size(), 0, most));
  for (const std::string& name : names)
    if (!valid_identifier(name, dotted))
      return wrong({what, " '", shown_name(name), "'"}, dotted ? "a dotted name" : "a plain name");
  return distinct(what, names, [](const std::string& n) -> std::string_view { return n; });
}

Status check_tables(const std::vector<store::TableDecl>& tables) {
  WALLE_TRY(within("number of result tables", tables.size(), 0, kMaxTaskTables));
  for (const store::TableDecl& t : tables) {
    WALLE_TRY(check_name("result table", t.name));
    WALLE_TRY(within({"columns of table ", t.name}, t.columns.size(), 1, store::kMaxTableColumns));
    for (const store::ColumnDecl& c : t.columns) {
      if (!valid_identifier(c.name, false) || c.name.size() > store::kMaxColumnName)
        return wrong({"column '", shown_name(c.name), "' of table '", t.name, "'"}, "a plain name");
      WALLE_TRY(within({"type of column ", c.name}, static_cast<uint64_t>(c.type), 0,
                       static_cast<uint64_t>(store::CellType::bytes)));
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
    WALLE_TRY(check_name("egress feature", p.feature));
    if (p.task != m.name)
      return wrong({"feature '", p.feature, "' of task '", shown_name(p.task), "'"}, "this task's own");
    WALLE_TRY(within({"fields of feature ", p.feature}, p.fields.size(), 1, store::kMaxTableColumns));
    for (const stream::FeatureField& field : p.fields)
      if (field.name.empty() || field.name.size() > store::kMaxColumnName ||
          field.type > stream::FeatureType::vector || field.highest > stream::Sensitivity::secret)
        return wrong({"field '", shown_name(field.name), "' of feature '", p.feature, "'"},
                     "a name of at most 64 bytes, a known type and sensitivity");
    WALLE_TRY(distinct("field", p.fields,
                       [](const stream::FeatureField& field) -> std::string_view { return field.name; }));
    if (p.bytes_per_day < 0 || p.sends_per_day < 0 || p.minimum_events < 1 || p.expires_ts < 0)
      return wrong({"budgets of feature '", p.feature, "'"}, "none negative, and at least 1 event");
    if (!p.consent.empty()) WALLE_TRY(check_name("consent", p.consent));
    if (!f.graph.empty() && !vm::valid_resource_name(f.graph))
      return wrong({"graph '", shown_name(f.graph), "'"}, "the name of a resource");
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
  for (const std::string& page : m.pages) WALLE_TRY(catalog.page(page).status());
  for (const std::string& state : m.states) WALLE_TRY(catalog.state(state).status());
  return {};
}

Status check_cloud(const Manifest& m) {
  const CloudPhaseSpec& c = m.cloud;
  if (c.question.empty()) return {};
  if (std::ranges::none_of(m.features,
                           [&](const EgressFeature& f) { return f.policy.feature == c.question; }))
    return wrong({"question '", shown_name(c.question), "'"}, "an egress feature of the task");
  if (!c.answers.empty() &&
      std::ranges::none_of(m.tables, [&](const store::TableDecl& t) { return t.name == c.answers; }))
    return wrong({"answers '", shown_name(c.answers), "'"}, "a result table of the task");
  WALLE_TRY(check_function("module of the cloud", c.module, true));
  WALLE_TRY(check_function("function of the cloud", c.function));
  WALLE_TRY(within("cloud.wall_ms", c.limits.wall_ms, 1, kMaxPhaseMs));
  WALLE_TRY(within("cloud.cpu_ms", c.limits.cpu_ms, 0, kMaxPhaseMs));
  return within("cloud.heap_bytes", c.heap_bytes, uint64_t{1} << 20, kMaxTaskBytes);
}

}  // namespace

Status verify_manifest(const Manifest& m) {
  WALLE_TRY(check_name("task", m.name));
  if (!valid_version(m.version))
    return wrong({"version '", shown_name(m.version), "'"}, "a semantic version, as 1.0.0");
  if (m.vm.size() > store::kMaxColumnName ||
      !std::all_of(m.vm.begin(), m.vm.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); }))
    return wrong({"vm '", shown_name(m.vm), "'"}, "a version of Python, as 3.13");
  WALLE_TRY(check_triggers(m));
  WALLE_TRY(check_entry(m));
  WALLE_TRY(check_limits(m));
  WALLE_TRY(check_names("imports", m.imports, kMaxTaskNames, false));
  WALLE_TRY(check_names("host calls", m.host_calls, kMaxTaskNames, true));
  WALLE_TRY(check_tables(m.tables));
  WALLE_TRY(check_features(m));
  WALLE_TRY(check_names("required facts", m.requires_facts, kMaxTaskFacts, false));
  WALLE_TRY(check_cloud(m));
  return check_events(m);
}

}  // namespace walle::container
