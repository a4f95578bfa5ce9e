#include "kernels/eltwise/binary.h"

namespace walle::kernels {

void run_binary(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                int64_t begin, int64_t end) {
  if (begin >= end) return;
  // A bool is a byte of 0 or 1: min is and, max is or, and it compares as an integer.
  const DType as = dtype == DType::boolean ? DType::uint8 : dtype;
  // One file per class, because every kind is compiled for some ten dtypes: together they would be the
  // slowest file of the build.
  switch (tensor::binary_class(kind)) {
    case tensor::BinaryClass::arithmetic:
    case tensor::BinaryClass::order: return detail::run_arithmetic(kind, as, b, x, y, out, begin, end);
    case tensor::BinaryClass::logic:
    case tensor::BinaryClass::bits: return detail::run_bits(kind, as, b, x, y, out, begin, end);
    case tensor::BinaryClass::compare: return detail::run_compare(kind, as, b, x, y, out, begin, end);
  }
}

}  // namespace walle::kernels
