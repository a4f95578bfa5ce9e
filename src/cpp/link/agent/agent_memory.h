// AgentMemory: what an agent must not forget: which version of each task is which, what it is in the middle
// of, which versions failed here, and what it still has to tell the server.
//
// One small file in two copies (store/mirrored_file.h), replaced as a whole: a change of several things is
// one change. The layout is docs/reference/formats/agent-state.md. Not synchronised; one owner at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "link/agent/agent_host.h"
#include "link/policy/decide.h"
#include "store/mirrored_file.h"

namespace walle::link {

// Far above what a device has; they bound the file.
inline constexpr size_t kMostManagedTasks = 4096;
inline constexpr size_t kMostRefusals = 256;  // and as many that were taken back
inline constexpr size_t kMostPendingReports = 256;

// A package as a release named it.
struct ChosenPackage {
  std::string digest;  // of the manifest, in hexadecimal; empty: none
  std::string version;
  std::string release;  // PlanRelease::id
  std::string params;   // PlanRelease::params: the same package with other ones is tried like another version

  bool empty() const { return digest.empty(); }
  bool runs_as(const HostedTask& hosted) const { return hosted.package == digest && hosted.params == params; }
  friend bool operator==(const ChosenPackage&, const ChosenPackage&) = default;
};

// What is under way with a task, in this order; each is durable before its step begins.
enum class Stage : uint8_t {
  none,
  fetching,    // `coming` is looked for and fetched
  trying,      // it is on probation
  activating,  // it is being put in
  returning,   // it was active, failed, and is being put back to what `coming` says: empty, nothing
  removing,    // by a kill order
};
inline constexpr uint8_t kStages = 6;
std::string_view stage_name(Stage stage);

enum class Reported : uint8_t { nothing, runs, fails };

struct ManagedTask {
  std::string scenario;
  ChosenPackage active, last_good, coming;
  Stage stage = Stage::none;
  // Processes that began its probation; of `active`, until something is reported of it, those that it began
  // in and that did not end in order.
  uint32_t tries = 0;
  // The gray release that the device has a place in, and as what; empty: none.
  std::string trial;
  Cohort cohort = Cohort::treated;
  // What the server knows of the version that runs: nothing, that it does, that it failed.
  Reported reported = Reported::nothing;

  friend bool operator==(const ManagedTask&, const ManagedTask&) = default;
};

// A version that failed here: its release does not put it in a second time, another release may.
struct Refusal {
  std::string release, digest;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

struct AgentMemory {
  uint64_t epoch = 0;  // of the newest plan that was followed
  // The latest time at which a plan was believed: a clock that is set back takes nobody out of a ramp. One
  // that ran ahead is at most a day ahead of the truth here, since then nothing is believed.
  int64_t plan_time_s = 0;
  uint32_t carried_out = 0;  // Decision::digest of what was installed, or tried and turned down
  std::map<std::string, ManagedTask> tasks;
  bool whole = false;  // whether all that was decided then runs here, and did not only come to be tried
  std::vector<Refusal> refusals;      // oldest first
  std::vector<TakenBack> taken_back;  // one of a task, as long as the plan says so
  std::vector<std::string> reports;   // packed, oldest first; few: a deque is 9 KB of code
  uint64_t report_seq = 0;            // of the newest ever made
  uint64_t lost_reports = 0;          // that found the queue full

  bool refused(const std::string& release, const std::string& digest) const;
  void refuse(const std::string& task, const ChosenPackage& failed);
  void take_back(TakenBack what);
  friend bool operator==(const AgentMemory&, const AgentMemory&) = default;
};

inline constexpr const char* kMemoryKind = "AGNT";  // of the mirrored file

std::string encode_memory(const AgentMemory& memory);
// False for what encode_memory() does not write.
bool decode_memory(std::string_view bytes, AgentMemory& memory);

class AgentMemoryFile {
 public:
  enum class Found : uint8_t { nothing, whole, lost };
  // Both copies damaged: empty, and the copies are kept as ".damaged".
  static Result<AgentMemoryFile> open(Env& env, const std::string& path);

  Found found() const { return found_; }
  const AgentMemory& now() const { return memory_; }
  // Durable when it returns; after an error now() is as before, and the file may hold either.
  Status save(AgentMemory next);

 private:
  explicit AgentMemoryFile(store::MirroredFile file) : file_(std::move(file)) {}
  store::MirroredFile file_;
  AgentMemory memory_;
  bool unsure_ = false;  // a save failed: the file may hold either
  Found found_ = Found::nothing;
};

}  // namespace walle::link
