// Decodes weights to float32, and makes codes of the other operand.
#include "kernels/simd.h"
// Behind simd.h.
#include "kernels/gemm_nbits/nbits_bits.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// All steps of word d to rows of `out`, which are nr floats apart.
template <int B>
__attribute__((noinline)) void decode_word(const NBitsPanel& b, int64_t d, float* out) {
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const vu codes = zeros_of<B>(b, v);
    const vf rest = b.zeros ? load(b.zeros + v * kLanes) : vf{};
    const vf scale = load(b.scales + v * kLanes);
    vu x = load_words(b.codes + d * kNr + v * kLanes);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
#pragma GCC unroll 8
      for (int f = 0; f < kFields<B>; ++f)
        store(out + step_of<B>(h, f) * kNr + v * kLanes,
              ((field<B>(x, f) - zero_field<B>(codes, f)) - rest) * scale);
      x >>= 16;
    }
  }
}

template <int B>
void decode_of(const NBitsDecoded& t) {
  constexpr int64_t kGranule = 2 * kFields<B>;
  float some[kGranule * kNr];
  for (int64_t l = t.from / kGranule * kGranule; l < t.to; l += kGranule) {
    if (l >= t.from && l + kGranule <= t.to) {
      decode_word<B>(t.b, l / kGranule, t.out + l * kNr);
      continue;
    }
    decode_word<B>(t.b, l / kGranule, some);
    for (int64_t i = l < t.from ? t.from : l; i < l + kGranule && i < t.to; ++i)
      memcpy(t.out + i * kNr, some + (i - l) * kNr, kNr * sizeof(float));
  }
}

void decode(const NBitsDecoded& t) {
  if (t.bits == 4) return decode_of<4>(t);
  t.bits == 8 ? decode_of<8>(t) : decode_of<2>(t);
}

// The bits of the largest magnitude, which are ordered as the magnitudes are. Loops that compilers make
// vectors of, here and below.
inline int32_t largest_bits(const float* x, int64_t count) {
  int32_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t bits = 0;
    memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  return most;
}
inline float float_of(int32_t bits) {
  float out = 0;
  memcpy(&out, &bits, sizeof out);
  return out;
}
constexpr int32_t kInfinity = 0x7f800000;

bool quantise(const NBitsLine& l) {
  const int32_t most = largest_bits(l.x, l.count);
  if (most >= kInfinity) return false;
  const float largest = float_of(most);
  *l.scale = largest / 127;
  // Of subnormal numbers alone the inverse would be infinite: they are as good as zero.
  const float inverse = largest > 1e-35f ? 127 / largest : 0;
  int32_t total = 0;
  for (int64_t i = 0; i < l.count; ++i) {
    const float shifted = l.x[i] * inverse + 12582912.0f;  // 1.5 * 2^23: rounds half to even
    int32_t bits = 0;
    memcpy(&bits, &shifted, sizeof bits);
    const auto code = static_cast<int8_t>(bits);
    l.out[i] = code;
    total += code;
  }
  *l.sums = total;
  return true;
}

bool split(const NBitsLine& l) {
  constexpr int32_t kLeast = 32 << 23;     // 2^-95: what is smaller has no room for its last bits
  constexpr int32_t kMostOf24 = 0xfefefe;  // 24 bits whose digits are 127, 127, 127 and 0
  const int32_t most = largest_bits(l.x, l.count);
  if (most >= kInfinity || (most < kLeast && most > 0)) return false;
  // What is below 2^e is below 2^31 units, or 2^30, where it would be more than digits hold.
  const int32_t exponent = most >> 23;
  const int32_t bits = ((most & 0x7fffff) | 0x800000) > kMostOf24 ? 30 : 31;
  const float factor = most ? float_of((bits + 253 - exponent) << 23) : 0;
  *l.scale = most ? float_of((1 + exponent - bits) << 23) : 0;
  int32_t total[kDigits] = {};
  for (int64_t i = 0; i < l.count; ++i) {
    auto rest = static_cast<int32_t>(l.x[i] * factor);
#pragma GCC unroll 4
    for (int p = 0; p < kDigits; ++p) {
      const auto digit = static_cast<int8_t>(rest);
      l.out[i + p * l.out_row] = digit;
      total[p] += digit;
      rest = (rest - digit) >> 8;
    }
  }
  for (int p = 0; p < kDigits; ++p) l.sums[p * l.sums_row] = total[p];
  return true;
}

}  // namespace

extern const NBitsTable kGemmNBits;
const NBitsTable kGemmNBits = {.nr = kNr, .decode = decode, .quantise = quantise, .split = split};

}  // namespace walle::kernels::WALLE_ISA_NS
