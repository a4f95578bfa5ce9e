#include "runtime/compile.h"

#include <algorithm>

#include "runtime/infer_shapes.h"
#include "runtime/join_codes.h"
#include "runtime/lower_node.h"
#include "runtime/merge.h"
#include "runtime/plan_log.h"
#include "runtime/search_options.h"
#include "runtime/segment_builder.h"
#include "search/make_plan.h"
#include "search/views.h"

namespace walle::runtime {

namespace {
// What a plan of plain sizes is made of.
struct Compiled {
  std::unique_ptr<Segment> segment;
  ops::Program program;
  std::vector<Dim> symbols;
  bool views_move = false;  // with the symbols
};

// Shapes and lowering take turns, because a node that folds while it is lowered may be the value that decides
// the next node's shape.
Result<Compiled> passes(SegmentBuilder& builder, const std::vector<int>& last_use, SharedState& shared,
                        const search::SearchOptions& options) {
  while (const ir::Node* node = builder.next()) {
    WALLE_ASSIGN(const std::optional<TypedNode> typed, infer_shapes(builder, *node));
    if (!typed) break;  // the nodes so far must run first
    WALLE_TRY(lower_node(builder, *typed));
  }
  Compiled out;
  WALLE_ASSIGN(out.segment, builder.finish(last_use));
  out.program = builder.take_program();
  out.symbols = builder.symbols();
  WALLE_TRY(join_codes(out.program, shared, builder.questions()));
  WALLE_TRY(merge(out.program, shared.backends, shared.options, options, builder.questions()));
  if (!DimTrace::current()) return out;
  // Which values are views is decided by sizes as well.
  const search::Views views = search::find_views(out.program);
  out.views_move = std::ranges::any_of(views.of, [](const search::View& v) { return v.offset.symbolic(); });
  return out;
}

// Another plan of these nodes, for other sizes of the same values, makes this one a plan for both; not where
// decisions are measured, kept in files, or drawn by lot, which are of one shape.
const Segment* another_of(const Segment* other, const SharedState& shared) {
  const SessionOptions& options = shared.options;
  const bool decided = options.tune == 0 && !shared.cache && !options.debug.placement;
  return decided && options.debug.classes ? other : nullptr;
}
}  // namespace

// "Verify" comes before: Model::create does it, once for all sessions and shapes.
Result<std::unique_ptr<Segment>> compile(const ir::Graph& graph, int begin, const Environment& env,
                                         const std::vector<int>& last_use, SharedState& shared,
                                         const Segment* other, StepTime& packing) {
  const auto began = std::chrono::steady_clock::now();
  other = another_of(other, shared);
  WALLE_ASSIGN(const search::SearchOptions options, search_options(shared));
  DimTrace trace;
  auto questions = std::make_unique<ShapeQuestions>();
  const auto compiled = [&]() -> Result<Compiled> {
    const DimTrace::Scope scope(other ? &trace : nullptr);
    SegmentBuilder builder(graph, begin, env, shared, *questions, other);
    return passes(builder, last_use, shared, options);
  };
  auto tried = compiled();
  // What a class is refused - a table with room to grow into - its shapes may be given one by one.
  if (!tried.ok() && other) return compile(graph, begin, env, last_use, shared, nullptr, packing);
  WALLE_ASSIGN(Compiled made, std::move(tried));
  std::unique_ptr<Segment> segment = std::move(made.segment);
  shared.made->folded.share(made.program);
  WALLE_ASSIGN(search::Plan plan, search::make_plan(made.program, shared.backends, options));
  // The plan is made ready to run: kernels prepared, operands resolved.
  const TimedPart timed(shared.profiler, packing);
  WALLE_ASSIGN(segment->executable,
               Executable::bind(std::move(made.program), std::move(plan), options.threads, shared.constants));
  timed.record([&] {
    return ProfileEvent{.name = graph.name, .op = "pack", .backend = "host", .algorithm = "host_pack"};
  });
  if (!made.symbols.empty())
    segment->shapes =
        ShapeClass::of(trace, made.symbols, std::move(questions), made.views_move, *segment->executable);
  log_plan(graph, *segment, began);
  return segment;
}

}  // namespace walle::runtime
