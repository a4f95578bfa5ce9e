#include "stream/event/event_log.h"

#include <algorithm>
#include <cstdio>

#include "base/log.h"

namespace walle::stream {

namespace {
constexpr const char* kCatalogFile = "/catalog.walc";
constexpr const char* kJournalFile = "/journal.walj";
constexpr const char* kIndexFile = "/index.sqlite";
// Numbers of fixed width: names then sort as their numbers do, and a listing of the directory is in order.
constexpr size_t kSegmentNameSize = 16 + 1 + 16 + 5;  // both numbers in hexadecimal, ".wseg"

std::string segment_name(uint64_t first, uint64_t last) {
  char out[kSegmentNameSize + 1];
  std::snprintf(out, sizeof out, "%016llx-%016llx.wseg", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(last));
  return out;
}
bool is_segment(const std::string& name) {
  return name.size() == kSegmentNameSize && name.ends_with(".wseg");
}

int64_t total_bytes(const std::vector<store::SegmentEntry>& segments) {
  int64_t total = 0;
  for (const auto& s : segments) total += s.bytes;
  return total;
}

// What the log in `dir` knows stays; the caller's declarations extend it.
Result<Catalog> extended_catalog(Env& env, const std::string& dir, const Catalog& given) {
  WALLE_ASSIGN(const std::string bytes, env.read_file(dir + kCatalogFile));
  WALLE_ASSIGN(Catalog known, Catalog::parse(bytes));
  for (const EventDecl& e : given.events()) {
    const auto old = known.find_event(e.name);
    // A program that knows an event by its name alone (the built-in ones, say) does not take fields away from
    // it.
    if (old && known.events()[*old].fields.size() >= e.fields.size() && e.fields.empty()) continue;
    WALLE_TRY(known.declare(e));
  }
  for (const std::string& p : given.pages()) WALLE_TRY(known.page(p));
  for (const std::string& s : given.states()) WALLE_TRY(known.state(s));
  return known;
}

// What an open had to mend is told even to those who never ask report().
void log_report(const std::string& dir, const LogReport& report) {
  const std::string where = "event log '" + dir + "': ";
  if (report.journal.lost)
    base::log(base::LogLevel::warning, where + std::to_string(report.journal.lost) +
                                           " events lost behind damage at byte " +
                                           std::to_string(report.journal.damage_offset) + " of the journal");
  if (report.damaged_segments)
    base::log(base::LogLevel::warning, where + std::to_string(report.damaged_segments) +
                                           " segments do not read and were set aside as .damaged");
  if (report.index_rebuilt)
    base::log(base::LogLevel::info, where + "the index was rebuilt from the segments");
}
}  // namespace

Result<std::unique_ptr<EventLog>> EventLog::open(Env& env, const std::string& dir, Catalog catalog,
                                                 EventLogOptions options) {
  WALLE_TRY(env.make_dirs(dir));
  if (env.file_size(dir + kCatalogFile) >= 0) {
    WALLE_ASSIGN(catalog, extended_catalog(env, dir, catalog));
  }
  auto log = std::unique_ptr<EventLog>(new EventLog(env, dir, std::move(catalog), options));
  WALLE_ASSIGN(log->journal_, store::Journal::open(env, dir + kJournalFile, options.journal_bytes));
  // Before the first append: a record whose event the catalogue on disk does not know could not be read
  // again.
  WALLE_TRY(log->store_catalog());
  // SQLite opens files itself, past the Env: under a test's file system the index lives in memory and is
  // rebuilt from the segments.
  const bool real_files = &env == &Env::system();
  WALLE_ASSIGN(log->index_, store::Index::open(real_files ? dir + kIndexFile : ":memory:"));
  log->report_.journal = log->journal_->recovery();
  log->report_.index_rebuilt = log->index_->rebuilt();
  WALLE_TRY(log->adopt_segments());
  WALLE_TRY(log->recover_sequencer());
  log->synced_at_ = env.steady_us();
  log_report(dir, log->report_);
  return log;
}

// The files are the truth: what is there is indexed, what is indexed but gone is forgotten, what does not
// read is set aside. A segment whose events the journal still holds was written just before a crash: the
// journal lets them go now.
Status EventLog::adopt_segments() {
  WALLE_ASSIGN(const auto files, env_.list_files(dir_));
  WALLE_ASSIGN(const auto indexed, index_->segments());
  for (const auto& e : indexed)
    if (std::find(files.begin(), files.end(), e.file) == files.end()) WALLE_TRY(index_->remove(e.file));
  for (const std::string& name : files) {
    if (!is_segment(name)) continue;
    WALLE_ASSIGN(const std::string bytes, env_.read_file(dir_ + "/" + name));
    const auto segment = store::decode_segment(bytes);
    const auto* seqs = segment.ok() ? segment->find("seq") : nullptr;
    // From the column: after damage numbers are skipped, and first_seq + rows - 1 would be too low.
    const uint64_t last = seqs && !seqs->ints.empty() ? static_cast<uint64_t>(seqs->ints.back())
                          : segment.ok()              ? segment->first_seq
                                                      : 0;
    // A forged number near the end of the range would leave none for new events.
    if (!segment.ok() || last >= store::kMaxSeq - 1) {
      ++report_.damaged_segments;
      // Kept, not deleted: somebody may want to look, and retention counts only what reads.
      WALLE_TRY(env_.replace_file(dir_ + "/" + name + ".damaged", bytes));
      WALLE_TRY(env_.remove_file(dir_ + "/" + name));
      WALLE_TRY(index_->remove(name));
      continue;
    }
    segments_.push_back({.file = name,
                         .first_seq = segment->first_seq,
                         .last_seq = last,
                         .min_ts = segment->min_ts,
                         .max_ts = segment->max_ts,
                         .bytes = static_cast<int64_t>(bytes.size())});
    if (std::none_of(indexed.begin(), indexed.end(), [&](const auto& e) { return e.file == name; }))
      WALLE_TRY(index_->add(segments_.back()));
  }
  if (segments_.empty()) return {};
  const uint64_t last = segments_.back().last_seq;
  // The journal was lost or is older than the segments: numbers go on behind those already given out.
  if (journal_->last_seq() < last)
    journal_->skip_to(last + 1);
  else if (journal_->first_seq() <= last)
    WALLE_TRY(journal_->release(last));
  return {};
}

Status EventLog::recover_sequencer() {
  // The newest segment and the journal suffice: time and session are those of the newest event, and open
  // pages are not recovered.
  const uint64_t from = segments_.empty() ? 0 : segments_.back().first_seq;
  WALLE_TRY(read(from, [&](const Event& e) {
    sequencer_.recover(e);
    return true;
  }));
  sequencer_.process_started();
  return {};
}

Status EventLog::store_catalog() {
  const std::string path = dir_ + kCatalogFile;
  const std::string bytes = catalog_.serialize();
  // The size first: most opens find the same catalogue, and a replacement costs two syncs.
  if (env_.file_size(path) == static_cast<int64_t>(bytes.size())) {
    WALLE_ASSIGN(const std::string old, env_.read_file(path));
    if (old == bytes) return {};
  }
  return env_.replace_file(path, bytes);
}

Status EventLog::declare(const EventDecl& event) {
  WALLE_TRY(catalog_.declare(event));
  return store_catalog();
}

Result<uint16_t> EventLog::page(std::string_view name) {
  const bool known = catalog_.find_page(name).has_value() || name.empty();
  WALLE_ASSIGN(const uint16_t id, catalog_.page(name));
  // Durable before the id is given out, since the next record may carry it.
  if (!known) WALLE_TRY(store_catalog());
  return id;
}

Result<uint16_t> EventLog::state(std::string_view name) {
  const bool known = catalog_.find_state(name).has_value();
  WALLE_ASSIGN(const uint16_t id, catalog_.state(name));
  if (!known) WALLE_TRY(store_catalog());
  return id;
}

Status EventLog::check_event(const Event& e) {
  if (e.event >= catalog_.events().size())
    return argument_error("event id " + std::to_string(e.event),
                          "below " + std::to_string(catalog_.events().size()), "append",
                          "declare the event first");
  const EventDecl& decl = catalog_.events()[e.event];
  if (e.page >= catalog_.page_count(e.event))
    return argument_error("page or state id " + std::to_string(e.page),
                          "below " + std::to_string(catalog_.page_count(e.event)),
                          "append of '" + decl.name + "'", "intern the name first");
  WALLE_TRY(check_contents(catalog_, e.event, e.contents));
  // The bound may be old, because only maintain() renews it: asked again before anything is refused.
  if (e.ts > latest_ts_.load(std::memory_order_relaxed)) [[unlikely]]
    latest_ts_.store(env_.wall_us() + kMaxAheadUs, std::memory_order_relaxed);
  if (e.ts < 0 || e.ts > latest_ts_.load(std::memory_order_relaxed))
    return argument_error(
        "time " + std::to_string(e.ts) + " us, more than a day ahead of the device's clock or negative",
        "microseconds since 1970, by the device's clock", "append of '" + decl.name + "'",
        "check the unit and the source of the time");
  return {};
}

Result<Event> EventLog::append(Event e) {
  // What is wrong with an event is looked for only when something is.
  const bool known = e.event < catalog_.events().size() && e.page < catalog_.page_count(e.event);
  const bool timely = e.ts >= 0 && e.ts <= latest_ts_.load(std::memory_order_relaxed);
  const size_t checked = known && timely ? checked_record_size(catalog_.events()[e.event], e.contents) : 0;
  if (checked == 0) WALLE_TRY(check_event(e));
  const size_t size = checked ? checked : record_size(e);
  const EventDecl& decl = catalog_.events()[e.event];
  // Two reasons to refuse, told apart: an event that will never fit, and a journal that is full for now.
  if (!journal_->reserve(size)) {
    if (size > journal_->max_payload())
      return argument_error("an event of " + std::to_string(size) + " bytes",
                            "at most " + std::to_string(journal_->max_payload()),
                            "append of '" + decl.name + "'",
                            "store large contents elsewhere and record their name");
    WALLE_TRY(compact());  // nobody maintained the log in time
    if (!journal_->reserve(size))
      return resource_error("no space in the journal after compaction", "space for one event", "append",
                            "open the log with a larger journal");
  }
  sequencer_.place(e, decl.kind, journal_->last_seq() + 1);
  e.seq = journal_->commit(size, [&](auto& w) { put_record(e, w); });
  if (follower_) follower_(e);
  return e;
}

Status EventLog::read(uint64_t from, const std::function<bool(const Event&)>& visit) {
  // Held while visiting: compaction in another thread would move events from the journal to a segment behind
  // the reader's back, who would then see them twice or not at all.
  std::lock_guard lock(files_);
  bool more = true;
  uint64_t next = from;
  for (const auto& entry : segments_) {
    if (entry.last_seq < from || !more) continue;
    WALLE_ASSIGN(const std::string bytes, env_.read_file(dir_ + "/" + entry.file));
    WALLE_ASSIGN(const store::Segment segment, store::decode_segment(bytes));
    WALLE_TRY(read_event_segment(segment, catalog_, [&](const Event& e) {
      if (e.seq < from) return true;
      // Where the journal goes on: segments and journal may overlap after a crash, and no event comes twice.
      next = e.seq + 1;
      return more = visit(e);
    }));
  }
  if (!more) return {};
  return read_journal(next, [&](const Event& e, size_t) { return visit(e); });
}

// Events of the journal from `from` on until `visit(event, bytes of its record)` returns false.
template <class Visit>
Status EventLog::read_journal(uint64_t from, Visit&& visit) const {
  Status status;
  std::vector<Value> values;
  journal_->read(from, [&](uint64_t seq, std::span<const std::byte> bytes) {
    auto e = read_record(bytes, catalog_, values);
    if (!e.ok()) {
      status = e.take_error();
      return false;
    }
    e->seq = seq;
    return visit(*e, bytes.size());
  });
  return status;
}

Status EventLog::compact() {
  std::lock_guard lock(files_);
  // An earlier attempt may have written its segment and then failed to release the journal.
  const uint64_t done = segments_.empty() ? 0 : segments_.back().last_seq;
  if (journal_->first_seq() <= done) WALLE_TRY(journal_->release(done));
  while (true) {
    WALLE_ASSIGN(const bool wrote, write_segment());
    if (!wrote) return {};
  }
}

// The oldest events of the journal as one segment; false when there are none. Large journals become several:
// a segment is read as a whole, and decoding refuses what would take over a gigabyte. Records decode to at
// most six times their size.
Result<bool> EventLog::write_segment() {
  constexpr size_t kSegmentRecords = 32 << 20;  // bytes; the whole of a journal of the usual 4 MB
  EventSegmentBuilder builder(catalog_);
  size_t records = 0;
  const uint64_t from = segments_.empty() ? 1 : segments_.back().last_seq + 1;
  WALLE_TRY(read_journal(from, [&](const Event& e, size_t bytes) {
    records += bytes;
    // At least one row, or an event larger than the bound would never leave the journal.
    if (records > kSegmentRecords && builder.rows() > 0) return false;
    builder.add(e);
    return true;
  }));
  if (!builder.rows()) return false;
  const uint64_t first = builder.first_seq();
  const uint64_t last = builder.last_seq();
  const store::Segment segment = builder.finish();
  const std::string bytes = store::encode_segment(segment);
  const std::string name = segment_name(first, last);
  // File, then index, then journal: whatever is cut off here is finished by the next open.
  WALLE_TRY(env_.replace_file(dir_ + "/" + name, bytes));
  segments_.push_back({.file = name,
                       .first_seq = first,
                       .last_seq = last,
                       .min_ts = segment.min_ts,
                       .max_ts = segment.max_ts,
                       .bytes = static_cast<int64_t>(bytes.size())});
  WALLE_TRY(index_->add(segments_.back()));
  WALLE_TRY(journal_->release(last));
  return true;
}

Status EventLog::retain() {
  std::lock_guard lock(files_);
  int64_t total = total_bytes(segments_);
  // By the newest event of a segment: none goes before all of it is too old.
  const int64_t oldest = env_.wall_us() - options_.max_age_us;
  while (!segments_.empty() && (total > options_.quota_bytes || segments_.front().max_ts < oldest)) {
    WALLE_TRY(env_.remove_file(dir_ + "/" + segments_.front().file));
    WALLE_TRY(index_->remove(segments_.front().file));
    total -= segments_.front().bytes;
    segments_.erase(segments_.begin());
  }
  return {};
}

Status EventLog::maintain() {
  // Half: compaction then still has the other half for events that arrive while it runs, and segments are
  // large enough to compress well.
  if (journal_->used() > journal_->capacity() / 2) {
    WALLE_TRY(compact());
    WALLE_TRY(retain());
  }
  latest_ts_.store(env_.wall_us() + kMaxAheadUs, std::memory_order_relaxed);
  const int64_t now = env_.steady_us();
  if (journal_->unsynced() >= options_.sync_events ||
      (journal_->unsynced() && now - synced_at_ >= options_.sync_us)) {
    WALLE_TRY(journal_->sync());
    synced_at_ = now;
  }
  return {};
}

int64_t EventLog::segment_bytes() const {
  std::lock_guard lock(files_);
  return total_bytes(segments_);
}

}  // namespace walle::stream
