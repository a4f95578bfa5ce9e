// What a matcher has done, and what it takes.
#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"
#include "stream/match/tight.h"

namespace walle::stream {

MatcherStats Matcher::stats() const {
  MatcherStats out = stats_;
  for (const Extra& x : extras_) {
    out.evicted_limits += x.limits.evicted();
    if (x.aggregate) out.evicted_limits += x.aggregate->overflowed();
  }
  return out;
}

TriggerStats Matcher::stats_of(uint16_t id) const {
  const Hot& hot = hot_[id];
  const Group& g = *groups_[hot.group];
  return {.fired = hot.fired,
          .suppressed = hot.extra == kNone ? 0 : extras_[hot.extra].limits.suppressed(),
          .evicted = hot.local < g.evicted.size() ? g.evicted[hot.local].count : 0,
          .last_ts = hot.last_fired};
}

size_t Matcher::node_count() const {
  size_t n = 0;
  for (const auto& g : groups_) n += g->trie.node_count();
  return n;
}

size_t Matcher::edge_count() const {
  size_t n = 0;
  for (const auto& g : groups_) n += g->trie.edge_count();
  return n;
}

size_t Matcher::Extra::memory_bytes() const {
  return limits.memory_bytes() + tight::bytes(when) + tight::bytes(during) +
         (aggregate ? sizeof(AggregateTrigger) : 0);
}

size_t Matcher::memory_bytes() const {
  using tight::bytes;
  size_t total = memo_.memory_bytes() + bytes(kinds_) + bytes(groups_) + hot_.memory_bytes() +
                 extras_.memory_bytes() + absences_.memory_bytes() + order_.memory_bytes() +
                 timers_.memory_bytes() + idle_.memory_bytes() + queue_.memory_bytes() +
                 local_.memory_bytes();
  for (const Extra& x : extras_) total += x.memory_bytes();
  for (const auto& g : groups_)
    total += sizeof(Group) + g->trie.memory_bytes() + bytes(g->trigger_ids) + bytes(g->absence_ids) +
             bytes(g->evicted) + bytes(g->counted) + bytes(g->by.fields) + bytes(g->by_text) +
             g->partitions.memory_bytes();
  for (const auto& g : groups_)
    for (const Counted& c : g->counted) total += bytes(c.atoms);
  return total;
}

std::vector<KeyPrice> Matcher::key_prices() const {
  std::vector<KeyPrice> out;
  for (const auto& g : groups_) {
    if (g->scope == Scope::device) continue;
    const size_t bytes = g->partitions.memory_bytes_at_most(g->shape());
    out.push_back({.scope = g->scope,
                   .by = g->by_text,
                   .keys = g->partitions.most(),
                   .bytes_per_key = bytes / g->partitions.most(),
                   .bytes = bytes});
  }
  return out;
}

size_t Matcher::memory_bytes_at_most() const {
  size_t bytes = memory_bytes() - timers_.memory_bytes() +
                 timers_.memory_bytes_at_most(timers_at_most(true)) +
                 order_.more_bytes_at_most(live_triggers_);
  for (const auto& g : groups_)
    bytes += g->partitions.memory_bytes_at_most(g->shape()) - g->partitions.memory_bytes();
  return bytes;
}

}  // namespace walle::stream
