#include "stream/trie.h"

#include <algorithm>

#include "base/hash.h"

namespace walle::stream {

namespace {
// Vectors here grow by an eighth: memory per task counts more than the copying at deployment.
template <class T, class U>
void push(std::vector<T>& v, const U& value) {
  if (v.size() == v.capacity()) v.reserve(v.size() + v.size() / 8 + 2);
  v.push_back(value);
}

template <class T>
size_t bytes(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

uint16_t predicate_of(const CompiledAtom& a) { return a.predicate < 0 ? kNone : static_cast<uint16_t>(a.predicate); }
}  // namespace

uint16_t PredicateMemo::intern(const Predicate& p) {
  for (size_t i = 0; i < predicates.size(); ++i)
    if (uses[i] && predicates[i] == p) {
      ++uses[i];
      return static_cast<uint16_t>(i);
    }
  size_t at = 0;
  while (at < uses.size() && uses[at]) ++at;
  if (at == uses.size()) {
    predicates.emplace_back();
    push(uses, 0);
    push(known, 0);
  }
  predicates[at] = p, uses[at] = 1, known[at] = 0;
  return static_cast<uint16_t>(at);
}

void PredicateMemo::release(uint16_t p) {
  if (--uses[p] == 0) predicates[p] = Predicate();
}

size_t PredicateMemo::memory_bytes() const {
  size_t total = bytes(predicates) + bytes(uses) + bytes(known);
  for (const Predicate& p : predicates) {
    total += bytes(p.nodes);
    for (const auto& n : p.nodes) {
      total += bytes(n.literals) + (n.field.capacity() > 15 ? n.field.capacity() + 1 : 0);
      for (const auto& l : n.literals) total += l.text.capacity() > 15 ? l.text.capacity() + 1 : 0;
    }
  }
  return total;
}

// Number 0 of nodes, guards and gaps is the root, the guard that never comes and the gap without limit.
Trie::Trie() : nodes_(1), guard_uses_(1, 1), guard_sizes_(1, 0), gaps_(1, ~uint64_t{0}) {}

void Trie::index_list(uint32_t token, uint16_t list) {
  const uint16_t event = token >> 16, page = token & 0xffff;
  const auto set = [&](std::vector<uint16_t>& v, uint16_t i) {
    if (v.size() <= i) v.reserve(i + 1u), v.resize(i + 1u, kNone);
    v[i] = list;
  };
  if (event == kAny && page == kAny)
    any_any_ = list;
  else if (event == kAny)
    set(any_page_, page);
  else if (page == kAny)
    set(event_any_, event);
  else {
    if ((exact_used_ + 1) * 2 > exact_tokens_.size()) {
      std::vector<uint32_t> tokens(std::max<size_t>(16, exact_tokens_.size() * 2), 0xffffffffu);
      std::vector<uint16_t> lists(tokens.size(), kNone);
      tokens.swap(exact_tokens_), lists.swap(exact_lists_);
      exact_used_ = 0;
      for (size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] != 0xffffffffu) index_list(tokens[i], lists[i]);
    }
    const size_t mask = exact_tokens_.size() - 1;
    size_t i = token * 0x9e3779b1u >> 7 & mask;
    while (exact_tokens_[i] != 0xffffffffu) i = (i + 1) & mask;
    exact_tokens_[i] = token, exact_lists_[i] = list;
    ++exact_used_;
  }
}

Trie::List& Trie::list_for(uint32_t token) {
  if (List* l = find_list(token)) return *l;
  push(lists_, List{});
  lists_.back().token = token;
  index_list(token, static_cast<uint16_t>(lists_.size() - 1));
  return lists_.back();
}

uint16_t Trie::intern_gap(int64_t gap_us) {
  if (gap_us < 0) return 0;
  const uint64_t units = (static_cast<uint64_t>(gap_us) + 1) << kKeyShift;
  const auto it = std::find(gaps_.begin(), gaps_.end(), units);
  if (it != gaps_.end()) return static_cast<uint16_t>(it - gaps_.begin());
  push(gaps_, units);
  return static_cast<uint16_t>(gaps_.size() - 1);
}

uint16_t Trie::find_guard(const std::vector<CompiledAtom>& atoms) const {
  const List* first = find_list(token_of(atoms[0]));
  if (!first) return kNone;
  for (const GuardRef& g : first->guards) {
    if (guard_sizes_[g.guard] != atoms.size() || g.predicate != predicate_of(atoms[0])) continue;
    const bool same = std::all_of(atoms.begin(), atoms.end(), [&](const CompiledAtom& a) {
      const List* l = find_list(token_of(a));
      return l && std::any_of(l->guards.begin(), l->guards.end(),
                              [&](const GuardRef& o) { return o.guard == g.guard && o.predicate == predicate_of(a); });
    });
    if (same) return g.guard;
  }
  return kNone;
}

uint16_t Trie::add_guard(const std::vector<CompiledAtom>& atoms) {
  if (const uint16_t known = find_guard(atoms); known != kNone) {
    ++guard_uses_[known];
    return known;
  }
  uint16_t g;
  if (!free_guards_.empty()) {
    g = free_guards_.back();
    free_guards_.pop_back();
  } else {
    g = static_cast<uint16_t>(guard_uses_.size());
    push(guard_uses_, 0);
    push(guard_sizes_, 0);
  }
  guard_uses_[g] = 1, guard_sizes_[g] = static_cast<uint16_t>(atoms.size());
  for (const CompiledAtom& a : atoms) push(list_for(token_of(a)).guards, GuardRef{g, predicate_of(a)});
  return g;
}

void Trie::release_guard(uint16_t guard) {
  if (guard == 0 || --guard_uses_[guard]) return;
  for (List& l : lists_) std::erase_if(l.guards, [&](const GuardRef& r) { return r.guard == guard; });
  push(free_guards_, guard);
}

uint16_t Trie::find_child(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard) const {
  const List* first = find_list(token_of(s.atoms[0]));
  if (!first) return kNone;
  const bool strict = s.follow == Follow::next;
  for (const Edge& e : first->edges) {
    if (e.parent != parent || e.gap != gap || e.guard != guard || ((e.flags & kStrict) != 0) != strict ||
        nodes_[e.node].edges != s.atoms.size() || e.predicate != predicate_of(s.atoms[0]))
      continue;
    const bool same = s.atoms.size() == 1 || std::all_of(s.atoms.begin(), s.atoms.end(), [&](const CompiledAtom& a) {
                        const List* l = find_list(token_of(a));
                        return l && std::any_of(l->edges.begin(), l->edges.end(),
                                                [&](const Edge& o) { return o.node == e.node && o.predicate == predicate_of(a); });
                      });
    if (same) return e.node;
  }
  return kNone;
}

uint16_t Trie::new_node(uint16_t parent, const ResolvedStep& s, uint16_t gap, uint16_t guard, uint8_t depth) {
  uint16_t node;
  if (!free_nodes_.empty()) {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  } else {
    node = static_cast<uint16_t>(nodes_.size());
    push(nodes_, Node{});
  }
  nodes_[node] = {0, kNone, static_cast<uint8_t>(s.atoms.size()), depth};
  for (const CompiledAtom& a : s.atoms) {
    Edge e{parent, node, gap, guard, predicate_of(a), static_cast<uint8_t>(depth << 4), 0};
    if (s.follow == Follow::next) e.flags |= kStrict;
    if (s.atoms.size() > 1) e.flags |= kSeveral;
    if ((e.flags & kStrict) || gap || guard) e.order |= kConditional;
    if ((e.flags & kSeveral) || e.predicate != kNone) e.order |= kSlow;
    place_edge(list_for(token_of(a)).edges, e);
  }
  return node;
}

void Trie::place_edge(std::vector<Edge>& edges, const Edge& e) {
  // Deepest first, and within a depth by class.
  const auto rank = [](const Edge& x) { return (15 - (x.order >> 4)) << 4 | (x.order & 15); };
  if (edges.size() == edges.capacity()) edges.reserve(edges.size() + edges.size() / 8 + 2);
  edges.insert(std::find_if(edges.begin(), edges.end(), [&](const Edge& o) { return rank(o) > rank(e); }), e);
}

void Trie::update_terminal_class(uint16_t node, const ResolvedStep& s) {
  for (const CompiledAtom& a : s.atoms) {
    auto& edges = find_list(token_of(a))->edges;
    const auto it =
        std::find_if(edges.begin(), edges.end(), [&](const Edge& e) { return e.node == node && e.predicate == predicate_of(a); });
    Edge e = *it;
    e.order = static_cast<uint8_t>((e.order & ~kTerminal) | (nodes_[node].terminal == kNone ? 0 : kTerminal));
    if (e.order == it->order) continue;
    edges.erase(it);
    place_edge(edges, e);
  }
}

Status Trie::add_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger, uint64_t within) {
  if (nodes_.size() - free_nodes_.size() + steps.size() > kMaxNodes)
    return resource_error("a trigger that needs up to " + std::to_string(steps.size()) + " nodes more than " + std::to_string(node_count()),
                          "at most 65535 nodes over all tasks of a scope", "trigger trie", "remove tasks or shorten their patterns");
  uint16_t parent = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ResolvedStep& s = steps[i];
    const uint16_t gap = intern_gap(s.gap_us);
    const uint16_t guard = s.guard.empty() ? uint16_t{0} : add_guard(s.guard);
    uint16_t node = find_child(parent, s, gap, guard);
    if (node == kNone)
      node = new_node(parent, s, gap, guard, static_cast<uint8_t>(i));
    else
      release_guard(guard);  // the node holds its own use
    ++nodes_[node].uses;
    parent = node;
  }
  uint16_t t;
  if (!free_terminals_.empty()) {
    t = free_terminals_.back();
    free_terminals_.pop_back();
    terminals_[t] = {within, trigger, nodes_[parent].terminal};
  } else {
    t = static_cast<uint16_t>(terminals_.size());
    push(terminals_, Terminal{within, trigger, nodes_[parent].terminal});
  }
  nodes_[parent].terminal = t;
  update_terminal_class(parent, steps.back());
  return {};
}

void Trie::free_node(uint16_t node, const ResolvedStep& s) {
  uint16_t guard = 0;
  for (const CompiledAtom& a : s.atoms)
    std::erase_if(find_list(token_of(a))->edges, [&](const Edge& e) {
      if (e.node == node) guard = e.guard;
      return e.node == node;
    });
  release_guard(guard);
  push(free_nodes_, node);
}

void Trie::remove_chain(const std::vector<ResolvedStep>& steps, uint16_t trigger) {
  std::vector<uint16_t> path;
  uint16_t parent = 0;
  for (const ResolvedStep& s : steps) {
    const uint16_t guard = s.guard.empty() ? uint16_t{0} : find_guard(s.guard);
    parent = find_child(parent, s, intern_gap(s.gap_us), guard);
    if (parent == kNone) return;
    path.push_back(parent);
  }
  for (uint16_t* at = &nodes_[parent].terminal; *at != kNone; at = &terminals_[*at].next) {
    if (terminals_[*at].trigger != trigger) continue;
    push(free_terminals_, *at);
    *at = terminals_[*at].next;
    break;
  }
  update_terminal_class(parent, steps.back());
  for (size_t i = path.size(); i-- > 0;)
    if (--nodes_[path[i]].uses == 0) free_node(path[i], steps[i]);
}

size_t Trie::edge_count() const {
  size_t n = 0;
  for (const List& l : lists_) n += l.edges.size();
  return n;
}

size_t Trie::memory_bytes() const {
  size_t total = bytes(nodes_) + bytes(free_nodes_) + bytes(terminals_) + bytes(free_terminals_) + bytes(guard_uses_) +
                 bytes(guard_sizes_) + bytes(free_guards_) + bytes(gaps_) + bytes(lists_) + bytes(event_any_) + bytes(any_page_) +
                 bytes(exact_tokens_) + bytes(exact_lists_);
  for (const List& l : lists_) total += bytes(l.edges) + bytes(l.guards);
  return total;
}

namespace {
uint64_t atom_hash(uint32_t token, const Predicate* p) { return base::Hasher().value(token).text(p ? p->text() : "").finish(); }
}  // namespace

std::vector<std::pair<uint64_t, uint16_t>> Trie::guard_fingerprints(const PredicateMemo& memo) const {
  std::vector<std::vector<uint64_t>> parts(guard_uses_.size());
  for (const List& l : lists_)
    for (const GuardRef& g : l.guards)
      parts[g.guard].push_back(atom_hash(l.token, g.predicate == kNone ? nullptr : &memo.predicates[g.predicate]));
  std::vector<std::pair<uint64_t, uint16_t>> out;
  for (size_t g = 0; g < parts.size(); ++g) {
    if (parts[g].empty()) continue;
    std::sort(parts[g].begin(), parts[g].end());
    base::Hasher h;
    for (const uint64_t part : parts[g]) h.value(part);
    out.emplace_back(h.finish(), static_cast<uint16_t>(g));
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
  std::vector<Whole> all(nodes_.size());
  std::vector<uint64_t> guards(guard_uses_.size());
  for (const auto& [hash, g] : guard_fingerprints(memo)) guards[g] = hash;
  for (const List& l : lists_)
    for (const Edge& e : l.edges) {
      Whole& w = all[e.node];
      w.parent = e.parent, w.used = true;
      w.edge = base::Hasher().value(gaps_[e.gap]).value(guards[e.guard]).value(e.flags & kStrict).finish();
      w.parts.push_back(atom_hash(l.token, e.predicate == kNone ? nullptr : &memo.predicates[e.predicate]));
    }
  std::vector<std::pair<uint64_t, uint16_t>> out;
  std::vector<uint64_t> hashes(nodes_.size());
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
