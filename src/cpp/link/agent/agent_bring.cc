// One task of a pull: from the plan's choice to a version that runs, or why not.
#include <algorithm>

#include "base/log.h"
#include "base/names.h"
#include "base/unreached.h"
#include "link/agent/agent.h"
#include "link/package/package.h"
#include "link/trust/json.h"

namespace walle::link {

namespace {
constexpr int kTooMany = 429, kUnavailable = 503;
constexpr int64_t kBusyServerS = 10, kMostWaitS = 86'400;
constexpr std::string_view kDirectorFolder = "director";

// Whether the version is to blame, and not the network, the disk or the moment.
bool is_fault(const Error& error) {
  using base::ErrorGroup;
  switch (error.group()) {
    case ErrorGroup::argument:
    case ErrorGroup::model:
    case ErrorGroup::backend:
    case ErrorGroup::task: return true;
    case ErrorGroup::resource:
    case ErrorGroup::network:
    case ErrorGroup::internal:
    case ErrorGroup::timeout:
    case ErrorGroup::cancelled: return false;
  }
  return base::unreached(false);
}

TaskTrouble trouble_of(std::string phase, std::string type, const Error& error) {
  return {.phase = std::move(phase), .type = std::move(type), .limit = "", .message = error.message()};
}

TaskStep step_of(const PlanRelease& release, TaskStep::What what, std::string error = {}) {
  return {.task = release.task, .version = release.version, .what = what, .error = std::move(error)};
}
}  // namespace

// What stays as it is, whatever that is.
TaskStep Agent::rest(const PlanRelease& release) const {
  const auto known = memory().tasks.find(release.task);
  if (known == memory().tasks.end() || known->second.active.empty())
    return step_of(release, TaskStep::What::absent);
  TaskStep out = step_of(release, TaskStep::What::kept);
  out.version = known->second.active.version;
  return out;
}

TaskStep Agent::bring(Updater& updater, const Plan& plan, const Choice& choice, Pull& pull) {
  using What = TaskStep::What;
  if (choice.trial != kNoRelease) {
    const PlanRelease& trial = plan.releases()[choice.trial];
    const Result<ClaimAnswer> place = claim(trial, choice.cohort);
    if (!place.ok()) return step_of(trial, What::later, place.error().message());
    if (!place->granted) {
      if (place->wait_s == 0) return rest(trial);
      pull.wait_s = pull.wait_s == 0 ? place->wait_s : std::min(pull.wait_s, place->wait_s);
      return step_of(trial, What::waits, "no place in release '" + trial.id + "' yet");
    }
  }
  if (choice.release == kNoRelease) return rest(plan.releases()[choice.trial]);
  const PlanRelease& release = plan.releases()[choice.release];
  const std::string digest = to_hex(release.sha256);
  if (memory().refused(release.id, digest)) return step_of(release, What::turned_down);
  if (const Status taken_back = keep_after_all(release.task); !taken_back.ok())
    return step_of(release, What::later, taken_back.error().message());
  const auto known = memory().tasks.find(release.task);
  if (known != memory().tasks.end() && runs(known->second, release)) {
    if (known->second.active.release != release.id) {
      AgentMemory next = memory();
      next.tasks[release.task].active.release = release.id;
      const Status saved = file_.save(std::move(next));
      if (!saved.ok()) return step_of(release, What::later, saved.error().message());
    }
    return step_of(release, What::kept);
  }
  const Status brought = bring_version(updater, release, pull);
  if (brought.ok()) {
    const bool came = runs(memory().tasks.at(release.task), release);
    return step_of(release, came ? What::activated : What::turned_down);
  }
  return step_of(release, What::later, brought.error().message());
}

// One that was to be removed, and is wanted again before that was written down: it is there still, or it is
// not.
Status Agent::keep_after_all(const std::string& name) {
  const auto known = memory().tasks.find(name);
  if (known == memory().tasks.end() || known->second.stage != Stage::removing) return {};
  const std::vector<HostedTask> hosted = host_->tasks();
  const auto there = std::ranges::find(hosted, name, &HostedTask::name);
  AgentMemory next = memory();
  ManagedTask& task = next.tasks[name];
  task.stage = Stage::none;
  if (there == hosted.end() || !task.active.runs_as(*there)) task.active = task.last_good = {};
  return file_.save(std::move(next));
}

// OK for a version that was turned down, too: it is settled.
Status Agent::bring_version(Updater& updater, const PlanRelease& release, Pull& pull) {
  WALLE_TRY(begin(release));
  FoundTarget found;
  if (Status listed = authentic(updater, release, found); !listed.ok()) {
    if (!is_fault(listed.error())) return listed;
    return turn_down(release.task, trouble_of("verify", "NotAuthentic", listed.error()));
  }
  if (Status staged = fetch_package(updater, release, found, pull); !staged.ok()) {
    if (!is_fault(staged.error())) return staged;
    return turn_down(release.task, trouble_of("verify", "WrongPackage", staged.error()));
  }
  WALLE_ASSIGN(const StagedPackage staged,
               staged_package(memory().tasks.at(release.task).coming, release.task));
  if (memory().tasks.at(release.task).stage != Stage::activating) {
    WALLE_ASSIGN(const bool good, try_out(staged));
    if (!good) return {};
  }
  return activate(staged);
}

// A step that was under way for another version begins anew.
Status Agent::begin(const PlanRelease& release) {
  AgentMemory next = memory();
  ManagedTask& task = next.tasks[release.task];
  const ChosenPackage wanted{to_hex(release.sha256), release.version, release.id, release.params};
  if (task.scenario.empty()) task.scenario = release.scenario;
  if (task.coming == wanted &&
      (task.stage == Stage::fetching || task.stage == Stage::trying || task.stage == Stage::activating))
    return {};
  task.coming = wanted;
  task.stage = Stage::fetching;
  task.tries = 0;
  return file_.save(std::move(next));
}

// A place in a gray release, in either cohort, before anything changes.
Result<ClaimAnswer> Agent::claim(const PlanRelease& trial, Cohort cohort) {
  const auto known = memory().tasks.find(trial.task);
  if (known != memory().tasks.end() && known->second.trial == trial.id && known->second.cohort == cohort)
    return ClaimAnswer();
  AgentMemory next = memory();
  Report report;
  report.device = options_.device;
  report.release = trial.id;
  report.scenario = trial.scenario;
  report.task = trial.task;
  report.version = trial.version;
  report.cohort = cohort;
  report.status = ReportStatus::claim;
  report.epoch = next.epoch;
  report.seq = ++next.report_seq;
  // Before it is sent: a number that is used twice would hide the second report.
  WALLE_TRY(file_.save(next));
  WALLE_ASSIGN(const ClaimAnswer answer, ask_for_place(report));
  if (!answer.granted) return answer;
  ManagedTask& task = next.tasks[trial.task];
  if (task.scenario.empty()) task.scenario = trial.scenario;
  task.trial = trial.id;
  task.cohort = cohort;
  task.reported = Reported::nothing;
  active_since_[trial.task] = env_->steady_us();
  WALLE_TRY(file_.save(std::move(next)));
  return answer;
}

Result<ClaimAnswer> Agent::ask_for_place(const Report& report) {
  WALLE_ASSIGN(const std::string batch, write_reports({report}));
  WALLE_ASSIGN(const Fetched reply, post("/v1/reports", batch));
  if (reply.status / 100 == 2) return ClaimAnswer{};
  if (reply.status == kTooMany) return ClaimAnswer{false, read_wait_s(reply.body)};
  if (reply.status == kUnavailable) return ClaimAnswer{false, kBusyServerS};
  return network_error({"status ", reply.status}, "200", {"'", options_.url, "/v1/reports'"},
                       "look at the server's log");
}

int64_t read_wait_s(std::string_view reply) {
  const Result<Json> said = parse_json(reply, "a reply");
  const Json* wait = said.ok() ? said->find("wait_s") : nullptr;
  if (!wait || !wait->integer()) return kBusyServerS;
  return std::clamp<int64_t>(*wait->integer(), 0, kMostWaitS);
}

// The director chooses; whether there is such a thing says the scenario. A path of the director's own folder
// would be found as well, under the director's own signature.
Status Agent::authentic(Updater& updater, const PlanRelease& release, FoundTarget& found) {
  const std::string path = base::package_path(release.scenario, release.task, release.version);
  const std::string where = "release '" + release.id + "'", digest = to_hex(release.sha256);
  if (release.path != path || release.scenario == kDirectorFolder)
    return model_error({"path '", release.path, "'"}, {"'", path, "' in a scenario"}, where,
                       "look at who signs for the director");
  const ManagedTask& task = memory().tasks.at(release.task);
  if (task.scenario != release.scenario)
    return model_error({"task '", release.task, "' of scenario '", release.scenario, "'"},
                       {"a name that no task here has; scenario '", task.scenario, "' has it"}, where,
                       "rename one of the two tasks");
  // What ran here was listed when it came, and is verified by its digest: the way back needs nobody's list.
  if ((digest == task.active.digest || digest == task.last_good.digest) && manifest_of(digest).ok())
    return {};
  WALLE_ASSIGN(const std::optional<FoundTarget> listed, updater.find(path));
  if (!listed)
    return model_error({"'", path, "'"}, "a version that its scenario lists", where,
                       "look at who signs for the director");
  if (listed->target.hashes.sha256 != digest || listed->target.length != release.size)
    return model_error({"digest ", digest}, {listed->target.hashes.sha256, ", as its scenario lists it"},
                       where, "look at who signs for the director");
  if (release.size > kMostPackageBytes)
    return model_error({"a manifest of ", release.size, " bytes"}, {"at most ", kMostPackageBytes}, where,
                       "pack fewer files");
  found = *listed;
  return {};
}

std::string Agent::manifest_path(const std::string& digest) const {
  return options_.folder + kAgentPackages + "/" + digest + ".walp";
}

// From the disk, verified.
Result<std::string> Agent::manifest_of(const std::string& digest) const {
  WALLE_ASSIGN(std::string bytes, env_->read_prefix(manifest_path(digest), kMostPackageBytes));
  WALLE_ASSIGN(const std::string actual, digest_hex(*crypto_, DigestKind::sha256, bytes));
  if (actual == digest) return bytes;
  return resource_error({"digest ", actual}, digest, {"'", manifest_path(digest), "'"},
                        "pull again: it is fetched anew");
}

Status Agent::fetch_package(Updater& updater, const PlanRelease& release, const FoundTarget& found,
                            Pull& pull) {
  const std::string digest = to_hex(release.sha256);
  if (!manifest_of(digest).ok()) WALLE_TRY(updater.download(found, manifest_path(digest)));
  WALLE_ASSIGN(const std::string manifest, manifest_of(digest));
  WALLE_ASSIGN(const Package package, read_package(manifest));
  if (package.scenario != release.scenario || package.task != release.task ||
      package.version != release.version)
    return model_error({"the package of '", package.path(), "'"}, {"that of '", release.path, "'"},
                       {"release '", release.id, "'"}, "publish the version again");
  WALLE_TRY(host_->suits(manifest));
  return fetch_files(package, pull.fetched);
}

Status Agent::fetch_files(const Package& package, uint64_t& fetched) {
  for (const PackageFile& file : package.files) {
    if (!file.for_devices()) continue;
    const std::string digest = to_hex(file.sha256);
    WALLE_ASSIGN(const uint64_t came, blobs_.fetch(*transport_, options_.url + "/v1/blobs/" + digest,
                                                   {.digest = digest, .size = file.size}));
    fetched += came;
  }
  return {};
}

Result<StagedPackage> Agent::staged_package(const ChosenPackage& package, const std::string& task) const {
  StagedPackage out{.task = task, .version = package.version, .digest = package.digest};
  out.params = package.params;
  WALLE_ASSIGN(out.manifest, manifest_of(package.digest));
  out.blobs = blobs_.path();
  return out;
}

// False: it was turned down. Who dies in it comes back with one try less.
Result<bool> Agent::try_out(const StagedPackage& staged) {
  if (memory().tasks.at(staged.task).tries >= kMostDeaths) {
    const TaskTrouble died{"probation", "ProcessDied", "",
                           "the process ended " + std::to_string(kMostDeaths) + " times in its probation"};
    WALLE_TRY(turn_down(staged.task, died));
    return false;
  }
  AgentMemory next = memory();
  next.tasks[staged.task].stage = Stage::trying;
  ++next.tasks[staged.task].tries;
  WALLE_TRY(file_.save(std::move(next)));
  const Result<Probation> tried = host_->probation(staged);
  if (!tried.ok()) {
    AgentMemory untried = memory();
    --untried.tasks[staged.task].tries;
    WALLE_TRY(file_.save(std::move(untried)));
    if (!is_fault(tried.error())) return Error(tried.error());
    WALLE_TRY(turn_down(staged.task, trouble_of("stage", "LoadError", tried.error())));
    return false;
  }
  if (!tried->trouble) return true;
  WALLE_TRY(turn_down(staged.task, *tried->trouble));
  return false;
}

Status Agent::activate(const StagedPackage& staged) {
  AgentMemory next = memory();
  next.tasks[staged.task].stage = Stage::activating;
  WALLE_TRY(file_.save(std::move(next)));
  if (Status installed = host_->install(staged); !installed.ok()) {
    if (!is_fault(installed.error())) return installed;
    return turn_down(staged.task, trouble_of("stage", "InstallError", installed.error()));
  }
  return finish_install(staged.task);
}

// The version is in its place.
Status Agent::finish_install(const std::string& name) {
  AgentMemory next = memory();
  ManagedTask& task = next.tasks[name];
  // What gives way to the one before it, or to an older one, was taken back: it is no last good version.
  const Result<uint32_t> to = app_version_key(task.coming.version);
  const Result<uint32_t> from = app_version_key(task.active.version);
  const bool before =
      task.coming.digest == task.last_good.digest && task.coming.params == task.last_good.params;
  if (!task.active.empty()) task.last_good = std::move(task.active);
  if (before || (to.ok() && from.ok() && *to < *from)) task.last_good.digest.clear();
  task.active = std::move(task.coming);
  task.coming = {};
  task.stage = Stage::none;
  task.tries = 1;
  task.reported = Reported::nothing;
  active_since_[name] = env_->steady_us();
  base::log(base::LogLevel::info, "task '" + name + "' runs version " + task.active.version);
  return file_.save(std::move(next));
}

// The version that came is not put in; what runs goes on.
Status Agent::turn_down(const std::string& name, const TaskTrouble& trouble) {
  AgentMemory next = memory();
  ManagedTask& task = next.tasks[name];
  base::log(base::LogLevel::warning, "task '" + name + "': version " + task.coming.version +
                                         " is turned down (" + trouble.phase + "): " + trouble.message);
  next.refuse(name, task.coming);
  const bool ran = trouble.phase != "verify" && trouble.phase != "stage";
  const ReportStatus status = !ran                    ? ReportStatus::install_error
                              : trouble.limit.empty() ? ReportStatus::phase_error
                                                      : ReportStatus::limit;
  queue(next, name, task.coming, status, &trouble, nullptr);
  task.coming = {};
  task.stage = Stage::none;
  task.tries = 0;
  // What is told of the trial was told now.
  if (!task.trial.empty()) task.reported = Reported::fails;
  return file_.save(std::move(next));
}

TaskStep Agent::remove(const std::string& name) {
  TaskStep out{.task = name,
               .version = memory().tasks.at(name).active.version,
               .what = TaskStep::What::removed,
               .error = ""};
  AgentMemory next = memory();
  next.tasks[name].stage = Stage::removing;
  Status done = file_.save(next);
  if (done.ok()) done = host_->remove(name);
  if (done.ok()) {
    next.tasks.erase(name);
    done = file_.save(std::move(next));
  }
  if (done.ok()) return out;
  out.what = TaskStep::What::later;
  out.error = done.error().message();
  return out;
}

}  // namespace walle::link
