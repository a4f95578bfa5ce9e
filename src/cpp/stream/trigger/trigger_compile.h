// From a trigger's tree to what the matcher takes: names to ids, counts and optional steps written out,
// predicates resolved, limits checked. Lint finds what is legal but surely not meant.
#pragma once

#include <memory>

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

inline constexpr size_t kMaxCaptures = 8;  // of one step

// A number of the step before, which this step's predicates compare with.
struct CapturedField {
  uint16_t event = 0, field = 0;
  friend bool operator==(const CapturedField&, const CapturedField&) = default;
};

struct CompiledStep {
  Follow follow = Follow::first;
  // At most and at least. Of a first step with a guard: for how long there must have been none of it.
  int64_t gap_us = -1, least_us = -1;
  std::vector<CompiledAtom> atoms, guard;  // sorted, none implied by another
  std::vector<CapturedField> captures;
  friend bool operator==(const CompiledStep&, const CompiledStep&) = default;
};

struct StateGuard {
  uint64_t mask = 0, value = 0;  // holds when (states & mask) == value
  friend bool operator==(const StateGuard&, const StateGuard&) = default;
};

struct CompiledKey {
  std::vector<uint16_t> fields;  // ids, sorted
  bool page = false, session = false;
  bool empty() const { return fields.empty() && !page && !session; }
  friend bool operator==(const CompiledKey&, const CompiledKey&) = default;
};

class LocalTime;

struct CompiledTrigger {
  TriggerSpec spec;
  std::string text;                                 // canonical
  uint64_t fingerprint = 0;                         // of the text
  std::vector<std::vector<CompiledStep>> variants;  // a match of any is a match
  std::vector<int64_t> within_us;                   // of each of them, -1: none
  std::vector<Predicate> predicates;
  std::vector<CompiledAtom> absent;
  std::vector<StateGuard> when;  // any of them
  CompiledKey by;
  CompiledKey once_per, cooldown_per, rate_per;
  uint16_t aggregate_field = 0;
  bool whole = false;  // the aggregated field is an integer in every event that has it
  // By which `daily` and `during` go; none: the matcher's. In the fingerprint of whoever sets it.
  std::shared_ptr<const LocalTime> local;
};

struct Finding {
  bool error = false;
  std::string message;
  int position = 0;  // offset in the source text
};

Result<CompiledTrigger> compile_trigger(const TriggerSpec& spec, const Catalog& catalog,
                                        std::string_view source = {});
std::vector<Finding> lint_trigger(const TriggerSpec& spec);

}  // namespace walle::stream
