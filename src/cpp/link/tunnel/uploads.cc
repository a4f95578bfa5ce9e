#include "link/tunnel/uploads.h"

#include <algorithm>
#include <limits>

#include "base/record_trace.h"
#include "base/trace.h"

namespace walle::link {

namespace {
constexpr int64_t kRetryUs = 1'000'000;
constexpr size_t kReadAtOnce = 16;
// A dictionary is worth another one when the stream has shown so many times as much of itself.
constexpr size_t kLargerBy = 2;

bool fits(std::string_view name) { return name.size() <= kMostTunnelNameBytes; }

bool can_be_sent(const TunnelRecord& r) {
  return fits(r.task) && fits(r.feature) &&
         r.bytes.size() <= kMostMessageBytes - kSectionBytes - kRecordBytes;
}
}  // namespace

Result<std::optional<std::string>> Uploads::next(int64_t now) {
  if (retry_at_ && now < retry_at_) return std::optional<std::string>();
  retry_at_ = 0;
  Status filled = fill(now);
  if (!filled.ok()) {
    retry_at_ = now + kRetryUs;
    return filled.take_error();
  }
  if (!due(now)) return std::optional<std::string>();
  return std::optional(compose(now));
}

// Takes what waits, stream by stream in turns, until a message is full.
Status Uploads::fill(int64_t now) {
  if (unsettled_) {
    unsettled_ = false;
    for (auto& [name, stream] : streams_) WALLE_TRY(settle(name, stream));
  }
  if (!news_ || pending_bytes_ >= kFullMessageBytes || in_flight_.size() >= options_.most_in_flight)
    return {};
  WALLE_ASSIGN(const std::vector<SourceStream> found, source_.streams());
  for (const SourceStream& s : found) {
    const auto [at, fresh] = streams_.try_emplace(s.name);
    if (fresh) at->second.done = at->second.read_to = s.acknowledged;
  }
  auto next = streams_.upper_bound(last_stream_);
  size_t exhausted = 0;
  while (pending_bytes_ < kFullMessageBytes && exhausted < streams_.size()) {
    if (next == streams_.end()) next = streams_.begin();
    bool more = false;
    if (fits(next->first)) WALLE_TRY(read(next->first, next->second, more));
    exhausted = more ? 0 : exhausted + 1;
    last_stream_ = next->first;
    ++next;
  }
  news_ = exhausted < streams_.size();
  if (!pending_.empty() && pending_since_ == 0) pending_since_ = now;
  return {};
}

Status Uploads::read(const std::string& name, Stream& stream, bool& more) {
  WALLE_ASSIGN(std::vector<TunnelRecord> records, source_.read(name, stream.read_to + 1, kReadAtOnce));
  more = records.size() == kReadAtOnce;
  for (TunnelRecord& r : records) {
    stream.read_to = r.seq;
    if (stream.early.contains(r.seq)) continue;
    if (!can_be_sent(r)) {
      ++counts_.refused;
      stream.early.insert(r.seq);
      continue;
    }
    stream.unarrived[r.seq] = 0;
    pending_bytes_ += r.bytes.size();
    pending_.push_back({.stream = name, .record = std::move(r)});
  }
  return settle(name, stream);
}

bool Uploads::due(int64_t now) const {
  if (pending_.empty() || in_flight_.size() >= options_.most_in_flight) return false;
  return in_flight_.empty() || pending_bytes_ >= options_.linger_bytes ||
         now >= pending_since_ + options_.linger_us;
}

// A message of what is pending, as much as one takes.
std::string Uploads::compose(int64_t now) {
  std::vector<MessageSection> sections;
  std::map<std::string, size_t> place;
  const uint64_t message = ++messages_;
  size_t taken = 0, bytes = 0;
  for (; taken < pending_.size(); ++taken) {
    Pending& p = pending_[taken];
    const size_t cost = p.record.bytes.size() + kRecordBytes + kSectionBytes;
    if (taken > 0 && (bytes >= kFullMessageBytes || bytes + cost > kMostMessageBytes)) break;
    const auto known = place.find(p.stream);
    if (known == place.end() && sections.size() == kMostSections) break;
    const size_t index = known == place.end() ? sections.size() : known->second;
    if (known == place.end()) {
      place[p.stream] = index;
      sections.push_back({.stream = p.stream, .records = {}, .dictionary = streams_[p.stream].dictionary});
    }
    if (sections[index].records.size() == kMostRecords) break;
    Stream& stream = streams_[p.stream];
    const base::TraceSpan span("tunnel send", base::record_trace_id(p.stream, p.record.seq));
    stream.unarrived[p.record.seq] = message;
    if (p.record.seq <= stream.sent_to) ++counts_.resent;
    stream.sent_to = std::max(stream.sent_to, p.record.seq);
    bytes += cost;
    pending_bytes_ -= p.record.bytes.size();
    sections[index].records.push_back(std::move(p.record));
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(taken));
  pending_since_ = pending_.empty() ? 0 : now;
  for (MessageSection& s : sections) {
    size_t size = 0;
    for (const TunnelRecord& r : s.records) size += r.bytes.size();
    s.remember = streams_[s.stream].offered.empty() && s.dictionary.size() < kMostDictionaryBytes &&
                 size > s.dictionary.size() * kLargerBy;
  }
  PackedMessage packed = pack_message(sections);
  for (size_t i = 0; i < sections.size(); ++i)
    if (sections[i].remember)
      streams_[sections[i].stream].offered[dictionary_id(packed.remembered[i])] =
          std::move(packed.remembered[i]);
  counts_.record_bytes += packed.record_bytes;
  if (in_flight_.empty()) progress_at_ = now;
  in_flight_[message] = taken;
  return std::move(packed.bytes);
}

Status Uploads::acknowledge(const std::vector<AckEntry>& entries, int64_t now) {
  Status status;
  for (const AckEntry& e : entries) {
    const auto found = streams_.find(e.stream);
    if (found == streams_.end()) continue;
    Stream& stream = found->second;
    if (e.status == AckStatus::unknown_dictionary) {
      // Only of the one in use: a late word of an earlier one must not cost this one.
      if (!stream.dictionary.empty() && dictionary_id(stream.dictionary) == e.dictionary) {
        stream.dictionary.clear();
        rewind();
      }
      continue;
    }
    if (e.status == AckStatus::stored)
      if (const auto offered = stream.offered.find(e.dictionary); offered != stream.offered.end()) {
        stream.dictionary = std::move(offered->second);
        stream.offered.clear();
      }
    for (const SeqRun& run : e.runs) arrived(stream, run, e.status == AckStatus::refused);
    if (Status s = settle(e.stream, stream); !s.ok()) status = std::move(s);
    progress_at_ = now;
    resend_wait_ = 0;
  }
  if (!status.ok()) {
    unsettled_ = true;
    retry_at_ = now + kRetryUs;
  }
  return status;
}

// What was never sent cannot have arrived: of such numbers nothing is believed.
void Uploads::arrived(Stream& stream, const SeqRun& run, bool refused) {
  const uint64_t last = run.first + (run.count - 1);
  for (auto at = stream.unarrived.lower_bound(run.first);
       at != stream.unarrived.end() && at->first <= std::min(last, stream.sent_to);) {
    // One that is to be sent again arrived the first time: it stays pending, and is sent for nothing.
    if (at->second != 0) {
      const auto message = in_flight_.find(at->second);
      if (message != in_flight_.end() && --message->second == 0) in_flight_.erase(message);
    } else {
      std::erase_if(pending_, [&](const Pending& p) {
        const bool same = p.record.seq == at->first && &streams_[p.stream] == &stream;
        if (same) pending_bytes_ -= p.record.bytes.size();
        return same;
      });
    }
    ++(refused ? counts_.refused : counts_.acknowledged);
    stream.early.insert(at->first);
    at = stream.unarrived.erase(at);
  }
}

// Tells the source up to where everything has arrived.
Status Uploads::settle(const std::string& name, Stream& stream) {
  const uint64_t upto = stream.unarrived.empty() ? stream.read_to : stream.unarrived.begin()->first - 1;
  if (upto <= stream.done) return {};
  WALLE_TRY(source_.acknowledge(name, upto));
  stream.done = upto;
  stream.early.erase(stream.early.begin(), stream.early.upper_bound(upto));
  return {};
}

void Uploads::rewind() {
  for (auto& [name, stream] : streams_) {
    stream.unarrived.clear();
    stream.offered.clear();
    stream.read_to = stream.done;
  }
  pending_.clear();
  pending_bytes_ = 0;
  pending_since_ = 0;
  in_flight_.clear();
  news_ = true;
}

bool Uploads::resend_if_overdue(int64_t now) {
  if (in_flight_.empty()) return false;
  const int64_t wait = std::max(resend_wait_, options_.resend_us);
  if (now < progress_at_ + wait) return false;
  resend_wait_ = std::min(wait * 2, options_.most_resend_us);
  rewind();
  return true;
}

int64_t Uploads::deadline() const {
  int64_t out = std::numeric_limits<int64_t>::max();
  if (retry_at_) out = std::min(out, retry_at_);
  if (!in_flight_.empty()) out = std::min(out, progress_at_ + std::max(resend_wait_, options_.resend_us));
  if (retry_at_ || in_flight_.size() >= options_.most_in_flight) return out;
  if (news_) return 0;
  if (!pending_.empty()) out = std::min(out, pending_since_ + options_.linger_us);
  return out;
}

}  // namespace walle::link
