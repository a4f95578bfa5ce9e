// Plan: releases and segments as a device or a server holds it: read once, verified whole, then asked
// millions of times.
//
// Trust nothing: sizes, counts, texts, spans and shares of the bytes are checked before they are used, and a
// plan with anything wrong is refused as a whole (docs/reference/formats/plan.md has the limits). Immutable
// once read: any thread may ask a plan that is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "link/policy/plan_data.h"

namespace walle::link {

class DecisionTable;

class Plan {
 public:
  // A model error says what is wrong with the bytes; a resource error that its policies together are too
  // many.
  static Result<Plan> read(std::string_view bytes);
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  uint64_t epoch() const { return data_.epoch; }
  const std::vector<PlanRelease>& releases() const { return data_.releases; }
  const std::vector<PlanKill>& kills() const { return data_.kills; }
  const std::vector<TakenBack>& taken_back() const { return data_.taken_back; }
  bool killed(std::string_view scenario, std::string_view task) const;

 private:
  friend struct PlanAccess;  // of decide.cc
  Plan(PlanData data, std::unique_ptr<const DecisionTable> table);

  PlanData data_;
  std::unique_ptr<const DecisionTable> table_;
};

// The bytes of a plan, the same for the same data. Read back before they are returned: what Plan::read
// refuses is this function's error.
Result<std::string> write_plan(const PlanData& data);

}  // namespace walle::link
