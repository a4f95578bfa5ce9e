#include "ops/stored_halves.h"

#include <algorithm>

namespace walle::ops {

namespace {
bool is_widening(const Program& program, const ProgramNode& node) {
  if (node.op->name != "Cast" || node.inputs.size() != 1 || node.inputs[0] < 0) return false;
  const ProgramValue& from = program.at(node.inputs[0]);
  return from.constant && tensor::is_half_float(from.dtype) && from.shape.elements() >= kLeastStoredHalves &&
         node.attributes.get_int("to", 0) == static_cast<int64_t>(DType::float32);
}

// Nothing in 16 bits is the same number as nothing in 32, if all its bits are zeros.
bool fills_with_zeros(const raster::Raster& raster) {
  return !raster.fill ||
         std::ranges::all_of(raster.fill->bytes, [](std::byte b) { return b == std::byte{0}; });
}

// Movement copies bits, whatever they mean.
bool moves_halves(const Program& program, const ProgramNode& node) {
  if (!node.raster || node.raster->accumulate || node.inputs.empty() || !fills_with_zeros(*node.raster))
    return false;
  const auto stored = [&](Ref r) {
    const auto& constant = r < 0 ? std::nullopt : program.at(r).constant;
    return constant && is_stored_half(*constant) ? constant->stored() : DType::undefined;
  };
  const DType first = stored(node.inputs[0]);
  return first != DType::undefined &&
         std::ranges::all_of(node.inputs, [&](Ref r) { return stored(r) == first; });
}
}  // namespace

bool is_stored_half(const Tensor& constant) { return constant.stored() != constant.dtype(); }

bool stays_half(const Program& program, const ProgramNode& node) {
  return is_widening(program, node) || moves_halves(program, node);
}

Result<Tensor> fold_half(const Program& one_node,
                         const std::function<Result<std::vector<Tensor>>(const Program&)>& compute) {
  const ProgramNode& node = one_node.nodes[0];
  if (!node.raster) return Tensor::widened_late(*one_node.at(node.inputs[0]).constant);
  Program narrow = one_node;
  for (const Ref r : node.inputs) {
    ProgramValue& value = narrow.at(r);
    if (!is_stored_half(*value.constant)) continue;  // one source twice
    value.constant = value.constant->as_stored();
    value.dtype = value.constant->dtype();
    WALLE_ASSIGN(value.constant, value.constant->for_one_reading());
  }
  const DType stored = narrow.at(node.inputs[0]).dtype;
  narrow.at(node.outputs[0]).dtype = stored;
  WALLE_ASSIGN(const std::vector<Tensor> moved, compute(narrow));
  return Tensor::widened_late(moved[0]);
}

}  // namespace walle::ops
