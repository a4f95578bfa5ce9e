#include "container/host/encode_rows.h"

namespace walle::container {

Result<std::vector<ir::RuntimeValue>> encoder_inputs(std::span<const float> in, size_t rows) {
  const auto width = static_cast<int64_t>(in.size() / rows);
  WALLE_ASSIGN(Tensor given, Tensor::from(Shape{static_cast<int64_t>(rows), width}, in));
  std::vector<ir::RuntimeValue> inputs;
  inputs.emplace_back(std::move(given));
  return inputs;
}

Status take_codes(const std::vector<ir::RuntimeValue>& results, Floats& out) {
  const Tensor* made = results.empty() ? nullptr : results[0].tensor();
  if (made == nullptr || made->dtype() != DType::float32)
    return argument_error("a model whose first output is no float32 tensor",
                          "one float32 input [N, width] and output [N, codes]", "encode",
                          "choose another model");
  const std::span<const float> codes = made->as<float>();
  out.assign(codes.begin(), codes.end());
  return {};
}

}  // namespace walle::container
