#include "runtime/segment.h"

#include <algorithm>

#include "ops/registry.h"

namespace walle::runtime {

namespace {
// The tensor that is there, of this type and rank.
const Tensor* tensor_for(const LiveIn& in, const Environment& env) {
  const Tensor* t = env[in.id].tensor();
  return t && t->dtype() == in.dtype && t->shape().rank() == in.shape.rank() ? t : nullptr;
}

constexpr int64_t kUnread = -1;  // of a symbol

// The value that is there for one that decided sizes, of its type and shape. Of a value that is known by its
// shape alone (Session::prepare) nobody can tell.
const Tensor* value_for(const ValueDependency& d, const Environment& env) {
  const Tensor* t = env[d.id].tensor();
  const bool there = t && (t->buffer() || t->bytes() == 0);
  return there && t->dtype() == d.value.dtype() && t->shape() == d.value.shape() ? t : nullptr;
}
}  // namespace

bool Segment::same_dependencies(const Environment& env) const {
  return std::ranges::all_of(dependencies, [&](const ValueDependency& d) {
    const Tensor* t = value_for(d, env);
    return t && ((shapes && !d.sizes.empty()) || t->identical(d.value));
  });
}

bool Segment::differs_in_sizes(const Environment& env) const {
  return std::ranges::all_of(live_ins, [&](const LiveIn& in) { return tensor_for(in, env); }) &&
         std::ranges::all_of(dependencies, [&](const ValueDependency& d) {
           const Tensor* t = value_for(d, env);
           return t && (may_be_sizes(*t) || t->identical(d.value));
         });
}

bool Segment::read_symbol(Dim d, int64_t size) {
  if (!d.symbolic()) return size == d.value();
  int64_t& symbol = symbols_[shapes->symbol_of(d.term())];
  if (symbol != kUnread && symbol != size) return false;
  symbol = size;
  return true;
}

// Sizes that are one symbol are equal; false where they, or those that are none, are not.
bool Segment::read_symbols(const Environment& env) {
  std::ranges::fill(symbols_, kUnread);
  for (const LiveIn& in : live_ins) {
    const Tensor* t = tensor_for(in, env);
    if (!t) return false;
    for (int a = 0; a < in.shape.rank(); ++a)
      if (!read_symbol(in.shape.dim(a), t->shape()[a])) return false;
  }
  for (const ValueDependency& d : dependencies) {
    if (d.sizes.empty()) continue;
    const auto values = env[d.id].tensor()->to_i64();
    for (size_t i = 0; values.ok() && i < d.sizes.size(); ++i)
      if (!read_symbol(d.sizes[i], (*values)[i])) return false;
  }
  return true;
}

bool Segment::matches(const Environment& env) const {
  for (const LiveIn& in : live_ins) {
    const Tensor* t = env[in.id].tensor();
    if (!t || t->dtype() != in.dtype || !(t->shape() == in.shape)) return false;
  }
  return same_dependencies(env);
}

Result<bool> Segment::serves(const Environment& env, SharedState& shared) {
  symbols_.resize(shapes->symbol_count());
  if (!same_dependencies(env) || !read_symbols(env)) return false;
  return shapes->fit(symbols_, shared);
}

bool may_be_sizes(const Tensor& t) {
  constexpr int64_t kMostSizes = 16;  // two for each axis
  return (t.dtype() == DType::int64 || t.dtype() == DType::int32) && t.elements() <= kMostSizes;
}

bool is_executor_node(const ir::Graph& graph, const ir::Node& node, const Environment& env) {
  const ir::OpDef* def = ops::find_op(node.op);
  if (def && def->op_class == ir::OpClass::control) return true;
  // Identity is the one operator of ONNX that takes tensors, sequences and optionals alike; what a loop
  // carries often has no declared kind, so the value that is there is asked as well.
  if (node.op != "Identity" || node.inputs.size() != 1 || node.inputs[0] == ir::kNone) return false;
  const ir::ValueId id = node.inputs[0];
  return graph.at(id).kind != ir::ValueKind::tensor || env[id].sequence() != nullptr;
}

}  // namespace walle::runtime
