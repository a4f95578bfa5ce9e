// Attention by blocks of queries against the definition: every instruction set, threads, strides and masks.
#include "kernels/attention/attention.h"

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/attention/attention_mask.h"
#include "kernels/compare.h"
#include "kernels/rows.h"
#include "seed.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Heads side by side in [queries, heads * depth], as products leave them; `shared` query heads read one key
// head.
struct Problem {
  int64_t heads = 1, shared = 1;
  Attention a;
  std::vector<float> q, k, v, bias, more;
  std::vector<uint8_t> keep;
  int64_t bias_head = 0;

  AttentionHead head(int64_t i, float* out) const {
    AttentionHead h;
    h.q = q.data() + i * a.depth;
    h.k = k.data() + i / shared * a.depth;
    h.v = v.data() + i / shared * a.width;
    if (!bias.empty()) h.bias = bias.data() + i * bias_head;
    if (!more.empty()) h.more = more.data();
    if (!keep.empty()) h.keep = reinterpret_cast<const bool*>(keep.data());
    h.out = out + i * a.width;
    return h;
  }
  std::string text() const {
    return std::to_string(heads) + "/" + std::to_string(shared) + " heads of " + std::to_string(a.queries) +
           "x" + std::to_string(a.keys) + " depth " + std::to_string(a.depth) + " width " +
           std::to_string(a.width);
  }
};

enum class Bias { none, per_key, per_query, of_all, transposed };

Problem problem(int64_t heads, int64_t shared, int64_t queries, int64_t keys, int64_t depth, int64_t width,
                Bias bias, uint32_t seed) {
  Problem p{.heads = heads, .shared = shared};
  const int64_t key_heads = heads / shared;
  p.a = {.queries = queries, .keys = keys, .depth = depth, .width = width, .scale = 0.7f};
  p.a.q = {heads * depth, 1};
  p.a.k = {key_heads * depth, 1};
  p.a.v = {key_heads * width, 1};
  p.a.out = {heads * width, 1};
  p.q = random_floats(queries * heads * depth, seed);
  p.k = random_floats(keys * key_heads * depth, seed + 1);
  p.v = random_floats(keys * key_heads * width, seed + 2);
  p.a.has_bias = bias != Bias::none;
  if (bias == Bias::per_key) {
    p.bias = random_floats(keys, seed + 3);
    p.a.bias = {0, 1};
  } else if (bias == Bias::per_query) {
    p.bias = random_floats(queries, seed + 3);
    p.a.bias = {1, 0};
  } else if (bias != Bias::none) {
    p.bias = random_floats(heads * queries * keys, seed + 3);
    p.bias_head = queries * keys;
    p.a.bias = bias == Bias::of_all ? Steps{keys, 1} : Steps{1, queries};
  }
  return p;
}

constexpr float kUntouched = -7;

template <class Fn>
std::vector<float> result(const Problem& p, int64_t bytes, Fn run) {
  auto workspace = Buffer::allocate(static_cast<size_t>(bytes));
  // Scratch that spoils every result it gets into.
  std::fill_n(reinterpret_cast<float*>(workspace->data()), static_cast<size_t>(bytes) / sizeof(float),
              std::numeric_limits<float>::quiet_NaN());
  std::vector<float> y(static_cast<size_t>(p.heads * p.a.queries * p.a.width) + 1, kUntouched);
  const std::pair<const Problem*, float*> object{&p, y.data()};
  const AttentionHeads heads{p.heads,
                             [](const void* o, int64_t i) {
                               const auto& [of, out] =
                                   *static_cast<const std::pair<const Problem*, float*>*>(o);
                               return of->head(i, out);
                             },
                             &object};
  run(heads, workspace->data());
  return y;
}

void expect_as_defined(const Problem& p, const std::string& trace) {
  const auto want = result(p, 2 * attention_reference_bytes(p.a), [&](const auto& heads, std::byte* space) {
    run_attention_reference(p.a, heads, 2, space);
  });
  for (const Isa isa : supported_isas())
    for (const int threads : {1, 2, 5}) {
      SCOPED_TRACE(p.text() + " " + std::string(isa_name(isa)) + " threads " + std::to_string(threads) +
                   trace);
      const GemmTable& gemm = gemm_table(isa);
      const AttentionTable& table = attention_table(isa);
      const auto got =
          result(p, threads * attention_workspace_bytes(gemm, p.a), [&](const auto& heads, std::byte* space) {
            run_attention(gemm, table, p.a, heads, threads, space);
          });
      expect_close(got, want, 1e-5);  // the last element, behind the result, is untouched in both
      const auto rows =
          result(p, threads * attention_rows_workspace_bytes(p.a), [&](const auto& heads, std::byte* space) {
            run_attention_rows(table, softmax_table(isa), p.a, heads, threads, space);
          });
      expect_close(rows, want, 1e-5);
    }
}

TEST(Attention, RandomShapesMatchTheDefinition) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 140; ++round) {
    const int64_t shared = between(1, 3);
    Problem p = problem(shared * between(1, 3), shared, between(1, 70), between(1, 150), between(1, 40),
                        between(1, 70), static_cast<Bias>(round % 5), rng());
    if (round % 3 == 0) {
      const bool padding = round % 2 == 0;
      p.a.keep = padding ? Steps{0, 1} : Steps{p.a.keys, 1};
      p.a.keep_value = round % 4 < 2;
      p.a.fill = -1e4f;
      for (int64_t i = 0; i < (padding ? 1 : p.a.queries) * p.a.keys; ++i)
        p.keep.push_back(static_cast<uint8_t>(rng() % 2));
    }
    if (round % 4 == 1) p.a.cap = 1.5f;
    if (round % 5 != 0 && round % 2 == 0) {
      p.a.has_more = true;
      p.a.more = {0, 1};
      p.more = random_floats(p.a.keys, rng());
    }
    if (round % 7 < 3) p.a.band.last = between(-20, 150);
    if (round % 7 > 3) p.a.band.first = between(-150, 20);
    p.a.empty = static_cast<Empty>(round % 3);
    expect_as_defined(p, " round " + std::to_string(round) + " seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST(Attention, ManyKeysKeepTheirSumsExact) {
  expect_as_defined(problem(1, 1, 33, 4099, 16, 20, Bias::per_key, 1), "");
}

TEST(Attention, MaskedKeysCountForNothingAndWhollyMaskedQueriesAreNaN) {
  for (const Bias kind : {Bias::per_key, Bias::of_all}) {
    Problem p = problem(2, 1, 37, 41, 8, 8, kind, 3);
    for (size_t i = 0; i < p.bias.size(); ++i)
      if (i % 3 == 1) p.bias[i] = -kInfinity;
    // All keys of one query.
    if (kind == Bias::of_all) std::fill_n(p.bias.begin() + 5 * 41, 41, -kInfinity);
    expect_as_defined(p, "");
  }
}

TEST(Attention, CausalMasksByBooleans) {
  Problem p = problem(3, 3, 29, 45, 24, 33, Bias::none, 4);
  p.a.keep = {p.a.keys, 1};
  p.a.fill = -kInfinity;
  for (int64_t q = 0; q < p.a.queries; ++q)  // 16 keys came before
    for (int64_t key = 0; key < p.a.keys; ++key) p.keep.push_back(key <= q + 16);
  expect_as_defined(p, "");
}

TEST(Attention, CausalBandsAndWindows) {
  for (const auto& [first, last] : {std::pair{-Band::kOpen, int64_t{0}},
                                    {-Band::kOpen, int64_t{16}},
                                    {int64_t{-5}, int64_t{0}},
                                    {int64_t{-70}, int64_t{3}},
                                    {int64_t{2}, Band::kOpen},
                                    {-Band::kOpen, int64_t{-9}},
                                    {int64_t{300}, Band::kOpen},
                                    {int64_t{4}, int64_t{3}}})
    for (const Empty empty : {Empty::nan, Empty::zero, Empty::never_nan}) {
      Problem p = problem(3, 3, 101, 130, 24, 33, Bias::none, 8);
      p.a.band = {first, last};
      p.a.empty = empty;
      expect_as_defined(p, " band " + std::to_string(first) + ".." + std::to_string(last));
    }
}

// What a block sees ends where the masks of all its queries do; one that sees nothing keeps all keys.
TEST(Attention, HiddenKeysAreNotComputed) {
  const AttentionTable& table = attention_table(supported_isas().back());
  for (const float hidden : {-kInfinity, std::numeric_limits<float>::lowest()}) {
    Problem p = problem(1, 1, 70, 640, 8, 8, Bias::of_all, 9);
    for (int64_t q = 0; q < 70; ++q)
      for (int64_t key = 0; key < 640; ++key)
        if (key < 130 || key > q + 200) p.bias[static_cast<size_t>(q * 640 + key)] = hidden;
    const KeyRange seen = seen_keys(table, p.a, p.head(0, nullptr), 32, 32);
    EXPECT_EQ(seen.from, 128);
    EXPECT_EQ(seen.to, 320);
    expect_as_defined(p, "");
    std::fill_n(p.bias.begin() + 40 * 640, 640, hidden);
    const KeyRange all = seen_keys(table, p.a, p.head(0, nullptr), 32, 32);
    EXPECT_EQ(all.count(), 640);
    expect_as_defined(p, " with an empty query");
    p.a.empty = Empty::zero;
    expect_as_defined(p, " with an empty query of zeros");
  }
}

TEST(Attention, PaddedKeysByBooleans) {
  Problem p = problem(4, 2, 5, 333, 32, 32, Bias::none, 10);
  p.a.keep = {0, 1};
  p.a.fill = std::numeric_limits<float>::lowest();
  for (int64_t key = 0; key < 333; ++key) p.keep.push_back(key < 100);
  EXPECT_EQ(seen_keys(attention_table(Isa::scalar), p.a, p.head(0, nullptr), 0, 5).to, 128);
  expect_as_defined(p, "");
  p.keep.assign(333, 0);
  expect_as_defined(p, " all");
}

TEST(Attention, NaNStaysInItsQuery) {
  Problem p = problem(1, 1, 40, 20, 8, 8, Bias::none, 5);
  p.q[3 * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
  for (const Empty empty : {Empty::nan, Empty::zero, Empty::never_nan}) {
    p.a.empty = empty;
    expect_as_defined(p, " query");
  }
  p.k[7 * 8] = std::numeric_limits<float>::quiet_NaN();
  expect_as_defined(p, " key");
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Problem p = problem(2, 1, 35, 50, 16, 16, Bias::per_key, 6);
  p.a.scale = 1;
  for (float& x : p.bias) x *= 300;
  expect_as_defined(p, "");
}

}  // namespace
}  // namespace walle::kernels
