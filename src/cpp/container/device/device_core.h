// DeviceCore: what a device does. record() of an event ends in stored results of every task whose trigger it
// completed.
//
//   event -> log -> triggers -> the task's queue -> a worker and the task's isolate -> one commit ->
//   on_result
//
// Exactly once: a firing's rows, its sends and that it is done are one frame of the redo journal. After a
// crash, whatever is not in a frame runs again under the same number, and what is in one never does. What a
// task writes past the frame - walle.kv - it may write again.
//
// Threads: any, for every call. on_result is called from the workers, for one task's firings in their order.
// A folder has one device at a time, and it belongs to the process that opened it. A call that cannot be
// stopped keeps its thread and what it may touch, the folder among that, until it ends by itself.
//
// The folder: log/ and processor.wals (events, triggers), commits.walj, tables/, egress/, outbox/ (results),
// kv/<task>, tasks.wals and tasks/ (what is installed). docs/concepts/container.md.
//
// Workers hold it, and with it everything they use: one that is given up may end long after the device.
// Locks, in the order in which they are taken: installing_, those of the processor and the commits, tasks_'s.
// What runs in a worker takes no lock of the core but tasks_'s, shared.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "container/device/clock.h"
#include "container/device/device_loss.h"
#include "container/device/device_options.h"
#include "container/device/maintenance.h"
#include "container/device/task_info.h"
#include "container/device/task_registry.h"
#include "container/device/task_rooms.h"
#include "container/device/timers.h"
#include "container/device/workers.h"

namespace walle::container {

class DeviceCore : public std::enable_shared_from_this<DeviceCore> {
 public:
  // With the last copy of what it gives the device is closed and its folder free, whatever workers hold.
  static Result<std::shared_ptr<DeviceCore>> open(Env& env, const std::string& dir,
                                                  DeviceOptions options = {});
  ~DeviceCore();
  DeviceCore(const DeviceCore&) = delete;
  DeviceCore& operator=(const DeviceCore&) = delete;

  // As stream::Processor::record. Never waits for a task.
  Result<stream::Event> record(const stream::Event& event, bool durable = false);
  Status declare(const stream::EventDecl& event);
  Result<uint16_t> page(std::string_view name);
  Result<uint16_t> state(std::string_view name);
  const stream::Catalog& catalog() const { return processor_->catalog(); }

  // Puts a .wtask with a manifest in, or replaces the task of its name: a firing that runs ends on the old
  // version, the next one begins on the new, and triggers whose name and text stay go on with what they have
  // under way. Durable when it returns its name. After an error all is as before, but that a disk that failed
  // in the last step may show the new version, whole, at the next open.
  Result<std::string> install(std::string bundle);
  // Of a .walp, a package's manifest, the files lie in the folder `blobs` beside it.
  Result<std::string> install_file(const std::string& path);
  // The same from the parts of a package: the manifest's bytes, and a folder with every file under its
  // SHA-256 in hexadecimal (docs/reference/formats/package.md). Sizes, digests and names are verified before
  // anything runs. Large files get a second name where the file system allows and are copied elsewhere:
  // nobody may write in place to what lies in the folder; it may be removed. `params`: what its release sets
  // of walle.params, a dict by name as encode_value() writes it. It takes the place of what one before set,
  // and what the app sets goes before it.
  Result<std::string> install_package(std::string_view manifest, const std::string& blobs,
                                      std::string_view params = {});
  // Whether this device can run it, as far as its manifest tells: before the files are fetched.
  Status suits(std::string_view manifest) const;
  // A firing that runs is the last one; what waits is dropped. Its tables, its walle.kv and what waits in the
  // outbox stay, and a task of the name that comes later goes on with them, and with its numbers. Nothing of
  // it may leave any more, not even what the firing that runs would send; what it has spent of its budgets
  // today stays spent.
  Status remove(const std::string& name);

  // Local time is another from now on; none: the host's, asked anew. Durable when it returns.
  Status set_local(const std::optional<stream::LocalTime>& local);
  // Sets values of a task's walle.params, or with none lets go of what was set: all or nothing, durably, from
  // the next firing on. What is not named stays.
  Status set_params(const std::string& task, const vm::Map& given);
  // The `params` that the task was installed with; empty: none, or there is no such task.
  std::string released_params(const std::string& task) const;
  // A function that tasks may call as walle.app.NAME, where their manifests declare it. None: not any more.
  Status provide(const std::string& name, AppFunction function) {
    return rooms_->app->provide(name, std::move(function));
  }
  // The values of a feature that a task declares, for each of `keys` in their order, behind the newest event:
  // a key is a value, or a list of as many as `by` has fields.
  Result<vm::List> features(const std::string& task, const std::string& name, const vm::List& keys);
  // What holds on this device: charging, unmetered, idle ... One that was never set does not hold.
  Status set_fact(const std::string& name, bool holds);
  std::map<std::string, bool> facts() const { return facts_.all(); }
  // What names the device where one of its callbacks asks (InCallback).
  const void* name_in_callbacks() const { return &facts_; }

  // Runs a function of a task that its manifest's calls name, on this thread, in the task's isolate and under
  // the limits declared there: between two firings, at once where none is under way. Values cross as in
  // firings; tensors and buffers share memory. `patience` bounds waiting and running together.
  Result<vm::Value> call(const std::string& task, const std::string& function,
                         std::span<const vm::Value> arguments,
                         std::optional<std::chrono::microseconds> patience);

  // Called behind each firing's commit, from a worker, which waits for it; none for no one. Not called again
  // after a crash between the two: what must not be missed is in the tables.
  void on_result(std::function<void(const TaskResult&)> callback);

  // What is gone, of any file of the folder, until acknowledged. Reads every segment of the tables first
  // where `verify` says so.
  Result<std::vector<DeviceLoss>> losses(bool verify = false);
  // Forgets what losses() tells now, durably. Of privacy accounts only where `spent` says what each is known
  // to have spent.
  Status acknowledge_losses(const std::map<std::string, double>* spent = nullptr);

  std::vector<TaskInfo> tasks() const;  // by name
  Result<TaskInfo> task(const std::string& name) const;
  DeviceStats stats() const;
  const std::string& dir() const { return dir_; }
  const DeviceOptions& options() const { return options_; }  // as it was opened with
  std::string vm_id() const { return vm_->id(); }
  // Result tables, outbox, gate, ledger. A task's table is named as table_name() says.
  Commits& commits() { return *commits_; }
  stream::Processor& processor() { return *processor_; }

  // Waits until no task is queued or running; those that wait for facts or are set aside do not count. False:
  // not within that time.
  bool wait_idle(int64_t timeout_us);
  // Lets go of the isolates of tasks that do not run: for a device that is short of memory.
  void trim();
  // Time and maintenance by hand, for a device without a thread for them (DeviceOptions::background).
  Status advance(int64_t now_us);
  // The earliest time at which advance() has something to do.
  std::optional<int64_t> next_deadline() const;
  Status maintain();

  // Firings under way end, or are stopped after DeviceOptions::grace_ms and run again after the next open, as
  // those do that wait; then everything is written. Calls after it are errors; the folder is free when the
  // last that open() gave is gone.
  Status close();

 private:
  using Runner = std::shared_ptr<TaskRunner>;

  DeviceCore(Env& env, std::string dir, DeviceOptions options)
      : env_(env), dir_(std::move(dir)), options_(std::move(options)), workers_(queue_) {}
  struct Handle;  // what open() gives
  // device_open.cc
  Status start();
  void destroy();
  Status open_rooms();
  Status open_events();
  Status load_tasks();
  Result<Deaths> load_task(const std::string& name, const InstalledTask& entry);
  Status drop_strangers();
  void let_go_of_tasks();
  // device_install.cc
  Status prepare(const TaskVersion& version);
  static Result<std::vector<stream::TriggerText>> triggers_of(const Manifest& manifest);
  Status put_triggers(const TaskVersion& version);
  bool has_triggers(const TaskVersion& version) const;
  Result<std::string> install_parts(const link::Package& package, std::string_view manifest,
                                    const std::string& blobs, std::string_view params);
  Result<std::string> activate(const std::shared_ptr<const TaskVersion>& version, const std::string& file,
                               std::string_view released);
  Status check_released(const TaskVersion& version, std::string_view released) const;
  Status check_room(const std::string& name) const;
  Deaths adopt(const std::shared_ptr<const TaskVersion>& version, const InstalledTask& entry);
  Params params_that_fit(const TaskVersion& version, InstalledTask& entry) const;
  Status adopt_event(const stream::EventDecl& wanted);
  void keep_features(const Manifest& manifest);
  void take_back(const std::string& name, const std::optional<InstalledTask>& before);
  // device_losses.cc
  Result<std::vector<std::string>> damaged_states() const;
  // device_core.cc
  Status check_open() const;
  Status keep_up();
  std::optional<int64_t> next_event() const;
  Status advance_to(int64_t now_us);
  Runner find(std::string_view name) const;
  Runner find_or_make(const std::string& name);
  size_t task_count() const;
  Error unknown(const std::string& name) const;
  void wake(TaskRunner& runner) { queue_.wake(runner, steady_us()); }
  bool wake_stalled();
  void wake_due();
  void cool_down(int64_t longest_us, size_t most, uint64_t most_bytes);
  bool watch();
  int64_t sleeps_us() const;
  void set_aside(const std::string& name, const std::string& why);

  Env& env_;
  std::string dir_;
  DeviceOptions options_;
  std::shared_ptr<const vm::Vm> vm_;
  Facts facts_;
  std::unique_ptr<Commits> commits_;  // outlives the processor, which asks it
  std::unique_ptr<stream::Processor> processor_;
  std::unique_ptr<EventRecorder> recorder_;
  std::unique_ptr<Timers> timers_;
  std::unique_ptr<TaskRooms> rooms_;
  std::unique_ptr<vm::Pool> pool_;
  std::unique_ptr<TaskRegistry> registry_;
  std::unique_ptr<CrashMarks> marks_;
  mutable std::mutex installing_;  // install, remove, and the registry
  RunQueue queue_;
  mutable std::shared_mutex tasks_lock_;
  std::map<std::string, Runner, std::less<>> tasks_;  // those that were removed among them, retired
  Workers workers_;
  std::atomic<bool> open_{false};
  std::atomic<uint64_t> seen_event_{0};  // by watch()
  std::unique_ptr<Maintenance> maintenance_;
};

}  // namespace walle::container
