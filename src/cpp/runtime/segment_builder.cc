#include "runtime/segment_builder.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "runtime/claims.h"
#include "runtime/fold.h"

namespace walle::runtime {

namespace {
constexpr ops::Ref kUnset = -2;  // not asked for yet; kNoRef is an answer

// A huge graph is planned in parts, well below what lowering refuses: the last node taken may itself lower to
// many (a Split, an unrolled recurrence), and three quarters of the limit are left for it.
constexpr int64_t kPartNodes = base::kMaxPlanNodes / 4;

ops::LowerOptions lower_options(const SharedState& shared, ShapeQuestions& questions) {
  ops::LowerOptions options;
  options.fold = [&shared](const ops::Program& one_node) {
    return shared.made->folded.get(one_node, fold_program);
  };
  options.fold_limit_bytes = fold_limit(shared.options);
  options.keep_codes = shared.options.debug.fuse;
  options.keep_halves = shared.options.debug.fold;
  if (shared.options.debug.claim)
    options.claims = [&shared, &questions](const ir::OpDef& op, const ir::Attributes& attributes,
                                           std::span<const ir::InferInput> inputs,
                                           std::span<const ir::InferOutput> outputs) {
      return is_claimed(shared.backends, questions, op, attributes, inputs, outputs);
    };
  return options;
}

// A deep copy for plans to keep: live-ins may be the caller's memory.
Result<Tensor> clone(const Tensor& t) {
  WALLE_ASSIGN(Tensor out, Tensor::allocate(t.dtype(), t.shape()));
  if (t.bytes() > 0) std::memcpy(out.mutable_data(), t.data(), t.bytes());
  return out;
}
}  // namespace

SegmentBuilder::SegmentBuilder(const ir::Graph& graph, int begin, const Environment& env,
                               const SharedState& shared, ShapeQuestions& questions, const Segment* other)
    : graph_(graph),
      env_(env),
      refs_(graph.values.size(), kUnset),
      lowering_(program_, lower_options(shared, questions)),
      segment_(std::make_unique<Segment>()),
      questions_(questions),
      other_(other) {
  segment_->begin = begin;
  segment_->end = begin;
}

const ir::Node* SegmentBuilder::next() const {
  if (segment_->end == std::ssize(graph_.nodes) || std::ssize(program_.nodes) > kPartNodes) return nullptr;
  const ir::Node& node = graph_.nodes[segment_->end];
  return is_executor_node(graph_, node, env_) ? nullptr : &node;
}

Result<ops::Ref> SegmentBuilder::operand(ir::ValueId id) {
  if (id == ir::kNone) return ops::kNoRef;
  ops::Ref& r = refs_[id];
  if (r != kUnset) return r;
  const ir::Value& value = graph_.at(id);
  const ir::RuntimeValue& known = env_[id];
  if (value.constant) {
    r = lowering_.add_constant(*value.constant);
  } else if (const Tensor* t = known.tensor()) {
    const Shape shape = shape_of(id, t->shape());
    r = lowering_.add_value(t->dtype(), shape);
    program_.inputs.push_back(r);
    segment_->live_ins.push_back({id, t->dtype(), shape});
  } else if (value.kind == ir::ValueKind::optional && known.empty()) {
    r = ops::kNoRef;  // an empty optional is an omitted input
  } else {
    return model_error(known.sequence() ? "a sequence" : "a value that is never computed", "a tensor",
                       {"value '", value.name, "'"}, "check the order and the kinds of the nodes");
  }
  return r;
}

Shape SegmentBuilder::shape_of(ir::ValueId id, const Shape& shape) {
  if (!other_) return shape;
  const auto before = std::ranges::find(other_->live_ins, id, &LiveIn::id);
  if (before == other_->live_ins.end() || before->shape.rank() != shape.rank()) return shape;
  Shape out = shape;
  for (int a = 0; a < shape.rank(); ++a) out.set(a, symbol(before->shape.dim(a), shape[a]));
  return out;
}

// One symbol for all sizes that changed alike: a cache's keys and values are as long as each other.
Dim SegmentBuilder::symbol(Dim before, int64_t now) {
  if ((!before.symbolic() && before.value() == now) || now < DimTrace::kLeastSymbol) return now;
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i].value() == now && were_[i].value() == before.value() && were_[i].term() == before.term())
      return symbols_[i];
  were_.push_back(before);
  symbols_.push_back(DimTrace::current()->symbol(now));
  return symbols_.back();
}

// The elements of a value that decided sizes of another plan as well, those that changed since then as
// symbols; none where nothing became one.
std::vector<Dim> SegmentBuilder::sizes_of(ir::ValueId id, const Tensor& now) {
  if (!other_ || !may_be_sizes(now)) return {};
  const auto before = std::ranges::find(other_->dependencies, id, &ValueDependency::id);
  if (before == other_->dependencies.end() || before->value.shape() != now.shape()) return {};
  const auto were = before->value.to_i64(), are = now.to_i64();
  if (!were.ok() || !are.ok()) return {};
  std::vector<Dim> sizes;
  for (size_t i = 0; i < are->size(); ++i)
    sizes.push_back(symbol(before->sizes.empty() ? Dim((*were)[i]) : before->sizes[i], (*are)[i]));
  return std::ranges::any_of(sizes, &Dim::symbolic) ? sizes : std::vector<Dim>();
}

Result<const Tensor*> SegmentBuilder::specialise(ir::ValueId id, ops::Ref r) {
  constexpr const Tensor* kUnknown = nullptr;
  if (id == ir::kNone || r < 0) return kUnknown;
  const Tensor* t = env_[id].tensor();
  // Only what comes from outside the segment; the shape rule has seen constants already.
  if (!t || std::ranges::find(segment_->live_ins, id, &LiveIn::id) == segment_->live_ins.end())
    return kUnknown;
  if (!t->buffer() && t->bytes() > 0)
    return argument_error({"nothing but a shape for '", graph_.at(id).name, "', whose values decide sizes"},
                          "its values", {"input '", graph_.at(id).name, "'"},
                          "give prepare() the array itself in place of its shape");
  WALLE_ASSIGN(const Tensor copy, clone(*t));
  if (std::vector<Dim> sizes = sizes_of(id, copy); !sizes.empty()) {
    segment_->dependencies.push_back({id, copy, sizes});
    program_.at(r).shape = program_.at(r).shape.pinned();
    program_.at(r).sizes = std::move(sizes);
    return kUnknown;
  }
  segment_->dependencies.push_back({id, copy});
  program_.at(r).shape = program_.at(r).shape.pinned();  // a value is of one size
  program_.at(r).constant = copy;
  return &*program_.at(r).constant;
}

void SegmentBuilder::add(const ir::Node& node, const std::vector<ops::Ref>& results) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != ir::kNone) refs_[node.outputs[i]] = results[i];
  ++segment_->end;
}

Result<std::unique_ptr<Segment>> SegmentBuilder::finish(const std::vector<int>& last_use) {
  // A segment ends before a node that needs a value of the segment itself. Its first node cannot.
  if (segment_->end == segment_->begin)
    return internal_error("a value that decides a shape is not there",
                          ir::describe(graph_.nodes[segment_->begin]));
  for (int n = segment_->begin; n < segment_->end; ++n)
    for (ir::ValueId id : graph_.nodes[n].outputs) {
      if (id == ir::kNone || last_use[id] < segment_->end || refs_[id] < 0) continue;
      WALLE_TRY(lowering_.pin(refs_[id]));  // what leaves the plan is a tensor
      segment_->exports.push_back({id, program_.outputs.size()});
      program_.outputs.push_back(refs_[id]);
    }
  return std::move(segment_);
}

}  // namespace walle::runtime
