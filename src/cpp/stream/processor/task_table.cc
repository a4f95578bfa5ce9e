#include "stream/processor/task_table.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/names.h"

namespace walle::stream {

namespace {
Status check_shape(const TaskTriggers& given) {
  WALLE_TRY(base::check_name(base::NameKind::task, given.task, "install"));
  const std::string where = "install of task '" + given.task + "'";
  if (given.queue < 1 || given.queue > kMaxQueue)
    return argument_error({"a queue of ", given.queue, " firings"}, {"1 to ", kMaxQueue}, where,
                          "correct the number");
  if (given.triggers.size() > kMaxTaskTriggers)
    return argument_error({given.triggers.size(), " triggers"}, {"at most ", kMaxTaskTriggers}, where,
                          "make several tasks of it");
  if (given.local && !given.local->valid())
    return argument_error("a local time that is none", "changes in order, each within 26 h", where,
                          "make it of a time zone");
  std::set<std::string_view> names;
  for (const TriggerText& t : given.triggers) {
    WALLE_TRY(base::check_name(base::NameKind::trigger, t.name, where));
    if (!names.insert(t.name).second)
      return argument_error({"two triggers '", t.name, "'"}, "names that differ", where,
                            "rename one of them");
  }
  return {};
}

// Under another local time it is another trigger: what its limits counted were other days.
void own_local(CompiledTrigger& t, std::shared_ptr<const LocalTime> local) {
  if (!local) return;
  base::Hasher hash;
  hash.value(local->first());
  for (const UtcOffset& change : local->changes()) hash.value(change.from_us).value(change.offset_us);
  t.fingerprint = base::mix(t.fingerprint, hash.finish());
  t.local = std::move(local);
}

Result<CompiledTrigger> compiled_for(std::string_view task, std::string_view name, std::string_view text,
                                     const std::shared_ptr<const LocalTime>& local, const Catalog& catalog) {
  const auto named = [&](Error e) {
    e.within({"task '", task, "', trigger '", name, "'"});
    return e;
  };
  auto spec = parse_trigger(text);
  if (!spec.ok()) return named(spec.take_error());
  auto compiled = compile_trigger(*spec, catalog, text);
  if (!compiled.ok()) return named(compiled.take_error());
  base::Hasher owner;
  owner.text(task).text(name);
  compiled->fingerprint = base::mix(compiled->fingerprint, owner.finish());
  own_local(*compiled, local);
  return compiled;
}

ScopeParts scope_parts(const CompiledTrigger& t) {
  ScopeParts out{.page = t.by.page || t.spec.scope == Scope::page,
                 .session = t.by.session || t.spec.scope == Scope::session};
  for (const uint16_t field : t.by.fields) out.fields[out.count++] = field;
  return out;
}
}  // namespace

Task* TaskTable::find(std::string_view name) {
  const auto at = tasks_.find(name);
  return at == tasks_.end() ? nullptr : at->second.get();
}

const Task* TaskTable::find(std::string_view name) const {
  const auto at = tasks_.find(name);
  return at == tasks_.end() ? nullptr : at->second.get();
}

std::string_view TaskTable::intern(std::string_view name) {
  const auto at = names_.find(name);
  return at != names_.end() ? *at : *names_.emplace(name).first;
}

Result<std::vector<CompiledTrigger>> TaskTable::compile(const TaskTriggers& given) const {
  WALLE_TRY(check_shape(given));
  if (!find(given.task) && tasks_.size() >= kMaxTasks)
    return resource_error({"task number ", tasks_.size() + 1}, {"at most ", kMaxTasks},
                          {"install of task '", given.task, "'"}, "remove tasks that are no longer needed");
  std::vector<CompiledTrigger> out;
  for (const TriggerText& t : given.triggers) {
    WALLE_ASSIGN(CompiledTrigger compiled, compiled_for(given.task, t.name, t.text, given.local, catalog_));
    out.push_back(std::move(compiled));
  }
  return out;
}

Status TaskTable::add(Task& task, TaskTrigger& t) {
  auto id = matcher_->add(t.compiled);
  if (!id.ok()) {
    Error e = id.take_error();
    e.within({"task '", task.name, "', trigger '", t.name, "'"});
    return e;
  }
  t.id = *id;
  if (owners_.size() <= t.id) owners_.resize(t.id + size_t{1});
  owners_[t.id] = {&task, t.name, scope_parts(t.compiled)};
  return {};
}

void TaskTable::remove(TaskTrigger& t) {
  if (t.id == kNone) return;
  matcher_->remove(t.id, t.compiled);
  owners_[t.id] = {};
  t.id = kNone;
}

Status TaskTable::change(Task& task, const TaskTriggers& given, std::vector<CompiledTrigger> compiled,
                         std::vector<TaskTrigger*>& fresh) {
  std::vector<TaskTrigger> next;
  for (size_t i = 0; i < compiled.size(); ++i) {
    const std::string_view name = intern(given.triggers[i].name);
    // With its name in it, the fingerprint is that of the same trigger, the same text and local time.
    const auto same = std::ranges::find_if(task.triggers, [&](const TaskTrigger& t) {
      return t.id != kNone && t.name == name && t.compiled.text == compiled[i].text &&
             same_local(t.compiled.local, compiled[i].local);
    });
    next.push_back({.name = name, .compiled = std::move(compiled[i]), .before = {}});
    if (same == task.triggers.end()) continue;
    next.back().id = std::exchange(same->id, kNone);
    next.back().order = same->order;
    next.back().before = same->before;
  }
  for (TaskTrigger& t : task.triggers) remove(t);
  task.triggers = std::move(next);
  for (TaskTrigger& t : task.triggers) {
    if (t.id != kNone) continue;
    t.order = next_order_++;
    WALLE_TRY(add(task, t));
    fresh.push_back(&t);
  }
  return {};
}

void TaskTable::drop(Task& task) {
  for (TaskTrigger& t : task.triggers) remove(t);
}

bool TaskTable::rebuild(std::string_view snapshot) {
  for (const auto& [name, task] : tasks_)
    for (TaskTrigger& t : task->triggers) t.before = stats_of(t);
  matcher_ = std::make_unique<Matcher>(catalog_, options_);
  owners_.clear();
  std::vector<std::pair<Task*, TaskTrigger*>> in_order;
  for (const auto& [name, task] : tasks_)
    for (TaskTrigger& t : task->triggers) in_order.emplace_back(task.get(), &t);
  std::ranges::sort(in_order, {}, [](const auto& entry) { return entry.second->order; });
  bool whole = true;
  const auto passed_over = [&](const Error& e) {
    base::log(base::LogLevel::warning, "processor: " + e.message());
    whole = false;
  };
  for (const auto& [task, t] : in_order) {
    t->id = kNone;
    auto compiled = compiled_for(task->name, t->name, t->compiled.text, t->compiled.local, catalog_);
    if (!compiled.ok()) {
      passed_over(compiled.error());
      continue;
    }
    t->compiled = std::move(*compiled);
    if (const Status added = add(*task, *t); !added.ok()) passed_over(added.error());
  }
  if (snapshot.empty()) return whole;
  if (const auto restored = matcher_->restore(snapshot); !restored.ok()) passed_over(restored.error());
  return whole;
}

std::vector<TaskTrigger> TaskTable::copy_of(const Task& task) const {
  std::vector<TaskTrigger> out;
  for (const TaskTrigger& t : task.triggers) {
    out.push_back({.name = t.name, .compiled = {}, .order = t.order, .before = stats_of(t)});
    out.back().compiled.text = t.compiled.text;  // the rest is rebuild()'s
    out.back().compiled.local = t.compiled.local;
  }
  return out;
}

TriggerStats TaskTable::stats_of(const TaskTrigger& t) const {
  TriggerStats out = t.before;
  if (t.id == kNone) return out;
  const TriggerStats now = matcher_->stats_of(t.id);
  out.fired += now.fired;
  out.suppressed += now.suppressed;
  out.evicted += now.evicted;
  out.last_ts = std::max(out.last_ts, now.last_ts);
  return out;
}

size_t TaskTable::memory_bytes() const {
  size_t bytes = matcher_->memory_bytes() + owners_.capacity() * sizeof(Owner);
  for (const auto& [name, task] : tasks_)
    bytes += sizeof(Task) + task->queue.memory_bytes() + task->triggers.capacity() * sizeof(TaskTrigger);
  return bytes;
}

}  // namespace walle::stream
