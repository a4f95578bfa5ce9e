// A trigger that is added late and counts matches from before: another matcher, with this trigger alone, has
// seen the events that this one has seen, and what it holds is taken over.
//
// Nodes that the trigger shares with others hold the latest start among matches that this matcher knows. The
// other one knows those and older ones, so where a slot here holds something, the other one's holds the same
// (latest starts never decrease, and what the newest partial match fails, all older ones fail): only empty
// slots and guards are filled. The triggers that were here before must not count what came that way: their
// barriers rise to the starts that were filled in.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "stream/match/matcher.h"
#include "stream/match/matcher_group.h"

namespace walle::stream {

// Fills one scope's partitions from those of the past.
class Matcher::PastGroup {
 public:
  PastGroup(Matcher& matcher, Group& here, const Matcher& past, const Group& there)
      : m_(matcher), here_(here), past_(past), there_(there) {
    pair_up(here.trie.node_fingerprints(m_.memo_), there.trie.node_fingerprints(past.memo_), nodes_);
    pair_up(here.trie.guard_fingerprints(m_.memo_), there.trie.guard_fingerprints(past.memo_), guards_);
    filled_.resize(here.trie.node_capacity());
    fresh_.resize(here.trigger_ids.size());
  }

  void add(uint16_t mine, uint16_t theirs) {
    triggers_.emplace_back(mine, theirs);
    fresh_[m_.hot_[mine].local] = true;
  }

  // The newest first, each behind all that are known here: those have been used since.
  void take() {
    std::vector<const Partition*> all;
    there_.partitions.in_order_of_use([&](const Partition& p) { all.push_back(&p); });
    for (auto p = all.rbegin(); p != all.rend(); ++p) take(**p);
  }

 private:
  using Named = std::vector<std::pair<uint64_t, uint16_t>>;
  using Pairs = std::vector<std::pair<uint16_t, uint16_t>>;  // here, there

  static void pair_up(const Named& here, const Named& there, Pairs& out) {
    const std::unordered_map<uint64_t, uint16_t> numbers(here.begin(), here.end());
    for (const auto& [name, number] : there)
      if (const auto at = numbers.find(name); at != numbers.end()) out.emplace_back(at->second, number);
  }

  void take(const Partition& past) {
    Partition* p = here_.partitions.find(past.key);
    const bool known = p != nullptr;
    if (!known) {
      // Keys of now are not given up for keys of the past.
      if (here_.partitions.taken() == here_.partitions.most()) return;
      p = m_.take_row(here_, past.key);
      p->outer = past.outer;
    }
    p->previous = std::max(p->previous, past.previous);
    std::ranges::fill(filled_, 0);
    for (const auto& [mine, theirs] : nodes_) {
      if (p->slots[mine].start != 0 || past.slots[theirs].start == 0) continue;
      p->slots[mine] = past.slots[theirs];
      filled_[mine] = past.slots[theirs].start;
    }
    for (const auto& [mine, theirs] : guards_)
      if (p->guards[mine] == 0) p->guards[mine] = past.guards[theirs];
    // What the others do not know here is over for them.
    if (!known)
      for (size_t local = 0; local < fresh_.size(); ++local)
        if (!fresh_[local]) p->barriers[local] = m_.clock_.key;
    here_.trie.raise_barriers(*p, filled_, fresh_);
    here_.trie.find_live(*p);
    if (!known) here_.partitions.make_oldest(*p, past.closed);
    for (const auto& [mine, theirs] : triggers_) take_match(*p, past, mine, theirs);
  }

  void take_match(Partition& p, const Partition& past, uint16_t mine, uint16_t theirs) {
    const Hot& hot = m_.hot_[mine];
    const Hot& then = past_.hot_[theirs];
    p.barriers[hot.local] = past.barriers[then.local];
    if (hot.absence == kNone) return;
    const Absence& a = m_.absences_[hot.absence];
    const Pending& waits = past.pending[past_.absences_[then.absence].place];
    if (!waits.armed) return;
    here_.partitions.add_wait(p);
    p.pending[a.place] = {waits.armed, waits.start, true};
    m_.wait_for(p, here_.partitions.number(p), mine, m_.clock_.time_of(waits.armed) + a.for_us);
  }

  Matcher& m_;
  Group& here_;
  const Matcher& past_;
  const Group& there_;
  Pairs nodes_, guards_, triggers_;
  std::vector<uint64_t> filled_;  // by node: the start that was filled in, 0 for none
  std::vector<bool> fresh_;       // by the trigger's number in the trie
};

std::unique_ptr<Matcher> Matcher::for_past() const {
  auto out = std::make_unique<Matcher>(catalog_, options_);
  out->local_ = local_;
  out->clock_.base = clock_.base;
  out->clock_.has_base = clock_.started;
  return out;
}

void Matcher::take_clock(const Matcher& past) {
  clock_ = past.clock_;
  states_ = past.states_;
  idle_.rewind_to(clock_.now - clock_.last_ts);
  start_periods();
}

// What a trigger's limits have counted, and its period.
void Matcher::take_limits(uint16_t mine, const Matcher& past, uint16_t theirs) {
  const uint16_t extra = hot_[mine].extra;
  if (extra == kNone) return;
  extras_[extra].limits.take_past(past.extras_[past.hot_[theirs].extra].limits);
  timers_.drop(mine);
  for (const Timer& t : past.timers_.all())
    if (t.trigger == theirs && t.partition == kNoPartition) start_period(mine, t.deadline);
}

Status Matcher::take_past(const Matcher& past, std::span<const PastTrigger> triggers) {
  const bool begun = clock_.has_begun();
  if (past.clock_.started && begun && (past.clock_.key != clock_.key || past.clock_.base != clock_.base))
    return resource_error("a past whose newest event is another than that of matching so far",
                          "both up to the same event, of another time than the first that was matched",
                          "replay for an added trigger",
                          "replay the whole log with this set, or add the trigger behind the next event");
  if (!past.clock_.started) return {};
  if (!begun) take_clock(past);
  std::map<uint16_t, std::unique_ptr<PastGroup>> groups;
  for (const auto& [mine, theirs] : triggers) {
    take_limits(mine, past, theirs);
    std::unique_ptr<PastGroup>& group = groups[hot_[mine].group];
    if (!group)
      group = std::make_unique<PastGroup>(*this, *groups_[hot_[mine].group], past,
                                          *past.groups_[past.hot_[theirs].group]);
    group->add(mine, theirs);
  }
  for (const auto& [number, group] : groups) group->take();
  reserve_timers();
  return {};
}

}  // namespace walle::stream
