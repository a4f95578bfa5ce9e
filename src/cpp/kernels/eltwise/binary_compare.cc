#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

void run_compare(BinaryKind kind, DType dtype, const Broadcast& w, const void* x, const void* y, void* out,
                 int64_t begin, int64_t end) {
  // Results are bool whatever the operands are. Every comparison with NaN is false, as in IEEE 754.
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* p = static_cast<const T*>(x);
    const auto* q = static_cast<const T*>(y);
    auto* o = static_cast<bool*>(out);
    switch (kind) {
      case BinaryKind::equal: return zip(w, p, q, o, begin, end, [](T a, T b) { return a == b; });
      case BinaryKind::greater: return zip(w, p, q, o, begin, end, [](T a, T b) { return a > b; });
      case BinaryKind::greater_equal: return zip(w, p, q, o, begin, end, [](T a, T b) { return a >= b; });
      case BinaryKind::less: return zip(w, p, q, o, begin, end, [](T a, T b) { return a < b; });
      default: return zip(w, p, q, o, begin, end, [](T a, T b) { return a <= b; });
    }
  });
}

}  // namespace walle::kernels::detail
