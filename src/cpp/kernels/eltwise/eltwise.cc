#include "kernels/eltwise/eltwise.h"

#include "base/unreached.h"

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
    case UnaryKind::asin: return t.asin;
    case UnaryKind::acos: return t.acos;
    case UnaryKind::atan: return t.atan;
    // A scale that turns negative exponents into positive ones is nobody's; the definition computes it.
    case UnaryKind::celu: return params.alpha > 0 ? t.celu : nullptr;
    case UnaryKind::selu: return t.selu;
    case UnaryKind::shrink: return t.shrink;
    case UnaryKind::thresholded_relu: return t.thresholded_relu;
    // As activations, above.
    case UnaryKind::clamp:
    case UnaryKind::elu:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::hard_sigmoid:
    case UnaryKind::hard_swish:
    case UnaryKind::leaky_relu:
    case UnaryKind::mish:
    case UnaryKind::relu:
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    // In no model that was measured: the definition computes them.
    case UnaryKind::acosh:
    case UnaryKind::asinh:
    case UnaryKind::atanh:
    case UnaryKind::cosh:
    case UnaryKind::sinh:
    case UnaryKind::tan:
    // Not from float32 to float32.
    case UnaryKind::bit_not:
    case UnaryKind::logical_not:
    case UnaryKind::is_inf:
    case UnaryKind::is_nan: return nullptr;
  }
  return base::unreached<UnaryF32>(nullptr);
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
    // The definition computes them.
    case BinaryKind::mod:
    case BinaryKind::fmod:
    case BinaryKind::floor_div:
    case BinaryKind::power:
      return nullptr;
// Written above.
#define WALLE_BINARY_arithmetic(kind)
#define WALLE_BINARY_order(kind)
// Not from float32 to float32.
#define WALLE_BINARY_REST(kind) \
  case BinaryKind::kind: return nullptr;
#include "tensor/kinds/binary.inc"
  }
  return base::unreached<BinaryF32>(nullptr);
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
