// Functions of codes, per instruction set.
#include "kernels/codes/codes_lanes_simd.h"
#include "kernels/codes/codes_table.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
constexpr int64_t kChannels = 16;  // of a block

// An operand's codes less its zero point, times its factor.
template <bool Signed>
struct Operand {
  vf zero, factor;
  explicit Operand(const CodesOperand& o) : zero(splat(o.zero)), factor(splat(o.factor)) {}
  vf centred(const uint8_t* p) const { return to_float(load_codes<Signed>(p)) - zero; }
  vf operator()(const uint8_t* p) const { return centred(p) * factor; }
};

// The last codes of a run, by way of memory that holds a whole vector.
template <class Fn>
inline void over_codes(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n, Fn fn) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_codes(y + i, fn(a + i, b + i));
  if (i == n) return;
  uint8_t rest[3][kLanes] = {};
  for (int64_t q = 0; q < n - i; ++q) {
    rest[0][q] = a[i + q];
    rest[1][q] = b[i + q];
  }
  store_codes(rest[2], fn(rest[0], rest[1]));
  for (int64_t q = 0; q < n - i; ++q) y[i + q] = rest[2][q];
}

template <bool A, bool B>
void add_of(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  const Operand<A> left(op.a);
  const Operand<B> right(op.b);
  const Rounding round(op.low, op.high, op.zero);
  over_codes(a, b, y, n, [=](const uint8_t* p, const uint8_t* q) { return round(left(p) + right(q)); });
}

template <bool A, bool B>
void multiply_of(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  const Operand<A> left(op.a);
  const Operand<B> right(op.b);
  const Rounding round(op.low, op.high, op.zero);
  over_codes(a, b, y, n, [=](const uint8_t* p, const uint8_t* q) {
    return round(left.centred(p) * right.centred(q) * left.factor);
  });
}

template <bool A, bool B>
void scale_of(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t pixels) {
  const Operand<A> left(op.a);
  const Operand<B> right(op.b);
  const Rounding round(op.low, op.high, op.zero);
  for (int64_t lane = 0; lane < kChannels; lane += kLanes) {
    const vf by = right.centred(b + lane);
    for (int64_t i = lane; i < pixels * kChannels; i += kChannels)
      store_codes(y + i, round(left.centred(a + i) * by * left.factor));
  }
}

using Binary = void (*)(const CodesBinary&, const uint8_t*, const uint8_t*, uint8_t*, int64_t);
inline Binary of_signs(const CodesBinary& op, const Binary (&of)[4]) {
  return of[(op.a.is_signed ? 2 : 0) + (op.b.is_signed ? 1 : 0)];
}
void add(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  of_signs(op, {add_of<false, false>, add_of<false, true>, add_of<true, false>, add_of<true, true>})(op, a, b,
                                                                                                     y, n);
}
void multiply(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  of_signs(op, {multiply_of<false, false>, multiply_of<false, true>, multiply_of<true, false>,
                multiply_of<true, true>})(op, a, b, y, n);
}
void scale(const CodesBinary& op, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t pixels) {
  of_signs(op, {scale_of<false, false>, scale_of<false, true>, scale_of<true, false>, scale_of<true, true>})(
      op, a, b, y, pixels);
}

#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
// The table in sixteen lines of sixteen, each as what changes from the lines before it: a shuffle gives zero
// where the first bit of an index is set, so that codes less 16 for every line find changes up to their own
// line and nothing behind it. Below 128 that is all lines before; above, the first bit is clear for the last
// eight alone. 0.11 ns a code, and 0.28 one by one.
constexpr int kLines = 16;
inline void as_changes(const uint8_t* table, __m256i (&changes)[kLines]) {
  const auto line = [&](int k) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table) + k));
  };
  __m256i seen[kLines];  // of all changes up to a line
  changes[0] = seen[0] = line(0);
  for (int k = 1; k < kLines; ++k) {
    const __m256i before = k < 8 ? seen[k - 1] : _mm256_xor_si256(seen[k - 1], seen[k - 8]);
    changes[k] = _mm256_xor_si256(line(k), before);
    seen[k] = _mm256_xor_si256(seen[k - 1], changes[k]);
  }
}

int64_t lookup_lines(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n) {
  __m256i changes[kLines];
  as_changes(table, changes);
  const __m256i sixteen = _mm256_set1_epi8(16);
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256i code = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    __m256i out = _mm256_shuffle_epi8(changes[0], code);
#pragma GCC unroll 16
    for (int k = 1; k < kLines; ++k) {
      // From 8 on what has passed zero must not come round again.
      code = k <= 8 ? _mm256_sub_epi8(code, sixteen) : _mm256_subs_epi8(code, sixteen);
      out = _mm256_xor_si256(out, _mm256_shuffle_epi8(changes[k], code));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), out);
  }
  return i;
}
#else
int64_t lookup_lines(const uint8_t*, const uint8_t*, uint8_t*, int64_t) { return 0; }
#endif

void lookup(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n) {
  constexpr int64_t kWorth = 256;  // codes that pay for making the lines
  for (int64_t i = n < kWorth ? 0 : lookup_lines(x, table, y, n); i < n; ++i) y[i] = table[x[i]];
}

#if defined(WALLE_ISA_AVX512)
// 64 codes at once: each half of the table is two registers. 10 times as fast as one by one.
__attribute__((target("avx512vbmi"))) void lookup_vbmi(const uint8_t* x, const uint8_t* table, uint8_t* y,
                                                       int64_t n) {
  __m512i part[4];
  for (int q = 0; q < 4; ++q) part[q] = _mm512_maskz_loadu_epi8(~0ULL, table + 64 * q);
  for (int64_t i = 0; i < n; i += 64) {
    const __mmask64 here = n - i >= 64 ? ~0ULL : (1ULL << (n - i)) - 1;
    const __m512i codes = _mm512_maskz_loadu_epi8(here, x + i);
    const __m512i low = _mm512_permutex2var_epi8(part[0], codes, part[1]);
    const __m512i high = _mm512_permutex2var_epi8(part[2], codes, part[3]);
    _mm512_mask_storeu_epi8(y + i, here, _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high));
  }
}
#else
constexpr auto lookup_vbmi = nullptr;
#endif

typedef uint8_t pixel __attribute__((vector_size(16)));
typedef uint8_t pixel_any __attribute__((vector_size(16), aligned(1), may_alias));

inline pixel load_pixel(const uint8_t* p) { return *reinterpret_cast<const pixel_any*>(p); }
inline pixel larger(pixel a, pixel b) {
#if defined(__SSE2__)
  return reinterpret_cast<pixel>(_mm_max_epu8(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return a > b ? a : b;
#endif
}

// The steps of a window of `size`, `step` apart, that lie in [0, n) when it starts at `from`.
inline void inside(int64_t from, int64_t step, int64_t size, int64_t n, int64_t& first, int64_t& last) {
  first = from < 0 ? (-from + step - 1) / step : 0;
  last = from >= n ? 0 : (n - from + step - 1) / step;
  last = last > size ? size : last;
  last = last < first ? first : last;
}

// Maxima of pixels that lie below one another, of `rows` rows, to `out`; as wide as vectors are.
void max_of_rows(const uint8_t* x, int64_t row, int64_t rows, int64_t pixels, pixel turn, uint8_t* out) {
  const int64_t bytes = pixels * kChannels;
  int64_t at = 0;
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
  const __m256i turned = _mm256_broadcastsi128_si256(reinterpret_cast<__m128i>(turn));
  for (; at + 32 <= bytes; at += 32) {
    __m256i most = _mm256_setzero_si256();
    const uint8_t* p = x + at;
    for (int64_t i = 0; i < rows; ++i, p += row) {
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      most = _mm256_max_epu8(most, _mm256_xor_si256(v, turned));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), most);
  }
#endif
  for (; at < bytes; at += kChannels) {
    pixel most = {};
    for (int64_t i = 0; i < rows; ++i) most = larger(most, load_pixel(x + i * row + at) ^ turn);
    *reinterpret_cast<pixel_any*>(out + at) = most;
  }
}

// The maximum of a window whose columns lie `step` apart.
inline pixel max_of_columns(const uint8_t* columns, int64_t step, int64_t count) {
  pixel most = {};
  for (int64_t j = 0; j < count; ++j, columns += step) most = larger(most, load_pixel(columns));
  return most;
}

// Columns first: of windows of 3 x 3 two apart that is six maxima of an output for nine. Signed codes with
// their first bit turned are in the order of unsigned ones.
void max_pool(const WindowShape& s, bool is_signed, const uint8_t* x, int64_t row, int64_t end, uint8_t* y) {
  constexpr int64_t kPixels = 256;  // of a row, at once
  const uint8_t first_bit = is_signed ? 0x80 : 0;
  const pixel turn = pixel{} + first_bit;
  const int64_t spread = (s.kw - 1) * s.dw + 1, step = s.dw * kChannels, below = s.dh * s.w * kChannels;
  // Of windows wider than that one output at a time, and its columns one by one.
  const bool together = spread <= kPixels;
  const int64_t at_once = together ? (kPixels - spread) / s.sw + 1 : 1;
  uint8_t columns[kPixels * kChannels];
  for (; row < end; ++row) {
    int64_t i0, i1;
    inside(row * s.sh - s.pt, s.dh, s.kh, s.h, i0, i1);
    const uint8_t* const top = x + (row * s.sh - s.pt + i0 * s.dh) * s.w * kChannels;
    uint8_t* to = y + row * s.ow * kChannels;
    for (int64_t col = 0; col < s.ow; col += at_once) {
      const int64_t last = s.ow - col < at_once ? s.ow : col + at_once;
      const int64_t from = col * s.sw > s.pl ? col * s.sw - s.pl : 0;
      const int64_t met = (last - 1) * s.sw - s.pl + spread, until = met < s.w ? met : s.w;
      if (together && from < until)
        max_of_rows(top + from * kChannels, below, i1 - i0, until - from, turn, columns);
      for (int64_t c = col; c < last; ++c, to += kChannels) {
        const int64_t left = c * s.sw - s.pl;
        int64_t j0 = 0, j1 = s.kw;
        if (left < 0 || left + spread > s.w) inside(left, s.dw, s.kw, s.w, j0, j1);
        pixel most = {};
        if (together)
          most = max_of_columns(columns + (left + j0 * s.dw - from) * kChannels, step, j1 - j0);
        else
          for (int64_t j = j0; j < j1; ++j) {
            max_of_rows(top + (left + j * s.dw) * kChannels, below, i1 - i0, 1, turn, columns);
            most = larger(most, load_pixel(columns));
          }
        *reinterpret_cast<pixel_any*>(to) = most ^ turn;
      }
    }
  }
}

template <bool Signed>
void sums_of(const uint8_t* x, int64_t pixels, int32_t* out) {
  for (int64_t lane = 0; lane < kChannels; lane += kLanes) {
    vi sum[4] = {};
    int64_t p = 0;
    for (; p + 4 <= pixels; p += 4)
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) sum[q] += load_codes<Signed>(x + (p + q) * kChannels + lane);
    for (; p < pixels; ++p) sum[0] += load_codes<Signed>(x + p * kChannels + lane);
    store_ints(out + lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
}
void sums(const uint8_t* x, bool is_signed, int64_t pixels, int32_t* out) {
  is_signed ? sums_of<true>(x, pixels, out) : sums_of<false>(x, pixels, out);
}
}  // namespace

extern const CodesTable kCodes8;
const CodesTable kCodes8 = {.add = add,
                            .scale = scale,
                            .multiply = multiply,
                            .lookup = lookup,
                            .lookup_vbmi = lookup_vbmi,
                            .max_pool = max_pool,
                            .sums = sums};

}  // namespace walle::kernels::WALLE_ISA_NS
