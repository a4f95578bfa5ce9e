#include "kernels/eltwise/saturate.h"

#include <type_traits>

#include "tensor/half.h"

namespace walle::kernels {

namespace {
using tensor::BFloat16;
using tensor::Half;

// As integers of T, of which `bits` count: codes of 2 and 4 bits keep the others 0.
template <class T, class From>
void saturate(const From* from, void* to, int64_t n, int bits) {
  using Work = std::conditional_t<std::is_same_v<From, double>, double, float>;
  const int width = std::is_signed_v<T> ? bits - 1 : bits;
  const Work high = static_cast<Work>((1 << width) - 1);
  const Work low = std::is_signed_v<T> ? -high - 1 : Work(0);
  const auto mask = static_cast<std::make_unsigned_t<T>>((1 << bits) - 1);
  T* out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<Work>(from[i]);
    const Work above = v >= low ? v : low;  // NaN compares as false
    out[i] = static_cast<T>(static_cast<int32_t>(above <= high ? above : high) & mask);
  }
}

template <class From>
void saturate_to(DType to_dtype, const From* from, void* to, int64_t n) {
  const int bits = tensor::dtype_bits(to_dtype);
  if (tensor::has_signed_code(to_dtype))
    return bits <= 8 ? saturate<int8_t>(from, to, n, bits) : saturate<int16_t>(from, to, n, bits);
  return bits <= 8 ? saturate<uint8_t>(from, to, n, bits) : saturate<uint16_t>(from, to, n, bits);
}
}  // namespace

bool can_saturate(DType from, DType to) {
  const bool computed = tensor::is_native_float(from) || tensor::is_half_float(from);
  const bool integer = tensor::is_integer(to) || tensor::is_tiny_integer(to);
  return computed && integer && tensor::dtype_bits(to) <= 16;
}

void run_saturate(DType from_dtype, const void* from, DType to_dtype, void* to, int64_t n) {
  tensor::visit<tensor::DTypeClass::floating, tensor::DTypeClass::half>(from_dtype, [&](auto tag) {
    using From = typename decltype(tag)::type;
    saturate_to(to_dtype, static_cast<const From*>(from), to, n);
  });
}

}  // namespace walle::kernels
