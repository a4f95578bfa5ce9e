// DeviceCloud: a device and its server: who it is there, the agent that follows the server's plans, what
// rides on the app's own requests.
//
// Threads: any, for every call; none waits for the network but connect(), where the device enrols. The device
// outlives it; closing the device stops it.
#pragma once

#include <memory>
#include <string>

#include "container/device/device.h"
#include "link/agent/agent_thread.h"
#include "link/agent/identity.h"

namespace walle::container {

struct CloudOptions {
  std::string url;   // https://host[:port]; http:// for a server on the same machine
  std::string root;  // the first root that came with the app; empty: the one that enrolling brought
  // app, app_version, device, os_version as the app says; what is empty of the rest is found out.
  link::DeviceProfile profile;
  std::string enrol_code;  // needed once
  // Whether the code may travel over http:// to another machine, where whoever listens can use it first.
  bool plain_enrolment = false;
  link::PullTimes times;
  int64_t report_after_us = 20'000'000;
  std::unique_ptr<link::KeyStore> keys;  // what makes and reads the device's key; nullptr: libcrypto
};

class DeviceCloud {
 public:
  // Enrols where the device has not, and starts. Errors: an address or a name that is none, no code where one
  // is needed, a server that refuses it, no libcrypto, a closed device. A server that is not there is none,
  // once the device has enrolled.
  static Result<std::unique_ptr<DeviceCloud>> connect(Env& env, Device& device,
                                                      std::unique_ptr<link::Transport> transport,
                                                      CloudOptions options);
  ~DeviceCloud();

  // The value of the header X-Walle for the app's next request.
  std::string header() const;
  // What a reply's X-Walle-Up said; what is no number is passed over.
  void saw(std::string_view up);
  void heard(uint64_t epoch, uint32_t spread_s) { agent_->heard(epoch, spread_s); }
  void pull() { agent_->ask(); }
  void poke() { agent_->poke(); }
  bool wait_pulls(uint64_t count, int64_t timeout_us) { return agent_->wait_pulls(count, timeout_us); }
  link::AgentStatus status() const { return agent_->status(); }
  const link::Identity& identity() const { return *identity_; }
  void stop() {
    if (agent_) agent_->stop();
  }
  // Where a pull writes the broker's address, once the server has named another one.
  std::string broker_file() const { return folder_ + link::kAgentBroker; }

 private:
  explicit DeviceCloud(Device& device) : device_(device) {}
  Device& device_;
  std::string folder_;  // the agent's
  std::shared_ptr<link::Identity> identity_;
  // nullptr: connect() did not get there. Who closes the device holds it, too, while it stops.
  std::shared_ptr<link::AgentThread> agent_;
};

// In a device's folder.
inline constexpr const char* kCloudFolder = "/cloud";

}  // namespace walle::container
