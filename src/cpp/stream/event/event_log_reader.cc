// Reading a log: segments, then frames, from the writer's own files or beside a writer.
#include "stream/event/event_log.h"

namespace walle::stream {

Status EventLog::read(uint64_t from, const std::function<bool(const Event&)>& visit) {
  return read(EventQuery{.from = from}, nullptr, visit);
}

Status EventLog::read(const EventQuery& query, const Begin& begin,
                      const std::function<bool(const Event&)>& visit) {
  WALLE_TRY(check_process());
  // Held while visiting: compaction in another thread would move events from the journal to a segment behind
  // the reader's back, who would then see them twice or not at all.
  const std::lock_guard lock(files_);
  if (options_.read_only) WALLE_TRY(look_anew());
  if (begin) WALLE_TRY(begin(catalog_));
  bool more = true;
  QueryReader reader(query, catalog_);
  const auto look = [&](const Event& e) {
    const QueryReader::Verdict verdict = reader.of(e);
    more = verdict != QueryReader::Verdict::stop && (verdict == QueryReader::Verdict::skip || visit(e));
    return more;
  };
  uint64_t next = query.first();
  // By reference here and below: a copy in a std::function would be an allocation for each event read.
  WALLE_TRY(read_segments(query, next, std::ref(look)));
  if (!more || next > query.to) return {};
  const auto mark = marks_.before(next, query.from_ts);
  const store::JournalPlace start = mark ? store::JournalPlace{mark->at, mark->seq} : store::JournalPlace{};
  return read_frames(next, [&](const Event& e, size_t) { return look(e); }, start);
}

// `next` becomes the number that frames go on with.
Status EventLog::read_segments(const EventQuery& query, uint64_t& next,
                               const std::function<bool(const Event&)>& visit) {
  bool more = true;
  const uint64_t from = query.first();
  for (const store::SegmentEntry& entry : manifest_.segments) {
    if (entry.last < from) continue;
    if (!more || entry.first > query.to || entry.min_ts > query.to_ts) break;
    // Segments and journal may overlap after a crash, and no event comes twice.
    next = std::max(next, entry.last + 1);
    if (entry.max_ts < query.from_ts) continue;
    WALLE_ASSIGN(EventSegmentReader * events, load(entry));
    WALLE_TRY(events->read(from, query.from_ts, [&](const Event& e) { return more = visit(e); }));
  }
  return {};
}

// Reading one takes 2 ms for 20,000 events, and whoever reads events one after the other - a task that has
// waited for a charger - would pay that for each.
Result<EventSegmentReader*> EventLog::load(const store::SegmentEntry& entry) {
  ++loads_;
  Loaded* oldest = loaded_.data();
  for (Loaded& each : loaded_) {
    const bool same = each.segment && each.entry.first == entry.first && each.entry.bytes == entry.bytes;
    if (!same) {
      if (each.used < oldest->used) oldest = &each;
      continue;
    }
    each.used = loads_;
    return &*each.segment->events;
  }
  WALLE_ASSIGN(std::string bytes, env_.read_file(dir_ + "/" + file_of(entry)));
  *oldest = {};  // before another one is made beside it
  WALLE_ASSIGN(oldest->segment, LoadedSegment::make(std::move(bytes), catalog_));
  oldest->entry = entry;
  oldest->used = loads_;
  return &*oldest->segment->events;
}

// Those that nobody has read since the last time.
void EventLog::let_go_of_segments() {
  const std::lock_guard lock(files_);
  for (Loaded& each : loaded_)
    if (each.used <= loads_before_) each = {};
  loads_before_ = loads_;
}

// Events of the journal from `from` on until `visit(event, bytes of its record)` returns false.
Status EventLog::read_frames(uint64_t from, const std::function<bool(const Event&, size_t bytes)>& visit,
                             store::JournalPlace start) const {
  // Kept from read to read, because tasks read one event a firing; a read inside `visit` finds none and makes
  // its own.
  static thread_local std::vector<Value> spare;
  Status status;
  std::vector<Value> values = std::move(spare);
  std::string plain;
  const auto frame = [&](uint64_t seq, std::span<const std::byte> bytes) {
    if (sealed_ && !sealed_->aead().unseal(base::as_text(bytes), store::put_number(seq), plain)) {
      status = model_error("a record that was not sealed with this log's key", "a record of this log",
                           {"event ", seq}, "read the log with the key it was written with");
      return false;
    }
    auto e = read_record(sealed_ ? std::as_bytes(std::span(plain)) : bytes, catalog_, values);
    if (!e.ok()) {
      status = e.take_error();
      return false;
    }
    e->seq = seq;
    return visit(*e, bytes.size());
  };
  if (journal_)
    journal_->read(from, std::ref(frame), start);
  else
    copy_.read(from, frame);
  spare = std::move(values);
  return status;
}

// What is there now, for a log that only reads. The manifest, then the journal, and the manifest again: where
// it is the same, what has left the journal is in segments that it names. Segments are looked into when their
// list has changed, once in thousands of events.
Status EventLog::look_anew() {
  constexpr int kAttempts = 8;
  for (int i = 0; i < kAttempts; ++i) {
    const std::string before = manifest_file_ ? manifest_file_->content() : "";
    const bool first = !manifest_file_;
    WALLE_ASSIGN(store::MirroredFile now, open_manifest());
    const bool changed = first || now.content() != before;
    uint64_t expected = manifest_.compacted + 1;
    if (changed) {
      WALLE_ASSIGN(expected, load_manifest());
    }
    WALLE_ASSIGN(copy_, store::JournalCopy::read(env_, journal_path(), expected));
    WALLE_ASSIGN(const CatalogFile catalog, CatalogFile::open(env_, dir_));
    loaded_ = {};  // they borrow the catalogue
    if (catalog.stored()) catalog_ = *catalog.stored();
    if (changed) WALLE_TRY(check_files(copy_.recovery(), copy_.capacity()).status());
    WALLE_ASSIGN(const store::MirroredFile after, open_manifest());
    if (after.content() == manifest_file_->content()) break;
    manifest_file_.reset();  // the writer has moved on: once more from the beginning
  }
  report_.journal = copy_.recovery();
  return {};
}

}  // namespace walle::stream
