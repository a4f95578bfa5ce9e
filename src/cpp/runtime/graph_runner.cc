// A run is a walk over the nodes: segments where they can be planned together, the executor's own nodes
// between them. A value is forgotten after its last reader, so that a long graph needs no more memory
// than its widest part.
#include "runtime/graph_runner.h"

#include <algorithm>

#include "base/limits.h"
#include "runtime/compile.h"
#include "runtime/declared.h"
#include "runtime/node_context.h"
#include "runtime/plan_limits.h"

namespace walle::runtime {

namespace {
// One level deeper for as long as it lives, also when something throws.
struct Level {
  explicit Level(int& d) : depth(d) { ++depth; }
  ~Level() { --depth; }
  int& depth;
};
}  // namespace

GraphRunner::GraphRunner(const ir::Graph& graph, SharedState& shared)
    : graph_(graph),
      shared_(shared),
      last_use_(graph.values.size(), -1),
      env_(graph.values.size()),
      plans_(graph, shared, times_.dropped) {
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (ir::ValueId id : graph.nodes[n].inputs)
      if (id != ir::kNone) last_use_[id] = static_cast<int>(n);
  for (ir::ValueId id : graph.outputs) last_use_[id] = static_cast<int>(graph.nodes.size());
  for (size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].constant) env_[i] = *graph.values[i].constant;
}

void GraphRunner::take(std::vector<ir::RuntimeValue> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    env_[graph_.inputs[i]] = std::move(inputs[i]);
    held_.push_back(graph_.inputs[i]);
  }
}

Result<std::vector<ir::RuntimeValue>> GraphRunner::run(std::vector<ir::RuntimeValue> inputs,
                                                       std::span<const Tensor> given) {
  if (inputs.size() != graph_.inputs.size())
    return argument_error({inputs.size(), " inputs"}, graph_.inputs.size(), {"graph '", graph_.name, "'"},
                          "pass every input once");
  take(std::move(inputs));
  Status status;
  const auto count = static_cast<int>(graph_.nodes.size());
  for (int n = 0; n < count && status.ok();) {
    if (n > 0 && shared_.control) status = shared_.control->look_if_due();
    if (status.ok()) status = run_part(n, given);
    if (n < count) release(n);
  }
  std::vector<ir::RuntimeValue> results;
  if (status.ok()) results = results_of_run();
  release(count + 1);
  if (!status.ok()) return status.take_error();
  return results;
}

Status GraphRunner::prepare(std::vector<ir::RuntimeValue> inputs) {
  take(std::move(inputs));
  Status status;
  if (!graph_.nodes.empty()) status = segment_at(0).status();
  release(static_cast<int>(graph_.nodes.size()) + 1);
  return status;
}

// Copied and not moved: constants stay for the next run, and a value may be returned under two names.
std::vector<ir::RuntimeValue> GraphRunner::results_of_run() const {
  std::vector<ir::RuntimeValue> results;
  results.reserve(graph_.outputs.size());
  for (const ir::ValueId id : graph_.outputs) results.push_back(env_[id]);
  return results;
}

// A node of the executor, or a segment; `next` moves behind it.
Status GraphRunner::run_part(int& next, std::span<const Tensor> given) {
  WALLE_ASSIGN(Segment * segment, segment_at(next));
  if (!segment) return run_node(next++);
  WALLE_TRY(run_segment(*segment, given));
  next = segment->end;
  return {};
}

// nullptr: a node of the executor. A segment that was made for these shapes answers the question that the
// operator's name would.
Result<Segment*> GraphRunner::segment_at(int begin) {
  WALLE_ASSIGN(Segment * segment, known_segment(begin));
  if (!segment) {
    if (is_executor_node(graph_, graph_.nodes[begin], env_)) return nullptr;
    WALLE_ASSIGN(segment, new_segment(begin));
  }
  plans_.use(*segment);
  return segment;
}

// Forgets values whose last reader lies before node `before`.
void GraphRunner::release(int before) {
  std::erase_if(held_, [&](ir::ValueId id) {
    if (last_use_[id] >= before) return false;
    env_[id] = ir::RuntimeValue();
    return true;
  });
}

Result<Segment*> GraphRunner::known_segment(int begin) {
  for (const auto& s : plans_.all()) {
    if (s->begin != begin) continue;
    if (!s->shapes) {
      if (s->matches(env_)) return s.get();
      continue;
    }
    WALLE_ASSIGN(const bool serves, fitted(*s));
    if (serves) return s.get();
  }
  return nullptr;
}

Result<bool> GraphRunner::fitted(Segment& segment) {
  const TimedPart timed(shared_.profiler, times_.fitting);
  const int64_t before = segment.shapes->fits();
  WALLE_ASSIGN(const bool serves, segment.serves(env_, shared_));
  if (segment.shapes->fits() != before)
    timed.record([&] {
      return ProfileEvent{.name = graph_.name, .op = "fit", .backend = "host", .algorithm = "host_fit"};
    });
  return serves;
}

// The last one, whose sizes are most like those that come.
const Segment* GraphRunner::another_segment(int begin) const {
  for (auto s = plans_.all().rbegin(); s != plans_.all().rend(); ++s)
    if ((*s)->begin == begin && (*s)->differs_in_sizes(env_)) return s->get();
  return nullptr;
}

Result<Segment*> GraphRunner::new_segment(int begin) {
  WALLE_ASSIGN(std::unique_ptr<Segment> built, build(begin));
  Segment& newest = plans_.add(std::move(built));
  keep_limits(plans_, newest, shared_);
  return &newest;
}

Result<std::unique_ptr<Segment>> GraphRunner::build(int begin) {
  // Where sizes decide the graph (a Shape that is computed with) classes have one member: they are tried
  // this often, then each shape has its plan.
  constexpr int kMaxSingle = 3;
  const TimedPart timed(shared_.profiler, times_.planning);
  int& single = single_[begin];
  const Segment* other = single < kMaxSingle ? another_segment(begin) : nullptr;
  WALLE_ASSIGN(std::unique_ptr<Segment> built,
               compile(graph_, begin, env_, last_use_, shared_, other, times_.packing));
  // A size of 0 or 1 is no symbol, and no try.
  const bool tried =
      std::ranges::any_of(built->live_ins, [](const LiveIn& in) { return in.shape.symbolic(); }) ||
      std::ranges::any_of(built->dependencies, [](const ValueDependency& d) { return !d.sizes.empty(); });
  if (tried) single = built->shapes ? 0 : single + 1;
  WALLE_TRY(check_declared(graph_, *built));
  timed.record([&] {
    return ProfileEvent{.name = graph_.name, .op = "plan", .backend = "host", .algorithm = "host_plan"};
  });
  return built;
}

void GraphRunner::drop_plans() {
  plans_.clear();
  bodies_.clear();
}

int64_t GraphRunner::plan_count() const {
  auto count = static_cast<int64_t>(plans_.all().size());
  for (const auto& [graph, runner] : bodies_) count += runner->plan_count();
  return count;
}

Status GraphRunner::run_segment(Segment& segment, std::span<const Tensor> given) {
  inputs_.clear();
  for (const LiveIn& in : segment.live_ins) inputs_.push_back(env_[in.id].tensor());
  std::vector<Tensor> wanted;
  if (!given.empty()) {
    WALLE_ASSIGN(wanted, given_to(graph_, segment, given));
  }
  WALLE_ASSIGN(std::vector<Tensor> results,
               segment.executable->run(inputs_, shared_.memory, shared_.profiler, shared_.control, wanted));
  for (const Export& e : segment.exports) {
    env_[e.id] = results[e.output];
    held_.push_back(e.id);
  }
  return {};
}

Status GraphRunner::run_node(int index) {
  const ir::Node& node = graph_.nodes[index];
  if (shared_.profiler) times_.nodes.resize(graph_.nodes.size());
  const TimedPart timed(shared_.profiler, shared_.profiler ? times_.nodes[index] : times_.planning);
  NodeContext context(*this, node);
  if (Status s = context.run(); !s.ok()) return s.take_error().within(ir::describe(node));
  timed.record([&] {
    return ProfileEvent{
        .name = node.name, .op = node.op, .backend = "host", .algorithm = host_algorithm(node)};
  });
  return {};
}

Result<std::vector<ir::RuntimeValue>> GraphRunner::run_body(const ir::Graph& body,
                                                            std::vector<ir::RuntimeValue> inputs) {
  if (shared_.depth >= base::kMaxGraphDepth)
    return model_error({"bodies nested deeper than ", base::kMaxGraphDepth}, "fewer levels",
                       {"graph '", body.name, "'"}, "flatten the control flow");
  if (shared_.control) WALLE_TRY(shared_.control->look_if_due());
  auto& runner = bodies_[&body];
  if (!runner) runner = std::make_unique<GraphRunner>(body, shared_);
  const Level level(shared_.depth);
  return runner->run(std::move(inputs));
}

}  // namespace walle::runtime
