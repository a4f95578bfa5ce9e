// Numbers of 16 bits where float32 is computed with: as they are, as panels of a matrix product, and as the B
// of one row, which takes as long as reading it (half as long as float32's from memory).
#include "kernels/gemm/row_simd.h"
#include "kernels/halves/halves_table.h"
#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
template <class H>
void widen(const uint16_t* from, float* y, int64_t n) {
  const auto* x = reinterpret_cast<const H*>(from);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, load(x + i));
  for (; i < n; ++i) y[i] = one(x + i);
}

template <class H>
void fill(const uint16_t* from, int64_t row_stride, int64_t k, int64_t cols, float* out) {
  const auto* b = reinterpret_cast<const H*>(from);
  const int64_t whole = cols / kNr;
  const int64_t rest = cols - whole * kNr;
  for (int64_t l = 0; l < k; ++l, b += row_stride, out += kNr) {
    for (int64_t q = 0; q < whole; ++q)
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        store(out + q * k * kNr + v * kLanes, load(b + q * kNr + v * kLanes));
    if (rest == 0) continue;
    float* edge = out + whole * k * kNr;
    for (int64_t j = 0; j < kNr; ++j) edge[j] = j < rest ? one(b + whole * kNr + j) : 0;
  }
}

template <class H>
void row(const GemmBlock& t, const uint16_t* b) {
  row_by_plain_b(t, reinterpret_cast<const H*>(b));
}

template <class H>
constexpr HalfForm kForm{.widen = widen<H>, .fill = fill<H>, .row = row<H>};
}  // namespace

extern const HalvesTable kHalves;
const HalvesTable kHalves = {.float16 = kForm<Float16>, .bfloat16 = kForm<BFloat16>};

}  // namespace walle::kernels::WALLE_ISA_NS
