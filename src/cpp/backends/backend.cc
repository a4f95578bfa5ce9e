#include "backends/backend.h"

namespace walle::backends {

// Cost rules speak of inferred inputs and outputs, as shape rules do, and so serve both before
// and after lowering.
ir::Cost NodeView::counted() const {
  std::vector<ir::InferInput> in;
  in.reserve(input_count());
  std::vector<ir::InferOutput> out;
  double bytes = 0;
  for (int i = 0; i < input_count(); ++i) {
    in.push_back(has(i) ? ir::InferInput{true, dtype(i), shape(i), constant(i)} : ir::InferInput{});
    if (has(i)) bytes += static_cast<double>(shape(i).elements() * dtype_size(dtype(i)));
  }
  for (int i = 0; i < output_count(); ++i) {
    out.push_back(has_output(i) ? ir::InferOutput{out_dtype(i), out_shape(i), {}} : ir::InferOutput{});
    if (has_output(i)) bytes += static_cast<double>(out_shape(i).elements() * dtype_size(out_dtype(i)));
  }
  // Without a rule the bytes are what counts: most such operators move or compare.
  if (op().cost) return op().cost(attrs(), in, out);
  return {0, bytes};
}

Result<SharedBlock> PrepareContext::shared(std::initializer_list<const Tensor*> sources,
                                           const std::string& kind,
                                           const std::function<Result<Block>()>& make) const {
  // Folding and tests run a program once: nobody to share with.
  if (constants) return constants->get({sources.begin(), sources.size()}, kind, make);
  WALLE_ASSIGN(Block block, make());
  return std::make_shared<const Block>(std::move(block));
}

SharedSlot PrepareContext::slot(std::initializer_list<const Tensor*> sources, const std::string& kind) const {
  return constants ? constants->slot({sources.begin(), sources.size()}, kind) : nullptr;
}

}  // namespace walle::backends
