// Floats to codes of 1 and 2 bytes and back, four vectors at a time.
#include "kernels/quant/quantize_table.h"
#include "kernels/simd.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
constexpr int kVectors = 4;
constexpr int kStep = kVectors * kLanes;

// What is added to a number below 2^22 leaves it rounded, halves to even, in the low bits.
constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
constexpr int32_t kShiftBits = 0x4b400000;

#if defined(WALLE_ISA_AVX512)
// g++ 12 warns of a register that the forms without a mask leave undefined, and drops one that is full.
constexpr __mmask16 kAll = 0xffff;
#endif

// The low byte, or the low two, of every lane. Lanes hold nothing above them.
inline void store_codes(uint8_t* y, const vi* v) {
#if defined(WALLE_ISA_AVX512)
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; ++k)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + k * kLanes),
                     _mm512_maskz_cvtepi32_epi8(kAll, reinterpret_cast<__m512i>(v[k])));
#elif defined(WALLE_ISA_AVX2)
  const auto pair = [v](int k) {
    return _mm256_packus_epi32(reinterpret_cast<__m256i>(v[k]), reinterpret_cast<__m256i>(v[k + 1]));
  };
  // Packing works within halves of a register: words of four bytes come out as 0 2 4 6 1 3 5 7.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                      _mm256_permutevar8x32_epi32(_mm256_packus_epi16(pair(0), pair(2)), order));
#elif defined(WALLE_ISA_SSE4)
  const auto pair = [v](int k) {
    return _mm_packus_epi32(reinterpret_cast<__m128i>(v[k]), reinterpret_cast<__m128i>(v[k + 1]));
  };
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(pair(0), pair(2)));
#else
  for (int k = 0; k < kVectors; ++k)
    for (int l = 0; l < kLanes; ++l) y[k * kLanes + l] = static_cast<uint8_t>(v[k][l]);
#endif
}

inline void store_codes(uint16_t* y, const vi* v) {
#if defined(WALLE_ISA_AVX512)
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; ++k)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + k * kLanes),
                        _mm512_maskz_cvtepi32_epi16(kAll, reinterpret_cast<__m512i>(v[k])));
#elif defined(WALLE_ISA_AVX2)
#pragma GCC unroll 2
  for (int k = 0; k < kVectors; k += 2)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + k * kLanes),
                        _mm256_permute4x64_epi64(_mm256_packus_epi32(reinterpret_cast<__m256i>(v[k]),
                                                                     reinterpret_cast<__m256i>(v[k + 1])),
                                                 _MM_SHUFFLE(3, 1, 2, 0)));
#elif defined(WALLE_ISA_SSE4)
#pragma GCC unroll 2
  for (int k = 0; k < kVectors; k += 2)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + k * kLanes),
                     _mm_packus_epi32(reinterpret_cast<__m128i>(v[k]), reinterpret_cast<__m128i>(v[k + 1])));
#else
  for (int k = 0; k < kVectors; ++k)
    for (int l = 0; l < kLanes; ++l) y[k * kLanes + l] = static_cast<uint16_t>(v[k][l]);
#endif
}

// A vector of codes without their signs.
inline vi load_codes(const uint8_t* x) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vi>(
      _mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
#elif defined(WALLE_ISA_AVX2)
  return reinterpret_cast<vi>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
#elif defined(WALLE_ISA_SSE4)
  int32_t four;
  memcpy(&four, x, sizeof four);
  return reinterpret_cast<vi>(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)));
#else
  vi v;
  for (int l = 0; l < kLanes; ++l) v[l] = x[l];
  return v;
#endif
}
inline vi load_codes(const uint16_t* x) {
#if defined(WALLE_ISA_AVX512)
  return reinterpret_cast<vi>(
      _mm512_maskz_cvtepu16_epi32(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
#elif defined(WALLE_ISA_AVX2)
  return reinterpret_cast<vi>(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
#elif defined(WALLE_ISA_SSE4)
  return reinterpret_cast<vi>(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
#else
  vi v;
  for (int l = 0; l < kLanes; ++l) v[l] = x[l];
  return v;
#endif
}
inline vi load_codes(const int32_t* x) { return as_int(load(reinterpret_cast<const float*>(x))); }

// A copy of the last elements, so that they go through the same instructions.
template <class T>
struct Rest {
  T at[kStep] = {};
  Rest(const T* from, int64_t n) {
    if (from) memcpy(at, from, static_cast<size_t>(n) * sizeof(T));
  }
};

// NaN is the lowest.
inline vf between(vf x, vf low, vf high) {
#if defined(__x86_64__)
  // The instructions give their second operand when either is NaN.
  return min_keep_nan(max_keep_nan(x, low), high);
#else
  const vf above = x >= low ? x : low;
  return above <= high ? above : high;
#endif
}

// All by value, and so in registers: what is written may be what is pointed to, for all that a compiler
// knows.
struct OneScale {
  vf scale, low, high;
  vi back, mask;
};

// A division takes no longer than a product by 1 / scale that is divided again next to halves, where the two
// may round differently (Zen 4: 118 us a million elements and 137).
template <class Code>
inline void quantize_step(const OneScale& q, const float* x, Code* y) {
  vi out[kVectors];
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; ++k)
    out[k] = (as_int(between(load(x + k * kLanes) / q.scale, q.low, q.high) + kShift) - q.back) & q.mask;
  store_codes(y, out);
}

template <class Code>
inline void quantize_each(const QuantCodes codes, const float* x, Code* y, const float* scale,
                          const float* zero) {
  vi out[kVectors];
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; ++k) {
    const vf z = zero ? load(zero + k * kLanes) : vf{};
    const vf q = between(load(x + k * kLanes) / load(scale + k * kLanes), codes.low - z, codes.high - z);
    out[k] = (as_int(q + kShift) - kShiftBits + to_int_truncated(z)) & codes.mask;
  }
  store_codes(y, out);
}

template <class Code>
void quantize(const float* x, void* to, int64_t n, const QuantRun& run, const QuantCodes& codes) {
  Code* y = static_cast<Code*>(to);
  int64_t i = 0;
  if (!run.each) {
    const float zero = run.zero ? *run.zero : 0.0f;
    const OneScale q{.scale = splat(*run.scale),
                     .low = splat(codes.low - zero),
                     .high = splat(codes.high - zero),
                     .back = vi{} + (kShiftBits - static_cast<int32_t>(zero)),
                     .mask = vi{} + codes.mask};
    for (; i + kStep <= n; i += kStep) quantize_step(q, x + i, y + i);
    if (i == n) return;
    const Rest<float> last(x + i, n - i);
    Code room[kStep];
    quantize_step(q, last.at, room);
    memcpy(y + i, room, static_cast<size_t>(n - i) * sizeof(Code));
    return;
  }
  for (; i + kStep <= n; i += kStep)
    quantize_each(codes, x + i, y + i, run.scale + i, run.zero ? run.zero + i : nullptr);
  if (i == n) return;
  const Rest<float> last(x + i, n - i), scales(run.scale + i, n - i);
  const Rest<float> zeros(run.zero ? run.zero + i : nullptr, n - i);
  Code room[kStep];
  quantize_each(codes, last.at, room, scales.at, zeros.at);
  memcpy(y + i, room, static_cast<size_t>(n - i) * sizeof(Code));
}

template <class Code>
void dequantize(const void* from, float* y, int64_t n, const QuantRun& run, const QuantCodes& codes) {
  const Code* x = static_cast<const Code*>(from);
  const vi mask = vi{} + codes.mask, sign = vi{} + codes.sign;
  const auto value = [mask, sign](const Code* at) {
    return to_float(((load_codes(at) & mask) ^ sign) - sign);
  };
  const vf scale = splat(run.each ? 0.0f : *run.scale);
  const vf zero = splat(run.each || !run.zero ? 0.0f : *run.zero);
  int64_t i = 0;
  if (run.each) {
    for (; i + kLanes <= n; i += kLanes) {
      const vf z = run.zero ? load(run.zero + i) : vf{};
      store(y + i, (value(x + i) - z) * load(run.scale + i));
    }
  } else {
    for (; i + kLanes <= n; i += kLanes) store(y + i, (value(x + i) - zero) * scale);
  }
  if (i == n) return;
  const Rest<Code> last(x + i, n - i);
  const vf z = run.each && run.zero ? load_n(run.zero + i, n - i) : zero;
  store_n(y + i, (value(last.at) - z) * (run.each ? load_n(run.scale + i, n - i) : scale), n - i);
}
// The least and the greatest of 0 and n numbers; both NaN where one is.
void range(const float* x, int64_t n, float* low, float* high) {
  vf least{}, most{}, also_least{}, also_most{};
  vi odd{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const vf a = load(x + i), b = load(x + i + kLanes);
    least = min_keep_nan(least, a);
    also_least = min_keep_nan(also_least, b);
    most = max_keep_nan(most, a);
    also_most = max_keep_nan(also_most, b);
    odd |= (a != a) | (b != b);
  }
  for (; i < n; i += kLanes) {
    const vf a = n - i < kLanes ? load_n(x + i, n - i) : load(x + i);
    least = min_keep_nan(least, a);
    most = max_keep_nan(most, a);
    odd |= a != a;
  }
  const bool numbers = !any(odd);
  *high = numbers ? max_lanes(max_keep_nan(most, also_most)) : __builtin_nanf("");
  *low = numbers ? -max_lanes(-min_keep_nan(least, also_least)) : __builtin_nanf("");
}
}  // namespace

extern const QuantTable kQuantF32;
const QuantTable kQuantF32 = {
    .quantize = {quantize<uint8_t>, quantize<uint16_t>},
    .dequantize = {dequantize<uint8_t>, dequantize<uint16_t>, dequantize<int32_t>},
    .range = range,
};

}  // namespace walle::kernels::WALLE_ISA_NS
