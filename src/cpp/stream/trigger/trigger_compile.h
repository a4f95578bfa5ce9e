// From a trigger's tree to what the matcher takes: names to ids, counts and optional steps written out,
// predicates resolved, limits checked. Lint finds what is legal but surely not meant.
#pragma once

#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

struct CompiledAtom {
  uint16_t event = kAny, page = kAny;
  int32_t predicate = -1;  // into CompiledTrigger::predicates
  // The matcher's: hash of a value that the predicate asks for, and its field (stream/match/value_token.h).
  uint32_t value = 0;
  uint16_t value_field = 0;
  // Of the predicate in `all`; precondition: there is one.
  template <class T>
  const T& of(const std::vector<T>& all) const {
    return all[predicate];
  }
  friend bool operator==(const CompiledAtom&, const CompiledAtom&) = default;
  friend auto operator<=>(const CompiledAtom&, const CompiledAtom&) = default;
};

struct CompiledStep {
  Follow follow = Follow::first;
  int64_t gap_us = -1;
  std::vector<CompiledAtom> atoms, guard;  // sorted, none implied by another
  friend bool operator==(const CompiledStep&, const CompiledStep&) = default;
};

struct StateGuard {
  uint64_t mask = 0, value = 0;  // holds when (states & mask) == value
  friend bool operator==(const StateGuard&, const StateGuard&) = default;
};

struct CompiledTrigger {
  TriggerSpec spec;
  std::string text;                                 // canonical
  uint64_t fingerprint = 0;                         // of the text
  std::vector<std::vector<CompiledStep>> variants;  // a match of any is a match
  std::vector<Predicate> predicates;
  std::vector<CompiledAtom> absent;
  std::vector<StateGuard> when;  // any of them
  uint16_t by_field = 0;
};

struct Finding {
  bool error = false;
  std::string message;
  int position = 0;  // offset in the source text
};

Result<CompiledTrigger> compile_trigger(const TriggerSpec& spec, const Catalog& catalog,
                                        std::string_view source = {});
std::vector<Finding> lint_trigger(const TriggerSpec& spec);

// schemas/trigger.fbs. Loading verifies structure and meaning against the catalogue.
std::string save_compiled(const CompiledTrigger& trigger, const Catalog& catalog);
Result<CompiledTrigger> load_compiled(std::string_view bytes, const Catalog& catalog);

}  // namespace walle::stream
