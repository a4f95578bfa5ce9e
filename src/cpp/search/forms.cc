#include "search/forms.h"

#include <algorithm>
#include <limits>

#include "raster/canonical.h"
#include "search/placement.h"

namespace walle::search {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}  // namespace

// Infinite where no backend runs the node.
double Forms::best_ms(const ops::ProgramNode& node) {
  // A view is no step of a plan.
  if (node.raster && raster::as_alias(*node.raster, program_.at(node.outputs[0]).shape.elements())) return 0;
  const CostModel& costs = options_.costs ? *options_.costs : reference_costs();
  auto choices = choices_for(program_, node, backends_, options_.threads, costs, options_.allowed);
  if (!choices.ok()) return kNever;
  if (options_.search) drop_references(*choices);
  // What cannot be measured keeps its prediction.
  if (options_.tune > 0) (void)tuner_.measure(node, *choices);
  return std::ranges::min(*choices, {}, &Choice::cost_ms).cost_ms();
}

bool Forms::costs_less(const ops::ProgramNode& one, std::span<const ops::ProgramNode* const> several) {
  const double whole = best_ms(one);
  if (whole == kNever) return false;
  if (!options_.search) return true;
  double parts = 0;
  for (const ops::ProgramNode* node : several) parts += best_ms(*node);
  return whole < parts;
}

}  // namespace walle::search
