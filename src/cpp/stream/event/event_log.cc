#include "stream/event/event_log.h"

#include <cstdlib>

#include "base/trace.h"

namespace walle::stream {

namespace {
// A time that is earlier than the clock by so much is late; less is what clocks are corrected by every day.
constexpr int64_t kLateUs = kMinuteUs;
// Milliseconds reach this number in 1973, seconds in 5138: a smaller one that was meant to be a time of this
// century is seconds.
constexpr int64_t kMostSeconds = 100'000'000'000;

Error too_early(int64_t ts, Text event) {
  const bool seconds = ts < kMostSeconds;
  return argument_error({"time ", ts, ", which as microseconds lies before 2000"}, "microseconds since 1970",
                        {"append of '", event, "'"},
                        seconds ? "it looks like seconds: multiply it by 1,000,000"
                                : "it looks like milliseconds: multiply it by 1,000");
}
}  // namespace

Status EventLog::check_process() const {
  if (process_ == base::fork_generation()) [[likely]]
    return {};
  return resource_error("an event log that was opened before fork(), used in the child",
                        "the process that opened it", {"event log '", dir_, "'"},
                        "open a reader of its own in the child (read_only=True), or close the log before "
                        "fork() and open it in one of the two");
}

Status EventLog::check_writable(std::string_view what) const {
  WALLE_TRY(check_process());
  if (!options_.read_only) return {};
  return argument_error({what, " of an event log that only reads"}, "a log opened for writing",
                        {"event log '", dir_, "'"}, "open it without read_only");
}

Status EventLog::declare(const EventDecl& event) {
  WALLE_TRY(check_writable("declare()"));
  const std::lock_guard lock(files_);
  WALLE_TRY(catalog_.declare(event));
  return catalog_file_->store(catalog_);
}

Status EventLog::lower(std::string_view event, std::string_view field, Sensitivity to) {
  WALLE_TRY(check_writable("lower()"));
  const std::lock_guard lock(files_);
  WALLE_TRY(catalog_.lower(event, field, to, last_seq() + 1));
  return catalog_file_->store(catalog_);
}

Status EventLog::acknowledge_state_loss(const std::map<std::string, double>& spent) {
  WALLE_TRY(check_writable("acknowledge_state_loss()"));
  WALLE_TRY(state_->acknowledge_loss(spent));
  report_.state_lost = false;
  return {};
}

Result<uint16_t> EventLog::page(std::string_view name) {
  WALLE_TRY(check_writable("page()"));
  const std::lock_guard lock(files_);
  const bool known = catalog_.find_page(name).has_value() || name.empty();
  WALLE_ASSIGN(const uint16_t id, catalog_.page(name));
  // Durable before the id is given out, since the next record may carry it.
  if (!known) WALLE_TRY(catalog_file_->store(catalog_));
  return id;
}

Result<uint16_t> EventLog::state(std::string_view name) {
  WALLE_TRY(check_writable("state()"));
  const std::lock_guard lock(files_);
  const bool known = catalog_.find_state(name).has_value();
  WALLE_ASSIGN(const uint16_t id, catalog_.state(name));
  if (!known) WALLE_TRY(catalog_file_->store(catalog_));
  return id;
}

Result<uint64_t> EventLog::cursor(const std::string& reader) {
  WALLE_TRY(check_process());
  return state_->cursor(reader);
}

Status EventLog::set_cursor(const std::string& reader, uint64_t seq) {
  WALLE_TRY(check_writable("set_cursor()"));
  if (seq > last_seq())
    return argument_error({"place ", seq, " of reader '", reader, "'"},
                          {"at most ", last_seq(), ", the newest event's number"}, {"event log '", dir_, "'"},
                          "name the last event that was handled; events to come would be skipped");
  return state_->set_cursor(reader, seq);
}

Result<std::vector<Loss>> EventLog::losses() {
  WALLE_TRY(check_process());
  const std::lock_guard lock(files_);
  return manifest_.losses;
}

Status EventLog::acknowledge(const std::vector<Loss>& seen) {
  WALLE_TRY(check_writable("acknowledge()"));
  const std::lock_guard lock(files_);
  std::vector<Loss> before = manifest_.losses;
  for (const Loss& loss : seen) std::erase(manifest_.losses, loss);
  if (manifest_.losses.size() == before.size()) return {};
  Status stored = store_manifest();
  if (!stored.ok()) manifest_.losses = std::move(before);
  return stored;
}

Status EventLog::check_event(const Event& e) {
  if (e.event >= catalog_.events().size())
    return argument_error({"event id ", e.event}, {"below ", catalog_.events().size()}, "append",
                          "declare the event first");
  const EventDecl& decl = catalog_.events()[e.event];
  if (e.page >= catalog_.page_count(e.event))
    return argument_error({"page or state id ", e.page}, {"below ", catalog_.page_count(e.event)},
                          {"append of '", decl.name, "'"}, "intern the name first");
  WALLE_TRY(check_contents(catalog_, e.event, e.contents));
  // The bound may be old, because only maintain() renews it: asked again before anything is refused.
  if (e.ts > latest_ts_.load(std::memory_order_relaxed)) [[unlikely]]
    latest_ts_.store(env_.wall_us() + kMaxAheadUs, std::memory_order_relaxed);
  if (e.ts < kLeastTimeUs && e.ts >= 0) return too_early(e.ts, decl.name);
  if (e.ts < 0 || e.ts > latest_ts_.load(std::memory_order_relaxed))
    return argument_error({"time ", e.ts, " us, more than a day ahead of the device's clock or negative"},
                          "microseconds since 1970, by the device's clock", {"append of '", decl.name, "'"},
                          "check the unit and the source of the time");
  return {};
}

// Asked of events that are older than the newest one alone: asking the clock costs as much as an append.
bool EventLog::is_late(const Event& e) {
  if (options_.recorded_times) return e.flags & kTimeLate;
  const int64_t now = env_.wall_us();
  // Where the newest event is not of now either, the clock says nothing about this one: it was wrong itself,
  // or the events come from elsewhere.
  return std::abs(now - sequencer_.last_own_ts()) <= kSessionGapUs && e.ts < now - kLateUs;
}

namespace {
// Where a record is sealed before it is written, instead of a base::Crc32cWriter.
class PlainWriter {
 public:
  template <class T>
  void put(T value) {
    out_.put(value);
  }
  void copy(const void* from, size_t size) { out_.put_bytes({static_cast<const char*>(from), size}); }
  std::string_view written() const { return out_.written(); }

 private:
  base::ByteWriter out_;
};
}  // namespace

Result<uint64_t> EventLog::commit(const Event& e, size_t size) {
  if (!sealed_) return journal_->commit(size, [&](auto& w) { put_record(e, w); });
  PlainWriter plain;
  put_record(e, plain);
  // Bound to its number: a frame cannot be put in the place of another.
  const std::string number = store::put_number(journal_->last_seq() + 1);
  WALLE_ASSIGN(const std::string sealed, sealed_->aead().seal(plain.written(), number));
  return journal_->commit(sealed.size(), [&](auto& w) { w.copy(sealed.data(), sealed.size()); });
}

// On a disk that is full an attempt writes a segment in vain, which takes a tenth of a second of the caller's
// thread: at most a tenth of its time goes there, and between two attempts events are refused at once.
Status EventLog::make_room(size_t size) {
  constexpr int64_t kPauses = 9;
  const int64_t begun = env_.steady_us();
  if (begun < full_until_us_)
    return resource_error(
        "a full journal whose events cannot be moved to a segment: the disk was full just now",
        "space for one event", "append", "free space on the disk; it is tried again");
  Status compacted = compact();
  if (!compacted.ok()) {
    const int64_t now = env_.steady_us();
    full_until_us_ = now + kPauses * (now - begun);
    return compacted;
  }
  if (journal_->reserve(size)) return {};
  return resource_error("no space in the journal after compaction", "space for one event", "append",
                        "open the log with a larger journal");
}

Result<Event> EventLog::append(Event e, bool durable) {
  const base::TraceSpan span("append");
  WALLE_TRY(check_writable("append()"));
  // What is wrong with an event is looked for only when something is.
  const bool known = e.event < catalog_.events().size() && e.page < catalog_.page_count(e.event);
  const bool timely = e.ts >= kLeastTimeUs && e.ts <= latest_ts_.load(std::memory_order_relaxed);
  const size_t checked = known && timely ? checked_record_size(catalog_.events()[e.event], e.contents) : 0;
  if (checked == 0) WALLE_TRY(check_event(e));
  const bool late = e.ts < sequencer_.last_ts() && is_late(e);
  e.flags &= kStateOn;  // the others are the sequencer's
  const size_t least = checked ? checked : record_size(e);
  const EventDecl& decl = catalog_.events()[e.event];
  // With the own time that the event may turn out to have. Two reasons to refuse, told apart: an event that
  // will never fit, and a journal that is full for now.
  const size_t most = least + kOwnTimeBytes + (sealed_ ? sealed_->aead().added_bytes() : 0);
  if (!journal_->reserve(most)) {
    if (most > journal_->max_payload())
      return argument_error(
          {"an event of ", least, " bytes"}, {"at most ", journal_->max_payload() - (most - least)},
          {"append of '", decl.name, "'"}, "store large contents elsewhere and record their name");
    WALLE_TRY(make_room(most));  // nobody maintained the log in time
  }
  sequencer_.place(e, decl.kind, journal_->last_seq() + 1, late);
  const uint64_t place = journal_->next_place().at;
  WALLE_ASSIGN(e.seq, commit(e, least + (e.flags & kHasOwnTime ? kOwnTimeBytes : 0)));
  if (JournalMarks::due(e.seq)) marks_.note({.seq = e.seq, .ts = e.ts, .at = place});
  // Before the sync: an event whose sync fails is recorded all the same.
  if (follower_) follower_(e);
  if (durable) WALLE_TRY(journal_->sync_frames());
  if (maintainer_ && journal_->unsynced() >= options_.sync_events) maintainer_->poke();
  return e;
}

uint64_t EventLog::last_seq() const {
  if (journal_) return journal_->last_seq();
  const uint64_t in_segments = manifest_.segments.empty() ? 0 : manifest_.segments.back().last;
  return std::max(copy_.last_seq(), in_segments);
}

int64_t EventLog::segment_bytes() const {
  const std::lock_guard lock(files_);
  int64_t total = 0;
  for (const store::SegmentEntry& s : manifest_.segments) total += s.bytes;
  return total;
}

}  // namespace walle::stream
