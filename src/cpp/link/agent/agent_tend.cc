// Between pulls: how the tasks fare, what is taken back, what the server is told.
#include <algorithm>

#include "base/log.h"
#include "link/agent/agent.h"
#include "link/package/package.h"

namespace walle::link {

namespace {
constexpr size_t kMostSentReports = 64;  // at once
constexpr size_t kMostNameLetters = 128;
constexpr uint64_t kMostReplyBytes = 65'536;
constexpr int64_t kFirstWaitUs = 5'000'000, kMostWaitUs = 600'000'000;

// Letters that a report may carry. What a task chose - the name of an exception - is cut to them, as it
// could carry anything.
std::string as_name(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMostNameLetters)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += letter || c == '.' || c == '_' || c == '-' ? c : '_';
  }
  return out;
}

uint32_t as_count(uint64_t count) { return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)); }
}  // namespace

void Agent::queue(AgentMemory& next, const std::string& name, const ChosenPackage& package,
                  ReportStatus status, const TaskTrouble* trouble, const HostedTask* hosted) {
  const ManagedTask& task = next.tasks.at(name);
  Report report;
  report.device = options_.device;
  // Of a trial the control cohort tells what it keeps, the treated what the trial brought: not what they had
  // before it, and have again.
  const bool tried = !task.trial.empty() && (task.cohort == Cohort::control || package.release == task.trial);
  report.release = tried ? task.trial : package.release;
  report.scenario = task.scenario;
  report.task = name;
  report.version = package.version;
  report.cohort = tried ? task.cohort : Cohort::treated;
  report.status = status;
  if (trouble) {
    report.phase = as_name(trouble->phase);
    report.error_type = as_name(trouble->type);
    report.limit = as_name(trouble->limit);
  }
  if (hosted) {
    report.firings = as_count(hosted->firings);
    report.failures = as_count(hosted->failures);
  }
  report.epoch = next.epoch;
  report.seq = ++next.report_seq;
  Result<std::string> bytes = write_reports({report});
  if (!bytes.ok()) {
    base::log(base::LogLevel::error,
              "a report of task '" + name + "' was not made: " + bytes.error().message());
    return;
  }
  if (next.reports.size() >= kMostPendingReports) {
    next.reports.erase(next.reports.begin());
    ++next.lost_reports;
  }
  next.reports.push_back(std::move(*bytes));
}

bool Agent::tend() {
  trouble_ = untold_;
  const auto note = [&](const Status& done) {
    if (!done.ok()) trouble_ = done.error().message();
  };
  const std::vector<HostedTask> hosted = host_->tasks();
  bool busy = false;
  for (const auto& [name, task] : AgentMemory(memory()).tasks) {
    if (task.stage == Stage::returning) note(finish_return(name));
    const auto there = std::ranges::find(hosted, name, &HostedTask::name);
    if (there != hosted.end() && task.active.runs_as(*there) && task.stage == Stage::none)
      note(watch(*there));
    const auto now = memory().tasks.find(name);
    if (now != memory().tasks.end())
      busy = busy || now->second.stage == Stage::returning ||
             (now->second.reported == Reported::nothing && !now->second.active.empty());
  }
  note(send_reports());
  return busy || !memory().reports.empty();
}

Status Agent::watch(const HostedTask& hosted) {
  const ManagedTask& task = memory().tasks.at(hosted.name);
  // This process is the last that is counted, and it lives.
  const uint32_t deaths = is_new(task) && task.tries > 0 && hosted.firings == 0
                              ? std::max(hosted.deaths, task.tries - 1)
                              : hosted.deaths;
  if (hosted.deaths >= kMostDeaths && !hosted.trouble.type.empty()) return give_back(hosted, hosted.trouble);
  if (deaths >= kMostDeaths) {
    const TaskTrouble died{"execute", "ProcessDied", "",
                           "the process ended " + std::to_string(deaths) + " times while it ran"};
    return give_back(hosted, died);
  }
  if (hosted.stopped) return give_back(hosted, hosted.trouble);
  const bool fails = hosted.failures > 0;
  if (task.reported == Reported::fails || (task.reported == Reported::runs && !fails)) return {};
  const int64_t since = env_->steady_us() - active_since_[hosted.name];
  if (task.reported == Reported::nothing && hosted.firings == 0 && since < options_.report_after_us)
    return {};
  AgentMemory next = memory();
  const ReportStatus status = !fails                         ? ReportStatus::ok
                              : hosted.trouble.limit.empty() ? ReportStatus::phase_error
                                                             : ReportStatus::limit;
  queue(next, hosted.name, task.active, status, fails ? &hosted.trouble : nullptr, &hosted);
  next.tasks[hosted.name].reported = fails ? Reported::fails : Reported::runs;
  next.tasks[hosted.name].tries = 0;
  return file_.save(std::move(next));
}

// The active version gives way to the one before it; without one, the task goes.
Status Agent::give_back(const HostedTask& hosted, const TaskTrouble& trouble) {
  AgentMemory next = memory();
  ManagedTask& task = next.tasks[hosted.name];
  base::log(base::LogLevel::warning,
            "task '" + hosted.name + "': version " + task.active.version + " failed (" + trouble.message +
                "); " + (task.last_good.empty() ? "it is removed" : "back to " + task.last_good.version));
  next.refuse(hosted.name, task.active);
  queue(next, hosted.name, task.active, ReportStatus::rolled_back, &trouble, &hosted);
  task.reported = Reported::fails;
  task.tries = 0;
  task.coming = std::move(task.last_good);
  task.last_good = {};
  task.stage = Stage::returning;
  WALLE_TRY(file_.save(std::move(next)));
  return finish_return(hosted.name);
}

Status Agent::finish_return(const std::string& name) {
  const ChosenPackage back = memory().tasks.at(name).coming;
  if (back.empty()) {
    WALLE_TRY(host_->remove(name));
  } else {
    WALLE_ASSIGN(const StagedPackage staged, staged_package(back, name));
    WALLE_ASSIGN(const Package package, read_package(staged.manifest));
    // They lie here; only what the disk has lost since is fetched.
    uint64_t fetched = 0;
    WALLE_TRY(fetch_files(package, fetched));
    WALLE_TRY(host_->install(staged));
  }
  AgentMemory next = memory();
  ManagedTask& task = next.tasks[name];
  task.active = std::move(task.coming);
  task.coming = {};
  task.stage = Stage::none;
  task.reported = Reported::runs;  // it was told when it was new; its failures are from now on
  WALLE_TRY(file_.save(std::move(next)));
  sweep();
  return {};
}

Result<Fetched> Agent::post(const std::string& path, const std::string& body) {
  return tell("POST", path, body);
}

// What the device is and has carried out, for whoever counts: one that only pulls sends no reports.
Status Agent::tell_profile() {
  WALLE_ASSIGN(const Fetched reply, tell("GET", "/v1/device", encode_text(header())));
  return reply.status == kHttpUnauthorized ? Status(unknown_device(options_.url)) : Status();
}

// Signed, and once more by the server's clock where it refuses this device's. `said` is the body of a POST,
// and the device header of a GET.
Result<Fetched> Agent::tell(const std::string& method, const std::string& path, const std::string& said) {
  for (bool again = false;; again = true) {
    HttpPost request{.url = options_.url + path, .content_type = "application/octet-stream", .body = said};
    if (options_.signs) {
      WALLE_ASSIGN(request.headers, options_.signs(method, path, said));
    }
    Result<Fetched> reply = Fetched();
    if (method == "POST") {
      reply = send(*transport_, request, kMostReplyBytes);
    } else {
      request.headers.push_back({std::string(kHeaderName), said});
      reply = fetch(*transport_, request.url, kMostReplyBytes, std::move(request.headers));
    }
    const bool refused = reply.ok() && reply->status == kHttpUnauthorized && options_.signs && !again;
    if (!refused || !options_.sets_clock || !options_.sets_clock(*transport_)) return reply;
  }
}

Status Agent::send_reports() {
  if (memory().reports.empty() || env_->steady_us() < send_not_before_us_) return {};
  const size_t count = std::min(memory().reports.size(), kMostSentReports);
  std::vector<Report> batch;
  for (size_t i = 0; i < count; ++i) {
    Result<std::vector<Report>> kept = read_reports(memory().reports[i]);
    if (kept.ok()) std::ranges::move(*kept, std::back_inserter(batch));
  }
  WALLE_ASSIGN(const std::string body, write_reports(batch));
  const Result<Fetched> reply = post("/v1/reports", body);
  const int status = reply.ok() ? reply->status : 0;
  const bool taken = status / 100 == 2;
  // A server that will never take them keeps none of the later ones from it.
  const bool never = status == 400 || status == 413 || status == 422;
  if (!taken && !never) {
    send_wait_us_ = std::clamp(2 * send_wait_us_, kFirstWaitUs, kMostWaitUs);
    send_not_before_us_ = env_->steady_us() + send_wait_us_;
    if (!reply.ok()) return Error(reply.error());
    return network_error({"status ", status}, "200", {"'", options_.url, "/v1/reports'"},
                         "look at the server's log");
  }
  if (never)
    base::log(base::LogLevel::warning, std::to_string(count) +
                                           " reports were refused by the server (status " +
                                           std::to_string(status) + ") and are dropped");
  send_wait_us_ = 0;
  AgentMemory next = memory();
  next.reports.erase(next.reports.begin(), next.reports.begin() + static_cast<std::ptrdiff_t>(count));
  if (never) next.lost_reports += count;
  return file_.save(std::move(next));
}

}  // namespace walle::link
