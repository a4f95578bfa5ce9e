// Floats to codes and back, on every instruction set, against the definition element by element.
#include "kernels/quant/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "seed.h"

namespace walle::kernels {
namespace {

constexpr DType kCodes[] = {DType::uint8, DType::int8, DType::uint16, DType::int16,
                            DType::uint4, DType::int4, DType::uint2,  DType::int2};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// In words of ONNX: y = saturate(round(x / scale) + zero), every step in float32.
int32_t quantized(float x, float scale, float zero, DType to) {
  const int bits = tensor::dtype_bits(to);
  const bool is_signed = tensor::has_signed_code(to);
  const float high = static_cast<float>((1 << (is_signed ? bits - 1 : bits)) - 1);
  const float low = is_signed ? -high - 1 : 0;
  const float y = std::nearbyint(x / scale) + zero;
  return static_cast<int32_t>(!(y >= low) ? low : y > high ? high : y);
}

int64_t scale_of(const QuantAxes& a, int64_t i) {
  const int64_t o = i / (a.axis * a.inner), at = i / a.inner % a.axis, in = i % a.inner;
  if (a.block == 0) return at;
  const int64_t blocks = (a.axis + a.block - 1) / a.block;
  return (o * blocks + at / a.block) * a.inner + in;
}

class Quantisation {
 public:
  explicit Quantisation(uint32_t seed) : random_(seed) {}

  void one(Isa isa) {
    const DType dtype = pick(9) == 0 ? DType::int32 : kCodes[pick(8)];
    const QuantAxes axes = some_axes();
    const int threads = 1 + static_cast<int>(pick(2));
    const int64_t n = axes.elements();
    const std::vector<float> scales = some_scales(axes.scales());
    std::vector<float> zeros;
    if (pick(3))
      for (int64_t i = 0; i < axes.scales(); ++i) zeros.push_back(static_cast<float>(some_code(dtype)));
    const float* zero = zeros.empty() ? nullptr : zeros.data();
    const auto zero_at = [&](int64_t i) { return zero ? zeros[scale_of(axes, i)] : 0.0f; };
    const int64_t size = dtype_size(dtype);
    const std::string where = std::string(isa_name(isa)) + ' ' + std::string(dtype_name(dtype)) + ' ' +
                              std::to_string(axes.outer) + 'x' + std::to_string(axes.axis) + 'x' +
                              std::to_string(axes.inner) + " blocks of " + std::to_string(axes.block);

    // Codes of 1, 2 or 4 bytes at addresses that are multiples of nothing more.
    const int64_t shift = pick(3);
    std::vector<std::byte> codes((n + shift + 1) * size, std::byte{0x5a});
    std::byte* at = codes.data() + shift * size;
    if (dtype != DType::int32) {
      std::vector<float> x(n + 1);
      for (int64_t i = 0; i < n; ++i) x[i + 1] = some_float(scales[scale_of(axes, i)]);
      run_quantize(quant_table(isa), dtype, axes, x.data() + 1, scales.data(), zero, at, threads);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(read(at, i, dtype), quantized(x[i + 1], scales[scale_of(axes, i)], zero_at(i), dtype))
            << where << ": " << x[i + 1] << " by " << scales[scale_of(axes, i)] << " and " << zero_at(i);
      ASSERT_EQ(codes.back(), std::byte{0x5a}) << where;
    } else {
      for (int64_t i = 0; i < n * size; ++i) at[i] = static_cast<std::byte>(random_());
    }
    std::vector<float> back(n + 1, 77);
    run_dequantize(quant_table(isa), dtype, axes, at, scales.data(), zero, back.data(), threads);
    for (int64_t i = 0; i < n; ++i) {
      const float want = (static_cast<float>(read(at, i, dtype)) - zero_at(i)) * scales[scale_of(axes, i)];
      ASSERT_TRUE(want == back[i] || (want != want && back[i] != back[i])) << where << ": " << back[i];
    }
    ASSERT_EQ(back[n], 77) << where;
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  static int32_t read(const std::byte* at, int64_t i, DType dtype) {
    if (dtype == DType::int32) return reinterpret_cast<const int32_t*>(at)[i];
    const int bits = tensor::dtype_bits(dtype);
    const uint32_t code =
        dtype_size(dtype) == 1 ? static_cast<uint32_t>(at[i]) : reinterpret_cast<const uint16_t*>(at)[i];
    EXPECT_EQ(code >> bits, 0u);
    const bool negative = tensor::has_signed_code(dtype) && code >> (bits - 1);
    return static_cast<int32_t>(code) - (negative ? 1 << bits : 0);
  }

  int32_t some_code(DType dtype) {
    if (dtype == DType::int32) return static_cast<int32_t>(pick(2000)) - 1000;
    const int bits = tensor::dtype_bits(dtype);
    return static_cast<int32_t>(pick(int64_t{1} << bits)) -
           (tensor::has_signed_code(dtype) ? 1 << (bits - 1) : 0);
  }

  QuantAxes some_axes() {
    if (pick(3) == 0) return {.inner = pick(4) ? pick(300) : 30'000 + pick(50'000)};
    QuantAxes out{.outer = pick(4), .axis = pick(40), .inner = pick(3) ? pick(40) : 1};
    if (pick(3) == 0) out.block = 1 + pick(std::max<int64_t>(out.axis, 1));
    if (pick(20) == 0) out.inner = 20'000;
    return out;
  }

  std::vector<float> some_scales(int64_t n) {
    std::vector<float> out(std::max<int64_t>(n, 1));
    for (float& s : out) {
      s = std::ldexp(1 + static_cast<float>(pick(1000)) / 1000, static_cast<int>(pick(20)) - 14);
      if (pick(10) == 0) s = -s;
      constexpr float kOdd[] = {0, 1, 0.5f, 1e-40f, 1e-38f, 1e38f, kInf, kNaN};
      if (pick(12) == 0) s = kOdd[pick(8)];
    }
    return out;
  }

  // Around codes, around halves between them, and what is beyond all codes.
  float some_float(float scale) {
    const auto code = static_cast<float>(pick(1200) - 600);
    switch (pick(6)) {
      case 0: return (code + 0.5f) * scale;
      case 1: return std::nextafter((code + 0.5f) * scale, pick(2) ? kInf : -kInf);
      case 2: return code * scale;
      case 3: return static_cast<float>(pick(200'000) - 100'000) * 1.1f * scale;
      case 4: {
        constexpr float kOdd[] = {kInf, -kInf, kNaN, 1e38f, -1e38f, 1e-42f, -0.0f, 0};
        return kOdd[pick(8)];
      }
      default: return std::bit_cast<float>(static_cast<uint32_t>(random_()));
    }
  }

  std::mt19937_64 random_;
};

TEST(Quantisation, IsTheDefinitionOnEverySet) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 300;
  const uint32_t seed = test_seed();
  for (const Isa isa : supported_isas()) {
    Quantisation cases(seed);
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) cases.one(isa);
  }
}

// Floats from a quarter to 520 steps, one in 997 of them.
TEST(Quantisation, RoundsAsADivision) {
  constexpr uint32_t kApart = 997;
  for (const float scale : {0.1f, 0.0173f, 3.0f, 1.0f, 0.0078125f, 0.99999994f}) {
    const auto first = std::bit_cast<uint32_t>(scale / 4), last = std::bit_cast<uint32_t>(scale * 520);
    std::vector<float> x;
    for (uint32_t bits = first; bits < last; bits += kApart)
      x.push_back(std::bit_cast<float>(bits | (x.size() % 2 ? 0x80000000u : 0)));
    const auto n = static_cast<int64_t>(x.size());
    ASSERT_GT(n, 80'000);
    std::vector<uint8_t> y(x.size());
    const float zero = 128;
    for (const Isa isa : supported_isas()) {
      run_quantize(quant_table(isa), DType::uint8, {.inner = n}, x.data(), &scale, &zero, y.data(), 1);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(y[i], quantized(x[i], scale, zero, DType::uint8)) << isa_name(isa) << ' ' << x[i];
    }
  }
}

TEST(Quantisation, RangesHoldZeroAndTellOfNaN) {
  std::mt19937 random(test_seed());
  for (const Isa isa : supported_isas())
    for (int64_t n = 0; n < 100; ++n)
      for (const float odd : {0.0f, kNaN, -kNaN, kInf, -kInf, 1e-42f, -0.0f}) {
        std::vector<float> x(n + 1);
        const int sign = static_cast<int>(random() % 3) - 1;
        for (float& v : x)
          v = static_cast<float>(random() % 1000) / 7 * (sign ? sign : random() % 2 ? 1 : -1);
        if (n > 0 && odd != 0) x[1 + random() % n] = odd;
        float low = 7, high = 7, least = 0, most = 0;
        quant_table(isa).range(x.data() + 1, n, &low, &high);
        const bool numbers = std::none_of(x.begin() + 1, x.end(), [](float v) { return v != v; });
        for (int64_t i = 1; i <= n; ++i) {
          least = std::min(least, x[i]);
          most = std::max(most, x[i]);
        }
        ASSERT_TRUE(numbers ? low == least && high == most : low != low && high != high)
            << isa_name(isa) << ' ' << n << ' ' << odd << ": " << low << ' ' << high;
      }
}

}  // namespace
}  // namespace walle::kernels
