#include "ops/rules/kinds.h"

#include <limits>

#include "base/unreached.h"

namespace walle::ops {

std::optional<UnaryKind> unary_kind(std::string_view op, const ir::Attributes& attrs) {
  const auto kind = tensor::unary_kind(op);
  // Opset 20 gave Gelu its attribute; as a kind of its own each form has one kernel without a branch.
  if (kind == UnaryKind::gelu && attrs.get_string("approximate", "none") == "tanh")
    return UnaryKind::gelu_tanh;
  return kind;
}

UnaryParams unary_params(UnaryKind kind, const ir::Attributes& attrs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (kind == UnaryKind::is_inf)
    return {static_cast<double>(attrs.get_int("detect_negative", 1)),
            static_cast<double>(attrs.get_int("detect_positive", 1))};
  switch (kind) {
#define WALLE_UNARY(kind, name, group, ...) \
  case UnaryKind::kind: return {};
#define WALLE_UNARY_VARIANT(kind, group, ...) \
  case UnaryKind::kind: return {};
#define WALLE_UNARY_WITH(kind, name, group, alpha, alpha_default, beta, beta_default, ...) \
  case UnaryKind::kind: return {attrs.get_float(alpha, alpha_default), attrs.get_float(beta, beta_default)};
#include "tensor/kinds/unary.inc"
  }
  return base::unreached(UnaryParams{});
}

std::optional<BinaryKind> binary_kind(std::string_view op, const ir::Attributes& attrs) {
  const auto kind = tensor::binary_kind(op);
  if (kind == BinaryKind::mod && attrs.get_int("fmod", 0) != 0) return BinaryKind::fmod;
  if (kind == BinaryKind::shift_right && attrs.get_string("direction", "RIGHT") == "LEFT")
    return BinaryKind::shift_left;
  return kind;
}

}  // namespace walle::ops
