#include "kernels/eltwise/eltwise.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(EltwiseTable, kEltwiseF32, eltwise_table)

UnaryF32 unary_f32(UnaryKind kind, Isa isa, UnaryParams& params) {
  const EltwiseTable& t = eltwise_table(isa);
  // Activations first: one table serves fused epilogues and stand-alone operators, so that both round alike.
  if (const auto fused = tensor::as_activation(kind, params)) {
    params = fused->params;
    return t.activation[static_cast<int>(fused->activation)];
  }
  switch (kind) {
    case UnaryKind::exp: return t.exp;
    case UnaryKind::erf: return t.erf;
    case UnaryKind::sqrt: return t.sqrt;
    case UnaryKind::abs: return t.abs;
    case UnaryKind::neg: return t.neg;
    case UnaryKind::reciprocal: return t.reciprocal;
    case UnaryKind::log: return t.log;
    case UnaryKind::softplus: return t.softplus;
    case UnaryKind::softsign: return t.softsign;
    case UnaryKind::floor: return t.floor;
    case UnaryKind::ceil: return t.ceil;
    case UnaryKind::round: return t.round;
    case UnaryKind::sign: return t.sign;
    case UnaryKind::sin: return t.sin;
    case UnaryKind::cos: return t.cos;
    // A scale that turns negative exponents into positive ones is nobody's; the definition computes it.
    case UnaryKind::celu: return params.alpha > 0 ? t.celu : nullptr;
    case UnaryKind::selu: return t.selu;
    case UnaryKind::shrink: return t.shrink;
    case UnaryKind::thresholded_relu: return t.thresholded_relu;
    default: return nullptr;
  }
}

BinaryF32 binary_f32(BinaryKind kind, Isa isa) {
  const EltwiseTable& t = eltwise_table(isa);
  switch (kind) {
    case BinaryKind::add: return t.add;
    case BinaryKind::sub: return t.sub;
    case BinaryKind::mul: return t.mul;
    case BinaryKind::div: return t.div;
    case BinaryKind::min: return t.min;
    case BinaryKind::max: return t.max;
    case BinaryKind::prelu: return t.prelu;
    default: return nullptr;
  }
}

// Other steps come from an operand that a view strides over; gathering them into vectors costs more than the
// scalar kernel.
bool simple_runs(const Broadcast& b) {
  for (int k = 0; k < b.operands; ++k) {
    const int64_t step = b.stride[k][b.rank - 1];
    if (step != 0 && step != 1) return false;
  }
  return true;
}

}  // namespace walle::kernels
