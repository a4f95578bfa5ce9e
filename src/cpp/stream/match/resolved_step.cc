#include "stream/match/resolved_step.h"

#include "stream/match/value_token.h"

namespace walle::stream {

std::vector<uint16_t> intern_predicates(const CompiledTrigger& t, PredicateMemo& memo) {
  std::vector<uint16_t> out;
  out.reserve(t.predicates.size());
  for (const Predicate& p : t.predicates) out.push_back(memo.intern(p));
  return out;
}

std::vector<CompiledAtom> resolve_atoms(const std::vector<CompiledAtom>& atoms,
                                        const std::vector<uint16_t>& numbers, const PredicateMemo& memo) {
  std::vector<CompiledAtom> out = atoms;
  for (CompiledAtom& a : out) {
    if (a.predicate < 0) continue;
    a.predicate = a.of(numbers);
    const ValueToken asked = value_token(a.of(memo.predicates));
    a.value = asked.hash;
    a.value_field = asked.field;
  }
  return out;
}

std::vector<ResolvedStep> resolve_steps(const std::vector<CompiledStep>& chain,
                                        const std::vector<uint16_t>& numbers, uint64_t salt,
                                        const PredicateMemo& memo) {
  std::vector<ResolvedStep> out;
  out.reserve(chain.size());
  for (const CompiledStep& s : chain)
    out.push_back({.follow = s.follow,
                   .gap_us = s.gap_us,
                   .least_us = s.least_us,
                   .atoms = resolve_atoms(s.atoms, numbers, memo),
                   .guard = resolve_atoms(s.guard, numbers, memo),
                   .captures = s.captures,
                   .salt = salt});
  return out;
}

}  // namespace walle::stream
