// What a Device is made of. Workers hold it, and with it everything they use: one that is given up may end
// long after the Device.
//
// Locks, in the order in which they are taken: installing_, those of the processor and the commits, tasks_'s.
// What runs in a worker takes no lock of the core but tasks_'s, shared.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "container/device/clock.h"
#include "container/device/device_options.h"
#include "container/device/keeper.h"
#include "container/device/task_info.h"
#include "container/device/task_registry.h"
#include "container/device/task_rooms.h"
#include "container/device/workers.h"

namespace walle::container {

class DeviceCore : public std::enable_shared_from_this<DeviceCore> {
 public:
  // device_open.cc
  static Result<std::shared_ptr<DeviceCore>> open(Env& env, const std::string& dir, DeviceOptions options);
  Status start();
  Status close();
  // Lets go of the folder. Nobody calls anything any more.
  void destroy();
  ~DeviceCore();

  // device_core.cc
  Status check_open() const;
  Result<stream::Event> record(const stream::Event& event, bool durable);
  void set_fact(const std::string& name, bool holds);
  std::vector<TaskInfo> tasks() const;
  Result<TaskInfo> task(const std::string& name) const;
  DeviceStats stats() const;
  const std::string& dir() const { return dir_; }
  const DeviceOptions& options() const { return options_; }
  std::string vm_id() const { return vm_->id(); }
  bool wait_idle(int64_t timeout_us);
  void trim();
  Status advance(int64_t now_us);
  Status maintain();

  // device_install.cc
  Result<std::string> install(std::string bundle);
  Result<std::string> install_package(std::string_view manifest, const std::string& blobs);
  Status suits(std::string_view manifest) const;
  Status remove(const std::string& name);

  Facts facts;
  std::unique_ptr<Commits> commits;  // outlives the processor, which asks it
  std::unique_ptr<stream::Processor> processor;
  std::unique_ptr<TaskRooms> rooms;

 private:
  using Runner = std::shared_ptr<TaskRunner>;

  DeviceCore(Env& env, std::string dir, DeviceOptions options)
      : env_(env), dir_(std::move(dir)), options_(std::move(options)), workers_(turns_) {}
  // device_open.cc
  Status open_rooms();
  Status load_tasks();
  Result<Deaths> load_task(const std::string& name, const InstalledTask& entry);
  Status drop_strangers();
  void let_go_of_tasks();
  // device_install.cc
  Status prepare(const TaskVersion& version);
  Status put_triggers(const TaskVersion& version);
  bool has_triggers(const TaskVersion& version) const;
  Result<std::string> install_parts(const link::Package& package, std::string_view manifest,
                                    const std::string& blobs);
  Result<std::string> activate(const std::shared_ptr<const TaskVersion>& version, const std::string& file);
  Status check_room(const std::string& name) const;
  Deaths adopt(const std::shared_ptr<const TaskVersion>& version, const std::string& file);
  Status adopt_event(const stream::EventDecl& wanted);
  void keep_features(const Manifest& manifest);
  void take_back(const std::string& name, const std::optional<InstalledTask>& before);
  // device_core.cc
  Runner find(std::string_view name) const;
  Runner find_or_make(const std::string& name);
  size_t task_count() const;
  Error unknown(const std::string& name) const;
  void wake(TaskRunner& runner) { turns_.wake(runner, steady_us()); }
  bool wake_stalled();
  void cool_down(int64_t longest_us, size_t most, uint64_t most_bytes);
  bool watch();
  int64_t sleeps_us() const;
  void set_aside(const std::string& name, const std::string& why);

  Env& env_;
  std::string dir_;
  DeviceOptions options_;
  std::shared_ptr<const vm::Vm> vm_;
  std::unique_ptr<vm::Pool> pool_;
  std::unique_ptr<TaskRegistry> registry_;
  std::unique_ptr<CrashMarks> marks_;
  std::mutex installing_;  // install, remove, and the registry
  Turns turns_;
  mutable std::shared_mutex tasks_lock_;
  std::map<std::string, Runner, std::less<>> tasks_;  // those that were removed among them, retired
  Workers workers_;
  std::atomic<bool> open_{false};
  std::atomic<uint64_t> seen_event_{0};  // by watch()
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace walle::container
