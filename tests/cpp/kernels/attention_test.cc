// Attention by blocks of queries against the definition: every instruction set, threads, strides and masks.
#include "kernels/attention/attention.h"

#include <limits>
#include <random>

#include "kernels/compare.h"
#include "tensor/buffer.h"

namespace walle::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Heads side by side in [queries, heads * depth], as products leave them; `shared` query heads read one key
// head.
struct Problem {
  int64_t heads = 1, shared = 1;
  Attention a;
  std::vector<float> q, k, v, bias;
  std::vector<uint8_t> keep;
  int64_t bias_head = 0;

  AttentionHead head(int64_t i, float* out) const {
    AttentionHead h;
    h.q = q.data() + i * a.depth;
    h.k = k.data() + i / shared * a.depth;
    h.v = v.data() + i / shared * a.width;
    if (!bias.empty()) h.bias = bias.data() + i * bias_head;
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
      const bool has_bias = !p.bias.empty();
      const auto got =
          result(p, threads * attention_workspace_bytes(gemm, p.a, has_bias),
                 [&](const auto& heads, std::byte* space) {
                   run_attention(gemm, attention_table(isa), p.a, has_bias, heads, threads, space);
                 });
      expect_close(got, want, 1e-5);  // the last element, behind the result, is untouched in both
    }
}

TEST(Attention, RandomShapesMatchTheDefinition) {
  const uint32_t seed = std::random_device()();
  std::mt19937 rng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 40; ++round) {
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

TEST(Attention, NaNStaysInItsQuery) {
  Problem p = problem(1, 1, 40, 20, 8, 8, Bias::none, 5);
  p.q[3 * 8 + 2] = std::numeric_limits<float>::quiet_NaN();
  expect_as_defined(p, " query");
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
