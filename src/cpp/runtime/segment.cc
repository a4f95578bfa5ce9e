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
}  // namespace

bool Segment::same_dependencies(const Environment& env) const {
  return std::ranges::all_of(dependencies, [&](const ValueDependency& d) {
    const Tensor* t = env[d.id].tensor();
    // Of a value that is known by its shape alone (Session::prepare) nobody can tell.
    return t && (t->buffer() || t->bytes() == 0) && t->identical(d.value);
  });
}

bool Segment::differs_in_sizes(const Environment& env) const {
  return std::ranges::all_of(live_ins, [&](const LiveIn& in) { return tensor_for(in, env); }) &&
         same_dependencies(env);
}

// Sizes that are one symbol are equal; false where they, or those that are none, are not.
bool Segment::read_symbols(const Environment& env) {
  constexpr int64_t kUnread = -1;
  std::ranges::fill(symbols_, kUnread);
  for (const LiveIn& in : live_ins) {
    const Tensor* t = tensor_for(in, env);
    if (!t) return false;
    for (int a = 0; a < in.shape.rank(); ++a) {
      const int64_t size = t->shape()[a];
      const Dim d = in.shape.dim(a);
      if (!d.symbolic()) {
        if (size != d.value()) return false;
        continue;
      }
      int64_t& symbol = symbols_[shapes->symbol_of(d.term())];
      if (symbol != kUnread && symbol != size) return false;
      symbol = size;
    }
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
  if (!read_symbols(env) || !same_dependencies(env)) return false;
  return shapes->fit(symbols_, shared);
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
