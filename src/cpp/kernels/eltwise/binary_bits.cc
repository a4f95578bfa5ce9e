#include "base/unreached.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

namespace {
using K = BinaryKind;

// One function per kind of the class bits (tensor/kinds/binary.inc), under its name: a kind without one does
// not compile.
template <class T>
struct Bits {
  static T bit_and(T a, T b) { return static_cast<T>(a & b); }
  static T bit_or(T a, T b) { return static_cast<T>(a | b); }
  static T bit_xor(T a, T b) { return static_cast<T>(a ^ b); }
  // A shift by the width or more is undefined in C++; here everything has moved out. Right shifts of signed
  // values keep the sign.
  static constexpr int kBits = static_cast<int>(sizeof(T) * 8);
  static T shift_left(T a, T b) {
    return b < 0 || b >= static_cast<T>(kBits) ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << b);
  }
  static T shift_right(T a, T b) {
    if (b < 0 || b >= static_cast<T>(kBits)) return a < 0 ? static_cast<T>(~T(0)) : T(0);
    return static_cast<T>(a >> b);
  }
};
}  // namespace

void run_bits(BinaryKind kind, DType dtype, const Broadcast& w, const void* x, const void* y, void* out,
              int64_t begin, int64_t end) {
  tensor::visit_integer(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* p = static_cast<const T*>(x);
    const auto* q = static_cast<const T*>(y);
    auto* o = static_cast<T*>(out);
    switch (kind) {
#define WALLE_BINARY_bits(kind)                                                         \
  case K::kind:                                                                         \
    if constexpr (!unsigned_does<T>(K::kind))                                           \
      return zip(w, p, q, o, begin, end, [](T a, T b) { return Bits<T>::kind(a, b); }); \
    return base::unreached();
#define WALLE_BINARY_REST(kind) \
  case K::kind: return base::unreached();
#include "tensor/kinds/binary.inc"
    }
  });
}

}  // namespace walle::kernels::detail
