#include "search/forms.h"

#include <algorithm>
#include <limits>

#include "raster/canonical.h"
#include "search/placement.h"

namespace walle::search {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();

// Infinite where no backend runs the node.
double best_ms(const ops::Program& program, const ops::ProgramNode& node,
               const std::vector<const backends::Backend*>& backends, const SearchOptions& options) {
  // A view is no step of a plan.
  if (node.raster && raster::as_alias(*node.raster, program.at(node.outputs[0]).shape.elements())) return 0;
  const CostModel& costs = options.costs ? *options.costs : reference_costs();
  const auto choices = choices_for(program, node, backends, options.threads, costs, options.most_error);
  if (!choices.ok()) return kNever;
  return std::ranges::min(*choices, {}, &Choice::cost_ms).cost_ms();
}
}  // namespace

bool costs_less(const ops::Program& program, const ops::ProgramNode& one,
                std::span<const ops::ProgramNode* const> several,
                const std::vector<const backends::Backend*>& backends, const SearchOptions& options) {
  const double whole = best_ms(program, one, backends, options);
  if (whole == kNever) return false;
  if (!options.search) return true;
  double parts = 0;
  for (const ops::ProgramNode* node : several) parts += best_ms(program, *node, backends, options);
  return whole < parts;
}

}  // namespace walle::search
