#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

namespace {
using K = BinaryKind;

// A shift by the width or more is undefined in C++; here everything
// has moved out. Right shifts of signed values keep the sign.
template <class T>
T shift_left(T a, T b) {
  constexpr int kBits = static_cast<int>(sizeof(T) * 8);
  return b < 0 || b >= static_cast<T>(kBits) ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << b);
}

template <class T>
T shift_right(T a, T b) {
  constexpr int kBits = static_cast<int>(sizeof(T) * 8);
  if (b < 0 || b >= static_cast<T>(kBits)) return a < 0 ? static_cast<T>(~T(0)) : T(0);
  return static_cast<T>(a >> b);
}
}  // namespace

void run_bits(BinaryKind kind, DType dtype, const Broadcast& w, const void* x, const void* y, void* out,
              int64_t begin, int64_t end) {
  tensor::visit_integer(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* p = static_cast<const T*>(x);
    const auto* q = static_cast<const T*>(y);
    auto* o = static_cast<T*>(out);
    switch (kind) {
      case K::logical_and:
      case K::bit_and: return zip(w, p, q, o, begin, end, [](T a, T b) { return static_cast<T>(a & b); });
      case K::logical_or:
      case K::bit_or: return zip(w, p, q, o, begin, end, [](T a, T b) { return static_cast<T>(a | b); });
      case K::logical_xor:
      case K::bit_xor: return zip(w, p, q, o, begin, end, [](T a, T b) { return static_cast<T>(a ^ b); });
      case K::shift_left: return zip(w, p, q, o, begin, end, shift_left<T>);
      default: return zip(w, p, q, o, begin, end, shift_right<T>);
    }
  });
}

}  // namespace walle::kernels::detail
