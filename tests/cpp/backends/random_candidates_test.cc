// Every candidate on random shapes against the reference, on every instruction set, with one and two threads.
//
// 50,000 pairs of a candidate and a shape; WALLE_CANDIDATE_PAIRS says another number. A failure names the
// seed of its shape: WALLE_TEST_SEED=<seed> WALLE_CANDIDATE_PAIRS=1 runs that shape alone.
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

#include "base/cpu_features.h"
#include "base/machine.h"
#include "kernels/isa.h"
#include "op_case.h"
#include "seed.h"

namespace walle::backends {
namespace {

using Ints = std::vector<int64_t>;

class Random {
 public:
  explicit Random(uint32_t seed) : rng_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  Tensor tensor(const Shape& shape) { return noise(shape, static_cast<uint32_t>(rng_())); }
  template <class T>
  T any_of(std::initializer_list<T> list) {
    return *(list.begin() + between(0, static_cast<int64_t>(list.size()) - 1));
  }

 private:
  std::mt19937 rng_;
};

void fuse(Random& r, ir::Attributes& a) {
  const int64_t kind = r.between(0, 3);
  if (kind == 0) return;
  a.set("activation", std::string(kind == 1 ? "Clamp" : kind == 2 ? "HardSwish" : "Silu"));
  a.set("activation_alpha", -0.25);
  a.set("activation_beta", 0.75);
}

Case convolution(Random& r) {
  // Windows of 3 x 3 without stride are most of what networks have and have most candidates.
  const bool plain = r.one_in(2);
  const int64_t kh = plain ? 3 : r.between(1, 5), kw = plain ? 3 : r.one_in(3) ? r.between(1, 5) : kh;
  const int64_t stride = plain ? 1 : r.between(1, 2), dilation = !plain && r.one_in(4) ? 2 : 1;
  const int64_t pad = r.between(0, kh / 2 + 1);
  const bool depthwise = r.one_in(4);
  const int64_t groups = depthwise ? r.between(1, 20) : r.one_in(5) ? r.between(2, 3) : 1;
  const int64_t each = depthwise ? 1 : r.between(1, 24), out = groups * (depthwise ? 1 : r.between(1, 36));
  const int64_t span = (std::max(kh, kw) - 1) * dilation + 1;
  const int64_t h = r.between(span, span + 12), w = r.between(span, span + 16), n = r.one_in(4) ? 2 : 1;
  ir::Attributes a{{"pads", Ints{pad, pad, pad, pad}},
                   {"strides", Ints{stride, stride}},
                   {"dilations", Ints{dilation, dilation}},
                   {"kernel_shape", Ints{kh, kw}}};
  a.set("group", groups);
  fuse(r, a);
  std::vector inputs{r.tensor({n, groups * each, h, w}), r.tensor({out, each, kh, kw})};
  std::vector constant{false, !r.one_in(6)};
  if (r.one_in(2)) {
    inputs.push_back(r.tensor({out}));
    constant.push_back(constant[1]);
    if (r.one_in(2)) {
      const int64_t oh = (h + 2 * pad - (kh - 1) * dilation - 1) / stride + 1,
                    ow = (w + 2 * pad - (kw - 1) * dilation - 1) / stride + 1;
      inputs.push_back(r.tensor({n, out, oh, ow}));
      constant.push_back(false);
    }
  }
  return {"Conv", a, inputs, constant};
}

Case pointwise(Random& r) {
  const int64_t c = r.between(1, 70), m = r.between(1, 70), h = r.between(1, 9), w = r.between(1, 17);
  ir::Attributes a{{"pads", Ints{0, 0, 0, 0}},
                   {"strides", Ints{1, 1}},
                   {"dilations", Ints{1, 1}},
                   {"kernel_shape", Ints{1, 1}}};
  fuse(r, a);
  return {"Conv", a, {r.tensor({r.between(1, 2), c, h, w}), r.tensor({m, c, 1, 1})}, {false, true}};
}

Case product(Random& r) {
  const int64_t m = r.one_in(3) ? r.between(1, 6) : r.between(1, 40), n = r.between(1, 90),
                k = r.between(1, 90);
  const bool known = r.one_in(2);
  if (!known && r.one_in(3)) {
    const int64_t b = r.between(1, 3);
    return {"MatMul", {}, {r.tensor({b, m, k}), r.tensor({b, k, n})}};
  }
  return {"MatMul", {}, {r.tensor({m, k}), r.tensor({k, n})}, {false, known}};
}

Case pool(Random& r) {
  const int64_t kh = r.between(1, 4), kw = r.between(1, 4), s = r.between(1, 3);
  const int64_t top = r.between(0, kh - 1), left = r.between(0, kw - 1);
  const ir::Attributes a{{"pads", Ints{top, left, top, left}},
                         {"strides", Ints{s, s}},
                         {"dilations", Ints{1, 1}},
                         {"kernel_shape", Ints{kh, kw}}};
  return {r.one_in(2) ? "MaxPool" : "AveragePool",
          a,
          {r.tensor({1, r.between(1, 5), r.between(kh, 20), r.between(kw, 30)})}};
}

Case rows(Random& r) {
  const Shape shape{r.between(1, 20), r.between(1, 120)};
  switch (r.between(0, 2)) {
    case 0: {
      const Shape map{r.between(1, 20), r.between(1, 70), r.between(1, 40)};
      return {r.any_of({"Softmax", "LogSoftmax"}), {{"axis", r.between(0, 2)}}, {r.tensor(map)}};
    }
    case 1: return {"LayerNormalization", {}, {r.tensor(shape), r.tensor({shape[1]}), r.tensor({shape[1]})}};
    default: return {r.any_of({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}), {}, {r.tensor(shape)}};
  }
}

Case elements(Random& r) {
  const Shape shape{r.between(1, 30), r.between(1, 100)};
  if (r.one_in(2))
    return {r.any_of({"Tanh", "Sigmoid", "Exp", "Relu", "HardSwish", "Erf", "Abs", "Neg", "Floor"}),
            {},
            {r.tensor(shape)}};
  const Shape other = r.any_of({shape, Shape{shape[1]}, Shape{shape[0], 1}, Shape{1}});
  return {r.any_of({"Add", "Sub", "Mul"}), {}, {r.tensor(shape), r.tensor(other)}};
}

// What layouts know of element-wise work: images, with one another or with a value per channel.
Case image(Random& r) {
  const Shape shape{r.between(1, 2), r.between(1, 40), r.between(1, 9), r.between(1, 9)};
  if (r.one_in(2)) return {r.any_of({"Tanh", "Sigmoid", "Relu", "HardSwish"}), {}, {r.tensor(shape)}};
  const Shape other = r.any_of({shape, Shape{1, shape[1], 1, 1}, Shape{shape[0], shape[1], 1, 1}});
  return {r.any_of({"Add", "Sub", "Mul"}), {}, {r.tensor(shape), r.tensor(other)}};
}

Case recurrent(Random& r) {
  const bool lstm = r.one_in(2);
  const int64_t gates = lstm ? 4 : 3, hidden = r.between(1, 40), input = r.between(1, 20),
                batch = r.between(1, 3), steps = r.between(1, 4);
  return {lstm ? "LSTM" : "GRU",
          {{"hidden_size", hidden}},
          {r.tensor({steps, batch, input}), r.tensor({1, gates * hidden, input}),
           r.tensor({1, gates * hidden, hidden})},
          {false, true, true}};
}

Case make(uint32_t seed) {
  Random r(seed);
  using Make = Case (*)(Random&);
  return r.any_of<Make>({convolution, convolution, convolution, pointwise, product, product, pool, rows,
                         elements, image, recurrent})(r);
}

uint32_t number(const char* text, uint32_t otherwise) {
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

class RandomCandidates : public ::testing::Test {
 protected:
  ~RandomCandidates() override { unsetenv("WALLE_CPU"); }

  // All candidates of one shape, the first of which is the reference.
  void compare(const Case& c, uint32_t seed) {
    std::optional<std::vector<Tensor>> want;
    // Every shape as another machine, with all sets of this one.
    const auto profiles = base::machine_profiles();
    base::Machine machine = profiles[seed % profiles.size()];
    machine.isa = sets_.back().starts_with("avx512") ? sets_.back() : "avx512";
    SCOPED_TRACE("as " + machine.name);
    const base::MachineScope scope(machine);
    for (const std::string& set : sets_) {
      setenv("WALLE_CPU", set.c_str(), 1);
      for (int threads : {1, 2})
        for (const Backend* backend : backends_) {
          if (!backend->supports(c.view())) continue;
          for (const Candidate& candidate : backend->candidates(c.view(), threads)) {
            SCOPED_TRACE(std::string(c.name()) + " " + candidate.algorithm + " " + set + " threads " +
                         std::to_string(threads) + "; again: WALLE_TEST_SEED=" + std::to_string(seed) +
                         " WALLE_CANDIDATE_PAIRS=1");
            const auto got = c.run_on(*backend, candidate, threads);
            ASSERT_TRUE(got.ok()) << got.error().message();
            if (!want) want = *got;
            if (candidate.arithmetic == Arithmetic::own)
              expect_equal_enough(*got, *want, candidate.error);
            else
              expect_rounded(*got, *want, candidate.error * spread(c.view()));
            if (HasFatalFailure()) return;
            ++pairs_;
            ++of_[kernel_of(candidate)];
          }
        }
    }
    unsetenv("WALLE_CPU");  // the machine outside of the scope may lack that set
  }

  // Sums of products of numbers in [-1, 1]: the root of their mean square. Of all that is no such sum 1.
  static double spread(const NodeView& node) {
    if (node.input_count() < 2 || node.shape(1).rank() < 2) return 1;
    const Shape& b = node.shape(1);
    const int64_t terms = node.op().name == "Conv" ? b.elements() / b[0] : std::max(b[0], b[b.rank() - 1]);
    return std::sqrt(static_cast<double>(terms)) / 3;
  }

  // Both operands of a product are off by 2^-8 of themselves at most, 0.3 % of a sum in the mean; eight times
  // that is a mistake. Kept as bfloat16, a result is off by 2^-8 of itself at most once more.
  static void expect_rounded(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double spread) {
    for (int64_t k = 0; k < got[0].elements(); ++k) {
      const float a = got[0].as<float>()[static_cast<size_t>(k)],
                  b = want[0].as<float>()[static_cast<size_t>(k)];
      ASSERT_NEAR(a, b, 8 * 0.003 * (spread + 0.3) + 0x1p-8 * std::abs(b)) << "element " << k;
    }
  }

  // Of this machine, and what stands beside them.
  const std::vector<std::string> sets_ = [] {
    std::vector<std::string> all;
    for (const kernels::Isa isa : kernels::supported_isas()) all.emplace_back(kernels::isa_name(isa));
    if (all.back() == "avx512" && base::cpu_features().has.has(base::Capability::avx512_bf16))
      all.push_back("avx512+avx512_bf16");
    return all;
  }();

  // The algorithm without its tile and its set: layouts may share a price. With "kept" or "from", of images
  // in bfloat16.
  static std::string kernel_of(const Candidate& c) {
    if (const size_t kept = c.algorithm.find("_kept_"); kept != std::string::npos)
      return c.algorithm.substr(0, c.algorithm.find('_', c.algorithm.find("_bf16") + 6));
    const size_t own = c.algorithm.find("_f32");
    const size_t end = own == std::string::npos ? c.algorithm.find("_bf16") : own;
    return c.algorithm.substr(0, end == std::string::npos ? end : c.algorithm.find('_', end + 1));
  }

  // The first one has the reference.
  const std::vector<const Backend*> backends_ = [] {
    std::vector<const Backend*> all{&cpu::cpu_backend()};
    for (const Backend* layout : cpu::cpu_backend().layouts()) all.push_back(layout);
    return all;
  }();

  uint32_t pairs_ = 0;
  std::map<std::string, int, std::less<>> of_;
};

TEST_F(RandomCandidates, AgreeWithTheReference) {
  const uint32_t most = number(std::getenv("WALLE_CANDIDATE_PAIRS"), 50'000);
  const uint32_t first = test_seed();
  std::cout << "first seed " << first << ", " << most << " pairs\n";
  for (uint32_t seed = first; pairs_ < most; ++seed) {
    const Case c = make(seed);
    ASSERT_TRUE(cpu::cpu_backend().supports(c.view())) << c.name() << " seed " << seed;
    compare(c, seed);
    if (HasFailure()) return;
  }
  for (const auto& [kernel, count] : of_) std::cout << kernel << " " << count << "\n";
  if (most < 10'000) return;
  for (const char* kernel :
       {"conv_winograd_2x2_f32", "conv_winograd_4x4_f32", "conv_winograd_6x6_f32", "conv_implicit_gemm_f32",
        "conv_pointwise_lanes_f32", "conv_windows_lanes_f32", "conv_depthwise_f32", "gemm_f32",
        "blocked_winograd_2x2_f32", "blocked_winograd_4x4_f32", "blocked_winograd_6x6_f32",
        "blocked_window_f32", "blocked_pointwise_f32", "blocked_from_rows_f32", "blocked_depthwise_f32"})
    EXPECT_GT(of_[kernel], 100) << kernel << " was hardly tried";
  if (!sets_.back().ends_with("avx512_bf16")) return;
  for (const char* kernel :
       {"blocked_window_bf16_kept", "blocked_pointwise_bf16_kept", "blocked_window_bf16_from",
        "blocked_from_rows_bf16_kept", "blocked_depthwise_bf16_kept", "blocked_winograd_2x2_bf16_kept"})
    EXPECT_GT(of_[kernel], 10) << kernel << " was hardly tried";
}

}  // namespace
}  // namespace walle::backends
