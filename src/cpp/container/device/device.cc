#include "container/device/device.h"

#include <thread>

#include "base/fork.h"
#include "base/nearest_name.h"
#include "container/device/in_callback.h"
#include "container/task/task_version.h"

namespace walle::container {

Result<std::unique_ptr<Device>> Device::open(Env& env, const std::string& dir, DeviceOptions options) {
  WALLE_ASSIGN(std::shared_ptr<DeviceCore> core, DeviceCore::open(env, dir, std::move(options)));
  std::unique_ptr<Device> device(new Device(std::move(core)));
  device->catalog_ = std::make_shared<const stream::Catalog>(device->core_->catalog());
  return device;
}

Device::Device(std::shared_ptr<DeviceCore> core)
    : process_(base::fork_generation()), name_(core->name_in_callbacks()), core_(std::move(core)) {}

Device::~Device() {
  if (core_ == nullptr) return;
  if (process_ != base::fork_generation()) {
    // Its threads are not here to be waited for, and its files are the parent's.
    static std::vector<std::shared_ptr<DeviceCore>>& of_parents =
        *new std::vector<std::shared_ptr<DeviceCore>>;
    of_parents.push_back(std::move(core_));
  } else if (InCallback::of(name_)) {
    std::thread([core = std::move(core_)]() mutable { core.reset(); }).detach();
  }
}

// Before any lock: one that another thread of the parent held stays locked in the child.
Status Device::check_process(const char* call) const {
  if (process_ == base::fork_generation()) [[likely]]
    return {};
  return resource_error(
      "a device that was opened before fork(), used in the child", "the process that opened it", call,
      "leave it to the parent, and open a folder of its own in the child, or start processes "
      "with spawn instead of fork");
}

namespace {
Error waits_for_itself(const char* call) {
  return argument_error("a call from one of the device's own callbacks, whose end it would wait for",
                        "another thread", call, "let the callback return, and call it from elsewhere");
}
}  // namespace

Status Device::may_end(const char* call) const {
  WALLE_TRY(check_process(call));
  return InCallback::of(name_) ? Status(waits_for_itself(call)) : Status();
}

Status Device::may_wait(const char* call) const {
  WALLE_TRY(check_process(call));
  return InCallback::at_work_for(name_) ? Status(waits_for_itself(call)) : Status();
}

Result<std::shared_ptr<DeviceCore>> Device::core(const char* call) const {
  WALLE_TRY(check_process(call));
  {
    const std::lock_guard guard(copying_);
    if (core_ != nullptr && (!closed() || InCallback::here())) return core_;
  }
  return argument_error("a closed device", "an open one", call, "open the folder again");
}

Status Device::close() {
  WALLE_TRY(may_end("close"));
  attached_.stop_all();
  closed_.store(true, std::memory_order_release);
  std::shared_ptr<DeviceCore> held;
  {
    const std::lock_guard guard(copying_);
    held = core_;
  }
  if (held == nullptr) return {};
  Status status = held->close();
  const std::lock_guard guard(copying_);
  core_.reset();
  return status;
}

Result<vm::Value> Device::call(const std::string& task, const std::string& function,
                               std::span<const vm::Value> arguments,
                               std::optional<std::chrono::microseconds> patience) const {
  WALLE_TRY(may_end("call"));  // its turn may be the very one that the callback belongs to
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, this->core("call"));
  return core->call(task, function, arguments, patience);
}

std::shared_ptr<const stream::Catalog> Device::catalog() const {
  const std::lock_guard guard(copying_);
  return catalog_;
}

template <class Change>
auto Device::changing(const char* call, const Change& change) {
  const std::lock_guard guard(changing_);
  const Result<std::shared_ptr<DeviceCore>> open = core(call);
  using Answer = decltype(change(**open));
  if (!open.ok()) return Answer(open.error());
  Answer answer = change(**open);
  auto fresh = std::make_shared<const stream::Catalog>((*open)->catalog());
  const std::lock_guard copying(copying_);
  catalog_ = std::move(fresh);
  return answer;
}

Status Device::declare(const stream::EventDecl& event) {
  return changing("declare", [&](DeviceCore& core) { return core.declare(event); });
}

Status Device::declare_page(std::string_view page) {
  return changing("declare_page", [&](DeviceCore& core) { return core.page(page).status(); });
}

Status Device::declare_state(std::string_view state) {
  return changing("declare_state", [&](DeviceCore& core) { return core.state(state).status(); });
}

Result<std::string> Device::install(std::string bundle) {
  return changing("install", [&](DeviceCore& core) { return core.install(std::move(bundle)); });
}

Result<std::string> Device::install_package(std::string_view manifest, const std::string& blobs,
                                            std::string_view params) {
  return changing("install_package",
                  [&](DeviceCore& core) { return core.install_package(manifest, blobs, params); });
}

Result<std::string> Device::install_file(const std::string& path) {
  return changing("install", [&](DeviceCore& core) { return core.install_file(path); });
}

Result<std::vector<std::string>> Device::tables(const std::string& task) const {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, core("tables"));
  const std::string prefix = table_name(task, "");
  std::vector<std::string> names;
  for (const store::TableInfo& info : open->commits().tables().tables()) {
    if (info.decl.name.starts_with(prefix)) names.push_back(info.decl.name.substr(prefix.size()));
  }
  return names;
}

Result<std::string> Device::known_table(DeviceCore& core, const std::string& task,
                                        const std::string& table) const {
  std::string name = table_name(task, table);
  if (core.commits().tables().find(name)) return name;
  WALLE_ASSIGN(const std::vector<std::string> known, tables(task));
  if (known.empty()) {
    return argument_error({"table '", table, "' of task '", task, "', which has no tables"},
                          "a task that is installed and declares tables", "results",
                          "see tasks() for the names of tasks")
        .of_kind(base::ErrorKind::no_such_key);
  }
  std::string expected;
  for (const std::string& each : known) expected += (expected.empty() ? "one of: " : ", ") + each;
  return argument_error({"table '", table, "' of task '", task, "'"}, expected, "results",
                        base::did_you_mean(table, known, "choose one of them"))
      .of_kind(base::ErrorKind::no_such_key);
}

Result<store::TableColumns> Device::read(const std::string& task, const std::string& table, uint64_t from,
                                         uint64_t limit, const std::vector<std::string>& columns) const {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, core("results"));
  WALLE_ASSIGN(const std::string name, known_table(*open, task, table));
  return open->commits().tables().read(name, from, limit, columns);
}

Result<store::TableColumns> Device::last(const std::string& task, const std::string& table,
                                         uint64_t count) const {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, core("results"));
  WALLE_ASSIGN(const std::string name, known_table(*open, task, table));
  return open->commits().tables().last(name, count);
}

Result<store::TableInfo> Device::info(const std::string& task, const std::string& table) const {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> open, core("results"));
  WALLE_ASSIGN(const std::string name, known_table(*open, task, table));
  return open->commits().tables().info(name);
}

}  // namespace walle::container
