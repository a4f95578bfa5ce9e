#include "stream/egress/outbox.h"

#include <algorithm>
#include <tuple>

#include "base/bytes.h"
#include "base/log.h"
#include "store/journal_frame.h"

namespace walle::stream {

namespace {
constexpr const char* kKind = "OUTB";
constexpr uint8_t kOutboxVersion = 2;               // 1 had the numbers in another order
constexpr size_t kStreamBytes = 4 + 7 * 8 + 4;      // of a stream, at least
constexpr size_t kRecordBytes = 2 * 8 + 1 + 3 * 4;  // of a record
// What a record costs beside its bytes: names and numbers, so that many empty ones are not free.
constexpr uint64_t kRecordOverhead = 64;
// Of the file's content, leaving room for the overheads.
constexpr uint64_t kMostBytes = store::kMaxMirroredBytes / 4 * 3;

uint64_t cost(const OutboxRecord& r) {
  return r.bytes.size() + r.task.size() + r.feature.size() + kRecordOverhead;
}

void put_record(base::ByteWriter& out, const OutboxRecord& r) {
  out.put(r.seq);
  out.put(r.ts);
  out.put(r.priority);
  out.put_text(r.task);
  out.put_text(r.feature);
  out.put_text(r.bytes);
}

OutboxRecord get_record(base::ByteReader& in) {
  OutboxRecord r;
  r.seq = in.get<uint64_t>();
  r.ts = in.get<int64_t>();
  r.priority = in.get<uint8_t>();
  r.task = in.text();
  r.feature = in.text();
  r.bytes = in.text();
  return r;
}
}  // namespace

Result<std::unique_ptr<Outbox>> Outbox::open(Env& env, const std::string& path, OutboxOptions options,
                                             Access access) {
  if (options.max_bytes == 0 || options.max_records == 0 || options.max_bytes > kMostBytes ||
      options.max_records * kRecordOverhead > kMostBytes)
    return argument_error(
        {options.max_bytes, " bytes and ", options.max_records, " records"},
        {"at least 1, at most ", kMostBytes, " bytes and ", kMostBytes / kRecordOverhead, " records"},
        {"outbox '", path, "'"}, "correct the limits");
  WALLE_ASSIGN(store::MirroredFile file, store::MirroredFile::open(env, path, kKind));
  using Found = store::MirroredFile::Found;
  const Found found = file.found();
  const bool there = file.readable();
  auto made = std::unique_ptr<Outbox>(new Outbox(std::move(file), options, access == Access::read_only));
  if (there && made->parse(made->file_.content())) {
    if (access != Access::read_only) (void)made->file_.mend().ok();  // the other copy serves
    return made;
  }
  if (found == Found::nothing && access == Access::read_only) return made;
  if (found == Found::nothing && access == Access::create) {
    // That it is there tells of a missing one later.
    WALLE_TRY(made->write(made->serialize(0)));
    return made;
  }
  made->streams_.clear();
  made->bytes_ = made->records_ = made->applied_ = 0;
  made->lost_ = true;
  base::log(base::LogLevel::warning, "outbox '" + path +
                                         "': the file was lost; records that waited in it are gone, "
                                         "acknowledge_loss() when this is known");
  if (access == Access::read_only) return made;
  if (found != Found::nothing) WALLE_TRY(made->file_.set_aside());
  WALLE_TRY(made->write(made->serialize(0)));
  return made;
}

uint64_t Outbox::next(const std::string& stream) const {
  const std::lock_guard guard(lock_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return floor_ + 1;
  return found->second.numbers.next();
}

void Outbox::add(uint64_t number, const std::string& stream, OutboxRecord record) {
  const std::lock_guard guard(lock_);
  if (number <= applied_) return;
  Stream& s = streams_[stream];
  // A frame of before the file, which was lost and made anew.
  if (record.seq <= s.numbers.newest) return;
  s.numbers.newest = record.seq;
  changed_ = true;
  if (record.seq <= s.acknowledged) return;
  if (!make_room(record)) {
    ++s.dropped;
    s.dropped_bytes += record.bytes.size();
    return;
  }
  s.bytes += cost(record);
  bytes_ += cost(record);
  ++records_;
  note_victim(streams_.find(stream)->first, record);
  s.waiting.push_back(std::move(record));
}

bool Outbox::goes_before(const Victim& a, const Victim& b) {
  return std::tie(a.priority, a.ts, *a.stream, a.seq) < std::tie(b.priority, b.ts, *b.stream, b.seq);
}

// Pushes out the oldest of the lowest priority, of all streams, until there is room; false where nothing that
// waits is lower than `record` or as low and older.
bool Outbox::make_room(const OutboxRecord& record) {
  if (cost(record) > options_.max_bytes) return false;
  while (bytes_ + cost(record) > options_.max_bytes || records_ + 1 > options_.max_records) {
    if (victims_.empty()) find_victims();
    if (victims_.empty() || victims_.back().priority > record.priority) return false;
    drop(victims_.back());
    victims_.pop_back();
  }
  return true;
}

// A look takes as long as 100 sends; 512 of 16,384 records are a look in as many sends.
void Outbox::find_victims() {
  constexpr size_t kAtOnce = 512;
  for (const auto& [name, s] : streams_)
    for (const OutboxRecord& r : s.waiting)
      victims_.push_back({.priority = r.priority, .ts = r.ts, .stream = &name, .seq = r.seq});
  const size_t count = std::min(victims_.size(), kAtOnce);
  std::partial_sort(victims_.begin(), victims_.begin() + static_cast<ptrdiff_t>(count), victims_.end(),
                    goes_before);
  victims_.resize(count);
  std::ranges::reverse(victims_);
}

// A record that comes may go before some of those.
void Outbox::note_victim(const std::string& stream, const OutboxRecord& r) {
  const Victim v{.priority = r.priority, .ts = r.ts, .stream = &stream, .seq = r.seq};
  if (victims_.empty() || !goes_before(v, victims_.front())) return;
  const auto goes_behind = [](const Victim& a, const Victim& b) { return goes_before(b, a); };
  victims_.insert(std::upper_bound(victims_.begin(), victims_.end(), v, goes_behind), v);
}

void Outbox::drop(const Victim& victim) {
  Stream& s = streams_.find(*victim.stream)->second;
  const auto at = std::ranges::lower_bound(s.waiting, victim.seq, {}, &OutboxRecord::seq);
  if (at == s.waiting.end() || at->seq != victim.seq) return;  // it has arrived meanwhile
  ++s.dropped;
  s.dropped_bytes += at->bytes.size();
  s.bytes -= cost(*at);
  bytes_ -= cost(*at);
  --records_;
  s.waiting.erase(at);
}

void Outbox::acknowledge(uint64_t number, const std::string& stream, uint64_t seq) {
  const std::lock_guard guard(lock_);
  const auto found = streams_.find(stream);
  if (number <= applied_ || found == streams_.end()) return;
  Stream& s = found->second;
  s.acknowledged = std::max(s.acknowledged, std::min(seq, s.numbers.newest));
  changed_ = true;
  while (!s.waiting.empty() && s.waiting.front().seq <= s.acknowledged) {
    s.bytes -= cost(s.waiting.front());
    bytes_ -= cost(s.waiting.front());
    --records_;
    s.waiting.pop_front();
  }
}

bool Outbox::would_change(const std::string& stream, uint64_t seq) const {
  const std::lock_guard guard(lock_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && std::min(seq, found->second.numbers.newest) > found->second.acknowledged;
}

OutboxStep Outbox::begin_checkpoint(uint64_t number, uint64_t reserve) {
  const std::lock_guard guard(lock_);
  OutboxStep step{.number = number, .content = {}};
  if (!changed_) return step;
  for (auto& [name, s] : streams_) s.numbers.reserve(reserve);
  step.content = serialize(number);
  changed_ = false;
  return step;
}

Status Outbox::checkpoint(const OutboxStep& step) {
  if (step.content.empty()) return {};
  Status written = write(step.content);
  const std::lock_guard guard(lock_);
  if (written.ok()) applied_ = step.number;
  changed_ = changed_ || !written.ok();
  return written;
}

Status Outbox::write(const std::string& content) {
  if (read_only_)
    return resource_error("a change of an outbox", "one opened for writing", {"'", file_.path(), "'"},
                          "open it without read_only");
  return content == file_.content() ? Status() : file_.write(content);
}

uint64_t Outbox::applied() const {
  const std::lock_guard guard(lock_);
  return applied_;
}

Status Outbox::lose_newest(uint64_t reserve) {
  std::string content;
  {
    const std::lock_guard guard(lock_);
    lost_ = true;
    floor_ += reserve;
    for (auto& [name, s] : streams_) {
      s.numbers.pass_over_reserved();
      s.lost += s.numbers.in_doubt();
      s.numbers.reserve_behind(reserve);
    }
    content = serialize(applied_);
  }
  return read_only_ ? Status() : write(content);
}

void Outbox::not_before(const std::string& stream, uint64_t seq) {
  const std::lock_guard guard(lock_);
  uint64_t& floor = streams_[stream].numbers.floor;
  floor = std::max(floor, seq);
  changed_ = true;
}

void Outbox::settle() {
  const std::lock_guard guard(lock_);
  for (auto& [name, s] : streams_) {
    uint64_t& newest = s.numbers.newest;
    if (s.numbers.floor <= newest) continue;
    // Those that the replay found are not lost.
    s.lost = std::min(s.lost, s.numbers.floor - newest);
    newest = s.numbers.floor;
    changed_ = true;
  }
}

std::vector<OutboxRecord> Outbox::read(const std::string& stream, uint64_t from, size_t limit) const {
  const std::lock_guard guard(lock_);
  std::vector<OutboxRecord> out;
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return out;
  for (const OutboxRecord& r : found->second.waiting) {
    if (out.size() == limit) break;
    if (r.seq >= from) out.push_back(r);
  }
  return out;
}

std::vector<OutboxStream> Outbox::streams() const {
  const std::lock_guard guard(lock_);
  std::vector<OutboxStream> out;
  for (const auto& [name, s] : streams_) {
    uint64_t bytes = 0;
    for (const OutboxRecord& r : s.waiting) bytes += r.bytes.size();
    out.push_back({.name = name,
                   .newest = s.numbers.newest,
                   .acknowledged = s.acknowledged,
                   .waiting = s.waiting.size(),
                   .waiting_bytes = bytes,
                   .dropped = s.dropped,
                   .dropped_bytes = s.dropped_bytes,
                   .lost = s.lost});
  }
  return out;
}

bool Outbox::lost() const {
  const std::lock_guard guard(lock_);
  return lost_;
}

// With the next checkpoint, which the owner makes at once.
void Outbox::acknowledge_loss() {
  const std::lock_guard guard(lock_);
  lost_ = false;
  for (auto& [name, s] : streams_) s.lost = 0;
  changed_ = true;
}

// With the lock.
std::string Outbox::serialize(uint64_t number) const {
  base::ByteWriter out;
  out.reserve(bytes_ + streams_.size() * 2 * kStreamBytes);
  out.put(kOutboxVersion);
  out.put(static_cast<uint8_t>(lost_));
  out.put(number);
  out.put(floor_);
  out.put_count(streams_.size());
  for (const auto& [name, s] : streams_) {
    out.put_text(name);
    s.numbers.put(out);
    for (const uint64_t n : {s.acknowledged, s.dropped, s.dropped_bytes, s.lost}) out.put(n);
    out.put_count(s.waiting.size());
    for (const OutboxRecord& r : s.waiting) put_record(out, r);
  }
  return out.take();
}

bool Outbox::parse(std::string_view bytes) {
  base::ByteReader in(bytes);
  in.checked(kOutboxVersion, kOutboxVersion);
  lost_ = in.flag();
  applied_ = in.get<uint64_t>();
  floor_ = in.get<uint64_t>();
  for (uint32_t n = in.count(kStreamBytes); n > 0 && in.ok(); --n) {
    const auto [at, fresh] = streams_.emplace(in.text(), Stream());
    Stream& s = at->second;
    s.numbers = store::NumberSeries::get(in);
    for (uint64_t* number : {&s.acknowledged, &s.dropped, &s.dropped_bytes, &s.lost})
      *number = in.get<uint64_t>();
    if (!fresh) return false;
    uint64_t previous = s.acknowledged;
    for (uint32_t m = in.count(kRecordBytes); m > 0 && in.ok(); --m) {
      OutboxRecord r = get_record(in);
      if (r.seq <= previous || r.seq > s.numbers.newest) return false;
      previous = r.seq;
      s.bytes += cost(r);
      bytes_ += cost(r);
      ++records_;
      s.waiting.push_back(std::move(r));
    }
  }
  return in.done() && applied_ < store::kMaxSeq && floor_ < store::kMaxSeq;
}

}  // namespace walle::stream
