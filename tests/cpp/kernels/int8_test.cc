// The exact product of 8-bit matrices, in every form that this processor runs and in the emulated one,
// against the definition.
#include "kernels/gemm_int8/int8.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/cpu_features.h"
#include "kernels/int8_emulated.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
// int8_sdot_emulated.cc, int8_mmla_emulated.cc and int8_amx_emulated.cc
namespace emulated_sdot {
extern const Int8Table kGemmInt8;
}
namespace emulated_mmla {
extern const Int8Table kGemmInt8;
}
namespace emulated_amx {
extern const Int8Table kGemmInt8;
}

namespace {

std::vector<Variant<Int8Table>> forms_here() {
  std::vector<Variant<Int8Table>> out;
  for (const Variant<Int8Table>& form : int8_forms())
    if (base::cpu_features().has.has(form.needs)) out.push_back(form);
  if (const auto* tiles = int8_amx_form(base::cpu_features().has)) out.push_back(*tiles);
  out.push_back({"emulated", {}, &emulated::kGemmInt8});
  out.push_back({"emulated_amx", {}, &emulated_amx::kGemmInt8});
  out.push_back({"emulated_sdot", {}, &emulated_sdot::kGemmInt8});
  out.push_back({"emulated_mmla", {}, &emulated_mmla::kGemmInt8});
  return out;
}

// An operand with its elements, strides and zero points.
struct Operand {
  std::vector<uint8_t> bytes;
  std::vector<int32_t> zeros;
  Int8Matrix matrix;
  int64_t at(int64_t row, int64_t col, int64_t of_zero) const {
    const uint8_t byte = bytes[row * matrix.row_stride + col * matrix.col_stride];
    const int64_t value = matrix.is_signed ? static_cast<int8_t>(byte) : byte;
    return value - (matrix.zeros ? matrix.zeros[of_zero] : matrix.zero);
  }
};

class Int8Product {
 public:
  explicit Int8Product(uint64_t seed) : random_(seed) {}

  void one(const Variant<Int8Table>& form) {
    // Around the edges of tiles and words, and now and then more than one block of k.
    const int64_t m = size(), n = size(), k = pick(6) == 0 ? 900 + pick(300) : size();
    const Operand a = operand(m, k, m), b = operand(k, n, n);
    const bool pack_b = pick(2);
    const int threads = 1 + pick(2);
    const Int8Table& t = *form.table;
    std::vector<uint32_t> packed(pack_b ? int8_packed_b_words(t, n, k) + 1 : 0);
    if (pack_b) pack_int8_b(t, b.matrix, k, n, packed.data());
    const int64_t c_row = n + pick(3);
    std::vector<int32_t> c(m * c_row + 1, 77);
    const Int8Gemm g{.m = m,
                     .n = n,
                     .k = k,
                     .a = a.matrix,
                     .packed_b = pack_b ? packed.data() : nullptr,
                     .b = b.matrix,
                     .c = c.data(),
                     .c_row = c_row};
    auto workspace =
        Buffer::allocate(static_cast<size_t>(int8_workspace_bytes(t, m, n, k, pack_b, threads) + 64));
    run_int8_gemm(t, g, threads, workspace->data());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < c_row; ++j) {
        int64_t sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += j < n ? a.at(i, l, i) * b.at(l, j, j) : 0;
        ASSERT_EQ(c[i * c_row + j], j < n ? sum : 77)
            << form.name << ' ' << m << 'x' << k << 'x' << n << " at " << i << ',' << j << " signed "
            << a.matrix.is_signed << b.matrix.is_signed << " packed " << pack_b;
      }
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t size() { return pick(4) == 0 ? pick(70) : pick(18); }

  Operand operand(int64_t rows, int64_t cols, int64_t zeros) {
    Operand out;
    const bool transposed = pick(3) == 0;
    const int64_t slack = pick(3);
    out.matrix.row_stride = transposed ? 1 : cols + slack;
    out.matrix.col_stride = transposed ? rows + slack : 1;
    out.bytes.resize((rows + slack) * (cols + slack) + 1);
    // Extremes often: what saturates does so there.
    const bool extreme = pick(3) == 0;
    for (uint8_t& byte : out.bytes) byte = static_cast<uint8_t>(extreme ? 0x7f + pick(2) : pick(256));
    if (extreme && pick(2))
      for (uint8_t& byte : out.bytes) byte = static_cast<uint8_t>(pick(2) ? 0xff : 0x00);
    out.matrix.is_signed = pick(2);
    const int64_t least = out.matrix.is_signed ? -128 : 0;
    out.matrix.data = out.bytes.data();
    out.matrix.zero = pick(3) == 0 ? 0 : static_cast<int32_t>(least + pick(256));
    if (pick(3) == 0) {
      out.zeros.resize(zeros + 1);
      for (int32_t& zero : out.zeros) zero = static_cast<int32_t>(least + pick(256));
      out.matrix.zeros = out.zeros.data();
    }
    return out;
  }

  std::mt19937_64 random_;
};

TEST(Int8Product, IsExactInEveryForm) {
  const char* pairs = std::getenv("WALLE_TEST_PAIRS");  // for a long dose
  const int count = pairs ? std::atoi(pairs) : 400;
  const uint32_t seed = test_seed();
  for (const Variant<Int8Table>& form : forms_here()) {
    Int8Product product(seed);
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) product.one(form);
  }
}

TEST(Int8Product, FormsAreInOrder) {
  EXPECT_TRUE(in_order<Int8Table>(int8_forms()));
  EXPECT_EQ(int8_form({}).name, "scalar");
  for (const Variant<Int8Table>& form : int8_forms()) EXPECT_EQ(int8_form(form.needs).name, form.name);
}

// Sums beyond int32 wrap, as they do in NumPy.
TEST(Int8Product, WrapsAsInt32) {
  constexpr int64_t k = 40'000;
  const std::vector<uint8_t> ones(k, 255);
  for (const Variant<Int8Table>& form : forms_here()) {
    int32_t c = 0;
    auto workspace =
        Buffer::allocate(static_cast<size_t>(int8_workspace_bytes(*form.table, 1, 1, k, false, 1) + 64));
    run_int8_gemm(*form.table,
                  {.m = 1,
                   .n = 1,
                   .k = k,
                   .a = {ones.data(), false, k, 1},
                   .b = {ones.data(), false, 1, 1},
                   .c = &c,
                   .c_row = 1},
                  1, workspace->data());
    EXPECT_EQ(c, static_cast<int32_t>(static_cast<uint32_t>(int64_t{255} * 255 * k))) << form.name;
  }
}

}  // namespace
}  // namespace walle::kernels
