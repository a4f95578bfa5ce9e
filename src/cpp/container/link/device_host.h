// DeviceHost: a device as its agent sees it (link/agent/agent_host.h).
//
// The device is held for the length of a call: a closed one gives its folder back, and the calls behind that
// are errors. One thread, the agent's, but for cancel().
#pragma once

#include <atomic>
#include <map>

#include "container/device/device.h"
#include "link/agent/agent_host.h"

namespace walle::container {

class DeviceHost final : public link::AgentHost {
 public:
  // The device outlives it. `folder`: where probations are held.
  DeviceHost(Env& env, Device& device, std::string folder)
      : env_(env), device_(device), folder_(std::move(folder)) {}

  std::vector<link::HostedTask> tasks() override;
  Status suits(std::string_view manifest) override;
  Result<link::Probation> probation(const link::StagedPackage& staged) override;
  Status install(const link::StagedPackage& staged) override;
  Status remove(const std::string& task) override;
  void cancel() override { cancelled_.store(true); }

 private:
  // What a device counts for a task goes on over its versions.
  struct Before {
    std::string package, params;
    uint64_t firings = 0, failures = 0;
  };

  Env& env_;
  Device& device_;
  std::string folder_;
  std::atomic<bool> cancelled_{false};
  std::map<std::string, Before> before_;
};

}  // namespace walle::container
