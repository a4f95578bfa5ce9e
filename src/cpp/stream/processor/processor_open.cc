// Opening a processor: the log, the newest checkpoint, and the events behind it once more.
#include <algorithm>

#include "base/log.h"
#include "stream/processor/processor_parts.h"

namespace walle::stream {

namespace {
constexpr const char* kKind = "PROC";
// Matching holds 64 MB for keys unless it is told more, and a key takes as much in a snapshot as in memory.
constexpr size_t kMaxStateBytes = size_t{256} << 20;
// In the log's own state: that a processor has been here, should its files be gone.
constexpr const char* kMark = "processor";
}  // namespace

Processor::Processor(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Processor::~Processor() {
  if (parts_ && parts_->log) parts_->log->follow(nullptr);
}

Result<std::unique_ptr<Processor>> Processor::open(Env& env, const std::string& dir, Catalog catalog,
                                                   ProcessorOptions options) {
  WALLE_TRY(check_options(options.matcher));
  if (options.log.read_only)
    return argument_error("read_only", "a log opened for writing", "processor",
                          "open the log alone to read it: EventLog::open");
  auto parts = std::make_unique<Parts>(env, dir, std::move(options));
  WALLE_TRY(parts->open(std::move(catalog)));
  return std::unique_ptr<Processor>(new Processor(std::move(parts)));
}

Status Processor::Parts::open(Catalog catalog) {
  Env* files = &below;
  if (!options.log.key.empty()) {
    WALLE_ASSIGN(auto aead, store::open_aead(below, dir + "/log", options.log.key));
    sealed = std::make_unique<store::SealedEnv>(below, std::move(aead));
    files = sealed.get();
  }
  WALLE_TRY(below.make_dirs(dir));
  // The log first: it refuses a second writer and a wrong key, under which the state would look damaged.
  WALLE_ASSIGN(log, EventLog::open(below, dir + "/log", std::move(catalog), options.log));
  options.log.key.clear();
  WALLE_ASSIGN(file, store::MirroredFile::open(*files, path(), kKind, kMaxStateBytes));
  const LocalTime local = options.matcher.local;
  ProcessorState found;
  found.local = local;
  WALLE_TRY(find_state(found));
  // What is matched again is matched as it was; local time is another behind it.
  options.matcher.local = found.local;
  table.emplace(log->catalog(), options.matcher);
  WALLE_TRY(restore(found));
  WALLE_TRY(replay());
  log->follow([this](const Event& recorded) { step(recorded); });
  const bool known = log->log_state().file().get(kMark).has_value();
  // State, then mark: a crash between them is no loss.
  if (file->found() != store::MirroredFile::Found::whole || lost) WALLE_TRY(checkpoint_locked());
  // On a disk that is full it stays as it was, and a device goes on.
  if (const Status changed = set_local(local); !changed.ok())
    base::log(base::LogLevel::warning,
              "processor '" + dir + "': local time stays as it was: " + changed.error().message());
  return known ? Status() : log->log_state().file().apply({{kMark, ""}});
}

// Nothing yet, what a checkpoint wrote, or a loss.
Status Processor::Parts::find_state(ProcessorState& state) {
  const store::MirroredFile::Found found = file->found();
  if (file->readable()) {
    auto decoded = decode_state(file->content());
    if (decoded.ok()) {
      state = std::move(*decoded);
      report.mended = found == store::MirroredFile::Found::mended;
      return file->mend();
    }
    base::log(base::LogLevel::warning, "'" + path() + "': " + decoded.error().message());
    state.lost = true;
  } else if (found == store::MirroredFile::Found::damaged) {
    WALLE_TRY(file->set_aside());
    state.lost = true;
  } else {
    state.lost = log->log_state().file().get(kMark).has_value();
  }
  // From the start of the log, though for no task yet: states that are on, and the order of events that have
  // one time, are then those that a task finds which is to count the past.
  state.seen = 0;
  return {};
}

Status Processor::Parts::restore(ProcessorState& state) {
  lost = state.lost;
  // A log that has lost its newest events may give their numbers to none; those to come are matched.
  seen = std::min(state.seen, log->last_seq());
  saved = seen.load();
  places.go_on_from(state.session, state.page_instance);
  former = std::move(state.former);
  table->go_on_from(state.next_order);
  for (StoredTask& task : state.tasks) WALLE_TRY(restore_task(task));
  // A snapshot that does not fit is a loss; a trigger that no longer compiles has been told of.
  if (!table->rebuild(state.snapshot) && !state.snapshot.empty() && table->matcher().trigger_count() > 0)
    lost = lost || table->matcher().last_ts() == INT64_MIN;
  if (lost)
    base::log(base::LogLevel::warning,
              "processor '" + dir + "': its state was lost; tasks have to be installed again");
  report.lost = lost;
  return {};
}

Status Processor::Parts::restore_task(StoredTask& stored) {
  const std::string_view name = table->intern(stored.name);
  auto task = std::make_unique<Task>(name, stored.queue, stored.when_full);
  task->newest = stored.newest;
  task->queue.count_before(stored.dropped, stored.coalesced);
  for (StoredFiring& f : stored.waiting) {
    f.firing.trigger_name = table->intern(f.trigger_name);
    task->queue.restore(f.firing);
  }
  task->queue.settle(std::max(stored.settled, settled_by_caller(stored.name)));
  for (StoredTrigger& t : stored.triggers) {
    CompiledTrigger compiled;  // by rebuild()
    compiled.text = std::move(t.text);
    compiled.local = stored.local;
    task->triggers.push_back({.name = table->intern(t.name),
                              .compiled = std::move(compiled),
                              .order = t.order,
                              .before = t.stats});
  }
  table->all()[stored.name] = std::move(task);
  return {};
}

Status Processor::Parts::replay() {
  if (!table->all().empty()) WALLE_TRY(count_missed());
  WALLE_TRY(log->read(seen + 1, [&](const Event& event) {
    step(event);
    ++report.replayed;
    return true;
  }));
  report.firings = table->matcher().stats().firings;
  ready = {};
  for (const auto& [name, task] : table->all())
    // Events that a power loss took are matched by nobody: the numbers of what they fired stay used.
    task->newest = std::max(task->newest, task->queue.settled());
  return {};
}

Status Processor::Parts::count_missed() {
  WALLE_ASSIGN(const std::vector<Loss> losses, log->losses());
  for (const Loss& loss : losses) {
    if ((!loss.owner.empty() && loss.owner != kMark) || loss.last <= seen) continue;
    report.missed += std::min(loss.count, loss.last - std::max(loss.first, seen + 1) + 1);
  }
  if (report.missed)
    base::log(base::LogLevel::warning,
              "processor '" + dir + "': " + std::to_string(report.missed) +
                  " events behind the last checkpoint are gone from the log and were not matched");
  return {};
}

Status Processor::Parts::write(const std::string& bytes, uint64_t seen_then) {
  // The log first: a state that has seen events which a power loss takes would wait for their numbers.
  WALLE_TRY(log->sync());
  // And what is settled: it would be in no record, and nobody would do it again.
  if (options.sync_settled) WALLE_TRY(options.sync_settled());
  if (Status written = file->write(bytes); !written.ok()) {
    written.error().within("checkpoint of the processor");
    return written;
  }
  saved = seen_then;
  return {};
}

}  // namespace walle::stream
