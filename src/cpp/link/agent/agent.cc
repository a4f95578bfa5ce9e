#include "link/agent/agent.h"

#include <algorithm>

#include "base/log.h"
#include "link/package/package.h"

namespace walle::link {

namespace {
constexpr uint64_t kMostNoteBytes = 65'536;
constexpr uint64_t kMostBrokerBytes = 512;  // "mqtts://", a host, a port

// Whether a plan still says that something is taken back.
bool still_says(const Plan& plan, const TakenBack& taken) {
  if (taken.why == TakenWhy::killed) return plan.killed(taken.scenario, taken.task);
  const auto is_it = [&](const std::string& release) { return release == taken.release; };
  return std::ranges::any_of(plan.taken_back(), is_it, &TakenBack::release) ||
         (taken.why == TakenWhy::refused && std::ranges::any_of(plan.releases(), is_it, &PlanRelease::id));
}
}  // namespace

Agent::Agent(Env& env, Transport& transport, AgentHost& host, const Crypto& crypto, BlobFolder blobs,
             AgentMemoryFile file, AgentOptions options)
    : env_(&env),
      transport_(&transport),
      host_(&host),
      crypto_(&crypto),
      blobs_(std::move(blobs)),
      file_(std::move(file)),
      options_(std::move(options)) {}

Agent::~Agent() = default;

Result<std::unique_ptr<Agent>> Agent::open(Env& env, Transport& transport, AgentHost& host,
                                           AgentOptions options) {
  WALLE_ASSIGN(const Crypto* const crypto, Crypto::system());
  while (options.url.ends_with('/')) options.url.pop_back();
  WALLE_TRY(env.make_dirs(options.folder + kAgentPackages));
  WALLE_ASSIGN(BlobFolder blobs,
               BlobFolder::open(env, *crypto, options.folder + kAgentBlobs, options.checkpoint_bytes));
  WALLE_ASSIGN(AgentMemoryFile file, AgentMemoryFile::open(env, options.folder + kAgentMemory));
  auto agent = std::unique_ptr<Agent>(
      new Agent(env, transport, host, *crypto, std::move(blobs), std::move(file), std::move(options)));
  const Result<std::string> noted = env.read_prefix(agent->options_.folder + kAgentTrouble, kMostNoteBytes);
  if (noted.ok()) agent->noted_ = *noted;
  WALLE_TRY(agent->recover());
  return agent;
}

DeviceHeader Agent::header() const {
  DeviceHeader out = options_.header;
  out.active = memory().carried_out;
  out.epoch = static_cast<uint32_t>(memory().epoch);
  if (!memory().whole) out.flags = kPartly;
  return out;
}

// Neither has a firing of it ended, nor did it live long enough to be told of. What the control cohort keeps
// is nothing new.
bool Agent::is_new(const ManagedTask& task) {
  return task.stage == Stage::none && !task.active.empty() && task.reported == Reported::nothing &&
         (task.trial.empty() || task.cohort == Cohort::treated);
}

Status Agent::close() {
  AgentMemory next = memory();
  for (auto& [_, task] : next.tasks) {
    if (is_new(task)) task.tries = 0;
  }
  return file_.save(std::move(next));
}

void Agent::note(const std::string& error, const std::string& trouble) {
  std::string now = error.empty() && trouble.empty() ? std::string() : error + "\n" + trouble + "\n";
  if (now == noted_) return;
  // A disk that is full is said elsewhere.
  if (env_->replace_file(options_.folder + kAgentTrouble, now).ok()) noted_ = std::move(now);
}

// What a process was in the middle of when it ended. What is installed says the host.
Status Agent::recover() {
  const std::vector<HostedTask> hosted = host_->tasks();
  AgentMemory next = memory();
  std::vector<std::string> installed;
  const HostedTask gone;
  for (auto& [name, task] : next.tasks) {
    const auto there = std::ranges::find(hosted, name, &HostedTask::name);
    const HostedTask& now = there == hosted.end() ? gone : *there;
    if (task.stage == Stage::activating && task.coming.runs_as(now)) installed.push_back(name);
    // Somebody else has put another one in its place, or removed it: what is there is not ours. Or it was
    // removed by us, in which the process ended.
    const bool rests = task.stage == Stage::none || task.stage == Stage::removing;
    if (rests && !task.active.empty() && !task.active.runs_as(now)) {
      task.active = task.last_good = {};
      next.whole = false;
    }
    if (task.reported == Reported::nothing) active_since_[name] = env_->steady_us();
    if (is_new(task)) ++task.tries;
  }
  // After a loss of the memory: what came as a package goes on as one.
  for (const HostedTask& task : hosted) {
    if (task.package.empty() || next.tasks.contains(task.name)) continue;
    next.tasks[task.name].active = {task.package, task.version, "", task.params};
    next.tasks[task.name].reported = Reported::runs;
  }
  WALLE_TRY(file_.save(std::move(next)));
  for (const std::string& name : installed) WALLE_TRY(finish_install(name));
  sweep();
  return {};
}

Result<Plan> Agent::newest_plan(Updater& updater) {
  WALLE_TRY(updater.refresh());
  WALLE_ASSIGN(const std::optional<FoundTarget> found, updater.find(kPlanTarget));
  if (!found)
    return network_error({"a repository without ", kPlanTarget}, "a plan", {"'", options_.url, "'"},
                         "release something, or check the address");
  if (found->target.length > kMostPlanBytes)
    return network_error({"a plan of ", found->target.length, " bytes"}, {"at most ", kMostPlanBytes},
                         {"'", options_.url, "'"}, "release less at once");
  const std::string file = options_.folder + kAgentPlan;
  WALLE_ASSIGN(const bool cached, updater.is_cached(*found, file));
  if (!cached) WALLE_TRY(updater.download(*found, file));
  WALLE_ASSIGN(const std::string bytes, env_->read_prefix(file, kMostPlanBytes));
  return Plan::read(bytes);
}

Result<Pull> Agent::pull() {
  UpdaterOptions trust;
  trust.folder = options_.folder + kAgentTrust;
  trust.metadata_url = options_.url + "/v1/tuf/metadata";
  trust.target_url = options_.url + "/v1/tuf/targets";
  trust.first_root = options_.first_root;
  WALLE_ASSIGN(const std::unique_ptr<Updater> updater, Updater::open(*env_, *transport_, std::move(trust)));
  WALLE_ASSIGN(const Plan plan, newest_plan(*updater));
  // The director's metadata has a higher version and an older plan in it: nobody who works rightly signs so.
  if (plan.epoch() < memory().epoch)
    return network_error({"a plan of epoch ", plan.epoch()},
                         {"at least ", memory().epoch, ", which was followed before"},
                         {"'", options_.url, "'"}, "look at who signs for the director");
  Pull out;
  out.epoch = plan.epoch();
  WALLE_TRY(follow(*updater, plan, out));
  WALLE_TRY(find_broker(*updater));
  // What keeps it from being told keeps no pull from being one.
  const Status told = tell_profile();
  untold_ = told.ok() ? std::string() : told.error().message();
  return out;
}

// Where the broker is by now: whoever holds a tunnel reads the file when it connects.
Status Agent::find_broker(Updater& updater) {
  WALLE_ASSIGN(const std::optional<FoundTarget> found, updater.find(kBrokerTarget));
  if (!found || found->target.length > kMostBrokerBytes) return {};
  const std::string file = options_.folder + kAgentBroker;
  WALLE_ASSIGN(const bool cached, updater.is_cached(*found, file));
  return cached ? Status() : updater.download(*found, file);
}

Status Agent::follow(Updater& updater, const Plan& plan, Pull& pull) {
  AgentMemory next = memory();
  next.epoch = plan.epoch();
  next.plan_time_s = std::max(next.plan_time_s, env_->wall_us() / base::kUsPerSecond);
  const Decision decision = decide(plan, header(), next.plan_time_s);
  for (const Choice& choice : decision.choices) end_other_trials(plan, choice, next);
  note_taken_back(plan, decision, next);

  // Before anything is fetched, and with one write before it: a kill order is in a hurry.
  WALLE_TRY(remove_unwanted(plan, decision, std::move(next), pull));
  for (const Choice& choice : decision.choices) {
    const uint32_t named = choice.release != kNoRelease ? choice.release : choice.trial;
    if (named != kNoRelease) pull.steps.push_back(bring(updater, plan, choice, pull));
  }
  for (const TaskStep& step : pull.steps) {
    if (step.what == TaskStep::What::later || step.what == TaskStep::What::waits) pull.settled = false;
  }
  sweep();
  if (!pull.settled) return {};
  AgentMemory done = memory();
  done.carried_out = decision.digest;
  done.whole = is_whole(plan, decision, done);
  return file_.save(std::move(done));
}

bool Agent::runs(const ManagedTask& task, const PlanRelease& release) {
  return task.active.digest == to_hex(release.sha256) && task.active.params == release.params;
}

bool Agent::is_whole(const Plan& plan, const Decision& decision, const AgentMemory& memory) {
  return std::ranges::all_of(decision.choices, [&](const Choice& choice) {
    if (choice.release == kNoRelease) return true;
    const PlanRelease& release = plan.releases()[choice.release];
    const auto known = memory.tasks.find(release.task);
    return known != memory.tasks.end() && runs(known->second, release);
  });
}

// What runs here and is not to: why, for whoever looks at this device later.
void Agent::note_taken_back(const Plan& plan, const Decision& decision, AgentMemory& next) {
  std::erase_if(next.taken_back, [&](const TakenBack& taken) { return !still_says(plan, taken); });
  for (const auto& entry : next.tasks) {  // clang 14 has no bindings in lambdas
    const auto& name = entry.first;
    const auto& task = entry.second;
    if (task.active.empty()) continue;
    TakenBack what{task.active.release, task.scenario, name, task.active.version, TakenWhy::killed};
    if (!plan.killed(task.scenario, name)) {
      // Also by its version: it may have come by another release.
      const auto said = std::ranges::find_if(plan.taken_back(), [&](const TakenBack& taken) {
        return taken.task == name && taken.scenario == what.scenario &&
               (taken.release == what.release || taken.version == what.version);
      });
      const auto goes_on = [&](const Choice& choice) {
        return choice.release != kNoRelease && plan.releases()[choice.release].task == name &&
               runs(task, plan.releases()[choice.release]);
      };
      if (said == plan.taken_back().end() || std::ranges::any_of(decision.choices, goes_on)) continue;
      what = *said;
    }
    next.take_back(std::move(what));
  }
}

// What a task does when its trial is over is told of the release that it runs by. What ran beside the trial
// is nothing new.
void Agent::end_other_trials(const Plan& plan, const Choice& choice, AgentMemory& next) {
  const uint32_t named = choice.release != kNoRelease ? choice.release : choice.trial;
  const auto known = named == kNoRelease ? next.tasks.end() : next.tasks.find(plan.releases()[named].task);
  if (known == next.tasks.end() || known->second.trial.empty()) return;
  ManagedTask& task = known->second;
  if (choice.trial != kNoRelease && task.trial == plan.releases()[choice.trial].id) return;
  if (task.active.release != task.trial) task.reported = Reported::runs;
  task.trial.clear();
  task.cohort = Cohort::treated;
}

// What came with a plan and has no place in this one. A task of which nothing ever ran is only forgotten: one
// of its name may have been put in by hand.
Status Agent::remove_unwanted(const Plan& plan, const Decision& decision, AgentMemory next, Pull& pull) {
  std::set<std::string> chosen, tried;
  for (const Choice& choice : decision.choices) {
    if (choice.release != kNoRelease) chosen.insert(plan.releases()[choice.release].task);
    if (choice.trial != kNoRelease) tried.insert(plan.releases()[choice.trial].task);
  }
  std::vector<std::string> unwanted;
  for (const auto& [name, task] : memory().tasks) {
    if (chosen.contains(name)) continue;
    if (!task.active.empty() || task.stage == Stage::removing) {
      unwanted.push_back(name);
      next.tasks[name].stage = Stage::removing;
    } else if (!tried.contains(name)) {
      next.tasks.erase(name);
    }
  }
  WALLE_TRY(file_.save(std::move(next)));
  for (const std::string& name : unwanted) pull.steps.push_back(remove(name));
  return {};
}

// Files that no version needs any more, and those of versions that never came.
void Agent::sweep() {
  std::set<std::string> packages, blobs;
  for (const auto& [_, task] : memory().tasks) {
    for (const ChosenPackage* package : {&task.active, &task.last_good, &task.coming}) {
      if (package->empty()) continue;
      packages.insert(package->digest + ".walp");
      const Result<std::string> manifest = manifest_of(package->digest);
      if (!manifest.ok()) continue;
      const Result<Package> read = read_package(*manifest);
      if (!read.ok()) continue;
      for (const PackageFile& file : read->files) blobs.insert(to_hex(file.sha256));
    }
  }
  blobs_.sweep(blobs);
  const Result<std::vector<std::string>> files = env_->list_files(options_.folder + kAgentPackages);
  if (!files.ok()) return;
  for (const std::string& file : *files) {
    if (!packages.contains(file)) (void)env_->remove_file(options_.folder + kAgentPackages + "/" + file).ok();
  }
}

}  // namespace walle::link
