// The matcher's keys: how many a scope keeps and which one gives way to a new one.
#include <algorithm>

#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"
#include "stream/match/trie_step.h"

namespace walle::stream {

namespace {
// Rows allocated together: a key more costs a sixteenth of an allocation, a scope with one key 16 rows.
constexpr size_t kRowsPerPage = 16;
// Sessions that wait for absences after they have ended; one goes on.
constexpr size_t kKeptSessions = 64;
// Of page instances few are open at a time.
constexpr size_t kPageRowsPerPage = 4;
// How many waiting keys are asked whether what they wait for has come already, before the oldest gives way.
constexpr int kLooks = 16;

Status check_keys(const std::string& what, size_t keys) {
  if (keys >= 1 && keys <= kMostKeys) return {};
  return argument_error({keys, " ", what}, {"1 to ", kMostKeys}, "trigger set",
                        "declare how many keys are to be remembered at once");
}
}  // namespace

Status check_options(const MatcherOptions& options) {
  if (!options.local.valid())
    return argument_error(
        "a table of UTC offsets that is none",
        {"offsets of at most 26 h, and at most ", kMaxOffsetChanges, " changes in order of time"},
        "trigger set", "give one offset, or those of a time zone");
  WALLE_TRY(check_keys("keys", options.keys));
  WALLE_TRY(check_keys("page instances", options.page_instances));
  for (const auto& [by, keys] : options.keys_of) WALLE_TRY(check_keys("keys of by(" + by + ")", keys));
  return {};
}

Partitions Matcher::partitions_of(Scope scope, const std::string& by) const {
  if (scope == Scope::device) return Partitions(1, 1);
  if (scope == Scope::session) return Partitions(kKeptSessions, kPageRowsPerPage);
  if (scope == Scope::page) return Partitions(options_.page_instances, kPageRowsPerPage);
  const auto own = std::ranges::find(options_.keys_of, by, [](const auto& k) { return k.first; });
  return Partitions(own == options_.keys_of.end() ? options_.keys : own->second, kRowsPerPage);
}

// All partitions have room for every node, guard, trigger and absence
// of their trie, so that a step never grows a row.
void Matcher::fit_partitions(Group& g) { g.partitions.fit(g.shape()); }

// A number given out again must not inherit the partial matches of its former owner.
void Matcher::forget_free_numbers(Group& g) {
  if (g.scope != Scope::device && g.trigger_ids.empty()) g.partitions.clear();
  for (Partition& p : g.partitions) {
    for (const uint16_t n : g.trie.free_nodes())
      if (n < g.partitions.shape().nodes) p.slots[n] = {};
    for (const uint16_t n : g.trie.free_guards())
      if (n < g.partitions.shape().guards) p.guards[n] = 0;
  }
  g.trie.drop_last_free();
}

Status Matcher::check_room(const Group& g) const {
  size_t bytes = 0;
  for (const auto& other : groups_)
    if (other->scope != Scope::device) bytes += other->partitions.memory_bytes_at_most(other->shape());
  if (g.scope == Scope::device || bytes <= options_.key_bytes) return {};
  return resource_error({"a trigger with which all scopes' keys may take ", bytes, " bytes"},
                        {"at most ", options_.key_bytes}, "trigger set",
                        "declare fewer keys or page instances, or more key_bytes");
}

// The partition of a page, session or by(...) scope.
Partition* Matcher::partition_for(Group& g, uint64_t wanted, uint64_t outer) {
  Partition* p = g.partitions.find(wanted);
  if (p) {
    g.partitions.use(*p);
    return p;
  }
  if (Partition* ended = g.partitions.ended()) g.partitions.release(*ended);
  p = take_row(g, wanted);
  p->outer = outer;
  return p;
}

// For a key that is new: a free row or a further one, else that of the oldest key.
Partition* Matcher::take_row(Group& g, uint64_t key) {
  const size_t rows = g.partitions.size();
  Partition* p = g.partitions.take(key);
  if (!p) {
    evict(g, oldest_partition(g));
    p = g.partitions.take(key);
  }
  if (g.partitions.size() != rows) {
    ++stats_.row_pages;
    reserve_timers();
  }
  return p;
}

// The least recently used key without a waiting absence. Where all wait, one whose absence has been broken
// already waits for nothing.
Partition& Matcher::oldest_partition(Group& g) {
  Partition* p = &g.partitions.oldest();
  for (int look = 0; look < kLooks && p->waits != 0; ++look) {
    const uint32_t newer = p->newer;
    end_broken_waits(g, *p);
    if (p->waits == 0) return *p;
    if (newer == kNoPartition) break;
    p = &g.partitions[newer];
  }
  return g.partitions.oldest();
}

void Matcher::end_broken_waits(Group& g, Partition& p) {
  for (const uint16_t id : g.absence_ids) {
    if (id == kNone) continue;
    const Absence& a = absences_[id];
    Pending& pending = p.pending[a.place];
    if (!pending.armed || p.guards[a.guard] <= pending.armed) continue;
    pending.armed = 0;
    g.partitions.end_wait(p);
  }
}

// Whether an aggregate has taken something in.
bool Matcher::is_counting(const Partition& p, uint16_t id) const {
  if (id == kNone || hot_[id].extra == kNone) return false;
  const Extra& x = extras_[hot_[id].extra];
  return x.aggregate && p.guards[x.cells] != 0;
}

// Counted for every trigger that loses something; giving up a key where nothing is under way costs nobody a
// firing.
void Matcher::evict(Group& g, Partition& p) {
  end_broken_waits(g, p);
  bool lost = false;
  ++evictions_;  // a trigger with several chains is counted once
  const auto lose = [&](uint16_t local) {
    lost = true;
    if (std::exchange(g.evicted[local].at, evictions_) != evictions_) ++g.evicted[local].count;
  };
  // Nothing goes on in a session that has ended, but waiting.
  if (g.scope != Scope::session) {
    g.trie.under_way(p, clock_.key, lose);
    for (size_t local = 0; local < g.trigger_ids.size(); ++local)
      if (is_counting(p, g.trigger_ids[local])) lose(static_cast<uint16_t>(local));
  }
  for (const uint16_t id : g.absence_ids)
    if (id != kNone && p.pending[absences_[id].place].armed) lose(hot_[absences_[id].trigger].local);
  stats_.evicted_keys += lost;
  g.partitions.release(p);
}

}  // namespace walle::stream
