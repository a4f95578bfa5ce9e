// AgentHost: the device as the agent sees it: which tasks it has, how they fare, and the four things that
// are done to them. What knows tasks and isolates implements it (container/link/); tests have one in memory.
//
// Called from the agent's thread, but for cancel(). An install is all or nothing and durable when it returns:
// the agent's own state says only what it was about to do, and what holds is what tasks() says after a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::link {

// Why a version is not to run, in the words of the task runtime.
struct TaskTrouble {
  std::string phase;    // "probation", "preprocess", "execute" ...
  std::string type;     // "ValueError", "ProcessDied"
  std::string limit;    // the one it met: "wall"; empty: none
  std::string message;  // for people, from the task: it never leaves the device
};

struct HostedTask {
  std::string name, version;
  std::string package;                 // digest in hexadecimal; empty for what did not come as a package
  std::string params;                  // StagedPackage::params that it was put in with
  uint64_t firings = 0, failures = 0;  // of this version, since the process began
  bool stopped = false;                // it was set aside, or does not open
  uint32_t deaths = 0;                 // processes in a row that ended while it ran
  TaskTrouble trouble;                 // the newest; of one that stopped, why
};

// A package whose every file lies verified on the disk.
struct StagedPackage {
  std::string task, version;
  std::string digest;    // of the manifest, in hexadecimal
  std::string manifest;  // its bytes
  std::string blobs;     // a folder with each file under its digest in hexadecimal
  std::string params;    // of its release, a dict by name as encode_value() writes it; empty: none
};

struct Probation {
  uint32_t firings = 0;  // recorded events that made it run; 0: there was none, it was only loaded
  std::optional<TaskTrouble> trouble;
};

class AgentHost {
 public:
  virtual ~AgentHost() = default;
  virtual std::vector<HostedTask> tasks() = 0;
  // Whether this device can run it: VM, memory, host calls. Before anything large is fetched.
  virtual Status suits(std::string_view manifest) = 0;
  // Runs the version on what the device has recorded; nothing of it is kept, nothing leaves. An error where
  // that could not be done (a full disk), which says nothing about the version.
  virtual Result<Probation> probation(const StagedPackage& staged) = 0;
  // Puts the version in the place of the one that runs. An error leaves that one.
  virtual Status install(const StagedPackage& staged) = 0;
  // Of a task that is not there: done.
  virtual Status remove(const std::string& task) = 0;
  // A probation under way ends soon with an error. From any thread.
  virtual void cancel() {}
};

}  // namespace walle::link
