#include "container/link/device_host.h"

#include "container/link/probation.h"
#include "container/link/task_trouble.h"

namespace walle::container {

namespace {
constexpr const char* kAgent = "the agent";
}  // namespace

std::vector<link::HostedTask> DeviceHost::tasks() {
  std::vector<link::HostedTask> out;
  const Result<std::shared_ptr<DeviceCore>> core = device_.core(kAgent);
  if (!core.ok()) return out;
  for (const TaskInfo& info : (*core)->tasks()) {
    link::HostedTask task;
    task.name = info.name;
    task.version = info.version;
    task.package = info.package;
    task.params = (*core)->released_params(info.name);
    const auto before = before_.find(info.name);
    const bool counted = before != before_.end() && before->second.package == info.package &&
                         before->second.params == task.params;
    task.firings = info.firings - (counted ? before->second.firings : 0);
    task.failures = info.failures - (counted ? before->second.failures : 0);
    task.stopped = info.status == TaskStatus::set_aside || info.status == TaskStatus::broken;
    task.deaths = info.deaths;
    if (task.failures > 0 || task.deaths > 0 || task.stopped) task.trouble = trouble_of(info);
    out.push_back(std::move(task));
  }
  return out;
}

Status DeviceHost::suits(std::string_view manifest) {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core(kAgent));
  return core->suits(manifest);
}

Result<link::Probation> DeviceHost::probation(const link::StagedPackage& staged) {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core(kAgent));
  return hold_probation(env_, *core, staged, folder_, cancelled_);
}

Status DeviceHost::install(const link::StagedPackage& staged) {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core(kAgent));
  Before before{.package = staged.digest, .params = staged.params};
  if (const Result<TaskInfo> old = core->task(staged.task); old.ok()) {
    before.firings = old->firings;
    before.failures = old->failures;
  }
  // By the device, whose copy of the catalogue learns what the version declares.
  WALLE_TRY(device_.install_package(staged.manifest, staged.blobs, staged.params).status());
  before_[staged.task] = std::move(before);
  return {};
}

Status DeviceHost::remove(const std::string& task) {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core(kAgent));
  if (!core->task(task).ok()) return {};
  return core->remove(task);
}

}  // namespace walle::container
