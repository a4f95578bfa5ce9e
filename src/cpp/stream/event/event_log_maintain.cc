// What a log does beside appending: syncs, moves the journal into segments, lets old segments go.
#include <algorithm>

#include "base/log.h"
#include "stream/event/event_log.h"

namespace walle::stream {

Status EventLog::sync() {
  WALLE_TRY(check_writable("sync()"));
  return journal_->sync();
}

Status EventLog::maintain() {
  WALLE_TRY(check_writable("maintain()"));
  const std::lock_guard lock(maintaining_);  // the log's own thread may be at it
  // Half: compaction then still has the other half for events that arrive while it runs, and segments are
  // large enough to compress well.
  if (journal_->used() > journal_->capacity() / 2) {
    WALLE_TRY(compact());
    WALLE_TRY(retain());
  }
  let_go_of_segments();
  latest_ts_.store(env_.wall_us() + kMaxAheadUs, std::memory_order_relaxed);
  const int64_t now = env_.steady_us();
  if (journal_->unsynced() >= options_.sync_events ||
      (journal_->unsynced() && now - synced_at_ >= options_.sync_us)) {
    WALLE_TRY(journal_->sync());
    synced_at_ = now;
  }
  return {};
}

Status EventLog::compact() {
  WALLE_TRY(check_writable("compact()"));
  const std::lock_guard lock(files_);
  return compact_all();
}

Status EventLog::compact_all() {
  // An earlier attempt may have written its segment and then failed to say so or to release the journal.
  WALLE_TRY(store_manifest());
  if (journal_->first_seq() <= manifest_.compacted) WALLE_TRY(journal_->release(manifest_.compacted));
  while (true) {
    WALLE_ASSIGN(const bool wrote, write_segment());
    if (!wrote) return {};
  }
}

// Durable when it returns; nothing is written where nothing has changed.
Status EventLog::store_manifest() {
  const std::string now = manifest_.serialize();
  if (now == manifest_file_->content()) return {};
  return manifest_file_->write(now);
}

void EventLog::tell_gone() {
  removed_.store(manifest_.removed, std::memory_order_release);
  erased_.store(manifest_.erased + manifest_.erasing.size(), std::memory_order_release);
}

// The oldest events of the journal as one segment; false when there are none. Large journals become several:
// a segment is read as a whole, and decoding refuses what would take over a gigabyte. Records decode to at
// most six times their size.
Result<bool> EventLog::write_segment() {
  constexpr size_t kSegmentRecords = 32 << 20;  // bytes; the whole of a journal of the usual 4 MB
  EventSegmentBuilder builder(catalog_);
  size_t records = 0;
  WALLE_TRY(read_frames(manifest_.compacted + 1, [&](const Event& e, size_t bytes) {
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
  const store::SegmentEntry entry{.first = first,
                                  .last = last,
                                  .rows = segment.rows,
                                  .min_ts = segment.min_ts,
                                  .max_ts = segment.max_ts,
                                  .bytes = static_cast<int64_t>(bytes.size())};
  // The frames first: a power loss must not leave a journal that ends before what is said to have left it.
  WALLE_TRY(journal_->sync_frames());
  // File, then manifest, then journal: whatever is cut off here is finished by the next open.
  WALLE_TRY(env_.replace_file(dir_ + "/" + file_of(entry), bytes));
  manifest_.segments.push_back(entry);
  manifest_.compacted = last;
  // As many as the journal holds may come before the next time this is written.
  manifest_.reserved = std::max(manifest_.reserved, last_seq() + journal_->capacity() / kLeastFrame);
  WALLE_TRY(store_manifest());
  WALLE_TRY(journal_->release(last));
  return true;
}

namespace {
// What goes with a segment although `reader`, at place `seq`, has not seen it.
Loss unread(const store::SegmentEntry& s, LossKind kind, const std::string& reader, uint64_t seq,
            int64_t now_us) {
  const uint64_t first = std::max(s.first, seq + 1);
  return {.kind = kind,
          .first = first,
          .last = s.last,
          .count = std::min(s.rows, s.last - first + 1),
          .exact = first == s.first || s.rows == s.last - s.first + 1,
          .noticed_us = now_us,
          .owner = reader,
          .cause = kind == LossKind::quota ? "removed for the quota before they were read"
                                           : "removed for their age before they were read"};
}
}  // namespace

Status EventLog::retain() {
  const std::lock_guard lock(files_);
  int64_t total = 0;
  for (const store::SegmentEntry& s : manifest_.segments) total += s.bytes;
  // By the newest event of a segment: none goes before all of it is too old.
  const int64_t now = env_.wall_us();
  const int64_t oldest = now - options_.max_age_us;
  const LogManifest before = manifest_;
  std::vector<std::string> gone;
  while (!manifest_.segments.empty()) {
    const store::SegmentEntry s = manifest_.segments.front();
    const bool over = total > options_.quota_bytes;
    if (!over && s.max_ts >= oldest) break;
    for (const std::string& reader : state_->readers()) {
      const auto seq = state_->cursor(reader);
      if (seq.ok() && *seq < s.last)
        manifest_.add(unread(s, over ? LossKind::quota : LossKind::age, reader, *seq, now));
    }
    total -= s.bytes;
    manifest_.removed = s.last;
    manifest_.segments.erase(manifest_.segments.begin());
    gone.push_back(file_of(s));
  }
  // Said before it is done: a file that is still there and no longer listed is removed by the next open.
  if (Status stored = store_manifest(); !stored.ok()) {
    manifest_ = before;
    return stored;
  }
  tell_gone();
  for (const std::string& file : gone) WALLE_TRY(env_.remove_file(dir_ + "/" + file));
  return {};
}

}  // namespace walle::stream
