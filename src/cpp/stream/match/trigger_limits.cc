#include "stream/match/trigger_limits.h"

#include "stream/match/event_key.h"
#include "stream/match/match_times.h"
#include "stream/match/tight.h"

namespace walle::stream {

TriggerLimits::TriggerLimits(const CompiledTrigger& t) {
  const TriggerSpec& s = t.spec;
  // What has a key of its own is counted by key alone.
  const bool rate = s.rate && t.rate_per.empty();
  once_ = s.once && t.once_per.empty();
  cooldown_us_ = t.cooldown_per.empty() ? s.cooldown_us : 0;
  last_fire_ = kNever;
  rate_us_ = rate ? s.rate_us : 0;
  recent_.assign(rate ? s.rate : 0, kNever);
  if (s.once && !once_) per_key_.push_back({t.once_per, {1, KeyedLimit::kForever, s.once_per.keep}});
  if (s.cooldown_us && !cooldown_us_)
    per_key_.push_back({t.cooldown_per, {1, s.cooldown_us, s.cooldown_per.keep}});
  if (s.rate && !rate) per_key_.push_back({t.rate_per, {s.rate, s.rate_us, s.rate_per.keep}});
}

TriggerLimits::Keys TriggerLimits::keys_of(const Event& e, const Catalog& catalog) const {
  Keys keys{};
  for (size_t i = 0; i < per_key_.size(); ++i) keys[i] = limit_key(per_key_[i].key, e, catalog);
  return keys;
}

bool TriggerLimits::holds(int64_t ts, const Keys& keys) const {
  if ((once_ && fired_) || (cooldown_us_ && fired_ && ts - last_fire_ < cooldown_us_)) return true;
  if (!recent_.empty() && recent_[next_] != kNever && ts - recent_[next_] < rate_us_) return true;
  for (size_t i = 0; i < per_key_.size(); ++i)
    if (!per_key_[i].limit.allows(keys[i], ts)) return true;
  return false;
}

void TriggerLimits::note(int64_t ts, const Keys& keys) {
  fired_ = true;
  last_fire_ = ts;
  for (size_t i = 0; i < per_key_.size(); ++i) per_key_[i].limit.note(keys[i], ts);
  if (recent_.empty()) return;
  // The ring's oldest entry is the one `rate` firings ago: one comparison decides.
  recent_[next_] = ts;
  next_ = (next_ + 1) % recent_.size();
}

bool TriggerLimits::pass(int64_t ts, const Keys& keys) {
  if (holds(ts, keys)) {
    ++suppressed_;
    return false;
  }
  note(ts, keys);
  return true;
}

uint64_t TriggerLimits::evicted() const {
  uint64_t out = 0;
  for (const PerKey& k : per_key_) out += k.limit.evicted();
  return out;
}

void TriggerLimits::take_past(const TriggerLimits& past) {
  fired_ = past.fired_;
  last_fire_ = past.last_fire_;
  recent_ = past.recent_;
  next_ = past.next_;
  per_key_ = past.per_key_;
}

size_t TriggerLimits::memory_bytes() const {
  size_t total = tight::bytes(recent_) + tight::bytes(per_key_);
  for (const PerKey& k : per_key_) total += tight::bytes(k.key.fields) + k.limit.memory_bytes();
  return total;
}

void TriggerLimits::put(base::ByteWriter& out) const {
  out.put(static_cast<uint8_t>(fired_));
  out.put(last_fire_);
  out.put_count(recent_.size());
  // Oldest first, so that the ring's position need not be stored.
  for (size_t i = 0; i < recent_.size(); ++i) out.put(recent_[(next_ + i) % recent_.size()]);
  out.put_count(per_key_.size());
  for (const PerKey& k : per_key_) k.limit.put(out);
}

void TriggerLimits::get(base::ByteReader& in, TriggerLimits* into) {
  const bool fired = in.flag();
  const int64_t last_fire = get_past_time(in);
  std::vector<int64_t> recent(in.count(sizeof(int64_t)));
  for (int64_t& ts : recent) ts = get_past_time(in);
  // A cooldown would subtract the time of what never was.
  in.check(!fired || last_fire != kNever);
  const uint32_t limits = in.count(2 * sizeof(uint32_t));
  for (uint32_t i = 0; i < limits && in.ok(); ++i) {
    if (into && i < into->per_key_.size())
      into->per_key_[i].limit.get(in);
    else
      KeyedLimit::pass(in);
  }
  if (!into || into->recent_.size() != recent.size()) return;
  into->fired_ = fired;
  into->last_fire_ = last_fire;
  into->recent_ = std::move(recent);
  into->next_ = 0;
}

}  // namespace walle::stream
