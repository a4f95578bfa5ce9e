// The state of matching as bytes (docs/reference/formats/snapshot.md). Nodes and guards are named by their
// content (the path from the root), triggers by the fingerprint of their text, so a snapshot fits any matcher
// with the same triggers, whatever their order and numbers.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/bytes.h"
#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"

namespace walle::stream {

namespace {
// "Walle stream snapshot", version 2.
constexpr std::string_view kMagic = "WSS2";
constexpr size_t kChecksumBytes = 4;
// The least that one entry of each list takes: what its count is checked against.
constexpr size_t kTimeBytes = 8;
constexpr size_t kTriggerBytes =
    8 + 1 + 8 + 4 + 4;  // fingerprint, fired, last firing, counts of recent ones and limits
constexpr size_t kGroupBytes = 1 + 1 + 4 + 4;  // scope, parts of the key, counts of fields and partitions
constexpr size_t kPartitionBytes = 3 * 8 + 1;  // key, outer, newest event, whether its page has ended
constexpr size_t kNodeBytes = 3 * 8;           // fingerprint, start, last
constexpr size_t kGuardBytes = 2 * 8;          // fingerprint, newest event
constexpr size_t kMatchBytes = 4 * 8;          // fingerprint, barrier, armed, start

Error damaged() {
  return model_error("a damaged matcher snapshot", "what snapshot() wrote", "matcher snapshot",
                     "replay the log from its start instead");
}
}  // namespace

class Matcher::SnapshotWriter {
 public:
  explicit SnapshotWriter(const Matcher& matcher) : m_(matcher) {}

  std::string write() {
    out_.put_bytes(kMagic);
    put_clock();
    put_triggers();
    out_.put_count(m_.groups_.size());
    for (const auto& group : m_.groups_) put_group(*group);
    out_.put_checksum();
    return out_.take();
  }

 private:
  using Named = std::vector<std::pair<uint64_t, uint16_t>>;  // fingerprint, number

  void put_clock() {
    out_.put(m_.base_);
    out_.put(static_cast<uint8_t>(m_.started_));
    out_.put(m_.key_);
    out_.put(m_.last_seq_);
    out_.put(m_.last_ts_);
    out_.put(m_.now_);
    out_.put(m_.states_);
  }

  void put_triggers() {
    out_.put_count(m_.live_triggers_);
    const Extra none;
    for (const Hot& h : m_.hot_) {
      if (!h.live) continue;
      const Extra& x = h.extra == kNone ? none : m_.extras_[h.extra];
      out_.put(h.fingerprint);
      out_.put(static_cast<uint8_t>(x.fired));
      out_.put(x.last_fire);
      out_.put_count(x.recent.size());
      // Oldest first, so that the ring's position need not be stored.
      for (size_t i = 0; i < x.recent.size(); ++i) out_.put(x.recent[(x.next + i) % x.recent.size()]);
      out_.put_count(x.per_key.size());
      for (const PerKey& k : x.per_key) k.limit.put(out_);
    }
  }

  void put_group(const Group& g) {
    const Named nodes = g.trie.node_fingerprints(m_.memo_);
    const Named guards = g.trie.guard_fingerprints(m_.memo_);
    out_.put(g.scope);
    out_.put(static_cast<uint8_t>(g.by.page | g.by.session << 1));
    out_.put_count(g.by.fields.size());
    for (const uint16_t field : g.by.fields) out_.put(field);
    out_.put_count(g.partitions.taken());
    g.partitions.in_order_of_use([&](const Partition& p) { put_partition(g, p, nodes, guards); });
  }

  void put_partition(const Group& g, const Partition& p, const Named& nodes, const Named& guards) {
    out_.put(p.key);
    out_.put(p.outer);
    out_.put(p.previous);
    out_.put(static_cast<uint8_t>(p.closed));
    out_.put_count(nodes.size());
    for (const auto& [fingerprint, node] : nodes) {
      out_.put(fingerprint);
      out_.put(p.slots[node].start);
      out_.put(p.slots[node].last);
    }
    out_.put_count(guards.size());
    for (const auto& [fingerprint, guard] : guards) {
      out_.put(fingerprint);
      out_.put(p.guards[guard]);
    }
    put_matches(g, p);
  }

  void put_matches(const Group& g, const Partition& p) {
    const auto& ids = g.trigger_ids;
    out_.put_count(ids.size() - std::count(ids.begin(), ids.end(), kNone));
    const Pending none;
    for (size_t local = 0; local < ids.size(); ++local) {
      if (ids[local] == kNone) continue;
      const Hot& h = m_.hot_[ids[local]];
      const Pending& pending = h.absence == kNone ? none : p.pending[m_.absences_[h.absence].place];
      out_.put(h.fingerprint);
      out_.put(p.barriers[local]);
      out_.put(pending.armed);
      out_.put(pending.start);
    }
  }

  const Matcher& m_;
  base::ByteWriter out_;
};

// Reads into a matcher that has its triggers already. Everything of the snapshot is read whether or not it
// has a counterpart, so that what follows is found.
class Matcher::SnapshotReader {
 public:
  SnapshotReader(Matcher& matcher, std::string_view bytes) : m_(matcher), in_(bytes) {
    for (size_t id = 0; id < m_.hot_.size(); ++id)
      if (m_.hot_[id].live) triggers_.emplace(m_.hot_[id].fingerprint, static_cast<uint16_t>(id));
  }

  // How many entries had no counterpart.
  Result<size_t> read() {
    if (!in_.expect(kMagic)) return damaged();
    forget();
    get_clock();
    get_triggers();
    for (uint32_t n = in_.count(kGroupBytes); n-- > 0 && in_.ok();) get_group();
    if (!in_.done()) return damaged();
    start_timers();
    return unknown_;
  }

 private:
  using Triggers = std::unordered_multimap<uint64_t, uint16_t>;  // equal texts are interchangeable
  using Numbers = std::unordered_map<uint64_t, uint16_t>;        // of nodes or guards, by fingerprint

  // What the matcher has seen so far.
  void forget() {
    m_.timers_.clear();
    for (const auto& g : m_.groups_) {
      g->partitions.clear();
      m_.fit_partitions(*g);
      if (g->scope == Scope::device) g->partitions.take(0);
    }
  }

  // One of the triggers left that has this text; kNone if there is none.
  static uint16_t take(Triggers& left, uint64_t fingerprint) {
    const auto it = left.find(fingerprint);
    if (it == left.end()) return kNone;
    const uint16_t id = it->second;
    left.erase(it);
    return id;
  }

  // A time that sums can be made of.
  int64_t get_time() {
    const auto ts = in_.get<int64_t>();
    if (ts >= -kMaxTimeUs && ts <= kMaxTimeUs) return ts;
    in_.fail();
    return 0;
  }
  // The same, or the time of what never was.
  int64_t get_past_time() {
    base::ByteReader ahead = in_;
    if (ahead.get<int64_t>() != kNever) return get_time();
    in_ = ahead;
    return kNever;
  }

  void get_clock() {
    m_.base_ = get_time();
    m_.started_ = in_.get<uint8_t>() != 0;
    m_.key_ = in_.get<uint64_t>();
    m_.last_seq_ = in_.get<uint64_t>();
    m_.last_ts_ = get_time();
    m_.now_ = get_time();
    m_.states_ = in_.get<uint64_t>();
  }

  void get_triggers() {
    Triggers left = triggers_;
    for (uint32_t n = in_.count(kTriggerBytes); n-- > 0 && in_.ok();) {
      const uint16_t id = take(left, in_.get<uint64_t>());
      const bool fired = in_.get<uint8_t>() != 0;
      const int64_t last_fire = get_past_time();
      std::vector<int64_t> recent(in_.count(kTimeBytes));
      for (int64_t& ts : recent) ts = get_past_time();
      // A cooldown would subtract the time of what never was.
      if (fired && last_fire == kNever) in_.fail();
      Extra* const x = id == kNone || m_.hot_[id].extra == kNone ? nullptr : &m_.extras_[m_.hot_[id].extra];
      const uint32_t limits = in_.count(2 * sizeof(uint32_t));
      for (uint32_t i = 0; i < limits && in_.ok(); ++i) {
        if (x && i < x->per_key.size())
          x->per_key[i].limit.get(in_);
        else
          KeyedLimit::pass(in_);
      }
      unknown_ += id == kNone;
      // The same text has the same rate; a forged snapshot may not.
      if (!x || x->recent.size() != recent.size()) continue;
      x->fired = fired;
      x->last_fire = last_fire;
      x->recent = std::move(recent);
      x->next = 0;
    }
  }

  void get_group() {
    const auto scope = in_.get<uint8_t>();
    const auto parts = in_.get<uint8_t>();
    CompiledKey by{.fields = {}, .page = (parts & 1) != 0, .session = (parts & 2) != 0};
    for (uint32_t n = in_.count(sizeof(uint16_t)); n-- > 0 && in_.ok();)
      by.fields.push_back(in_.get<uint16_t>());
    const auto found = std::find_if(m_.groups_.begin(), m_.groups_.end(), [&](const auto& g) {
      return static_cast<uint8_t>(g->scope) == scope && g->by == by;
    });
    Group* g = found == m_.groups_.end() ? nullptr : found->get();
    Numbers nodes, guards;
    if (g) {
      for (const auto& [fingerprint, node] : g->trie.node_fingerprints(m_.memo_)) nodes[fingerprint] = node;
      for (const auto& [fingerprint, guard] : g->trie.guard_fingerprints(m_.memo_))
        guards[fingerprint] = guard;
    }
    for (uint32_t n = in_.count(kPartitionBytes); n-- > 0 && in_.ok();) get_partition(g, nodes, guards);
  }

  // The partition of a key. More keys than this matcher is to keep give way in their order of use.
  Partition* partition_of(Group* g, uint64_t key) {
    // Only the device's has no key; a forged snapshot may say otherwise.
    if (!g || !in_.ok() || (g->scope == Scope::device) != (key == 0)) return nullptr;
    Partition* known = g->partitions.find(key);
    return known ? known : m_.take_row(*g, key);
  }

  // Without a partition, what is read is only counted.
  void get_partition(Group* g, const Numbers& nodes, const Numbers& guards) {
    Partition spare;
    Partition* const kept = partition_of(g, in_.get<uint64_t>());
    if (!kept) g = nullptr;
    Partition& p = kept ? *kept : spare;
    p.outer = in_.get<uint64_t>();
    p.previous = in_.get<uint64_t>();
    const bool closed = in_.get<uint8_t>() != 0;
    for (uint32_t n = in_.count(kNodeBytes); n-- > 0 && in_.ok();) {
      const auto node = nodes.find(in_.get<uint64_t>());
      const Slot slot{in_.get<uint64_t>(), in_.get<uint64_t>()};
      if (g && node != nodes.end())
        p.slots[node->second] = slot;
      else
        unknown_ += slot.start != 0;
    }
    for (uint32_t n = in_.count(kGuardBytes); n-- > 0 && in_.ok();) {
      const auto guard = guards.find(in_.get<uint64_t>());
      const auto newest = in_.get<uint64_t>();
      if (g && guard != guards.end()) p.guards[guard->second] = newest;
    }
    if (g) g->trie.find_live(p);
    get_matches(g, p);
    p.closed = closed;
  }

  void get_matches(Group* g, Partition& p) {
    Triggers left = triggers_;
    for (uint32_t n = in_.count(kMatchBytes); n-- > 0 && in_.ok();) {
      const uint16_t id = take(left, in_.get<uint64_t>());
      const auto barrier = in_.get<uint64_t>();
      const auto armed = in_.get<uint64_t>();
      const auto start = in_.get<uint64_t>();
      // A forged snapshot may name a trigger of another group, which has other partitions.
      if (!g || id == kNone || m_.groups_[m_.hot_[id].group].get() != g) continue;
      const Hot& h = m_.hot_[id];
      p.barriers[h.local] = barrier;
      if (h.absence == kNone || !armed) continue;
      const Absence& a = m_.absences_[h.absence];
      Pending& pending = p.pending[a.place];
      if (!pending.armed) g->partitions.add_wait(p);
      if (!pending.queued)
        m_.push_timer({m_.time_of(armed) + a.for_us, m_.orders_[id], id, g->partitions.number(p)});
      pending = {armed, start, true};
    }
  }

  // Idle times and periods follow from the clock: they are not in the snapshot.
  void start_timers() {
    m_.rewind_idle();
    for (const auto& [fingerprint, id] : triggers_) {
      const uint16_t extra = m_.hot_[id].extra;
      if (extra == kNone) continue;
      const Extra& x = m_.extras_[extra];
      if (x.timer != TimerKind::every && x.timer != TimerKind::daily) continue;
      m_.drop_timers(id);
      if (m_.started_) m_.push_timer({m_.next_period(x, m_.now_ - 1), m_.orders_[id], id, kNoPartition});
    }
  }

  Matcher& m_;
  base::ByteReader in_;
  Triggers triggers_;
  size_t unknown_ = 0;
};

std::string Matcher::snapshot() const { return SnapshotWriter(*this).write(); }

Result<size_t> Matcher::restore(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + kChecksumBytes) return damaged();
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  // The checksum first: a torn file is refused before the matcher has changed.
  if (base::load_le<uint32_t>(bytes.data() + body.size()) != base::crc32c(0, body.data(), body.size()))
    return damaged();
  return SnapshotReader(*this, body).read();
}

}  // namespace walle::stream
