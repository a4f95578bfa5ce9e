// The state of matching as bytes (docs/reference/formats/snapshot.md). Nodes and guards are named by their
// content (the path from the root), triggers by the fingerprint of their text, so a snapshot fits any matcher
// with the same triggers, whatever their order and numbers.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/bytes.h"
#include "stream/match/match_times.h"
#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"

namespace walle::stream {

namespace {
// "Walle stream snapshot", version 4.
constexpr std::string_view kMagic = "WSS4";
constexpr size_t kChecksumBytes = 4;
// The least that one entry of each list takes: what its count is checked against.
// Fingerprint, next period, fired, last firing, counts of recent firings and of limits.
constexpr size_t kTriggerBytes = 8 + 8 + 1 + 8 + 4 + 4;
constexpr size_t kGroupBytes = 1 + 1 + 5 * 4;  // scope, parts of the key, counts of five lists
constexpr size_t kNameBytes = 8;               // a fingerprint
constexpr size_t kPartitionBytes =
    3 * 8 + 1 + 3 * 4;                     // key, outer, newest event, closed, counts of three lists
constexpr size_t kNodeBytes = 2 + 2 * 8;   // place among the names, start, last
constexpr size_t kGuardBytes = 2 + 8;      // place, newest event
constexpr size_t kMatchBytes = 2 + 3 * 8;  // place, barrier, armed, start

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
    const MatchClock& c = m_.clock_;
    out_.put(c.base);
    out_.put(static_cast<uint8_t>(c.started));
    out_.put(c.key);
    out_.put(c.last_seq);
    out_.put(c.last_ts);
    out_.put(c.now);
    out_.put(m_.states_);
  }

  // In order of adding: of several triggers with one text, each gets its own state again.
  std::vector<uint16_t> in_order(std::vector<uint16_t> ids) const {
    std::erase(ids, kNone);
    std::ranges::sort(ids, {}, [&](uint16_t id) { return m_.hot_[id].order; });
    return ids;
  }

  void put_triggers() {
    std::vector<uint16_t> ids;
    for (size_t id = 0; id < m_.hot_.size(); ++id)
      if (m_.hot_[id].live) ids.push_back(static_cast<uint16_t>(id));
    std::vector<int64_t> periods(m_.hot_.size(), kNever);
    for (const Timer& t : m_.timers_.all())
      if (t.partition == kNoPartition) periods[t.trigger] = t.deadline;
    out_.put_count(ids.size());
    const TriggerLimits none;
    for (const uint16_t id : in_order(std::move(ids))) {
      const Hot& h = m_.hot_[id];
      out_.put(h.fingerprint);
      out_.put(periods[id]);
      (h.extra == kNone ? none : m_.extras_[h.extra].limits).put(out_);
    }
  }

  void put_group(const Group& g) {
    const Named nodes = g.trie.node_fingerprints(m_.memo_);
    const Named guards = g.trie.guard_fingerprints(m_.memo_);
    const std::vector<uint16_t> triggers = in_order(g.trigger_ids);
    out_.put(g.scope);
    out_.put(static_cast<uint8_t>(g.by.page | g.by.session << 1));
    out_.put_count(g.by.fields.size());
    for (const uint16_t field : g.by.fields) out_.put(field);
    put_names(nodes);
    put_names(guards);
    out_.put_count(triggers.size());
    for (const uint16_t id : triggers) out_.put(m_.hot_[id].fingerprint);
    out_.put_count(g.partitions.taken());
    g.partitions.in_order_of_use([&](const Partition& p) { put_partition(p, nodes, guards, triggers); });
  }

  void put_names(const Named& names) {
    out_.put_count(names.size());
    for (const auto& [fingerprint, number] : names) out_.put(fingerprint);
  }

  // Of most keys only a few nodes hold something: what is as in a new row is left out.
  void put_partition(const Partition& p, const Named& nodes, const Named& guards,
                     const std::vector<uint16_t>& triggers) {
    out_.put(p.key);
    out_.put(p.outer);
    out_.put(p.previous);
    out_.put(static_cast<uint8_t>(p.closed));
    put_some(nodes.size(), [&](size_t i) {
      const Slot& slot = p.slots[nodes[i].second];
      return Words<2>{slot.start, slot.last};
    });
    put_some(guards.size(), [&](size_t i) { return Words<1>{p.guards[guards[i].second]}; });
    put_some(triggers.size(), [&](size_t i) {
      const Hot& h = m_.hot_[triggers[i]];
      const Pending pending = h.absence == kNone ? Pending() : p.pending[m_.absences_[h.absence].place];
      return Words<3>{p.barriers[h.local], pending.armed, pending.start};
    });
  }

  template <size_t n>
  using Words = std::array<uint64_t, n>;
  // Those of `count` entries that hold anything but zeros, each behind its place.
  template <class Entry>
  void put_some(size_t count, const Entry& entry) {
    using Row = decltype(entry(0));
    size_t some = 0;
    for (size_t i = 0; i < count; ++i) some += entry(i) != Row{};
    out_.put_count(some);
    for (size_t i = 0; i < count; ++i) {
      const Row row = entry(i);
      if (row == Row{}) continue;
      out_.put(static_cast<uint16_t>(i));
      for (const uint64_t word : row) out_.put(word);
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
      if (m_.hot_[id].live) triggers_[m_.hot_[id].fingerprint].push_back(static_cast<uint16_t>(id));
    // Backwards: the one that was added first is taken first.
    for (auto& [fingerprint, ids] : triggers_)
      std::ranges::sort(ids, std::greater<>(), [&](uint16_t id) { return m_.hot_[id].order; });
  }

  // How many entries had no counterpart.
  Result<size_t> read() {
    if (!in_.expect(kMagic)) return damaged();
    forget();
    get_clock();
    get_triggers();
    for (uint32_t n = in_.count(kGroupBytes); n-- > 0 && in_.ok();) get_group();
    if (!in_.done()) return damaged();
    m_.idle_.rewind_to(m_.clock_.now - m_.clock_.last_ts);  // idle times follow from the clock
    m_.start_periods();                                     // of triggers that the snapshot does not know
    return unknown_;
  }

 private:
  using Triggers = std::unordered_map<uint64_t, std::vector<uint16_t>>;  // by fingerprint
  using Named = std::vector<std::pair<uint64_t, uint16_t>>;
  using Numbers = std::vector<uint16_t>;  // of the snapshot's names here; kNone for those that are not

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
    if (it == left.end() || it->second.empty()) return kNone;
    const uint16_t id = it->second.back();
    it->second.pop_back();
    return id;
  }

  void get_clock() {
    MatchClock& c = m_.clock_;
    c.base = get_time(in_);
    c.started = in_.flag();
    c.key = in_.get<uint64_t>();
    c.last_seq = in_.get<uint64_t>();
    c.last_ts = get_time(in_);
    c.now = get_time(in_);
    m_.states_ = in_.get<uint64_t>();
  }

  void get_triggers() {
    Triggers left = triggers_;
    for (uint32_t n = in_.count(kTriggerBytes); n-- > 0 && in_.ok();) {
      const uint16_t id = take(left, in_.get<uint64_t>());
      const int64_t period = get_past_time(in_);
      Extra* const x = id == kNone || m_.hot_[id].extra == kNone ? nullptr : &m_.extras_[m_.hot_[id].extra];
      TriggerLimits::get(in_, x ? &x->limits : nullptr);
      unknown_ += id == kNone;
      if (x && period != kNever && x->has_period()) m_.start_period(id, period);
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
    const Numbers nodes = get_names(g ? g->trie.node_fingerprints(m_.memo_) : Named());
    const Numbers guards = get_names(g ? g->trie.guard_fingerprints(m_.memo_) : Named());
    const Numbers triggers = get_group_triggers(g);
    for (uint32_t n = in_.count(kPartitionBytes); n-- > 0 && in_.ok();)
      get_partition(g, nodes, guards, triggers);
  }

  Numbers get_names(const Named& here) {
    const std::unordered_map<uint64_t, uint16_t> numbers(here.begin(), here.end());
    Numbers out(in_.count(kNameBytes), kNone);
    for (uint16_t& number : out)
      if (const auto at = numbers.find(in_.get<uint64_t>()); at != numbers.end()) number = at->second;
    return out;
  }

  // A forged snapshot may name a trigger of another group, which has other partitions.
  Numbers get_group_triggers(const Group* g) {
    Triggers left = triggers_;
    Numbers out(in_.count(kNameBytes), kNone);
    for (uint16_t& id : out) {
      id = take(left, in_.get<uint64_t>());
      if (id != kNone && m_.groups_[m_.hot_[id].group].get() != g) id = kNone;
    }
    return out;
  }

  // The counterpart of what an entry names by its place; a place that is none fails the reader.
  uint16_t get_number(const Numbers& numbers) {
    const auto at = in_.get<uint16_t>();
    if (at < numbers.size()) return numbers[at];
    in_.fail();
    return kNone;
  }

  // The partition of a key. More keys than this matcher is to keep give way in their order of use.
  Partition* partition_of(Group* g, uint64_t key) {
    // Only the device's has no key; a forged snapshot may say otherwise.
    if (!g || !in_.ok() || (g->scope == Scope::device) != (key == 0)) return nullptr;
    Partition* known = g->partitions.find(key);
    return known ? known : m_.take_row(*g, key);
  }

  // Without a partition, what is read is only counted.
  void get_partition(Group* g, const Numbers& nodes, const Numbers& guards, const Numbers& triggers) {
    Partition spare;
    Partition* const kept = partition_of(g, in_.get<uint64_t>());
    if (!kept) g = nullptr;
    Partition& p = kept ? *kept : spare;
    p.outer = in_.get<uint64_t>();
    p.previous = in_.get<uint64_t>();
    const bool closed = in_.flag();
    for (uint32_t n = in_.count(kNodeBytes); n-- > 0 && in_.ok();) {
      const uint16_t node = get_number(nodes);
      const Slot slot{in_.get<uint64_t>(), in_.get<uint64_t>()};
      if (g && node != kNone)
        p.slots[node] = slot;
      else
        unknown_ += slot.start != 0;
    }
    for (uint32_t n = in_.count(kGuardBytes); n-- > 0 && in_.ok();) {
      const uint16_t guard = get_number(guards);
      const auto newest = in_.get<uint64_t>();
      if (g && guard != kNone) p.guards[guard] = newest;
    }
    if (g) g->trie.find_live(p);
    get_matches(g, p, triggers);
    p.closed = closed;
  }

  void get_matches(Group* g, Partition& p, const Numbers& triggers) {
    for (uint32_t n = in_.count(kMatchBytes); n-- > 0 && in_.ok();) {
      const uint16_t id = get_number(triggers);
      const auto barrier = in_.get<uint64_t>();
      const auto armed = in_.get<uint64_t>();
      const auto start = in_.get<uint64_t>();
      if (!g || id == kNone) continue;
      const Hot& h = m_.hot_[id];
      p.barriers[h.local] = barrier;
      if (h.absence == kNone || !armed) continue;
      const Absence& a = m_.absences_[h.absence];
      Pending& pending = p.pending[a.place];
      if (!pending.armed) g->partitions.add_wait(p);
      if (!pending.queued) m_.wait_for(p, g->partitions.number(p), id, m_.clock_.time_of(armed) + a.for_us);
      pending = {armed, start, true};
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
