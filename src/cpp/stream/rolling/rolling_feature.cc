#include "stream/rolling/rolling_feature.h"

#include <map>

namespace walle::stream {

namespace {

// The log is held while it is read, and whoever maintains it waits: some 10 ms at a time.
constexpr int kSlice = 65'536;

template <class Visit>
Status read_slices(EventLog& log, EventQuery query, const Visit& visit) {
  for (bool more = true; more;) {
    int left = kSlice;
    more = false;
    WALLE_TRY(log.read(query, nullptr, [&](const Event& e) {
      visit(e);
      query.from = e.seq + 1;
      more = --left == 0;
      return !more;
    }));
  }
  return {};
}

}  // namespace

void RollingFeature::feed(const Event& e, const Catalog& catalog) {
  uint64_t bits = 0;
  if (!rule_.take(e, catalog, key_, bits)) return;
  // Asked for under the lock alone: whoever fills the memory reads the log to its end under it, and finds
  // either this event there or a memory here.
  const std::lock_guard lock(lock_);
  if (!memory_ || e.seq <= seen_) return;
  seen_ = e.seq;
  memory_->add(key_, {.seq = e.seq, .ts = e.ts, .bits = bits});
}

bool RollingFeature::knows(const EventLog& log, int64_t from_ts) const {
  return memory_ && erased_ == log.erased() && memory_->from_ts() <= from_ts;
}

Status RollingFeature::warm(EventLog& log, int64_t ts) {
  const int64_t from_ts = rule_.by_time() ? ts - rule_.spec().over_us : INT64_MIN;
  const std::lock_guard one(filling_);
  warmed_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(lock_);
    if (knows(log, from_ts)) return {};
  }
  return fill(log, rule_.by_time() ? from_ts - RollingMemory::kSlackUs : INT64_MIN);
}

// Precondition: `filling_` is held.
Status RollingFeature::fill(EventLog& log, int64_t from_ts) {
  const uint64_t erased = log.erased();
  auto made = std::make_unique<RollingMemory>(rule_, from_ts);
  uint64_t seen = 0;
  std::string key;
  const Catalog& catalog = log.catalog();  // events are shown while nobody changes it
  const auto visit = [&](const Event& e) {
    seen = e.seq;
    uint64_t bits = 0;
    if (rule_.take(e, catalog, key, bits)) made->add(key, {.seq = e.seq, .ts = e.ts, .bits = bits});
  };
  WALLE_TRY(read_slices(log, {.from_ts = from_ts}, visit));
  const std::lock_guard lock(lock_);
  WALLE_TRY(read_slices(log, {.from = seen + 1, .from_ts = from_ts}, visit));
  if (memory_) evicted_before_ += memory_->evicted();
  memory_ = std::move(made);
  seen_ = seen;
  erased_ = erased;
  return {};
}

// False: the memory is not there, or of before something was erased.
bool RollingFeature::recall(const EventLog& log, std::span<const std::string> keys, const RollingWindow& w,
                            std::span<std::optional<Value>> out) {
  const std::lock_guard lock(lock_);
  if (!memory_ || erased_ != log.erased()) return false;
  bool missing = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    out[i] = memory_->value(keys[i], w);
    missing = missing || !out[i];
  }
  reads_ += missing;
  return true;
}

Result<std::vector<Value>> RollingFeature::values(EventLog& log, std::span<const std::string> keys,
                                                  RollingMoment at) {
  const RollingWindow w{.after = log.removed(),
                        .to = at.seq,
                        .from_ts = at.ts - rule_.spec().over_us,
                        .events = rule_.spec().over_events};
  std::vector<std::optional<Value>> known(keys.size());
  do {
    WALLE_TRY(warm(log, at.ts));
  } while (!recall(log, keys, w, known));
  std::vector<std::string> missing;
  for (size_t i = 0; i < keys.size(); ++i)
    if (!known[i]) missing.push_back(keys[i]);
  std::vector<Value> read(missing.size());
  if (!missing.empty()) WALLE_TRY(read_missing(log, missing, w, read));
  std::vector<Value> out;
  out.reserve(keys.size());
  auto next = read.begin();
  for (const std::optional<Value>& one : known) out.push_back(one ? *one : *next++);
  return out;
}

// One pass for all of them. Of a window by number the newest are only known at its end, of one by time every
// event is counted as it comes.
Status RollingFeature::read_missing(EventLog& log, std::span<const std::string> keys, const RollingWindow& w,
                                    std::span<Value> out) {
  const RollingSpec& spec = rule_.spec();
  struct Found {
    RollingFold fold;
    KeyHistory newest;
  };
  std::map<std::string_view, Found> found;
  for (const std::string& key : keys) found.emplace(key, Found{RollingFold(spec.kind, rule_.whole()), {}});
  std::string key;
  const Catalog& catalog = log.catalog();
  const EventQuery query{.to = w.to, .from_ts = rule_.by_time() ? w.from_ts : INT64_MIN};
  WALLE_TRY(read_slices(log, query, [&](const Event& e) {
    uint64_t bits = 0;
    if (!rule_.take(e, catalog, key, bits)) return;
    const auto at = found.find(key);
    if (at == found.end()) return;
    if (rule_.by_time())
      at->second.fold.add(bits);
    else
      at->second.newest.push({.seq = e.seq, .ts = e.ts, .bits = bits}, INT64_MIN, spec.over_events);
  }));
  for (auto& [_, of] : found)
    for (size_t i = 0; i < of.newest.size(); ++i) of.fold.add(of.newest.at(i).bits);
  for (size_t i = 0; i < keys.size(); ++i) out[i] = found.find(keys[i])->second.fold.value();
  return {};
}

RollingStats RollingFeature::stats() const {
  const std::lock_guard lock(lock_);
  RollingStats out{.keys = 0, .evicted = evicted_before_, .reads = reads_, .bytes = 0};
  if (!memory_) return out;
  out.keys = memory_->keys();
  out.evicted += memory_->evicted();
  out.bytes = memory_->bytes();
  return out;
}

}  // namespace walle::stream
