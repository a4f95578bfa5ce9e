#include "ir/infer.h"

namespace walle::ir {

Result<const Tensor*> InferContext::need(int i) {
  if (i < 0 || !has(i))
    return model_error({"input ", i, " is missing"}, "a tensor", "inputs", "connect the input");
  if (const Tensor* known = constant(i)) return known;
  if (fetch_) {
    if (const Tensor* value = fetch_(i)) return value;
  }
  // The error only ends the rule: the planner asks missing() first and never shows it.
  missing_ = i;
  return internal_error({"the value of input ", i, " is not known yet"}, "shape inference");
}

Result<std::vector<int64_t>> InferContext::need_i64(int i) {
  WALLE_ASSIGN(const Tensor* value, need(i));
  return value->to_i64();
}

}  // namespace walle::ir
