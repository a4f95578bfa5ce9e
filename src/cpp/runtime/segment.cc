#include "runtime/segment.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/log.h"
#include "ops/registry.h"
#include "runtime/fold.h"

namespace walle::runtime {

bool Segment::matches(const std::vector<ir::RuntimeValue>& env) const {
  for (const LiveIn& in : live_ins) {
    const Tensor* t = env[static_cast<size_t>(in.id)].tensor();
    if (!t || t->dtype() != in.dtype || !(t->shape() == in.shape)) return false;
  }
  return std::ranges::all_of(dependencies, [&](const ValueDependency& d) {
    const Tensor* t = env[static_cast<size_t>(d.id)].tensor();
    return t && t->identical(d.value);
  });
}

bool is_executor_node(const ir::Graph& graph, const ir::Node& node,
                      const std::vector<ir::RuntimeValue>& env) {
  const ir::OpDef* def = ops::find_op(node.op);
  if (def && def->op_class == ir::OpClass::control) return true;
  if (node.op != "Identity" || node.inputs.size() != 1 || node.inputs[0] == ir::kNone) return false;
  const auto id = static_cast<size_t>(node.inputs[0]);
  return graph.values[id].kind != ir::ValueKind::tensor || env[id].sequence() != nullptr;
}

namespace {

// A deep copy for plans to keep: live-ins may be the caller's memory.
Result<Tensor> clone(const Tensor& t) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(t.dtype(), t.shape()));
  if (t.bytes() > 0) std::memcpy(out.mutable_data(), t.data(), static_cast<size_t>(t.bytes()));
  return out;
}

class Builder {
 public:
  Builder(const ir::Graph& graph, int begin, const std::vector<ir::RuntimeValue>& env, SharedState& shared)
      : graph_(graph),
        env_(env),
        shared_(shared),
        refs_(graph.values.size(), kUnset),
        lowering_(program_, lower_options()),
        segment_(std::make_unique<Segment>()) {
    segment_->begin = segment_->end = begin;
  }

  Result<std::unique_ptr<Segment>> build(const std::vector<int>& last_use) {
    const auto count = static_cast<int>(graph_.nodes.size());
    for (int n = segment_->begin; n < count; ++n) {
      const ir::Node& node = graph_.nodes[static_cast<size_t>(n)];
      if (is_executor_node(graph_, node, env_)) break;
      if (static_cast<int64_t>(program_.nodes.size()) > kPartNodes)
        break;  // a huge graph is planned in parts
      WALLE_ASSIGN(const bool added, add_node(node));
      if (!added) break;
      segment_->end = n + 1;
    }
    if (segment_->end == segment_->begin)
      return internal_error("a value that decides a shape is not there",
                            ir::describe(graph_.nodes[static_cast<size_t>(segment_->begin)]));
    export_results(last_use);
    WALLE_ASSIGN(segment_->executable, Executable::compile(std::move(program_), shared_.backends,
                                                           shared_.options, shared_.constants));
    return std::move(segment_);
  }

 private:
  static constexpr ops::Ref kUnset = -2;
  static constexpr int64_t kShapeValueBytes = 1024;
  static constexpr int64_t kPartNodes = base::kMaxPlanNodes / 4;

  ops::LowerOptions lower_options() {
    ops::LowerOptions o;
    o.fold = fold_program;
    // Values that decide shapes are always computed while planning; without the option, nothing larger is.
    if (!shared_.options.fold) o.fold_limit_bytes = kShapeValueBytes;
    if (shared_.options.claim)
      o.claims = [this](const ir::OpDef& op, const ir::Attributes& attributes,
                        std::span<const ir::InferInput> inputs, std::span<const ir::InferOutput> outputs) {
        return claimed(op, attributes, inputs, outputs);
      };
    return o;
  }

  bool claimed(const ir::OpDef& op, const ir::Attributes& attributes, std::span<const ir::InferInput> inputs,
               std::span<const ir::InferOutput> outputs) const {
    ops::Program one;
    ops::ProgramNode node{&op, attributes, {}, {}, "", {}, {}};
    for (const ir::InferInput& in : inputs) {
      if (in.present)
        one.values.push_back(
            {in.dtype, in.shape, in.constant ? std::optional<Tensor>(*in.constant) : std::nullopt});
      node.inputs.push_back(in.present ? static_cast<ops::Ref>(one.values.size() - 1) : ops::kNoRef);
    }
    for (const ir::InferOutput& out : outputs) {
      if (out.dtype != DType::undefined) one.values.push_back({out.dtype, out.shape, std::nullopt});
      node.outputs.push_back(out.dtype != DType::undefined ? static_cast<ops::Ref>(one.values.size() - 1)
                                                           : ops::kNoRef);
    }
    const backends::NodeView view(one, node);
    return std::ranges::any_of(shared_.backends,
                               [&](const backends::Backend* b) { return b->supports(view); });
  }

  Result<ops::Ref> ref_of(ir::ValueId id) {
    if (id == ir::kNone) return ops::kNoRef;
    ops::Ref& r = refs_[static_cast<size_t>(id)];
    if (r != kUnset) return r;
    const ir::Value& value = graph_.at(id);
    const ir::RuntimeValue& known = env_[static_cast<size_t>(id)];
    if (value.constant) {
      r = lowering_.add_constant(*value.constant);
    } else if (const Tensor* t = known.tensor()) {
      r = lowering_.add_value(t->dtype(), t->shape());
      program_.inputs.push_back(r);
      segment_->live_ins.push_back({id, t->dtype(), t->shape()});
    } else if (value.kind == ir::ValueKind::optional && known.empty()) {
      r = ops::kNoRef;  // an empty optional is an omitted input
    } else {
      return model_error(known.sequence() ? "a sequence" : "a value that is never computed", "a tensor",
                         "value '" + value.name + "'", "check the order and the kinds of the nodes");
    }
    return r;
  }

  // The run-time value of an input, made a constant of this plan. Without memory for it nullptr, with
  // failure_ set: shape rules can only say that the value is missing.
  const Tensor* fetch(ir::ValueId id, ops::Ref r) {
    if (id == ir::kNone || r < 0) return nullptr;
    const Tensor* t = env_[static_cast<size_t>(id)].tensor();
    const auto live = std::ranges::find(segment_->live_ins, id, &LiveIn::id);
    if (!t || live == segment_->live_ins.end()) return nullptr;
    auto copy = clone(*t);
    if (!copy.ok()) {
      failure_ = copy.status();
      return nullptr;
    }
    segment_->dependencies.push_back({id, *copy});
    program_.at(r).constant = *copy;
    return &*program_.at(r).constant;
  }

  // False: this node needs a value that this segment computes; end the segment before it.
  Result<bool> add_node(const ir::Node& node) {
    const ir::OpDef* def = ops::find_op(node.op);
    if (!def)
      return model_error("operator '" + node.op + "'", "an operator of the table", ir::describe(node),
                         "see `walle inspect ops`");
    std::vector<ops::Ref> inputs;
    std::vector<ir::InferInput> seen;
    for (ir::ValueId id : node.inputs) {
      auto r = ref_of(id);
      if (!r.ok()) return Error(r.error()).within(ir::describe(node));
      inputs.push_back(*r);
      seen.push_back(lowering_.infer_input(*r));
    }
    const auto fewest = static_cast<size_t>(def->inputs.min);
    for (size_t i = 0; i < fewest; ++i)
      if (i >= inputs.size() || inputs[i] < 0)
        return model_error("input " + std::to_string(i) + " is missing", std::to_string(fewest) + " inputs",
                           ir::describe(node), "connect the input");
    ir::InferContext context(node.attributes, seen, static_cast<int>(node.outputs.size()), [&](int i) {
      const Tensor* value = fetch(node.inputs[static_cast<size_t>(i)], inputs[static_cast<size_t>(i)]);
      seen[static_cast<size_t>(i)].constant = value;
      return value;
    });
    Status s = def->infer(context);
    if (!failure_.ok()) return failure_.take_error().within(ir::describe(node));
    if (!s.ok()) {
      if (context.missing()) return false;
      return s.take_error().within(ir::describe(node));
    }
    WALLE_ASSIGN(const std::vector<ops::Ref> results,
                 lowering_.apply_inferred(*def, node.attributes, inputs, context.outputs(), node.name));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != ir::kNone) refs_[static_cast<size_t>(node.outputs[i])] = results[i];
    return true;
  }

  void export_results(const std::vector<int>& last_use) {
    for (int n = segment_->begin; n < segment_->end; ++n) {
      for (ir::ValueId id : graph_.nodes[static_cast<size_t>(n)].outputs) {
        if (id == ir::kNone || last_use[static_cast<size_t>(id)] < segment_->end) continue;
        const ops::Ref r = refs_[static_cast<size_t>(id)];
        if (r < 0) continue;
        segment_->exports.push_back({id, program_.outputs.size()});
        program_.outputs.push_back(r);
      }
    }
  }

  const ir::Graph& graph_;
  const std::vector<ir::RuntimeValue>& env_;
  SharedState& shared_;
  ops::Program program_;
  std::vector<ops::Ref> refs_;
  ops::Lowering lowering_;
  std::unique_ptr<Segment> segment_;
  Status failure_;  // of the last fetch()
};

// One line per plan: it says why the first run with new shapes took longer.
void log_plan(const ir::Graph& graph, const Segment& segment, std::chrono::steady_clock::time_point began) {
  if (!base::log_enabled(base::LogLevel::debug)) return;
  const search::Plan& plan = segment.executable->plan();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  char figures[128];
  std::snprintf(figures, sizeof figures, "%zu steps, arena %.2f MB, predicted %.3f ms, planned in %.3f ms",
                plan.steps.size(), static_cast<double>(plan.arena_bytes()) / 1e6, plan.predicted_ms,
                took.count());
  base::log(base::LogLevel::debug, "nodes " + std::to_string(segment.begin) + " to " +
                                       std::to_string(segment.end - 1) + " of graph '" + graph.name +
                                       "': " + figures);
}

}  // namespace

Result<std::unique_ptr<Segment>> build_segment(const ir::Graph& graph, int begin,
                                               const std::vector<ir::RuntimeValue>& env,
                                               const std::vector<int>& last_use, SharedState& shared) {
  const auto began = std::chrono::steady_clock::now();
  WALLE_ASSIGN(std::unique_ptr<Segment> built, Builder(graph, begin, env, shared).build(last_use));
  log_plan(graph, *built, began);
  return built;
}

}  // namespace walle::runtime
