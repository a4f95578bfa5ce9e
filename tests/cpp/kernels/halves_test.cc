// float16 and bfloat16 on every instruction set: widened exactly, and multiplied with the sums of float32.
#include "kernels/halves/halves.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/compare.h"
#include "tensor/buffer.h"
#include "tensor/widen.h"

namespace walle::kernels {
namespace {

constexpr int64_t kAll = 1 << 16;

DType dtype_of(bool bfloat) { return bfloat ? DType::bfloat16 : DType::float16; }

// 16 bits each, at an odd address as in ONNX files.
struct OddHalves {
  explicit OddHalves(int64_t count) : bytes(2 * count + 1) {}
  void set(int64_t i, uint16_t bits) { std::memcpy(bytes.data() + 1 + 2 * i, &bits, 2); }
  const uint16_t* data() const { return reinterpret_cast<const uint16_t*>(bytes.data() + 1); }
  std::vector<float> wide(bool bfloat) const {
    std::vector<float> out((bytes.size() - 1) / 2);
    tensor::widen(dtype_of(bfloat), bytes.data() + 1, out.data(), std::ssize(out));
    return out;
  }
  std::vector<std::byte> bytes;
};

bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same_bits(got[i], want[i])) << i << ": " << got[i] << " and " << want[i];
}

TEST(Halves, EveryNumberIsWidenedExactlyOnEverySet) {
  OddHalves all(kAll);
  for (int64_t i = 0; i < kAll; ++i) all.set(i, static_cast<uint16_t>(i));
  for (const Isa isa : supported_isas())
    for (const bool bfloat : {false, true}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + (bfloat ? " bfloat16" : " float16"));
      std::vector<float> got(kAll);
      half_form(isa, bfloat).widen(all.data(), got.data(), kAll);
      expect_same(got, all.wide(bfloat));
      // Behind the last whole vector.
      std::vector<float> few(38, -7);
      half_form(isa, bfloat).widen(all.data(), few.data(), 37);
      EXPECT_EQ(few[37], -7);
    }
}

// Of ordinary size, or now and then anything: subnormal, infinite, no number.
OddHalves weights(int64_t count, bool bfloat, bool anything) {
  OddHalves out(count);
  uint32_t state = 12345;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    const auto bits = static_cast<uint16_t>(state >> 16);
    const uint16_t ordinary = bfloat ? (bits & 0x807f) | 0x3f00 : (bits & 0x83ff) | 0x3800;
    out.set(i, anything && state % 13 == 0 ? bits : ordinary);
  }
  return out;
}

struct Sizes {
  int64_t m, n, k;
};

struct Way {
  Isa isa;
  bool bfloat, streamed;
  int threads;
};

std::vector<float> run(const GemmTable& table, Gemm& g, const Sizes& s, int threads) {
  std::vector<float> out(s.m * s.n, -7);
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.c = out.data();
  g.c_row = s.n;
  const bool packed = g.packed_b != nullptr;
  const auto bytes = threads * gemm_workspace_bytes(table, s.m, s.n, s.k, false, packed) + 64;
  const auto workspace = Buffer::allocate(static_cast<size_t>(bytes));
  run_gemm(table, g, threads, workspace->data());
  return out;
}

// As the backend computes with float32 weights of this many rows: where they lie, or packed.
void expect_sums_of_float32(const Way& way, const Sizes& s, bool anything) {
  SCOPED_TRACE(std::string(isa_name(way.isa)) + (way.bfloat ? " bfloat16 " : " float16 ") +
               std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
               (way.streamed ? " streamed" : "") + " threads " + std::to_string(way.threads));
  const GemmTable& table = gemm_table(way.isa);
  const auto a = random_floats(s.m * s.k, 1), bias = random_floats(s.n, 2),
             residual = random_floats(s.m * s.n, 3);
  const OddHalves b = weights(s.k * s.n, way.bfloat, anything);
  const std::vector<float> wide = b.wide(way.bfloat);
  Gemm g;
  g.a = {a.data(), s.k, 1};
  g.epilogue = {.col_bias = bias.data(), .residual = residual.data(), .activation = Activation::sigmoid};
  Gemm by_floats = g;
  std::vector<float> packed(packed_b_elements(table, s.n, s.k) + 1);
  by_floats.b = {wide.data(), s.n, 1};
  if (!way.streamed) {
    pack_whole_b(table, by_floats.b, s.k, s.n, packed.data());
    by_floats.packed_b = packed.data();
  }
  const HalfMatrix matrix{
      .gemm = &table, .form = &half_form(way.isa, way.bfloat), .data = b.data(), .row_stride = s.n};
  g.panels = half_panels(matrix, way.streamed);
  expect_same(run(table, g, s, way.threads), run(table, by_floats, s, way.threads));
}

template <class Fn>
void for_each_way(Fn fn) {
  for (const Isa isa : supported_isas())
    for (const bool bfloat : {false, true})
      for (const int threads : {1, 2}) fn(isa, bfloat, threads);
}

TEST(Halves, ManyRowsSumAsPackedFloat32) {
  const Sizes cases[] = {{2, 33, 7},    {5, 16, 700},   {6, 257, 131},  {7, 1, 1},     {14, 64, 65},
                         {29, 65, 300}, {40, 70, 1030}, {130, 131, 40}, {600, 40, 20}, {0, 16, 8},
                         {9, 0, 8},     {5, 7, 0},      {0, 0, 0}};
  for_each_way([&](Isa isa, bool bfloat, int threads) {
    for (const Sizes& s : cases) expect_sums_of_float32({isa, bfloat, false, threads}, s, false);
  });
}

TEST(Halves, FewRowsSumAsFloat32WhereItLies) {
  const Sizes cases[] = {{1, 1, 1},     {1, 1000, 65}, {1, 33, 2500}, {1, 4200, 20}, {2, 100, 33},
                         {3, 65, 9000}, {6, 16, 100},  {1, 7, 0},     {1, 0, 9},     {4, 0, 9}};
  for_each_way([&](Isa isa, bool bfloat, int threads) {
    for (const Sizes& s : cases) expect_sums_of_float32({isa, bfloat, true, threads}, s, false);
  });
}

TEST(Halves, SubnormalInfiniteAndNoNumbersAmongTheWeights) {
  for_each_way([&](Isa isa, bool bfloat, int threads) {
    expect_sums_of_float32({isa, bfloat, true, threads}, {1, 70, 19}, true);
    expect_sums_of_float32({isa, bfloat, true, threads}, {3, 70, 19}, true);
    expect_sums_of_float32({isa, bfloat, false, threads}, {20, 70, 19}, true);
  });
}

}  // namespace
}  // namespace walle::kernels
