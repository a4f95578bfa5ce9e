#include <utility>

#include "base/unreached.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

namespace {
using K = BinaryKind;

// One function per kind of the class compare (tensor/kinds/binary.inc), under its name, but for those that
// are another one with its operands exchanged. Every comparison with NaN is false, as in IEEE 754.
template <class T>
struct Comparisons {
  static bool equal(T a, T b) { return a == b; }
  static bool less(T a, T b) { return a < b; }
  static bool less_equal(T a, T b) { return a <= b; }
};

constexpr K exchanged(K kind) {
  return kind == K::greater ? K::less : kind == K::greater_equal ? K::less_equal : kind;
}
constexpr bool known(K kind) { return kind == K::equal || kind == K::less || kind == K::less_equal; }
#define WALLE_BINARY_compare(kind) static_assert(known(exchanged(K::kind)));
#define WALLE_BINARY_REST(kind)
#include "tensor/kinds/binary.inc"

template <class T>
void compare(K kind, const Broadcast& w, const T* p, const T* q, bool* o, int64_t begin, int64_t end) {
#define WALLE_COMPARE(name)                 \
  if constexpr (!unsigned_does<T>(K::name)) \
    if (kind == K::name)                    \
      return zip(w, p, q, o, begin, end, [](T a, T b) { return Comparisons<T>::name(a, b); });
  WALLE_COMPARE(equal)
  WALLE_COMPARE(less)
  WALLE_COMPARE(less_equal)
#undef WALLE_COMPARE
  base::unreached();
}
}  // namespace

void run_compare(BinaryKind kind, DType dtype, const Broadcast& w, const void* x, const void* y, void* out,
                 int64_t begin, int64_t end) {
  const K as = exchanged(kind);
  Broadcast b = w;
  if (as != kind) {
    std::swap(b.stride[0], b.stride[1]);
    std::swap(x, y);
  }
  // Results are bool whatever the operands are.
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    compare(as, b, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<bool*>(out), begin, end);
  });
}

}  // namespace walle::kernels::detail
