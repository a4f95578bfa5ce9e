// The exact 8-bit product by pairs of int16.
#include "kernels/simd/pairs.h"
// Behind the words that its tiles multiply by.
#include "kernels/gemm_int8/int8_tile.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
template <bool Signed>
inline int32_t element(const uint8_t* p) {
  return Signed ? static_cast<int8_t>(*p) : *p;
}

inline uint32_t pair_of(int32_t low, int32_t high) {
  return (static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high) << 16;
}

template <bool Signed>
void pack_rows(const Int8Matrix& a, int64_t rows, int64_t k, uint32_t* out) {
  for (int64_t i = 0; i < kMr; ++i) {
    uint32_t* to = out + i;
    if (i >= rows) {
      for (int64_t l = 0; l < k; l += 2, to += kMr) *to = 0;
      continue;
    }
    const uint8_t* p = a.data + i * a.row_stride;
    const int32_t zero = a.zeros ? a.zeros[i] : a.zero;
    int64_t l = 0;
    for (; l + 1 < k; l += 2, to += kMr, p += 2 * a.col_stride)
      *to = pair_of(element<Signed>(p) - zero, element<Signed>(p + a.col_stride) - zero);
    if (l < k) *to = pair_of(element<Signed>(p) - zero, 0);
  }
}

template <bool Signed>
void pack_columns(const Int8Matrix& b, int64_t k, int64_t cols, uint32_t* out) {
  int32_t zero[kNr];
  for (int64_t j = 0; j < cols; ++j) zero[j] = b.zeros ? b.zeros[j] : b.zero;
  for (int64_t l = 0; l < k; l += 2, out += kNr) {
    const uint8_t* low = b.data + l * b.row_stride;
    const uint8_t* high = low + b.row_stride;
    const bool both = l + 1 < k;
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t at = j * b.col_stride;
      out[j] = pair_of(element<Signed>(low + at) - zero[j], both ? element<Signed>(high + at) - zero[j] : 0);
    }
    for (int64_t j = cols; j < kNr; ++j) out[j] = 0;
  }
}

void pack_a(const Int8Matrix& a, int64_t rows, int64_t k, uint32_t* out) {
  a.is_signed ? pack_rows<true>(a, rows, k, out) : pack_rows<false>(a, rows, k, out);
}
void pack_b(const Int8Matrix& b, int64_t k, int64_t cols, uint32_t* out) {
  b.is_signed ? pack_columns<true>(b, k, cols, out) : pack_columns<false>(b, k, cols, out);
}
}  // namespace

extern const Int8Table kGemmInt8;
const Int8Table kGemmInt8 = {
    .mr = kMr, .nr = kNr, .step = 2, .sums = 0, .block = block, .pack_a = pack_a, .pack_b = pack_b};

}  // namespace walle::kernels::WALLE_ISA_NS
