#include "base/unreached.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

namespace {
using K = BinaryKind;

// One function per kind of the class compare (tensor/kinds/binary.inc), under its name: a kind without one
// does not compile. Every comparison with NaN is false, as in IEEE 754.
template <class T>
struct Comparisons {
  static bool equal(T a, T b) { return a == b; }
  static bool greater(T a, T b) { return a > b; }
  static bool greater_equal(T a, T b) { return a >= b; }
  static bool less(T a, T b) { return a < b; }
  static bool less_equal(T a, T b) { return a <= b; }
};
}  // namespace

void run_compare(BinaryKind kind, DType dtype, const Broadcast& w, const void* x, const void* y, void* out,
                 int64_t begin, int64_t end) {
  // Results are bool whatever the operands are.
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* p = static_cast<const T*>(x);
    const auto* q = static_cast<const T*>(y);
    auto* o = static_cast<bool*>(out);
    switch (kind) {
#define WALLE_BINARY_compare(kind) \
  case K::kind: return zip(w, p, q, o, begin, end, [](T a, T b) { return Comparisons<T>::kind(a, b); });
#define WALLE_BINARY_REST(kind) \
  case K::kind: return base::unreached();
#include "tensor/kinds/binary.inc"
    }
  });
}

}  // namespace walle::kernels::detail
