#include "kernels/eltwise/binary.h"

#include <algorithm>
#include <utility>

namespace walle::kernels {

namespace {
using K = BinaryKind;

constexpr std::pair<std::string_view, K> kNames[] = {
    {"Add", K::add},
    {"Sub", K::sub},
    {"Mul", K::mul},
    {"Div", K::div},
    {"Mod", K::mod},
    {"Power", K::power},
    {"Min2", K::min},
    {"Max2", K::max},
    {"PRelu", K::prelu},
    {"And", K::logical_and},
    {"Or", K::logical_or},
    {"Xor", K::logical_xor},
    {"BitwiseAnd", K::bit_and},
    {"BitwiseOr", K::bit_or},
    {"BitwiseXor", K::bit_xor},
    {"BitShift", K::shift_right},
    {"Equal", K::equal},
    {"Greater", K::greater},
    {"GreaterOrEqual", K::greater_equal},
    {"Less", K::less},
    {"LessOrEqual", K::less_equal},
};
}  // namespace

std::optional<BinaryKind> binary_kind(std::string_view op, bool fmod, bool left) {
  const auto it = std::ranges::find(kNames, op, &std::pair<std::string_view, K>::first);
  if (it == std::end(kNames)) return std::nullopt;
  if (it->second == K::mod && fmod) return K::fmod;
  if (it->second == K::shift_right && left) return K::shift_left;
  return it->second;
}

bool binary_supports(BinaryKind kind, DType dtype) {
  const bool floating = dtype == DType::float32 || dtype == DType::float64;
  if (kind <= K::prelu)
    return floating || tensor::is_integer(dtype) ||
           (dtype == DType::boolean && (kind == K::min || kind == K::max));
  if (kind <= K::logical_xor) return dtype == DType::boolean;
  if (kind <= K::shift_right) return tensor::is_integer(dtype);
  return floating || tensor::is_integer(dtype) || dtype == DType::boolean;
}

void run_binary(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                int64_t begin, int64_t end) {
  if (begin >= end) return;
  // A bool is a byte of 0 or 1: min is and, max is or, and it compares as an integer.
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  if (kind <= K::prelu) return detail::run_arithmetic(kind, as, b, x, y, out, begin, end);
  if (kind <= K::shift_right) return detail::run_bits(kind, as, b, x, y, out, begin, end);
  detail::run_compare(kind, as, b, x, y, out, begin, end);
}

}  // namespace walle::kernels
