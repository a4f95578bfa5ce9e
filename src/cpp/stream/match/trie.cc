#include "stream/match/trie.h"

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"

namespace walle::stream {

namespace {
uint16_t predicate_of(const CompiledAtom& a) {
  return a.predicate < 0 ? kNone : static_cast<uint16_t>(a.predicate);
}
}  // namespace

// Number 0 of nodes and guards is the root and the guard that never comes.
Trie::Trie() : nodes_(1), guards_{Guard{1, 0}} {}

uint16_t Trie::find_guard(const std::vector<CompiledAtom>& atoms) const {
  const auto renews = [&](const CompiledAtom& a, uint16_t guard) {
    const uint16_t list = lists_.find(token_of(a));
    if (list == kNone) return false;
    const auto all = lists_.guards(list);
    return std::any_of(all.begin(), all.end(),
                       [&](const GuardRef& g) { return g.guard == guard && g.predicate == predicate_of(a); });
  };
  const uint16_t first = lists_.find(token_of(atoms[0]));
  if (first == kNone) return kNone;
  for (const GuardRef& g : lists_.guards(first)) {
    // As many atoms, the first one equal, then each of the others there: sets are equal without being stored
    // a second time.
    if (guards_[g.guard].atoms != atoms.size() || g.predicate != predicate_of(atoms[0])) continue;
    if (std::all_of(atoms.begin() + 1, atoms.end(),
                    [&](const CompiledAtom& a) { return renews(a, g.guard); }))
      return g.guard;
  }
  return kNone;
}

// Precondition: check_room().
uint16_t Trie::take_guard(const std::vector<CompiledAtom>& atoms) {
  if (const uint16_t known = find_guard(atoms); known != kNone) {
    // One guard for equal sets wherever they stand: an event renews it once.
    ++guards_[known].uses;
    return known;
  }
  const uint16_t g = take_guard_number(atoms.size());
  for (const CompiledAtom& a : atoms) {
    note_value(a);
    lists_.add_guard(token_of(a), {g, predicate_of(a)});
  }
  return g;
}

uint16_t Trie::take_guard_number(size_t atoms) {
  uint16_t g = static_cast<uint16_t>(guards_.size());
  if (!free_guards_.empty()) {
    g = free_guards_.back();
    free_guards_.pop_back();
  } else {
    tight::push(guards_, Guard{});
  }
  guards_[g] = {1, static_cast<uint16_t>(atoms)};
  return g;
}

Result<uint16_t> Trie::add_guard(const std::vector<CompiledAtom>& atoms) {
  WALLE_TRY(check_room({{.follow = Follow::later, .guard = atoms}}));
  return take_guard(atoms);
}

void Trie::release_guard(uint16_t guard) {
  if (guard == 0 || --guards_[guard].uses) return;
  lists_.remove_guard(guard);
  late_.remove_guard(guard);
  tight::push(free_guards_, guard);
}

// Whether a step behind `parent` belongs to a strict chain. First
// steps do, but their edges lie in the token lists.
bool Trie::chains_on(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard) const {
  const CompiledAtom& a = s.atoms[0];
  // One token, no condition: what (node, token) alone decides.
  const bool plain = s.atoms.size() == 1 && a.event != kAny && a.page != kAny && a.predicate < 0 &&
                     gap == 0 && guard == 0 && !s.rare();
  return plain &&
         (parent == 0 ? s.follow != Follow::next : s.follow == Follow::next && nodes_[parent].chained);
}

uint16_t Trie::find_child(uint16_t parent, const ResolvedStep& s, const ResolvedStep* before, uint16_t gap,
                          uint16_t guard, uint16_t trigger) const {
  if (parent != 0 && chains_on(parent, s, gap, guard)) {
    const ChainEdge* e = chains_.find(parent, token_of(s.atoms[0]));
    return e ? e->node : kNone;
  }
  const uint16_t first = lists_.find(token_of(s.atoms[0]));
  if (first == kNone) return kNone;
  const auto leads_to = [&](const CompiledAtom& a, uint16_t node) {
    const uint16_t list = lists_.find(token_of(a));
    if (list == kNone) return false;
    const auto all = lists_.edges(list);
    return std::any_of(all.begin(), all.end(),
                       [&](const Edge& e) { return e.node == node && e.predicate == predicate_of(a); });
  };
  // First steps are not strict: `first` and `later` from the root are the same edge.
  const bool strict = s.follow == Follow::next;
  for (const Edge& e : lists_.edges(first)) {
    if (e.parent != parent || e.gap != gap || e.guard != guard || ((e.flags & kStrict) != 0) != strict ||
        nodes_[e.node].edges != s.atoms.size() || e.predicate != predicate_of(s.atoms[0]) ||
        !same_rare(e.node, s, before, trigger))
      continue;
    if (std::all_of(s.atoms.begin() + 1, s.atoms.end(),
                    [&](const CompiledAtom& a) { return leads_to(a, e.node); }))
      return e.node;
  }
  return kNone;
}

uint16_t Trie::take_node() {
  if (free_nodes_.empty()) {
    tight::push(nodes_, Node{});
    return static_cast<uint16_t>(nodes_.size() - 1);
  }
  const uint16_t node = free_nodes_.back();
  free_nodes_.pop_back();
  return node;
}

uint16_t Trie::new_node(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard, uint8_t depth,
                        uint16_t rare) {
  const bool chained = chains_on(parent, s, gap, guard);
  const uint16_t node = take_node();
  // Depth in four bits: kMaxSteps is 16.
  nodes_[node] = {.parent = parent,
                  .rare = rare,
                  .edges = static_cast<uint8_t>(s.atoms.size()),
                  .depth = static_cast<uint8_t>(depth & 15),
                  .chained = chained};
  // First steps stay in the token lists, since every event may start a match whatever came before.
  if (chained && parent != 0) {
    chains_.get(parent, TokenLists::without_value(token_of(s.atoms[0]))).node = node;
    return node;
  }
  for (const CompiledAtom& a : s.atoms) {
    Edge e{.parent = parent,
           .node = node,
           .gap = gap,
           .guard = guard,
           .predicate = predicate_of(a),
           .order = static_cast<uint8_t>(depth << 4),
           .flags = 0};
    if (s.follow == Follow::next) e.flags |= kStrict;
    if (s.atoms.size() > 1) e.flags |= kSeveral;
    // The class chooses the loop: without conditions an edge costs one load, one comparison and one
    // selection.
    if ((e.flags & kStrict) || gap || guard) e.order |= kConditional;
    if ((e.flags & kSeveral) || e.predicate != kNone || rare != kNone) e.order |= kSlow;
    note_value(a);
    lists_.add_edge(token_of(a), e);
  }
  return node;
}

void Trie::update_terminal_class(uint16_t node, const ResolvedStep& s) {
  for (const CompiledAtom& a : s.atoms)
    lists_.set_terminal(token_of(a), node, predicate_of(a), nodes_[node].terminal != kNone);
}

void Trie::push_terminal(uint16_t& first, uint16_t trigger, uint64_t within, bool plain) {
  // In front of the list: which of several triggers at one node fires first is fixed by their adding, newest
  // first.
  const Terminal added{.within = limits_.intern(within), .plain = plain, .trigger = trigger, .next = first};
  uint16_t t = static_cast<uint16_t>(terminals_.size());
  if (!free_terminals_.empty()) {
    t = free_terminals_.back();
    free_terminals_.pop_back();
    terminals_[t] = added;
  } else {
    tight::push(terminals_, added);
  }
  first = t;
}

bool Trie::drop_terminal(uint16_t& first, uint16_t trigger) {
  // A pointer to the link, so that the first of the list is no special case.
  for (uint16_t* at = &first; *at != kNone; at = &terminals_[*at].next) {
    if (terminals_[*at].trigger != trigger) continue;
    limits_.release(terminals_[*at].within);
    tight::push(free_terminals_, *at);
    *at = terminals_[*at].next;
    return true;
  }
  return false;
}

// Whether a step needs no node as a chain's last one: one token, and nothing to ask but a gap and a guard.
bool Trie::is_end(const ResolvedStep& s) {
  return s.atoms.size() == 1 && s.atoms[0].predicate < 0 && !s.rare();
}

bool Trie::hangs_on_chain(uint16_t parent, const ResolvedStep& last) const {
  return parent != 0 && last.guard.empty() && last.gap_us < 0 && chains_on(parent, last, 0, 0);
}

void Trie::add_end(uint16_t parent, const ResolvedStep& last, uint16_t trigger, uint64_t within, bool plain) {
  const uint64_t token = token_of(last.atoms[0]);
  if (hangs_on_chain(parent, last)) {
    ChainEdge& e = chains_.get(parent, TokenLists::without_value(token));
    return push_terminal(e.terminal, trigger, within, plain);
  }
  constexpr uint16_t kLimitBits = 0x7fff;  // of every number in limits_
  const uint16_t guard = last.guard.empty() ? uint16_t{0} : take_guard(last.guard);
  const auto gap = static_cast<uint16_t>(limits_.intern(key_limit(last.gap_us)) & kLimitBits);
  lists_.add_end(token, {.parent = parent,
                         .guard = guard,
                         .trigger = trigger,
                         .gap = static_cast<uint16_t>(gap & kLimitBits),
                         .strict = last.follow == Follow::next,
                         .within = static_cast<uint16_t>(limits_.intern(within) & kLimitBits),
                         .plain = plain});
}

Status Trie::check_room(const std::vector<ResolvedStep>& steps) const {
  size_t atoms = 0;
  for (const ResolvedStep& s : steps) atoms += s.atoms.size() + s.guard.size();
  // The worst case, no step shared: room is asked for once, so that adding cannot fail half way.
  const bool fits = node_count() + steps.size() <= kMaxNodes - 1 &&
                    terminals_.size() - free_terminals_.size() < kNone - 1u &&
                    chains_.size() + steps.size() < kNone &&
                    guards_.size() - free_guards_.size() + (2 + 2 * kMaxCaptures) * steps.size() < kNone &&
                    limits_.has_room(steps.size() + 1) && lists_.has_room(atoms);
  if (fits) return {};
  return resource_error(
      {"a trigger that needs up to ", steps.size(), " nodes more than ", node_count()},
      {"at most ", kMaxNodes, " nodes, guards, ends and durations over all tasks of a scope"}, "trigger trie",
      "remove tasks or shorten their patterns");
}

// The node of step `at` behind `parent`, made if it is not there.
uint16_t Trie::use_node(uint16_t parent, const std::vector<ResolvedStep>& steps, size_t at,
                        uint16_t trigger) {
  const ResolvedStep& s = steps[at];
  const ResolvedStep* const before = at ? &steps[at - 1] : nullptr;
  // What must not have come before is no guard between two steps, and its time no gap.
  const bool leading = s.leading();
  const uint16_t gap = leading ? uint16_t{0} : limits_.intern(key_limit(s.gap_us));
  const uint16_t guard = s.guard.empty() || leading ? uint16_t{0} : take_guard(s.guard);
  uint16_t node = find_child(parent, s, before, gap, guard, trigger);
  if (node == kNone) {
    const uint16_t rare = s.rare() ? new_rare(s, before, trigger) : kNone;
    node = new_node(parent, s, gap, guard, static_cast<uint8_t>(at), rare);
  } else {  // the node holds its own use
    limits_.release(gap);
    release_guard(guard);
  }
  ++nodes_[node].uses;
  return node;
}

Status Trie::add_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger, uint64_t within,
                       bool plain) {
  WALLE_TRY(check_room(steps));
  uint16_t parent = 0;
  const size_t last = steps.size() - 1;
  for (size_t i = 0; i < last; ++i) parent = use_node(parent, steps, i, trigger);
  if (is_end(steps[last])) {
    add_end(parent, steps[last], trigger, within, plain);
    return {};
  }
  const uint16_t node = use_node(parent, steps, last, trigger);
  push_terminal(nodes_[node].terminal, trigger, within, plain);
  update_terminal_class(node, steps[last]);
  return {};
}

void Trie::free_node(uint16_t parent, uint16_t node, const ResolvedStep& s) {
  tight::push(free_nodes_, node);
  if (nodes_[node].rare != kNone) free_rare(nodes_[node].rare);
  if (nodes_[node].chained && parent != 0) {
    const uint32_t token = TokenLists::without_value(token_of(s.atoms[0]));
    chains_.get(parent, token).node = kNone;
    return chains_.drop_if_unused(parent, token);
  }
  const Edge e = lists_.edge_of(token_of(s.atoms[0]), node, predicate_of(s.atoms[0]));
  for (const CompiledAtom& a : s.atoms) lists_.remove_edges(token_of(a), node);
  limits_.release(e.gap);
  release_guard(e.guard);
}

uint16_t Trie::known_node(uint16_t parent, const std::vector<ResolvedStep>& steps, size_t at,
                          uint16_t trigger) const {
  const ResolvedStep& s = steps[at];
  const bool leading = s.leading();
  const uint16_t guard = s.guard.empty() || leading ? uint16_t{0} : find_guard(s.guard);
  const uint16_t gap = leading ? uint16_t{0} : limits_.find(key_limit(s.gap_us));
  return find_child(parent, s, at ? &steps[at - 1] : nullptr, gap, guard, trigger);
}

// False when it is not there.
bool Trie::remove_end(uint16_t parent, const ResolvedStep& last, uint16_t trigger) {
  const uint64_t token = token_of(last.atoms[0]);
  if (hangs_on_chain(parent, last)) {
    const uint32_t chained = TokenLists::without_value(token);
    const bool there = chains_.find(parent, chained) != nullptr &&
                       drop_terminal(chains_.get(parent, chained).terminal, trigger);
    if (there) chains_.drop_if_unused(parent, chained);
    return there;
  }
  const uint16_t list = lists_.find(token);
  if (list == kNone) return false;
  const uint16_t guard = last.guard.empty() ? uint16_t{0} : find_guard(last.guard);
  const uint16_t gap = limits_.find(key_limit(last.gap_us));
  const bool strict = last.follow == Follow::next;
  const auto all = lists_.ends(list);
  const auto found = std::find_if(all.begin(), all.end(), [&](const End& e) {
    return e.parent == parent && e.trigger == trigger && e.guard == guard && e.gap == gap &&
           (e.strict != 0) == strict;
  });
  if (found == all.end()) return false;
  const End e = *found;  // a copy: it moves
  lists_.remove_end(token, e);
  limits_.release(e.gap);
  limits_.release(e.within);
  release_guard(e.guard);
  return true;
}

void Trie::remove_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger) {
  std::vector<uint16_t> path;
  uint16_t parent = 0;
  const ResolvedStep& last = steps.back();
  for (size_t i = 0; i < steps.size() - is_end(last); ++i) {
    parent = known_node(parent, steps, i, trigger);
    // The chain is not there, as after an add() that was refused.
    if (parent == kNone) return;
    path.push_back(parent);
  }
  if (is_end(last)) {
    if (!remove_end(parent, last, trigger)) return;
  } else {
    drop_terminal(nodes_[parent].terminal, trigger);
    update_terminal_class(parent, last);
  }
  // From the end: a node goes only after its children, whose edges name it.
  for (size_t i = path.size(); i-- > 0;)
    if (--nodes_[path[i]].uses == 0) free_node(i ? path[i - 1] : uint16_t{0}, path[i], steps[i]);
}

namespace {
template <class T>
void drop_last(std::vector<T>& all, std::vector<uint16_t>& free) {
  for (;;) {
    const auto last = std::find(free.begin(), free.end(), all.size() - 1);
    if (last == free.end()) return;
    free.erase(last);
    all.pop_back();
  }
}
}  // namespace

void Trie::drop_last_free() {
  drop_last(nodes_, free_nodes_);
  drop_last(guards_, free_guards_);
}

size_t Trie::memory_bytes() const {
  return tight::bytes(nodes_) + tight::bytes(free_nodes_) + tight::bytes(terminals_) +
         tight::bytes(free_terminals_) + tight::bytes(guards_) + tight::bytes(free_guards_) +
         limits_.memory_bytes() + lists_.memory_bytes() + chains_.memory_bytes() + rare_bytes();
}

void Trie::find_live(Partition& p) const {
  // Not in a snapshot, because it follows from the slots.
  p.lives = 0;
  const auto reached = [&](uint16_t node) {
    const auto end = p.live + p.lives;
    const bool live = nodes_[node].chained && p.slots[node].start != 0 && p.slots[node].last == p.previous;
    if (live && std::find(p.live, end, node) == end && p.lives < kMaxSteps) p.live[p.lives++] = node;
  };
  for (const ChainEdge& e : chains_.all()) {
    if (e.node != kNone) reached(e.node);
    reached(e.parent);
  }
  // Deepest first, as follow_chains() walks them: a step must not see a parent that this event has moved.
  std::sort(p.live, p.live + p.lives,
            [&](uint16_t a, uint16_t b) { return nodes_[a].depth > nodes_[b].depth; });
}

void Trie::raise_barriers(Partition& p, const std::vector<uint64_t>& filled,
                          const std::vector<bool>& fresh) const {
  each_end([&](uint16_t before, uint16_t trigger, uint16_t) {
    if (fresh[trigger]) return;
    for (uint16_t node = before; node != 0; node = nodes_[node].parent)
      p.barriers[trigger] = std::max(p.barriers[trigger], filled[node]);
  });
}

namespace {
// Hashes of atoms; the text of a predicate that many edges share is made once.
class AtomHasher {
 public:
  explicit AtomHasher(const PredicateMemo& memo) : memo_(memo), texts_(memo.predicates.size()) {}

  uint64_t operator()(uint32_t token, uint16_t predicate) {
    if (predicate == kNone) return base::Hasher().value(token).text("").finish();
    std::string& text = texts_[predicate];
    if (text.empty()) text = memo_.predicates[predicate].text();
    return base::Hasher().value(token).text(text).finish();
  }

 private:
  const PredicateMemo& memo_;
  std::vector<std::string> texts_;
};
}  // namespace

std::vector<std::pair<uint64_t, uint16_t>> Trie::guard_fingerprints(const PredicateMemo& memo) const {
  AtomHasher atom_hash(memo);
  std::vector<std::vector<uint64_t>> parts(guards_.size());
  for (uint16_t l = 0; l < lists_.size(); ++l)
    for (const GuardRef& g : lists_.guards(l))
      // From the lists, because guards do not store their events.
      parts[g.guard].push_back(atom_hash(lists_.token_of(l), g.predicate));
  // Another name than that of a guard which is renewed before the edges are walked.
  const std::vector<uint64_t> salts = late_salts();
  for (const LateNote& n : late_.all())
    parts[n.guard].push_back(base::mix(atom_hash(token_of(n.atom), predicate_of(n.atom)), salts[n.guard]));
  for (const Cells& c : cells_)
    for (size_t i = 0; i < c.count; ++i) parts[c.first + i].push_back(base::mix(c.name, i));
  std::unordered_set<uint64_t> names;
  std::vector<std::pair<uint64_t, uint16_t>> out;
  for (size_t g = 0; g < parts.size(); ++g) {
    if (parts[g].empty()) continue;
    // By content, not by the order of lists, which depends on who was added when.
    std::sort(parts[g].begin(), parts[g].end());
    base::Hasher h;
    for (const uint64_t part : parts[g]) h.value(part);
    // What triggers of one text have each for themselves is named in order.
    uint64_t name = h.finish();
    while (!names.insert(name).second) name = base::mix(name, 1);
    out.emplace_back(name, static_cast<uint16_t>(g));
  }
  return out;
}

std::vector<std::pair<uint64_t, uint16_t>> Trie::node_fingerprints(const PredicateMemo& memo) const {
  struct Whole {
    uint16_t parent = 0;
    bool used = false;
    uint64_t edge = 0;
    std::vector<uint64_t> parts;
  };
  AtomHasher atom_hash(memo);
  std::vector<Whole> all(nodes_.size());
  std::vector<uint64_t> guards(guards_.size());
  for (const auto& [hash, g] : guard_fingerprints(memo)) guards[g] = hash;
  for (uint16_t l = 0; l < lists_.size(); ++l)
    for (const Edge& e : lists_.edges(l)) {
      Whole& w = all[e.node];
      w.parent = e.parent;
      w.used = true;
      w.edge = base::Hasher().value(limits_[e.gap]).value(guards[e.guard]).value(e.flags & kStrict).finish();
      if (const uint16_t rare = nodes_[e.node].rare; rare != kNone)
        w.edge = base::mix(w.edge, rare_fingerprint(rares_[rare], guards));
      w.parts.push_back(atom_hash(lists_.token_of(l), e.predicate));
    }
  for (const ChainEdge& e : chains_.all()) {
    if (e.node == kNone) continue;
    Whole& w = all[e.node];
    w.parent = e.parent;
    w.used = true;
    w.edge = base::Hasher().value(limits_[0]).value(guards[0]).value(static_cast<int>(kStrict)).finish();
    w.parts.push_back(atom_hash(e.token(), kNone));
  }
  std::vector<std::pair<uint64_t, uint16_t>> out;
  std::vector<uint64_t> hashes(nodes_.size());
  // By depth, so that a parent's hash is ready; node numbers say nothing about depth once some were given out
  // again.
  for (int depth = 0; depth < kMaxSteps; ++depth)
    for (size_t n = 0; n < all.size(); ++n) {
      if (!all[n].used || nodes_[n].depth != depth) continue;
      std::sort(all[n].parts.begin(), all[n].parts.end());
      base::Hasher h;
      h.value(hashes[all[n].parent]).value(all[n].edge);
      for (const uint64_t part : all[n].parts) h.value(part);
      hashes[n] = h.finish();
      out.emplace_back(hashes[n], static_cast<uint16_t>(n));
    }
  return out;
}

}  // namespace walle::stream
