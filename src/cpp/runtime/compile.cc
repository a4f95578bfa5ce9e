#include "runtime/compile.h"

#include "runtime/backend_list.h"
#include "runtime/infer_shapes.h"
#include "runtime/lower_node.h"
#include "runtime/merge.h"
#include "runtime/plan_log.h"
#include "runtime/segment_builder.h"
#include "search/machine_costs.h"
#include "search/make_plan.h"

namespace walle::runtime {

namespace {
Result<search::SearchOptions> search_options(SharedState& shared) {
  const SessionOptions& options = shared.options;
  // The profile of a machine without a table lies beside the plans, or where those of tuned sessions would.
  if (!shared.costs) {
    WALLE_ASSIGN(shared.costs, search::machine_costs(host_backend(), shared.backends, base::Env::system(),
                                                     search::cache_folder(options.plan_cache)));
  }
  WALLE_ASSIGN(const double most_error, error_limit(options.accuracy));
  return search::SearchOptions{.threads = options.threads,
                               .costs = shared.costs.get(),
                               .tune = options.tune,
                               .search = options.debug.search,
                               .most_error = most_error,
                               .cache = shared.cache.get(),
                               .random_placement = options.debug.placement};
}
}  // namespace

// "Verify" comes before: Model::create does it, once for all sessions and shapes. Shapes and lowering take
// turns, because a node that folds while it is lowered may be the value that decides the next node's shape.
Result<std::unique_ptr<Segment>> compile(const ir::Graph& graph, int begin, const Environment& env,
                                         const std::vector<int>& last_use, SharedState& shared) {
  const auto began = std::chrono::steady_clock::now();
  SegmentBuilder builder(graph, begin, env, shared);
  while (const ir::Node* node = builder.next()) {
    WALLE_ASSIGN(const std::optional<TypedNode> typed, infer_shapes(builder, *node));
    if (!typed) break;  // the nodes so far must run first
    WALLE_TRY(lower_node(builder, *typed));
  }
  WALLE_ASSIGN(std::unique_ptr<Segment> segment, builder.finish(last_use));
  ops::Program program = builder.take_program();
  WALLE_ASSIGN(const search::SearchOptions options, search_options(shared));
  WALLE_TRY(merge(program, shared.backends, shared.options, options));
  shared.made->folded.share(program);
  WALLE_ASSIGN(search::Plan plan, search::make_plan(program, shared.backends, options));
  // The plan is made ready to run: kernels prepared, operands resolved.
  WALLE_ASSIGN(segment->executable,
               Executable::bind(std::move(program), std::move(plan), options.threads, shared.constants));
  log_plan(graph, *segment, began);
  return segment;
}

}  // namespace walle::runtime
