// Opening and closing a device: what lies in its folder, and what does not fit together after a crash.
#include <algorithm>

#include "base/log.h"
#include "container/device/device_core.h"
#include "container/device/task_events.h"
#include "container/host/host_calls.h"
#include "vm/reaper.h"

namespace walle::container {

namespace {

Status check_options(const DeviceOptions& options) {
  if (options.workers >= 1 && options.workers <= kMaxWorkers) return {};
  return argument_error({"workers=", options.workers}, {"1 to ", kMaxWorkers}, "Device",
                        "use as many as there are processors for tasks");
}

}  // namespace

// Those who hold it are those whom it serves; workers hold what it gives away, and do not count.
struct DeviceCore::Handle {
  std::shared_ptr<DeviceCore> core;
  ~Handle() { core->destroy(); }
};

Result<std::shared_ptr<DeviceCore>> DeviceCore::open(Env& env, const std::string& dir,
                                                     DeviceOptions options) {
  WALLE_TRY(check_options(options));
  std::shared_ptr<DeviceCore> core(new DeviceCore(env, dir, std::move(options)));
  WALLE_TRY(core->open_rooms());
  for (auto& [name, function] : std::exchange(core->options_.app, {}))
    WALLE_TRY(core->provide(name, std::move(function)));
  WALLE_TRY(core->load_tasks());
  WALLE_TRY(core->start());
  const std::shared_ptr<Handle> handle(new Handle{core});
  return std::shared_ptr<DeviceCore>(handle, core.get());
}

Status DeviceCore::open_rooms() {
  WALLE_ASSIGN(vm_, vm::Vm::open(options_.vm_library, host_calls()));
  WALLE_TRY(env_.make_dirs(dir_));
  // First: the folder's lock, and what the processor asks for.
  WALLE_ASSIGN(commits_, Commits::open(env_, dir_, options_.commits));
  options_.processor.settled = [this](std::string_view task) { return commits_->settled(std::string(task)); };
  options_.processor.sync_settled = [this] { return commits_->sync(); };
  options_.processor.matcher.local = options_.local ? *options_.local : stream::LocalTime::host();
  WALLE_ASSIGN(processor_, stream::Processor::open(env_, dir_, options_.catalog, options_.processor));
  if (options_.processor.log.recorded_times)
    commits_->gate().go_by([processor = processor_.get()] { return processor->now(); });
  WALLE_TRY(open_events());
  WALLE_ASSIGN(registry_, TaskRegistry::open(env_, dir_));
  WALLE_ASSIGN(marks_, CrashMarks::open(env_, dir_));
  vm::PoolOptions pool;
  pool.size = options_.ready_isolates;
  pool.imports = options_.warm_imports;
  WALLE_ASSIGN(pool_, vm::Pool::create(vm_, std::move(pool)));
  rooms_ = std::make_unique<TaskRooms>(env_, options_, *pool_, *processor_, *commits_, facts_);
  commits_->go_by([rooms = rooms_.get()] { return rooms->now_us(); });
  rooms_->set_aside = [this](const std::string& task, const std::string& why) { set_aside(task, why); };
  queue_.reserve(stream::kMaxTasks);
  return {};
}

// Events that frames record and that the log has are known; start() records the others.
Status DeviceCore::open_events() {
  auto recorder = std::make_unique<TaskEvents>(*processor_);
  if (const std::optional<PendingEvent> oldest = commits_->oldest()) {
    WALLE_ASSIGN(const int64_t newest, recorder->newest_id(oldest->after));
    commits_->recorded(newest);
  }
  commits_->record_into(recorder.get());
  recorder_ = std::move(recorder);
  WALLE_ASSIGN(timers_, Timers::open(*commits_));
  return {};
}

Status DeviceCore::load_tasks() {
  std::map<std::string, Deaths> fallen;
  for (const auto& [name, entry] : registry_->tasks()) {
    const Result<Deaths> loaded = load_task(name, entry);
    if (loaded.ok() && loaded->count > 0) fallen.emplace(name, *loaded);
    if (loaded.ok()) continue;
    // One task that cannot run keeps no other from running.
    base::log(base::LogLevel::warning, "task '" + name + "' does not run: " + loaded.error().message());
    find_or_make(name)->set_broken(entry.version, loaded.error().message());
  }
  marks_->sweep();
  for (const auto& [name, deaths] : fallen) {
    const std::string why = find(name)->fell(deaths);
    if (!why.empty()) set_aside(name, why);
  }
  registry_->sweep();
  return drop_strangers();
}

Result<Deaths> DeviceCore::load_task(const std::string& name, const InstalledTask& entry) {
  WALLE_ASSIGN(const std::shared_ptr<const TaskVersion> version, registry_->load(vm_, entry.file));
  if (version->manifest.name != name) {
    return model_error({"the bundle of task '", version->manifest.name, "'"}, {"that of task '", name, "'"},
                       {"tasks/", entry.file}, "install the task again");
  }
  WALLE_TRY(prepare(*version));
  // A crash between the two steps of an install left the triggers of the version before.
  if (!has_triggers(*version)) WALLE_TRY(put_triggers(*version));
  const Deaths deaths = adopt(version, entry);
  if (entry.set_aside.empty()) return deaths;
  find_or_make(name)->set_aside(entry.set_aside);
  return Deaths{};
}

// Tasks that the processor knows and the registry does not: a crash between the two steps of a removal. With
// a registry that is lost they are all there is, and what waits for them is kept.
Status DeviceCore::drop_strangers() {
  if (registry_->lost()) return {};
  for (const std::string& name : processor_->tasks()) {
    if (!registry_->tasks().contains(name)) WALLE_TRY(processor_->remove(name));
  }
  for (const std::string& name : commits_->retries().tasks()) {
    if (!registry_->tasks().contains(name)) WALLE_TRY(commits_->forget_retries(name));
  }
  return {};
}

Status DeviceCore::start() {
  WALLE_TRY(workers_.start(options_.workers, weak_from_this()));
  processor_->on_ready([this](std::string_view task) {
    if (const Runner runner = find(task)) wake(*runner);
  });
  // On a disk that is full they wait, and a device goes on: maintain() tells.
  (void)commits_->drain().ok();
  Maintenance::Duties duties;
  duties.watch = [this] { return watch(); };
  duties.maintain = [this] {
    if (options_.background) (void)keep_up().ok();  // stats() tell of what failed
  };
  duties.sleeps_us = [this] { return sleeps_us(); };
  maintenance_ = std::make_unique<Maintenance>(std::move(duties));
  open_.store(true);
  return {};
}

Status DeviceCore::close() {
  if (!open_.exchange(false)) return {};
  processor_->on_ready(nullptr);
  queue_.close();
  // What takes longer is stopped and runs again after the next open; the maintenance thread gives up what
  // cannot be.
  std::chrono::milliseconds patience(options_.grace_ms);
  while (!workers_.wait_until_left(patience) || !queue_.wait_given_back(patience)) {
    const std::shared_lock lock(tasks_lock_);
    for (const auto& [_, runner] : tasks_) runner->cancel();
    patience = std::chrono::milliseconds(50);
  }
  rooms_->app->close();
  maintenance_->stop();  // and there, because others may still poke it
  Status written = commits_->checkpoint();
  const Status matched = processor_->checkpoint();
  return written.ok() ? matched : written;
}

// Isolates end on a thread of their own, and what they run then may still ask for rows and events.
void DeviceCore::let_go_of_tasks() {
  {
    const std::unique_lock lock(tasks_lock_);
    if (tasks_.empty()) return;
    for (const auto& [_, runner] : tasks_) runner->cool();
    tasks_.clear();
  }
  vm::Reaper::instance().drain();
}

// Lets go of the folder. Nobody calls anything any more.
void DeviceCore::destroy() {
  (void)close().ok();
  if (rooms_->lost_workers.load() != 0) return;  // whoever is lost may still use it all
  let_go_of_tasks();
  rooms_.reset();
  pool_.reset();
  commits_->record_into(nullptr);
  commits_->go_by(nullptr);
  timers_.reset();
  recorder_.reset();
  processor_.reset();
  commits_.reset();
  // Last, as whoever was at work is marked there. Workers hold the core a little longer than the device
  // lives: a file that stayed open with it would be refused to the next open.
  marks_.reset();
}

DeviceCore::~DeviceCore() {
  // Opening may have stopped anywhere.
  if (open_.load()) (void)close().ok();
  if (maintenance_ != nullptr) maintenance_->stop();
  let_go_of_tasks();
}

}  // namespace walle::container
