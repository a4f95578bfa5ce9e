#include "kernels/gemm/gemm.h"

#include <tuple>

#include "kernels/compare.h"
#include "kernels/gemm/gemm_reference.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

struct Case {
  int64_t m, n, k;
};

std::vector<float> product(const GemmTable& table, const Case& c, bool pack_a, bool pack_b, bool transposed,
                           const Epilogue& e, int threads) {
  const auto a = random_floats(c.m * c.k, 1);
  auto b = random_floats(c.k * c.n, 2);
  Gemm g;
  g.m = c.m;
  g.n = c.n;
  g.k = c.k;
  g.a = {a.data(), c.k, 1};
  g.b = {b.data(), c.n, 1};
  std::vector<float> a_t, b_t, pa, pb;
  if (transposed) {
    a_t.resize(a.size());
    b_t.resize(b.size());
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t l = 0; l < c.k; ++l)
        a_t[static_cast<size_t>(l * c.m + i)] = a[static_cast<size_t>(i * c.k + l)];
    for (int64_t l = 0; l < c.k; ++l)
      for (int64_t j = 0; j < c.n; ++j)
        b_t[static_cast<size_t>(j * c.k + l)] = b[static_cast<size_t>(l * c.n + j)];
    g.a = {a_t.data(), 1, c.m};
    g.b = {b_t.data(), 1, c.k};
  }
  if (pack_a) {
    pa.resize(static_cast<size_t>(packed_a_elements(table, c.m, c.k)));
    table.pack_a(g.a.data, g.a.row_stride, g.a.col_stride, c.m, c.k, pa.data());
    g.packed_a = pa.data();
  }
  if (pack_b) {
    pb.resize(static_cast<size_t>(packed_b_elements(table, c.n, c.k)));
    pack_whole_b(table, g.b, c.k, c.n, pb.data());
    g.packed_b = pb.data();
  }
  std::vector<float> out(static_cast<size_t>(c.m * c.n), -7);
  g.c = out.data();
  g.c_row = c.n;
  g.epilogue = e;
  auto workspace = Buffer::allocate(
      static_cast<size_t>(threads * gemm_workspace_bytes(table, c.m, c.n, c.k, pack_a, pack_b) + 64));
  run_gemm(table, g, threads, workspace->data());
  return out;
}

std::vector<float> expected(const Case& c, const Epilogue& e) {
  std::vector<float> out(static_cast<size_t>(c.m * c.n));
  gemm_reference(c.m, c.n, c.k, random_floats(c.m * c.k, 1).data(), random_floats(c.k * c.n, 2).data(),
                 out.data(), e, 1);
  return out;
}

const Case kCases[] = {{1, 1, 1},     {1, 1000, 65},  {3, 33, 7},   {6, 16, 100},  {14, 32, 64},  {15, 31, 9},
                       {29, 65, 300}, {128, 70, 515}, {5, 7, 0},    {600, 40, 20}, {197, 40, 33}, {0, 16, 8},
                       {9, 0, 8},     {0, 0, 0},      {2, 100, 33}, {6, 257, 131}};

TEST(Gemm, EverySetAndPackingMatchesTheDefinition) {
  for (Isa isa : supported_isas())
    for (const Case& c : kCases)
      for (int options = 0; options < 8; ++options)
        for (int threads : {1, 2}) {
          SCOPED_TRACE(std::string(isa_name(isa)) + " " + std::to_string(c.m) + "x" + std::to_string(c.n) +
                       "x" + std::to_string(c.k) + " options " + std::to_string(options) + " threads " +
                       std::to_string(threads));
          expect_close(product(gemm_table(isa), c, options & 1, options & 2, options & 4, {}, threads),
                       expected(c, {}), 2e-5);
        }
}

TEST(Gemm, BiasResidualAndEveryActivation) {
  for (const bool packed :
       {true, false}) {  // few rows of a plain B go through the depth in many short pieces
    const Case c{packed ? 17 : 3, 37, 50};
    const auto row = random_floats(c.m, 3), col = random_floats(c.n, 4),
               residual = random_floats(c.m * c.n, 5);
    for (Isa isa : supported_isas())
      for (int a = 0; a <= static_cast<int>(Activation::gelu_tanh); ++a)
        for (int pointers = 0; pointers < 4; ++pointers) {
          Epilogue e;
          e.activation = static_cast<Activation>(a);
          e.alpha = e.activation == Activation::clamp ? -0.5f : 0.25f;
          e.beta = 0.75f;
          if (pointers & 1)
            e.row_bias = row.data();
          else
            e.col_bias = col.data();
          if (pointers & 2) e.residual = residual.data();
          SCOPED_TRACE(std::string(isa_name(isa)) + " activation " + std::to_string(a) + " pointers " +
                       std::to_string(pointers));
          expect_close(product(gemm_table(isa), c, false, packed, false, e, 1), expected(c, e), 2e-5);
        }
  }
}

// Whoever compares or normalises results may rely on it: a softmax over large logits shows the last bit.
TEST(Gemm, EqualColumnsGiveEqualResultsWhereverTheyStand) {
  const int64_t k = 517;
  const auto a = random_floats(k, 1), column = random_floats(k, 2);
  for (const int64_t n : {7, 40, 333, 1000}) {
    std::vector<float> b(static_cast<size_t>(k * n));
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j) b[static_cast<size_t>(l * n + j)] = column[static_cast<size_t>(l)];
    for (const Isa isa : supported_isas()) {
      std::vector<float> out(static_cast<size_t>(n));
      Gemm g;
      g.m = 1;
      g.n = n;
      g.k = k;
      g.a = {a.data(), k, 1};
      g.b = {b.data(), n, 1};
      g.c = out.data();
      g.c_row = n;
      const GemmTable& table = gemm_table(isa);
      auto workspace =
          Buffer::allocate(static_cast<size_t>(gemm_workspace_bytes(table, 1, n, k, false, false)) + 64);
      run_gemm(table, g, 1, workspace->data());
      for (const float each : out) ASSERT_EQ(each, out[0]) << isa_name(isa) << ", " << n << " columns";
    }
  }
}

TEST(Gemm, NanAndInfinityGoThroughAClamp) {
  for (Isa isa : supported_isas()) {
    const float a[] = {1}, b[] = {__builtin_nanf("")};
    float c = 0;
    Gemm g;
    g.m = g.n = g.k = 1;
    g.a = {a, 1, 1};
    g.b = {b, 1, 1};
    g.c = &c;
    g.c_row = 1;
    g.epilogue.activation = Activation::clamp;
    g.epilogue.beta = 6;
    auto workspace =
        Buffer::allocate(static_cast<size_t>(gemm_workspace_bytes(gemm_table(isa), 1, 1, 1, false, false)));
    run_gemm(gemm_table(isa), g, 1, workspace->data());
    EXPECT_TRUE(std::isnan(c)) << isa_name(isa);
  }
}

}  // namespace
}  // namespace walle::kernels
