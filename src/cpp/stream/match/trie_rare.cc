// What few steps of a trie have: the newest event before (`~>`), a least time, nothing of a kind before
// (`!x ~ a`), comparisons with the step before. Their conditions are asked in Trie::Walk::rare_conditions.
#include <algorithm>

#include "base/hash.h"
#include "stream/match/trie.h"

namespace walle::stream {

namespace {
// A duration that must be reached, as a difference of key times.
uint64_t least_key(int64_t us) { return us < 0 ? 0 : static_cast<uint64_t>(us) << kKeyShift; }

// The atoms that an event before must fit to leave its numbers. Behind `>` it is the event just before,
// whatever its predicate compared it with; behind `~>` the newest that fits the step.
std::vector<CompiledAtom> noted_from(const ResolvedStep& s, const ResolvedStep& before) {
  std::vector<CompiledAtom> out = before.atoms;
  if (s.follow == Follow::next)
    for (CompiledAtom& a : out) {
      a.predicate = -1;
      a.value = 0;
      a.value_field = 0;
    }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool same_note(const LateNote& a, const LateNote& b) { return a.kind == b.kind && a.field == b.field; }
}  // namespace

uint16_t Trie::find_late_guard(const std::vector<CompiledAtom>& atoms, const LateNote& kind) const {
  std::vector<uint16_t> seen(guards_.size());
  for (const LateNote& n : late_.all())
    seen[n.guard] += same_note(n, kind) && std::find(atoms.begin(), atoms.end(), n.atom) != atoms.end();
  // Those that a trigger has for itself have other histories.
  for (const Rare& r : rares_) seen[r.leading] = 0;
  for (size_t g = 1; g < seen.size(); ++g)
    if (seen[g] == atoms.size() && guards_[g].atoms == atoms.size() && guards_[g].uses)
      return static_cast<uint16_t>(g);
  return kNone;
}

uint16_t Trie::take_late_guard(const std::vector<CompiledAtom>& atoms, const LateNote& kind, bool shared) {
  if (const uint16_t known = shared ? find_late_guard(atoms, kind) : kNone; known != kNone) {
    ++guards_[known].uses;
    return known;
  }
  const uint16_t g = take_guard_number(atoms.size());
  for (const CompiledAtom& a : atoms)
    late_.add({.atom = a, .guard = g, .kind = kind.kind, .field = kind.field});
  return g;
}

uint16_t Trie::new_rare(const ResolvedStep& s, const ResolvedStep* before, uint16_t trigger) {
  Rare r{.least = least_key(s.least_us), .captures = s.captures};
  if (s.leading()) {
    r.clear = key_limit(s.gap_us);
    r.salt = s.salt;
    r.owner = trigger;
    r.leading = take_late_guard(s.guard, {}, false);
  }
  if (before && s.follow == Follow::newest) r.newest = take_late_guard(before->atoms, {}, true);
  for (const CapturedField& field : s.captures)
    for (const NoteKind kind : {NoteKind::type, NoteKind::bits})
      r.noted.push_back(take_late_guard(noted_from(s, *before), {.kind = kind, .field = field}, true));
  uint16_t at = static_cast<uint16_t>(rares_.size());
  if (free_rares_.empty()) {
    tight::make_room(rares_);
    rares_.push_back(std::move(r));
  } else {
    at = free_rares_.back();
    free_rares_.pop_back();
    rares_[at] = std::move(r);
  }
  return at;
}

void Trie::free_rare(uint16_t rare) {
  const Rare r = std::move(rares_[rare]);
  rares_[rare] = {};
  release_guard(r.newest);
  release_guard(r.leading);
  for (const uint16_t guard : r.noted) release_guard(guard);
  tight::push(free_rares_, rare);
}

// Whether the guard is renewed by these and no others.
bool Trie::notes_are(uint16_t guard, const std::vector<CompiledAtom>& atoms) const {
  return guards_[guard].atoms == atoms.size() &&
         std::all_of(late_.all().begin(), late_.all().end(), [&](const LateNote& n) {
           return n.guard != guard || std::find(atoms.begin(), atoms.end(), n.atom) != atoms.end();
         });
}

bool Trie::same_rare(uint16_t node, const ResolvedStep& s, const ResolvedStep* before,
                     uint16_t trigger) const {
  const uint16_t rare = nodes_[node].rare;
  if (rare == kNone || !s.rare()) return rare == kNone && !s.rare();
  const Rare& r = rares_[rare];
  if (r.least != least_key(s.least_us) || r.captures != s.captures || (r.leading != 0) != s.leading())
    return false;
  if (s.leading())
    return r.owner == trigger && r.clear == key_limit(s.gap_us) && notes_are(r.leading, s.guard);
  const bool newest = before && s.follow == Follow::newest;
  return (r.newest != 0) == newest && (!newest || r.newest == find_late_guard(before->atoms, {}));
}

// Cells are guards that no event renews: a block at the end, given back one by one.
Result<uint16_t> Trie::take_cells(size_t count, uint64_t name) {
  if (guards_.size() + count >= kNone)
    return resource_error({count, " words more for counts, sums and limits"},
                          "at most 65534 of them and of guards over all tasks of a scope", "trigger trie",
                          "remove tasks or lower what they count to");
  const auto first = static_cast<uint16_t>(guards_.size());
  tight::grow_to(guards_, guards_.size() + count);
  for (size_t i = first; i < guards_.size(); ++i) guards_[i] = {.uses = 1, .atoms = 0};
  tight::push(cells_, Cells{.first = first, .count = static_cast<uint16_t>(count), .name = name});
  return first;
}

void Trie::release_cells(uint16_t first) {
  const auto block =
      std::find_if(cells_.begin(), cells_.end(), [&](const Cells& c) { return c.first == first; });
  if (block == cells_.end()) return;
  for (size_t i = 0; i < block->count; ++i) {
    guards_[first + i].uses = 0;
    tight::push(free_guards_, static_cast<uint16_t>(first + i));
  }
  cells_.erase(block);
}

size_t Trie::rare_bytes() const {
  size_t total =
      tight::bytes(rares_) + tight::bytes(free_rares_) + tight::bytes(cells_) + late_.memory_bytes();
  for (const Rare& r : rares_) total += tight::bytes(r.captures) + tight::bytes(r.noted);
  return total;
}

// What tells late guards of equal atoms apart: by guard.
std::vector<uint64_t> Trie::late_salts() const {
  std::vector<uint64_t> out(guards_.size(), 1);
  for (const LateNote& n : late_.all())
    if (n.kind != NoteKind::key)
      out[n.guard] = base::Hasher().value(n.kind).value(n.field.event).value(n.field.field).finish();
  for (const Rare& r : rares_)
    if (r.leading) out[r.leading] = r.salt;
  return out;
}

uint64_t Trie::rare_fingerprint(const Rare& r, const std::vector<uint64_t>& guards) const {
  base::Hasher h;
  h.value(r.least).value(r.clear).value(guards[r.newest]).value(guards[r.leading]);
  for (const uint16_t noted : r.noted) h.value(guards[noted]);
  return h.finish();
}

}  // namespace walle::stream
