// Agent: brings a device to what the server's signed plan wants of it, one pull at a time.
//
//   plan -> refresh of what is authentic -> decision -> missing files by digest -> verified -> staged
//   -> probation on recorded events -> activated -> reported
//
// Nothing that is not verified runs: the plan is a target of the director's role, each package one of its
// scenario's role under exactly the digest that the plan names, each file what its package says. A task that
// cannot be brought forward stays as it is, and keeps no other from moving.
//
// Atomic: what is under way is durable before it begins (agent_memory.h), so a process that dies anywhere
// goes on or begins anew; what is installed is the host's own atomic step, and asked for after a crash. A
// version that fails its probation, is set aside, or takes the process with it kMostDeaths times gives way to
// the last good one, which lies on the disk, and the server is told once.
//
// Not synchronised: one thread (agent_thread.h), one agent per folder.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "link/agent/agent_host.h"
#include "link/agent/agent_memory.h"
#include "link/agent/blob_folder.h"
#include "link/package/package.h"
#include "link/policy/device_header.h"
#include "link/policy/plan.h"
#include "link/policy/report.h"
#include "link/trust/updater.h"

namespace walle::link {

// Processes in a row that ended in a version's probation, or while it ran: then it is the version's doing,
// and not the system's that was short of memory or a user's who swiped the app away.
inline constexpr uint32_t kMostDeaths = 3;

struct AgentOptions {
  std::string folder;      // of the agent's own files
  std::string url;         // of the server: "https://cloud.example.com"
  std::string first_root;  // the root that came with the app
  DeviceHeader header;     // of the device; what it carried out is the agent's to say
  uint64_t device = 0;     // device_pseudonym()
  // How long a version runs until the server is told, unless it has fired before.
  int64_t report_after_us = 20'000'000;
  // More headers of each request that tells the server something: who the device is.
  std::function<Result<std::vector<HttpHeader>>(const std::string& method, const std::string& path,
                                                std::string_view body)>
      signs;
  // The server took no signature: whether it was the clock's doing, and signs() goes by another now.
  std::function<bool(Transport&)> sets_clock;
  uint64_t checkpoint_bytes = BlobFolder::kCheckpointBytes;
};

// What a pull has done with one task.
struct TaskStep {
  enum class What : uint8_t {
    kept,         // it is what it should be, or it was turned down before
    activated,    // another version runs from now on
    turned_down,  // it failed here; the one before runs on
    removed,
    waits,  // for a place in a gray release
    later,  // the network, the disk: the next pull goes on
    absent  // nothing of it is here: the server gives no place, or this device is of the control cohort
  };
  std::string task, version;
  What what = What::kept;
  std::string error;
};

struct Pull {
  uint64_t epoch = 0;    // of the plan that holds; 0: there is none yet
  uint64_t fetched = 0;  // bytes of files
  std::vector<TaskStep> steps;
  // Whether everything was carried out; otherwise pull again.
  bool settled = true;
  int64_t wait_s = 0;  // what the server asked of those that wait for a place, the least
};

// What the server says to a device that wants to try a release (docs/reference/cloud-api.md).
struct ClaimAnswer {
  bool granted = true;
  int64_t wait_s = 0;  // otherwise: when to ask again; 0: never
};
// Of the reply to a claim without a place: {"wait_s": 30}; 10 where it says no whole number.
int64_t read_wait_s(std::string_view reply);

class Agent {
 public:
  static Result<std::unique_ptr<Agent>> open(Env& env, Transport& transport, AgentHost& host,
                                             AgentOptions options);
  ~Agent();

  // One pull. An error where no plan could be had or believed: nothing has changed.
  Result<Pull> pull();
  // Looks how the tasks fare, takes back what failed, tells the server. Costs nothing while nothing happens.
  // Returns whether something is on its way: a version whose first report is due, a report that waits.
  bool tend();

  // The process ends in order: it says nothing against the versions that run.
  Status close();

  // What is wrong with pulls and reports, a line each, for whoever looks when the device is closed.
  void note(const std::string& error, const std::string& trouble);

  const AgentMemory& memory() const { return file_.now(); }
  // As it travels on requests: with what was carried out.
  DeviceHeader header() const;
  const std::string& trouble() const { return trouble_; }  // the newest of tend(); empty: none

 private:
  Agent(Env& env, Transport& transport, AgentHost& host, const Crypto& crypto, BlobFolder blobs,
        AgentMemoryFile file, AgentOptions options);

  // agent.cc
  Status recover();
  static bool is_new(const ManagedTask& task);
  Result<Plan> newest_plan(Updater& updater);
  Status find_broker(Updater& updater);
  Status follow(Updater& updater, const Plan& plan, Pull& pull);
  static bool runs(const ManagedTask& task, const PlanRelease& release);
  static bool is_whole(const Plan& plan, const Decision& decision, const AgentMemory& memory);
  static void note_taken_back(const Plan& plan, const Decision& decision, AgentMemory& next);
  static void end_other_trials(const Plan& plan, const Choice& choice, AgentMemory& next);
  // Takes the memory as it is to be when it begins.
  Status remove_unwanted(const Plan& plan, const Decision& decision, AgentMemory next, Pull& pull);
  void sweep();
  // agent_bring.cc
  TaskStep rest(const PlanRelease& release) const;
  TaskStep bring(Updater& updater, const Plan& plan, const Choice& choice, Pull& pull);
  Status bring_version(Updater& updater, const PlanRelease& release, Pull& pull);
  Status keep_after_all(const std::string& name);
  Status begin(const PlanRelease& release);
  Result<ClaimAnswer> claim(const PlanRelease& trial, Cohort cohort);
  Result<ClaimAnswer> ask_for_place(const Report& report);
  Status authentic(Updater& updater, const PlanRelease& release, FoundTarget& found);
  Status fetch_package(Updater& updater, const PlanRelease& release, const FoundTarget& found, Pull& pull);
  Status fetch_files(const Package& package, uint64_t& fetched);
  std::string manifest_path(const std::string& digest) const;
  Result<std::string> manifest_of(const std::string& digest) const;
  Result<StagedPackage> staged_package(const ChosenPackage& package, const std::string& task) const;
  Result<bool> try_out(const StagedPackage& staged);
  Status activate(const StagedPackage& staged);
  Status finish_install(const std::string& name);
  Status turn_down(const std::string& name, const TaskTrouble& trouble);
  TaskStep remove(const std::string& name);
  // agent_tend.cc
  Status watch(const HostedTask& hosted);
  Status give_back(const HostedTask& hosted, const TaskTrouble& trouble);
  Status finish_return(const std::string& name);
  void queue(AgentMemory& next, const std::string& name, const ChosenPackage& package, ReportStatus status,
             const TaskTrouble* trouble, const HostedTask* hosted);
  Status send_reports();
  Status tell_profile();
  Result<Fetched> post(const std::string& path, const std::string& body);
  Result<Fetched> tell(const std::string& method, const std::string& path, const std::string& said);

  Env* env_;
  Transport* transport_;
  AgentHost* host_;
  const Crypto* crypto_;
  BlobFolder blobs_;
  AgentMemoryFile file_;
  AgentOptions options_;
  std::map<std::string, int64_t> active_since_;  // steady time; of tasks whose first report is due
  int64_t send_not_before_us_ = INT64_MIN, send_wait_us_ = 0;
  std::string trouble_, untold_, noted_;
};

// Files in the agent's folder.
inline constexpr const char* kAgentMemory = "/agent.wals";
inline constexpr const char* kAgentTrust = "/trust";
inline constexpr const char* kAgentPlan = "/plan.wale";
inline constexpr const char* kAgentPackages = "/packages";
inline constexpr const char* kAgentBlobs = "/blobs";
inline constexpr const char* kAgentTrouble = "/trouble.txt";
inline constexpr const char* kPlanTarget = "director/plan.wale";
inline constexpr const char *kAgentBroker = "/broker.url", *kBrokerTarget = "director/broker.url";

}  // namespace walle::link
