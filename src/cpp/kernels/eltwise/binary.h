// Element-wise functions of two operands with broadcasting: the reference kernels.
#pragma once

#include <type_traits>

#include "kernels/eltwise/broadcast.h"
#include "tensor/kinds.h"

namespace walle::kernels {

// out[begin, end) of a dense result. Integers wrap; division by zero gives 0; Min and Max pass NaN on, as
// NumPy does. Precondition: defined_for(kind, dtype); `b` has two operands.
void run_binary(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                int64_t begin, int64_t end);

namespace detail {
// Kinds whose bits do not depend on a sign: compiled for unsigned integers alone, which is 40 KB less.
constexpr bool ignores_sign(BinaryKind kind) {
  using K = BinaryKind;
  return kind == K::add || kind == K::sub || kind == K::mul || kind == K::equal || kind == K::bit_and ||
         kind == K::bit_or || kind == K::bit_xor || kind == K::shift_left;
}
// Whether the kind is never asked for with this type.
template <class T>
constexpr bool unsigned_does(BinaryKind kind) {
  return std::is_integral_v<T> && std::is_signed_v<T> && ignores_sign(kind);
}

void run_arithmetic(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                    int64_t begin, int64_t end);
void run_compare(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                 int64_t begin, int64_t end);
void run_bits(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
              int64_t begin, int64_t end);
}  // namespace detail

}  // namespace walle::kernels
