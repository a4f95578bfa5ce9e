// Opening a log, to write or to read, and closing it. What is found damaged or missing is written down as
// lost before anything is mended, so that no crash makes it forgotten.
#include <algorithm>

#include "base/log.h"
#include "stream/event/event_log.h"

namespace walle::stream {

namespace {
constexpr const char* kManifestFile = "/manifest.wals";
constexpr const char* kManifestKind = "MNFT";
// How often the thread looks: half of the time after which a sync is due.
constexpr int64_t kLooksPerSync = 2;

// What an open had to mend is told even to those who never ask report().
void log_report(const std::string& dir, const LogReport& report, const LogManifest& manifest) {
  const std::string where = "event log '" + dir + "': ";
  if (report.journal.lost)
    base::log(base::LogLevel::warning, where + std::to_string(report.journal.lost) +
                                           " events lost behind damage at byte " +
                                           std::to_string(report.journal.damage_offset) + " of the journal");
  if (report.damaged_segments)
    base::log(base::LogLevel::warning, where + std::to_string(report.damaged_segments) +
                                           " segments do not read and were set aside as .damaged");
  for (const Loss& loss : manifest.losses)
    if (loss.owner.empty() && !(loss.kind == LossKind::journal && report.journal.lost))
      base::log(base::LogLevel::warning, where + store::loss_text(loss, "events"));
}
}  // namespace

Result<std::unique_ptr<EventLog>> EventLog::open(Env& env, const std::string& dir, Catalog catalog,
                                                 EventLogOptions options) {
  base::watch_for_forks();
  std::unique_ptr<store::SealedEnv> sealed;
  if (!options.key.empty()) {
    WALLE_ASSIGN(auto aead, store::open_aead(env, dir, options.key));
    sealed = std::make_unique<store::SealedEnv>(env, std::move(aead));
    options.key.clear();
  }
  auto log =
      std::unique_ptr<EventLog>(new EventLog(env, std::move(sealed), dir, std::move(catalog), options));
  if (options.read_only) {
    WALLE_TRY(log->open_to_read());
  } else {
    WALLE_TRY(env.make_dirs(dir));
    WALLE_TRY(log->open_to_write());
  }
  log_report(dir, log->report_, log->manifest_);
  return log;
}

// Before anything is read: with another key every file would look damaged.
Status EventLog::check_own_key() {
  auto files = env_.list_files(dir_);
  // A folder that is not there has no key, and is told of in other words.
  if (!files.ok() && options_.read_only) return {};
  if (!files.ok()) return files.take_error();
  const bool empty = std::ranges::none_of(*files, [](const std::string& f) {
    return f.starts_with("catalog.walc") || f.starts_with(kManifestFile + 1) || parse_segment_name(f);
  });
  return store::check_key(below_, dir_, sealed_ ? &sealed_->aead() : nullptr, !options_.read_only, empty);
}

Status EventLog::open_to_read() {
  WALLE_TRY(check_own_key());
  const auto file = CatalogFile::open(env_, dir_);
  if (!file.ok()) return file.error();
  if (!file->stored())
    return argument_error({"folder '", dir_, "' without an event log"}, "the folder of an event log",
                          "read_only", "check the path, or open it for writing to begin a log");
  WALLE_TRY(look_anew());
  WALLE_ASSIGN(state_, LogState::open(env_, dir_, true, true));
  report_.mended_copies += uint64_t{file->mended()} + uint64_t{state_->mended()};
  report_.state_lost = state_->lost();
  return {};
}

Status EventLog::open_to_write() {
  // Under the journal's lock: what another process knows is not read before it has let go.
  const store::JournalOwner owner{
      .expected_first = [this]() -> Result<uint64_t> {
        WALLE_TRY(check_own_key());
        return load_manifest();
      },
      .before_mending = [this](const store::JournalRecovery& found,
                               size_t capacity) { return check_files(found, capacity); }};
  WALLE_ASSIGN(journal_, store::Journal::open(env_, journal_path(), options_.journal_bytes, owner));
  report_.journal = journal_->recovery();
  WALLE_TRY(open_state());
  WALLE_TRY(settle_segments());
  WALLE_TRY(finish_erasing());
  WALLE_TRY(reserve_numbers());
  WALLE_TRY(recover_sequencer());
  synced_at_ = env_.steady_us();
  opened_ = true;
  if (!options_.maintenance_thread) return {};
  const int64_t every_us = std::max<int64_t>(options_.sync_us / kLooksPerSync, 1000);
  const auto maintain_and_tell = [this, every_us] {
    const Status s = maintain();
    if (!s.ok()) base::log(base::LogLevel::warning, "event log '" + dir_ + "': " + s.error().message());
    return every_us;
  };
  maintainer_ = std::make_unique<base::LoopThread>(
      base::LoopThread::Work{.name = "event log", .step = maintain_and_tell, .first_us = every_us});
  maintainer_->start();
  return {};
}

Result<store::MirroredFile> EventLog::open_manifest() const {
  return store::MirroredFile::open(env_, dir_ + kManifestFile, kManifestKind);
}

// The number of the oldest event that must be in the journal.
Result<uint64_t> EventLog::load_manifest() {
  WALLE_ASSIGN(manifest_file_, open_manifest());
  const store::MirroredFile::Found found = manifest_file_->found();
  auto manifest = LogManifest::parse(manifest_file_->content());
  manifest_known_ = manifest_file_->readable() && manifest;
  manifest_ = manifest_known_ ? std::move(*manifest) : LogManifest();
  report_.mended_copies = found == store::MirroredFile::Found::mended;
  return manifest_known_ ? manifest_.compacted + 1 : 0;
}

Result<uint64_t> EventLog::check_files(const store::JournalRecovery& found, size_t capacity) {
  WALLE_ASSIGN(const std::vector<std::string> files, env_.list_files(dir_));
  // A catalogue is written behind the first manifest, and so are a journal's tail and segments.
  const bool other = found.had_tail || std::ranges::any_of(files, [](const std::string& f) {
                       return f.starts_with("catalog.walc") || parse_segment_name(f);
                     });
  const bool fresh = manifest_file_->found() == store::MirroredFile::Found::nothing && !other;
  manifest_known_ = manifest_known_ || fresh;
  WALLE_ASSIGN(found_, check_segments(env_, dir_, manifest_known_, manifest_));
  report_.damaged_segments = found_.damaged;
  const uint64_t next = check_journal(found, capacity, manifest_known_, env_.wall_us(), manifest_);
  if (options_.read_only) return next;
  if (manifest_file_->found() == store::MirroredFile::Found::damaged) WALLE_TRY(manifest_file_->set_aside());
  for (const std::string& file : files)
    if (file.ends_with(".wseg.new")) found_.removed.push_back(file);  // a crash left it
  const std::string now = manifest_.serialize();
  if (now != manifest_file_->content() || fresh) WALLE_TRY(manifest_file_->write(now));
  (void)manifest_file_->mend().ok();  // the other copy serves where the disk is full
  return next;
}

// What must outlive damage to any one file, each in two copies: the catalogue, and the state beside it. The
// journal's lock is held: nobody else changes them.
Status EventLog::open_state() {
  WALLE_ASSIGN(CatalogFile file, CatalogFile::open(env_, dir_));
  if (file.stored()) {
    WALLE_ASSIGN(catalog_, extended_catalog(*file.stored(), catalog_));
  } else if (journal_->last_seq() > 0 || !manifest_.segments.empty()) {
    return model_error("events without a catalogue", "catalog.walc or catalog.walc.mirror beside them",
                       {"event log '", dir_, "'"}, "restore one of the two files, or move the log away");
  }
  // The state before the catalogue: one that is missing beside a catalogue was removed.
  WALLE_ASSIGN(state_, LogState::open(env_, dir_, file.stored().has_value()));
  report_.mended_copies += uint64_t{file.mended()} + uint64_t{state_->mended()};
  report_.state_lost = state_->lost();
  catalog_file_ = std::move(file);
  // Before the first append: a record whose event the catalogue on disk does not know could not be read
  // again.
  return catalog_file_->store(catalog_);
}

// What was to be done with files once their loss is written down. A segment whose events the journal still
// holds was written just before a crash: the journal lets them go now.
Status EventLog::settle_segments() {
  // Retention counts only what reads.
  for (const std::string& name : found_.aside) WALLE_TRY(store::set_aside(env_, dir_ + "/" + name));
  for (const std::string& name : found_.removed) WALLE_TRY(env_.remove_file(dir_ + "/" + name));
  const uint64_t last = manifest_.segments.empty() ? 0 : manifest_.segments.back().last;
  manifest_.compacted = std::max(manifest_.compacted, last);
  return journal_->first_seq() <= manifest_.compacted ? journal_->release(manifest_.compacted) : Status();
}

// From here on, numbers up to `reserved` may be given out, and the log is not closed: both are on the disk
// before the first append.
Status EventLog::reserve_numbers() {
  const uint64_t room = journal_->capacity() - journal_->used();
  manifest_.closed = false;
  manifest_.reserved = std::max(manifest_.reserved, last_seq() + room / kLeastFrame);
  return store_manifest();
}

Status EventLog::recover_sequencer() {
  // The newest segment and the journal suffice: time and session are those of the newest event, and open
  // pages are not recovered.
  uint64_t from = 0;
  for (const store::SegmentEntry& s : manifest_.segments) {
    if (s.rows > 0) from = s.first;
    sequencer_.not_before(s.max_ts);
  }
  WALLE_TRY(read(from, [&](const Event& e) {
    sequencer_.recover(e, catalog_.events()[e.event].kind);
    return true;
  }));
  sequencer_.process_started();
  return {};
}

// The newest number is known exactly from now on, should the journal be gone at the next open.
void EventLog::close() {
  manifest_.closed = true;
  manifest_.newest = last_seq();
  // Where it cannot be written, the next open knows a bound instead.
  (void)store_manifest().ok();
}

EventLog::~EventLog() {
  maintainer_.reset();
  if (!check_process().ok()) return;
  if (opened_) close();
}

}  // namespace walle::stream
