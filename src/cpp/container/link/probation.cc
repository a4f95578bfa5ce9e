#include "container/link/probation.h"

#include <filesystem>
#include <limits>
#include <mutex>

#include "base/log.h"
#include "container/link/task_trouble.h"

namespace walle::container {

namespace {
constexpr int64_t kSliceUs = 20'000;
constexpr size_t kJournalBytes = size_t{4} << 20;

// What it came to so far; told from the probation's worker.
struct Tally {
  std::mutex lock;
  uint32_t firings = 0;
  std::optional<link::TaskTrouble> trouble;
};

DeviceOptions options_like(const DeviceCore& device) {
  const DeviceOptions& original = device.options();
  DeviceOptions out;
  out.vm_library = original.vm_library;
  out.catalog = device.catalog();
  out.workers = 1;
  out.ready_isolates = 1;
  out.warm_imports = original.warm_imports;
  out.grace_ms = original.grace_ms;
  out.processor.log.recorded_times = true;
  out.processor.log.max_age_us = std::numeric_limits<int64_t>::max() / 4;
  out.processor.log.journal_bytes = kJournalBytes;
  out.processor.matcher = original.processor.matcher;
  out.processor.log.key = original.processor.log.key;
  out.commits.key = original.commits.key;
  out.commits.journal_bytes = kJournalBytes;
  // A task on probation says nothing to the app.
  out.log = [](std::string_view, base::LogLevel, std::string_view) {};
  return out;
}

// Folders have no place in Env; what is lost here is lost on purpose.
void throw_away(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

Error cancelled_probation() { return cancelled_error("a probation", "a device that is being closed"); }

// Everything holds that the task waits for, and the user's consents are the device's.
Status prepare(DeviceCore& trial, DeviceCore& device, const std::string& task) {
  WALLE_ASSIGN(const TaskInfo info, trial.task(task));
  for (const std::string& fact : info.missing_facts) WALLE_TRY(trial.set_fact(fact, true));
  return trial.commits().gate().set_consents(device.commits().gate().consents());
}

// Records the newest events anew until the task has fired often enough.
Status replay(DeviceCore& device, DeviceCore& trial, Tally& tally, const std::atomic<bool>& cancelled,
              const ProbationOptions& options) {
  stream::EventLog& log = device.processor().log();
  const uint64_t last = log.last_seq();
  const uint64_t from = last > options.events ? last - options.events + 1 : 1;
  Status failed;
  WALLE_TRY(log.read(from, [&](const stream::Event& event) {
    const Result<stream::Event> recorded = trial.record(event);
    if (!recorded.ok()) failed = recorded.status();
    const std::lock_guard guard(tally.lock);
    return failed.ok() && !cancelled && tally.firings < options.firings && !tally.trouble;
  }));
  return failed;
}
}  // namespace

Result<link::Probation> hold_probation(Env& env, DeviceCore& device, const link::StagedPackage& staged,
                                       const std::string& folder, const std::atomic<bool>& cancelled,
                                       ProbationOptions options) {
  throw_away(folder);
  struct Cleaner {
    const std::string& folder;
    ~Cleaner() { throw_away(folder); }
  } const cleaner{folder};
  const auto tally = std::make_shared<Tally>();
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> trial, DeviceCore::open(env, folder, options_like(device)));
  trial->on_result([tally](const TaskResult& result) {
    const std::lock_guard guard(tally->lock);
    ++tally->firings;
    if (result.error && !tally->trouble) tally->trouble = trouble_of(*result.error);
  });
  WALLE_ASSIGN(const std::string task, trial->install_package(staged.manifest, staged.blobs, staged.params));
  WALLE_TRY(prepare(*trial, device, task));
  WALLE_TRY(replay(device, *trial, *tally, cancelled, options));
  const int64_t end = env.steady_us() + options.patience_us;
  while (!cancelled && env.steady_us() < end && !trial->wait_idle(kSliceUs)) {
    const std::lock_guard guard(tally->lock);
    if (tally->trouble || tally->firings >= options.firings) break;
  }
  if (cancelled) return cancelled_probation();
  trial->on_result(nullptr);
  WALLE_TRY(trial->close());
  const std::lock_guard guard(tally->lock);
  return link::Probation{tally->firings, tally->trouble};
}

}  // namespace walle::container
