// Installing, replacing and removing tasks while events come in.
#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "container/device/device_core.h"
#include "container/device/package_version.h"
#include "container/device/task_events.h"
#include "container/device/task_features.h"

namespace walle::container {

// What a version needs to be there, all of which only grows: a crash behind it leaves a table without rows.
Status DeviceCore::prepare(const TaskVersion& version) {
  const Manifest& manifest = version.manifest;
  for (stream::EventDecl event : manifest.events) {
    const auto& recorded = manifest.record_events;
    if (std::ranges::find(recorded, event.name) != recorded.end())
      event.fields.push_back(
          {.name = kRecordField, .type = ColumnType::integer, .sensitivity = stream::Sensitivity::open});
    WALLE_TRY(adopt_event(event));
  }
  if (!manifest.timer_names.empty()) WALLE_TRY(adopt_event(timer_event()));
  for (const std::string& page : manifest.pages) WALLE_TRY(processor_->page(page).status());
  for (const std::string& state : manifest.states) WALLE_TRY(processor_->state(state).status());
  for (store::TableDecl table : manifest.tables) {
    table.name = table_name(manifest.name, table.name);
    const std::optional<store::TableDecl> known = commits_->tables().find(table.name);
    if (!known || *known != table) WALLE_TRY(commits_->declare(table));
  }
  for (const EgressFeature& feature : manifest.features) WALLE_TRY(commits_->gate().allow(feature.policy));
  return features_of(*processor_, manifest).status();
}

// Fields are found by their names: what is new is appended, what is there stays.
Status DeviceCore::adopt_event(const stream::EventDecl& wanted) {
  const stream::Catalog& catalog = processor_->catalog();
  const std::optional<uint16_t> id = catalog.find_event(wanted.name);
  if (!id) return processor_->declare(wanted);
  stream::EventDecl grown = catalog.events()[*id];
  const size_t before = grown.fields.size();
  for (const stream::FieldDecl& field : wanted.fields) {
    const auto known = std::ranges::find(grown.fields, field.name, &stream::FieldDecl::name);
    if (known == grown.fields.end()) {
      grown.fields.push_back(field);
    } else if (known->type != field.type) {
      return argument_error(
          {"field '", field.name, "' of event '", wanted.name, "' as ", column_type_name(field.type)},
          {column_type_name(known->type), ", as the device has it"}, "installing a task",
          "use the device's type, or another name");
    }
  }
  return grown.fields.size() == before ? Status() : processor_->declare(grown);
}

// Those that it declares, and one for each of its timers.
Result<std::vector<stream::TriggerText>> DeviceCore::triggers_of(const Manifest& manifest) {
  std::vector<stream::TriggerText> out = manifest.triggers;
  for (const std::string& timer : manifest.timer_names) {
    WALLE_ASSIGN(stream::TriggerText trigger, timer_trigger(manifest.name, timer));
    out.push_back(std::move(trigger));
  }
  return out;
}

Status DeviceCore::put_triggers(const TaskVersion& version) {
  const Manifest& manifest = version.manifest;
  stream::TaskTriggers triggers;
  triggers.task = manifest.name;
  WALLE_ASSIGN(triggers.triggers, triggers_of(manifest));
  triggers.queue = manifest.queue;
  triggers.when_full = manifest.when_full;
  triggers.past = manifest.past;
  triggers.local = manifest.zone.local;
  return processor_->install(triggers);
}

bool DeviceCore::has_triggers(const TaskVersion& version) const {
  const Manifest& manifest = version.manifest;
  const Result<stream::TaskStats> known = processor_->stats(manifest.name);
  if (!known.ok() || known->queue != manifest.queue || known->when_full != manifest.when_full) return false;
  if (!stream::same_local(known->local, manifest.zone.local)) return false;
  const Result<std::vector<stream::TriggerText>> wanted = triggers_of(manifest);
  return wanted.ok() && std::ranges::equal(known->triggers, *wanted, [](const auto& a, const auto& b) {
           return a.name == b.name && a.text == b.text;
         });
}

Deaths DeviceCore::adopt(const std::shared_ptr<const TaskVersion>& version, const InstalledTask& entry) {
  const std::string& name = version->manifest.name;
  const Runner runner = find_or_make(name);
  queue_.set_weight(*runner, FairQueue::weight_of(version->manifest.priority));
  Deaths deaths;
  InstalledTask fitting = entry;
  Result<TaskFeatures> features = features_of(*processor_, version->manifest);
  if (!features.ok())  // prepare() had them: the catalogue has changed since
    base::log(base::LogLevel::error,
              "task '" + name + "' goes without its features: " + features.error().message());
  runner->replace(version, marks_->claim(name, entry.file, deaths), params_that_fit(*version, fitting),
                  features.ok() ? *std::move(features) : TaskFeatures());
  return deaths;
}

Result<std::string> DeviceCore::install(std::string bytes) {
  const std::lock_guard lock(installing_);
  WALLE_TRY(check_open());
  WALLE_ASSIGN(std::shared_ptr<const vm::Bundle> checked, vm::Bundle::open(vm_, bytes));
  WALLE_ASSIGN(std::shared_ptr<const TaskVersion> version, TaskVersion::open(std::move(checked)));
  const std::string name = version->manifest.name;
  WALLE_TRY(check_room(name));
  WALLE_TRY(prepare(*version));
  WALLE_ASSIGN(const std::string file, registry_->store(name, version->manifest.version, bytes));
  // From its file: large resources are then mapped and not held twice.
  bytes = {};
  WALLE_ASSIGN(version, registry_->load(vm_, file));
  return activate(version, file, {});
}

// Taken over first and verified where it will be used: what is verified is what runs, and is read once.
Result<std::string> DeviceCore::install_package(std::string_view manifest, const std::string& blobs,
                                                std::string_view params) {
  const std::lock_guard lock(installing_);
  WALLE_TRY(check_open());
  WALLE_ASSIGN(const link::Package package, link::read_package(manifest));
  WALLE_TRY(check_package(*vm_, package));
  WALLE_TRY(check_room(package.task));
  Result<std::string> installed = install_parts(package, manifest, blobs, params);
  if (!installed.ok()) registry_->sweep();
  return installed;
}

Result<std::string> DeviceCore::install_parts(const link::Package& package, std::string_view manifest,
                                              const std::string& blobs, std::string_view params) {
  WALLE_ASSIGN(const std::string file, registry_->store_package(package, manifest, blobs));
  WALLE_ASSIGN(const std::shared_ptr<const TaskVersion> version, registry_->load(vm_, file));
  WALLE_TRY(check_released(*version, params));
  WALLE_TRY(prepare(*version));
  return activate(version, file, params);
}

Result<std::string> DeviceCore::install_file(const std::string& path) {
  WALLE_ASSIGN(const std::shared_ptr<base::MappedFile> file, base::MappedFile::open(path));
  if (path.ends_with(kPackageSuffix)) {
    const std::string beside = (std::filesystem::path(path).parent_path() / "blobs").string();
    return install_package(base::as_text(file->bytes()), beside);
  }
  return install(std::string(base::as_text(file->bytes())));
}

Status DeviceCore::check_room(const std::string& name) const {
  if (find(name) || task_count() < stream::kMaxTasks) return {};
  return resource_error({"task '", name, "' as number ", stream::kMaxTasks + 1},
                        {"at most ", stream::kMaxTasks, " tasks"}, "Device.install",
                        "remove tasks that are not needed");
}

// Two durable steps, the entry of the registry and the triggers. The entry comes first, because it is what
// the next open makes the triggers fit to; where the second step fails the first is taken back.
Result<std::string> DeviceCore::activate(const std::shared_ptr<const TaskVersion>& version,
                                         const std::string& file, std::string_view released) {
  const std::string name = version->manifest.name;
  const auto former = registry_->tasks().find(name);
  const std::optional<InstalledTask> before =
      former == registry_->tasks().end() ? std::nullopt : std::optional(former->second);
  InstalledTask entry{.version = version->manifest.version,
                      .file = file,
                      .set_aside = "",
                      .params = before ? before->params : vm::Map(),
                      .released = std::string(released)};
  (void)params_that_fit(*version, entry);
  // What was removed before it ended may have left something behind. Of a registry that is lost nobody knows
  // what was removed: what waits is kept.
  if (!before && !registry_->lost()) WALLE_TRY(commits_->forget_retries(name));
  Status put = registry_->put(name, entry);
  if (put.ok() && !has_triggers(*version)) {
    put = put_triggers(*version);
    if (!put.ok()) take_back(name, before);
  }
  registry_->sweep();
  if (!put.ok()) {
    if (!before) commits_->gate().revoke(name);
    return put.take_error();
  }
  keep_features(version->manifest);
  // Installed anew, it begins anew.
  marks_->release(name);
  adopt(version, entry);
  wake(*find(name));
  return name;
}

// What an earlier version of the task could send and this one cannot.
void DeviceCore::keep_features(const Manifest& manifest) {
  std::vector<std::string> features;
  for (const EgressFeature& feature : manifest.features) features.push_back(feature.policy.feature);
  commits_->gate().keep_only(manifest.name, features);
}

void DeviceCore::take_back(const std::string& name, const std::optional<InstalledTask>& before) {
  const Status back = before ? registry_->put(name, *before) : registry_->erase(name);
  if (back.ok()) return;
  base::log(base::LogLevel::error, "task '" + name + "': the install failed, and so did taking it back (" +
                                       back.error().message() + "): after a restart the new version may run");
}

Status DeviceCore::suits(std::string_view manifest) const {
  WALLE_ASSIGN(const link::Package package, link::read_package(manifest));
  return check_package(*vm_, package);
}

Status DeviceCore::remove(const std::string& name) {
  const std::lock_guard lock(installing_);
  WALLE_TRY(check_open());
  if (!registry_->tasks().contains(name)) return unknown(name);
  WALLE_TRY(registry_->erase(name));
  marks_->release(name);
  // At once: what its last firing would still send is refused. Its budgets stay spent, should it come back.
  commits_->gate().revoke(name);
  const Runner runner = find(name);
  if (runner) {
    runner->retire();
    wake(*runner);  // lets go of its isolate
  }
  const Status forgotten = commits_->forget_retries(name);
  const Status dropped = timers_->drop(name);
  const Status removed = processor_->remove(name);
  registry_->sweep();
  if (!removed.ok()) return removed;
  return forgotten.ok() ? dropped : forgotten;
}

}  // namespace walle::container
