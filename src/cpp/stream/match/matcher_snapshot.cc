// The state of matching as bytes. Nodes and guards are named by their content (the path from the root),
// triggers by the fingerprint of their text, so a snapshot fits any matcher with the same triggers, whatever
// their order and numbers.
#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "base/crc32c.h"
#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"

namespace walle::stream {

namespace {
constexpr uint32_t kMagic = 0x31535357;  // "WSS1"

class Out {
 public:
  template <class T>
  void put(T v) {
    text_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  std::string take() {
    const uint32_t crc = base::crc32c(0, text_.data(), text_.size());
    put(crc);
    return std::move(text_);
  }

 private:
  std::string text_;
};

class In {
 public:
  explicit In(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T v{};
    if (bytes_.size() < sizeof v) {
      ok_ = false;
      return v;
    }
    std::memcpy(&v, bytes_.data(), sizeof v);
    bytes_.remove_prefix(sizeof v);
    return v;
  }
  // A count of entries of at least `size` bytes each.
  uint32_t count(size_t size) {
    const auto n = get<uint32_t>();
    if (size_t{n} * size > bytes_.size()) ok_ = false;
    return ok_ ? n : 0;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};
}  // namespace

std::string Matcher::snapshot() const {
  Out out;
  out.put(kMagic);
  out.put(base_), out.put(static_cast<uint8_t>(started_)), out.put(key_), out.put(session_),
      out.put(session_key_), out.put(last_seq_);
  out.put(last_ts_), out.put(now_), out.put(states_);
  out.put(static_cast<uint32_t>(live_triggers_));
  for (const Hot& h : hot_) {
    if (!h.live) continue;
    out.put(h.fingerprint);
    const Extra none;
    const Extra& x = h.extra == kNone ? none : extras_[h.extra];
    out.put(static_cast<uint8_t>(x.fired)), out.put(x.last_fire),
        out.put(static_cast<uint32_t>(x.recent.size()));
    for (size_t i = 0; i < x.recent.size(); ++i) out.put(x.recent[(x.next + i) % x.recent.size()]);
  }
  out.put(static_cast<uint32_t>(groups_.size()));
  for (const auto& g : groups_) {
    const auto nodes = g->trie.node_fingerprints(memo_);
    const auto guards = g->trie.guard_fingerprints(memo_);
    out.put(static_cast<uint8_t>(g->scope)), out.put(g->by_field);
    out.put(static_cast<uint32_t>(std::count_if(g->partitions.begin(), g->partitions.end(),
                                                [](const Partition& p) { return p.used; })));
    for (size_t at = 0; at < g->partitions.size(); ++at) {
      const Partition& p = g->partitions[at];
      if (!p.used) continue;
      out.put(p.key), out.put(p.used), out.put(p.previous);
      out.put(static_cast<uint32_t>(nodes.size()));
      for (const auto& [hash, n] : nodes) out.put(hash), out.put(p.slots[n].start), out.put(p.slots[n].last);
      out.put(static_cast<uint32_t>(guards.size()));
      for (const auto& [hash, n] : guards) out.put(hash), out.put(p.guards[n]);
      uint32_t live = 0;
      for (const uint16_t id : g->trigger_ids) live += id != kNone;
      out.put(live);
      for (size_t local = 0; local < g->trigger_ids.size(); ++local) {
        const uint16_t id = g->trigger_ids[local];
        if (id == kNone) continue;
        const Pending none;
        const Pending& pending = hot_[id].absence == kNone ? none : absences_[hot_[id].absence].pending[at];
        out.put(hot_[id].fingerprint), out.put(p.barriers[local]), out.put(pending.armed),
            out.put(pending.start);
      }
    }
  }
  return out.take();
}

Result<size_t> Matcher::restore(std::string_view bytes) {
  const auto damaged = [] {
    return model_error("a damaged matcher snapshot", "what snapshot() wrote", "matcher snapshot",
                       "replay the log from its start instead");
  };
  uint32_t crc = 0;
  if (bytes.size() < 8) return damaged();
  std::memcpy(&crc, bytes.data() + bytes.size() - 4, 4);
  bytes.remove_suffix(4);
  In in(bytes);
  if (crc != base::crc32c(0, bytes.data(), bytes.size()) || in.get<uint32_t>() != kMagic) return damaged();
  base_ = in.get<int64_t>(), started_ = in.get<uint8_t>() != 0, key_ = in.get<uint64_t>(),
  session_ = in.get<uint64_t>();
  session_key_ = in.get<uint64_t>(), last_seq_ = in.get<uint64_t>(), last_ts_ = in.get<int64_t>(),
  now_ = in.get<int64_t>();
  states_ = in.get<uint64_t>();

  size_t unknown = 0;
  std::unordered_multimap<uint64_t, uint16_t> triggers;  // equal texts are interchangeable
  for (size_t id = 0; id < hot_.size(); ++id)
    if (hot_[id].live) triggers.emplace(hot_[id].fingerprint, static_cast<uint16_t>(id));
  auto unread = triggers;
  for (uint32_t n = in.count(21); n-- > 0 && in.ok();) {
    const auto hash = in.get<uint64_t>();
    const bool fired = in.get<uint8_t>() != 0;
    const auto last_fire = in.get<int64_t>();
    std::vector<int64_t> recent(in.count(8));
    for (int64_t& r : recent) r = in.get<int64_t>();
    const auto it = unread.find(hash);
    if (it == unread.end()) {
      ++unknown;
      continue;
    }
    Hot& h = hot_[it->second];
    unread.erase(it);
    if (h.extra != kNone && extras_[h.extra].recent.size() == recent.size()) {
      Extra& x = extras_[h.extra];
      x.fired = fired, x.last_fire = last_fire, x.recent = std::move(recent), x.next = 0;
    }
  }
  for (uint32_t n = in.count(7); n-- > 0 && in.ok();) {
    const auto scope = static_cast<Scope>(in.get<uint8_t>());
    const auto field = in.get<uint16_t>();
    const auto found = std::find_if(groups_.begin(), groups_.end(),
                                    [&](const auto& g) { return g->scope == scope && g->by_field == field; });
    Group* g = found == groups_.end() ? nullptr : found->get();
    std::unordered_map<uint64_t, uint16_t> nodes, guards;
    if (g) {
      for (const auto& [hash, at] : g->trie.node_fingerprints(memo_)) nodes[hash] = at;
      for (const auto& [hash, at] : g->trie.guard_fingerprints(memo_)) guards[hash] = at;
    }
    size_t at = 0;
    for (uint32_t parts = in.count(24); parts-- > 0 && in.ok(); ++at) {
      Partition spare;
      Partition& p = g && at < g->partitions.size() ? g->partitions[at] : spare;
      p.key = in.get<uint64_t>(), p.used = in.get<uint64_t>(), p.previous = in.get<uint64_t>();
      for (uint32_t k = in.count(24); k-- > 0 && in.ok();) {
        const auto hash = in.get<uint64_t>();
        const Slot slot{in.get<uint64_t>(), in.get<uint64_t>()};
        if (const auto it = nodes.find(hash); it != nodes.end() && &p != &spare)
          p.slots[it->second] = slot;
        else
          unknown += slot.start != 0;
      }
      for (uint32_t k = in.count(16); k-- > 0 && in.ok();) {
        const auto hash = in.get<uint64_t>(), newest = in.get<uint64_t>();
        if (const auto it = guards.find(hash); it != guards.end() && &p != &spare)
          p.guards[it->second] = newest;
      }
      if (&p != &spare) g->trie.find_live(p);
      auto unmatched = triggers;
      for (uint32_t k = in.count(32); k-- > 0 && in.ok();) {
        const auto hash = in.get<uint64_t>(), barrier = in.get<uint64_t>();
        const auto armed = in.get<uint64_t>(), start = in.get<uint64_t>();
        const auto it = unmatched.find(hash);
        if (it == unmatched.end() || &p == &spare || hot_[it->second].local >= p.barriers.size()) continue;
        const uint16_t id = it->second;
        unmatched.erase(it);
        p.barriers[hot_[id].local] = barrier;
        if (hot_[id].absence == kNone) continue;
        Absence& a = absences_[hot_[id].absence];
        a.pending[at] = {armed, start, armed != 0};
        if (armed) push_timer({time_of(armed) + a.for_us, id, static_cast<uint16_t>(at)});
      }
    }
  }
  if (!in.ok()) return damaged();
  idle_next_ = 0;
  while (idle_next_ < idle_.size() && last_ts_ + idle_[idle_next_].first < now_) ++idle_next_;
  for (const auto& [hash, id] : triggers) {
    const uint16_t extra = hot_[id].extra;
    if (extra == kNone || extras_[extra].timer == TimerKind::none || extras_[extra].timer == TimerKind::idle)
      continue;
    std::erase_if(timers_, [&, id = id](const Timer& t) { return t.trigger == id; });
    std::make_heap(timers_.begin(), timers_.end(), std::greater<>());
    if (started_) push_timer({next_period(extras_[extra], now_ - 1), id, kNone});
  }
  return unknown;
}

}  // namespace walle::stream
