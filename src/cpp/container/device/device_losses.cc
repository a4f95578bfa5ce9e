// What a device has lost, of all its files, and that somebody knows it.
#include "container/device/device_core.h"
#include "container/host/record_scope.h"
#include "container/host/timer_scope.h"

namespace walle::container {

namespace {
// A whole file, whose numbers nobody knows.
DeviceLoss of_file(std::string_view what, std::string cause, std::string owner = {}, uint64_t count = 0) {
  return {.what = what,
          .loss = {.kind = store::LossKind::manifest,
                   .count = count,
                   .exact = false,
                   .owner = std::move(owner),
                   .cause = std::move(cause)}};
}

constexpr const char* kBoth = "both copies of the file were damaged or removed: ";

constexpr std::string_view kMirrorAside = ".mirror.damaged";

std::string both(std::string_view text) { return std::string(kBoth).append(text); }

// Of a map that began anew; two of them belong to no task.
DeviceLoss of_state(std::string map) {
  const char* what = map == kTimersMap    ? "timers that waited are gone"
                     : map == kRecordsMap ? "what tasks have recorded today is counted anew"
                                          : "the task's state began anew";
  std::string cause = both("kv/" + map + ": " + what);
  return of_file("kv", std::move(cause), std::move(map));
}
}  // namespace

// Maps that did not read: the files are kept beside those that began anew.
Result<std::vector<std::string>> DeviceCore::damaged_states() const {
  WALLE_ASSIGN(std::vector<std::string> files, env_.list_files(dir_ + kCommitsMaps));
  std::erase_if(files, [](const std::string& file) { return !file.ends_with(store::kAside); });
  return files;
}

Result<std::vector<DeviceLoss>> DeviceCore::losses(bool verify) {
  WALLE_TRY(check_open());
  store::Tables& tables = commits_->tables();
  if (verify) WALLE_TRY(tables.verify());
  std::vector<DeviceLoss> out;
  WALLE_ASSIGN(const std::vector<store::Loss> events, processor_->log().losses());
  for (const store::Loss& loss : events) out.push_back({.what = "events", .loss = loss});
  for (const store::Loss& loss : tables.losses()) out.push_back({.what = "rows", .loss = loss});
  const stream::Outbox& outbox = commits_->outbox();
  if (outbox.lost()) {
    const std::string cause = "the outbox's file or the commits' journal was damaged or removed";
    for (const stream::OutboxStream& s : outbox.streams())
      if (s.lost > 0) out.push_back(of_file("sends", cause, s.name, s.lost));
    if (out.empty() || out.back().what != "sends") out.push_back(of_file("sends", cause));
  }
  if (const uint64_t lost = commits_->lost(); lost > 0)
    out.push_back(of_file("commits",
                          "the commits' journal was damaged or removed: what these firings left is "
                          "gone, and they run again",
                          {}, lost));
  if (commits_->report().state_lost)
    out.push_back(of_file("settled", both("which firings are done is not known, and they may run again")));
  if (registry_->lost())
    out.push_back(of_file("tasks", both("which were installed is not known; install them again")));
  if (processor_->report().lost)
    out.push_back(of_file("triggers", both("what was under way and what waited is gone")));
  if (commits_->gate().report().lost)
    out.push_back(
        of_file("budgets", both("nothing is sent until this is acknowledged, and nothing that day")));
  if (processor_->log().log_state().lost())
    out.push_back(
        of_file("accounts", both("what privacy accounts have spent is not known; they stay closed")));
  WALLE_ASSIGN(const std::vector<std::string> states, damaged_states());
  for (const std::string& file : states) {
    if (file.ends_with(kMirrorAside)) continue;  // one loss, of two copies
    out.push_back(of_state(file.substr(0, file.size() - store::kAside.size())));
  }
  return out;
}

// One after the other: what is acknowledged before an error is.
Status DeviceCore::acknowledge_losses(const std::map<std::string, double>* spent) {
  WALLE_TRY(check_open());
  const std::lock_guard lock(installing_);
  stream::EventLog& log = processor_->log();
  WALLE_ASSIGN(const std::vector<store::Loss> events, log.losses());
  WALLE_TRY(log.acknowledge(events));
  WALLE_TRY(commits_->acknowledge(commits_->tables().losses()));
  if (commits_->outbox().lost()) WALLE_TRY(commits_->acknowledge_outbox_loss());
  if (commits_->lost() > 0 || commits_->report().state_lost) WALLE_TRY(commits_->acknowledge_state_loss());
  if (registry_->lost()) WALLE_TRY(registry_->acknowledge_loss());
  if (processor_->report().lost) WALLE_TRY(processor_->acknowledge_loss());
  if (commits_->gate().report().lost) WALLE_TRY(commits_->gate().acknowledge_loss());
  if (spent && log.log_state().lost()) WALLE_TRY(log.acknowledge_state_loss(*spent));
  WALLE_ASSIGN(const std::vector<std::string> states, damaged_states());
  for (const std::string& file : states) {
    const std::string path = dir_ + kCommitsMaps + "/" + file;
    WALLE_ASSIGN(const std::string bytes, env_.read_file(path));
    WALLE_TRY(env_.replace_file(path + ".known", bytes));
    WALLE_TRY(env_.remove_file(path));
  }
  return {};
}

}  // namespace walle::container
