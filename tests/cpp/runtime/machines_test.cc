// Small networks planned and run as every machine of base/machines.inc: with as many threads, its caches, its
// instruction set and its costs, against the definitions.
#include <cmath>
#include <filesystem>
#include <random>

#include "base/thread_pool.h"
#include "build.h"
#include "each_machine.h"
#include "seed.h"

namespace walle::runtime {
namespace {

using Ints = std::vector<int64_t>;

class Network {
 public:
  explicit Network(uint32_t seed) : rng_(seed) {
    side_ = between(9, 40);
    channels_ = between(1, 40);
    x_ = b_.input("x", DType::float32, {{1, ""}, {channels_, ""}, {side_, ""}, {side_, ""}});
    image_ = tensor({1, channels_, side_, side_}, 1);
    at_ = x_;
    for (int64_t layers = between(2, 5); layers > 0; --layers) convolve();
    head();
  }

  ir::ModelData data() const { return b_.data(); }
  NamedValue input() const { return {"x", image_}; }

 private:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  // Sums of `terms` products stay about 1, so that a tolerance means the same in every layer.
  Tensor tensor(const Shape& shape, int64_t terms) {
    const float most = 1.7f / std::sqrt(static_cast<float>(terms));
    std::uniform_real_distribution<float> value(-most, most);
    Tensor t = *Tensor::allocate(DType::float32, shape);
    for (float& v : t.as_mutable<float>()) v = value(rng_);
    return t;
  }

  void convolve() {
    const bool depthwise = rng_() % 4 == 0;
    const int64_t window = rng_() % 3 == 0 ? 1 : 3;
    const int64_t stride = window == 3 && side_ > 12 && rng_() % 3 == 0 ? 2 : 1;
    const int64_t pad = window / 2;
    const int64_t out = depthwise ? channels_ : between(1, 96);
    const int64_t each = depthwise ? 1 : channels_;
    const ir::ValueId before = at_;
    const bool same = out == channels_ && stride == 1;
    at_ = b_.node("Conv",
                  {at_, b_.constant(tensor({out, each, window, window}, each * window * window)),
                   b_.constant(tensor({out}, 1))},
                  {{"pads", Ints{pad, pad, pad, pad}},
                   {"strides", Ints{stride, stride}},
                   {"kernel_shape", Ints{window, window}},
                   {"group", depthwise ? channels_ : int64_t{1}}});
    if (same) at_ = b_.node("Add", {at_, before});
    at_ = b_.node(rng_() % 2 ? "Relu" : "Sigmoid", {at_});
    channels_ = out;
    side_ = (side_ + 2 * pad - window) / stride + 1;
  }

  void head() {
    at_ = b_.node("GlobalAveragePool", {at_});
    at_ = b_.node("Flatten", {at_});
    at_ = b_.node("MatMul", {at_, b_.constant(tensor({channels_, 100}, channels_))});
    b_.output(b_.node("Softmax", {at_}), "y");
  }

  std::mt19937 rng_;
  GraphBuilder b_;
  ir::ValueId x_ = 0, at_ = 0;
  Tensor image_;
  int64_t side_ = 0, channels_ = 0;
};

std::vector<float> result_of(Model& model, const NamedValue& x, const SessionOptions& options) {
  auto session = model.session(options);
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message());
  if (!session.ok()) return {};
  const std::vector<NamedValue> in{x};
  auto out = (*session)->run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  if (!out.ok()) return {};
  const ExplainReport report = (*session)->explain();
  EXPECT_TRUE(std::isfinite(report.predicted_ms) && report.predicted_ms > 0) << report.predicted_ms;
  EXPECT_TRUE(report.arena_bytes > 0 && report.arena_bytes < 64 << 20) << report.arena_bytes;
  return numbers((*out)[0]);
}

TEST(Machines, NetworksEqualTheDefinitions) {
  const uint32_t first = test_seed();
  for (uint32_t seed = first; seed < first + 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Network network(seed);
    const auto model = model_of(network.data());
    ASSERT_TRUE(model);
    const auto want =
        result_of(*model, network.input(),
                  {.plan_cache = "off", .debug = {.search = false, .fuse = false, .layouts = false}});
    ASSERT_EQ(want.size(), 100u);
    on_each_machine([&] {
      // A model of its own: plans and packed weights of another machine would be found again.
      const auto mine = model_of(network.data());
      const auto got = result_of(*mine, network.input(),
                                 {.threads = std::min(base::available_processors(), 8), .plan_cache = "off"});
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5 + 1e-4 * want[i]) << i;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Machines, CostsThatNobodyKnowsAreAnErrorOfTheFirstPlan) {
  base::Machine machine = *base::machine_from("zen4");
  machine.costs = "zen9";
  const base::MachineScope scope(machine);
  const Network network(1);
  const auto model = model_of(network.data());
  auto session = model->session({.plan_cache = "off"});
  ASSERT_TRUE(session.ok());
  const std::vector<NamedValue> in{network.input()};
  auto out = (*session)->run(in);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().group(), base::ErrorGroup::argument);
  EXPECT_NE(out.error().message().find("zen9"), std::string::npos);
  EXPECT_NE(out.error().message().find("phone"), std::string::npos) << "what it could be";
}

}  // namespace
}  // namespace walle::runtime
