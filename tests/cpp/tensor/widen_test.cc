// Numbers of 16 bits as float32, and tensors of them whose wide bytes are made when somebody looks.
#include "tensor/widen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/half.h"
#include "tensor/tensor.h"

namespace walle::tensor {
namespace {

constexpr int64_t kAll = 1 << 16;

// Every number of 16 bits, `odd` bytes behind an even address.
std::vector<std::byte> every_number(size_t odd) {
  std::vector<std::byte> out(2 * kAll + odd);
  for (int64_t i = 0; i < kAll; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    std::memcpy(out.data() + odd + 2 * i, &bits, sizeof bits);
  }
  return out;
}

void expect_same(float got, float want, int64_t bits) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << bits;
  else
    EXPECT_EQ(__builtin_bit_cast(uint32_t, got), __builtin_bit_cast(uint32_t, want)) << bits;
}

TEST(Widen, EveryNumberOfBothTypesAtAnyAddress) {
  for (const size_t odd : {0, 1}) {
    const std::vector<std::byte> halves = every_number(odd);
    std::vector<float> out(kAll);
    widen(DType::float16, halves.data() + odd, out.data(), kAll);
    for (int64_t i = 0; i < kAll; ++i) expect_same(out[i], half_bits_to_float(static_cast<uint16_t>(i)), i);
    widen(DType::bfloat16, halves.data() + odd, out.data(), kAll);
    for (int64_t i = 0; i < kAll; ++i)
      expect_same(out[i], bfloat16_bits_to_float(static_cast<uint16_t>(i)), i);
  }
}

TEST(Widen, OfAnyCount) {
  const std::vector<std::byte> halves = every_number(0);
  for (int64_t n = 0; n < 12; ++n) {
    std::vector<float> out(n + 1, -7);
    widen(DType::float16, halves.data() + 2 * 0x3c00, out.data(), n);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(out[i], half_bits_to_float(static_cast<uint16_t>(0x3c00 + i)));
    EXPECT_EQ(out[n], -7);
  }
}

Tensor halves(int64_t rows, int64_t columns) {
  Tensor out = *Tensor::allocate(DType::float16, {rows, columns});
  uint16_t bits = 0x3000;
  for (Half& h : out.as_mutable<Half>()) h.bits = bits++;
  return out;
}

TEST(WidenedLate, IsFloat32AndLiesInSixteenBits) {
  const Tensor narrow = halves(5, 7);
  const Tensor wide = Tensor::widened_late(narrow);
  EXPECT_EQ(wide.dtype(), DType::float32);
  EXPECT_EQ(wide.stored(), DType::float16);
  EXPECT_EQ(wide.bytes(), 2 * narrow.bytes());
  EXPECT_EQ(wide.stored_bytes(), narrow.bytes());
  EXPECT_EQ(wide.as_stored().address(), narrow.address());
  EXPECT_NE(wide.address(), narrow.address()) << "two dtypes may not share what tells bytes apart";
  EXPECT_EQ(narrow.stored(), DType::float16);
  EXPECT_TRUE(narrow.as_stored().identical(narrow));
  for (int64_t i = 0; i < 35; ++i) EXPECT_EQ(wide.as<float>()[i], half_bits_to_float(0x3000 + i));
  EXPECT_EQ(wide.reshaped({35}).as<float>().data(), wide.as<float>().data()) << "one copy for all handles";
}

TEST(WidenedLate, OfABufferThatLiesUnaligned) {
  const Tensor narrow = halves(3, 4);
  Buffer room = *Buffer::allocate(64);
  std::memcpy(room.data() + 1, narrow.data(), 24);
  const Tensor odd(DType::float16, {3, 4}, Buffer::aligned_late(room.part(1, 24)));
  const Tensor wide = Tensor::widened_late(odd);
  EXPECT_TRUE(wide.for_one_reading()->identical(*Tensor::widened_late(narrow).for_one_reading()));
  EXPECT_TRUE(wide.identical(Tensor::widened_late(narrow)));
}

TEST(WidenedLate, ACopyForOneReadingGoes) {
  const Tensor wide = Tensor::widened_late(halves(40, 30));
  const Tensor first = *wide.for_one_reading(), second = *wide.for_one_reading();
  EXPECT_NE(first.data(), second.data());
  EXPECT_TRUE(first.identical(second));
  EXPECT_EQ(first.stored(), DType::float32);
}

TEST(WidenedLate, OfNothing) {
  const Tensor wide = Tensor::widened_late(*Tensor::allocate(DType::bfloat16, {0, 3}));
  EXPECT_EQ(wide.bytes(), 0);
  EXPECT_TRUE(wide.for_one_reading().ok());
}

}  // namespace
}  // namespace walle::tensor
