// ResolvedStep: a CompiledStep whose predicates have the matcher's numbers, where equal ones of all tasks are
// one.
#pragma once

#include "stream/match/predicate_memo.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

struct ResolvedStep {
  Follow follow = Follow::first;
  int64_t gap_us = -1, least_us = -1;
  std::vector<CompiledAtom> atoms, guard;
  std::vector<CapturedField> captures;
  uint64_t salt = 0;  // of the trigger's text, in the name of what it shares with no other
  // Nothing of it may have come before: the guard of a first step.
  bool leading() const { return follow == Follow::first && !guard.empty(); }
  bool rare() const { return follow == Follow::newest || least_us >= 0 || leading() || !captures.empty(); }
};

// The numbers of a trigger's predicates, each of which has one use more.
std::vector<uint16_t> intern_predicates(const CompiledTrigger& t, PredicateMemo& memo);
// From the trigger's own numbering to those `numbers`.
std::vector<CompiledAtom> resolve_atoms(const std::vector<CompiledAtom>& atoms,
                                        const std::vector<uint16_t>& numbers, const PredicateMemo& memo);
std::vector<ResolvedStep> resolve_steps(const std::vector<CompiledStep>& chain,
                                        const std::vector<uint16_t>& numbers, uint64_t salt,
                                        const PredicateMemo& memo);

}  // namespace walle::stream
