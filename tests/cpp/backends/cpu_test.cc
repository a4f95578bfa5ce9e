// The CPU backend as the search sees it: every way it offers to run a node gives the same result, on every
// instruction set and with one and two threads, and what it says of itself holds.
#include <cstdlib>

#include <gtest/gtest.h>

#include "kernels/isa.h"
#include "op_case.h"

namespace walle::backends {
namespace {

using Ints = std::vector<int64_t>;

std::vector<Case> cases() {
  const ir::Attributes padded{{"pads", Ints{1, 1, 1, 1}},
                              {"strides", Ints{1, 1}},
                              {"dilations", Ints{1, 1}},
                              {"kernel_shape", Ints{3, 3}}};
  ir::Attributes depthwise = padded, window = padded, mean = padded;
  depthwise.set("group", int64_t{6});
  ir::Attributes fused = padded;
  fused.set("activation", std::string("Clamp"));
  fused.set("activation_alpha", 0.0);
  fused.set("activation_beta", 6.0);
  std::vector<Case> list;
  list.emplace_back("MatMul", ir::Attributes{}, std::vector{noise({17, 33}, 1), noise({33, 41}, 2)});
  list.emplace_back("MatMul", ir::Attributes{}, std::vector{noise({17, 33}, 1), noise({33, 41}, 2)},
                    std::vector{false, true});
  list.emplace_back("MatMul", ir::Attributes{}, std::vector{noise({2, 3, 5, 7}, 1), noise({3, 7, 4}, 2)});
  list.emplace_back("MatMul", ir::Attributes{}, std::vector{noise({1, 300}, 1), noise({300, 50}, 2)},
                    std::vector{false, true});
  list.emplace_back("Conv", padded, std::vector{noise({1, 6, 13, 19}, 1), noise({9, 6, 3, 3}, 2)},
                    std::vector{false, true});
  list.emplace_back("Conv", fused,
                    std::vector{noise({2, 6, 13, 19}, 1), noise({9, 6, 3, 3}, 2), noise({9}, 3)},
                    std::vector{false, true, true});
  list.emplace_back("Conv", fused,  // enough channels for Winograd's units
                    std::vector{noise({2, 12, 13, 19}, 1), noise({40, 12, 3, 3}, 2), noise({40}, 3),
                                noise({2, 40, 13, 19}, 4)},
                    std::vector{false, true, true, false});
  ir::Attributes pointwise = padded;
  pointwise.set("pads", Ints{0, 0, 0, 0});
  pointwise.set("kernel_shape", Ints{1, 1});
  list.emplace_back("Conv", pointwise, std::vector{noise({1, 30, 7, 7}, 1), noise({50, 30, 1, 1}, 2)},
                    std::vector{false, true});
  list.emplace_back("Conv", depthwise, std::vector{noise({1, 6, 13, 19}, 1), noise({6, 1, 3, 3}, 2)},
                    std::vector{false, true});
  list.emplace_back("MaxPool", window, std::vector{noise({1, 3, 13, 19}, 1)});
  list.emplace_back("AveragePool", mean, std::vector{noise({1, 3, 13, 19}, 1)});
  list.emplace_back("Softmax", ir::Attributes{}, std::vector{noise({7, 29}, 1)});
  list.emplace_back("Softmax", ir::Attributes{},
                    std::vector{noise({600, 29}, 1)});  // enough rows for two threads
  list.emplace_back("LayerNormalization", ir::Attributes{},
                    std::vector{noise({1200, 29}, 1), noise({29}, 2), noise({29}, 3)});
  list.emplace_back("Tanh", ir::Attributes{}, std::vector{noise({70, 1000}, 1)});
  list.emplace_back("Add", ir::Attributes{}, std::vector{noise({70, 1000}, 1), noise({1000}, 2)});
  list.emplace_back("Softmax", ir::Attributes{{"axis", int64_t{0}}}, std::vector{noise({7, 29}, 1)});
  list.emplace_back("LayerNormalization", ir::Attributes{},
                    std::vector{noise({7, 29}, 1), noise({29}, 2), noise({29}, 3)});
  list.emplace_back("Tanh", ir::Attributes{}, std::vector{noise({7, 29}, 1)});
  list.emplace_back("Add", ir::Attributes{}, std::vector{noise({7, 29}, 1), noise({29}, 2)});
  list.emplace_back("ReduceSum", ir::Attributes{}, std::vector{noise({7, 29}, 1)});
  list.emplace_back("LSTM", ir::Attributes{{"hidden_size", int64_t{5}}},
                    std::vector{noise({4, 2, 3}, 1), noise({1, 20, 3}, 2), noise({1, 20, 5}, 3)},
                    std::vector{false, true, true});
  return list;
}

class CpuBackend : public ::testing::Test {
 protected:
  ~CpuBackend() override { unsetenv("WALLE_CPU"); }
};

TEST_F(CpuBackend, EveryCandidateOnEveryInstructionSetAgrees) {
  size_t compared = 0;
  for (const Case& c : cases()) {
    std::optional<std::vector<Tensor>> want;
    for (const kernels::Isa isa : kernels::supported_isas()) {
      setenv("WALLE_CPU", std::string(kernels::isa_name(isa)).c_str(), 1);
      for (int threads : {1, 2}) {
        ASSERT_TRUE(cpu::cpu_backend().supports(c.view())) << c.name();
        for (const Candidate& candidate : cpu::cpu_backend().candidates(c.view(), threads)) {
          SCOPED_TRACE(std::string(c.name()) + " " + candidate.algorithm + " " +
                       std::string(kernels::isa_name(isa)) + " threads " + std::to_string(threads));
          const auto got = c.run(candidate, threads);
          ASSERT_TRUE(got.ok()) << got.error().message();
          if (!want) want = *got;
          EXPECT_GE(candidate.error, 1);
          expect_equal_enough(*got, *want, candidate.error);
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, cases().size() * 2) << "fewer candidates than there should be";
}

TEST_F(CpuBackend, CandidatesHaveNamesCostsAndTheInstructionSetAskedFor) {
  for (const Case& c : cases())
    for (const kernels::Isa isa : kernels::supported_isas()) {
      const std::string set(kernels::isa_name(isa));
      setenv("WALLE_CPU", set.c_str(), 1);
      const auto one = cpu::cpu_backend().candidates(c.view(), 1),
                 two = cpu::cpu_backend().candidates(c.view(), 2);
      ASSERT_EQ(one.size(), two.size());
      for (size_t i = 0; i < one.size(); ++i) {
        SCOPED_TRACE(std::string(c.name()) + " " + one[i].algorithm);
        EXPECT_FALSE(one[i].features.kernel.empty()) << "a row of the tables";
        EXPECT_EQ(one[i].features[Quantity::calls], 1);
        for (int q = 0; q < kQuantities; ++q) {
          EXPECT_GE(one[i].features.amount[q], 0) << kQuantityNames[q];
          // Threads share the work; some kernels have panels of their own per thread.
          EXPECT_EQ(two[i].features.amount[q], one[i].features.amount[q]) << kQuantityNames[q];
        }
        EXPECT_EQ(one[i].features.threads, 1);
        EXPECT_LE(two[i].features.threads, 2);
        EXPECT_GE(one[i].workspace_bytes, 0);
        for (const kernels::Isa other : kernels::supported_isas()) {
          const std::string suffix = "_" + std::string(kernels::isa_name(other));
          if (other != isa) {
            EXPECT_FALSE(one[i].algorithm.ends_with(suffix)) << "WALLE_CPU=" << set;
          }
        }
      }
    }
}

TEST_F(CpuBackend, RefusesWhatItHasNoKernelFor) {
  const Case halves("Add", {}, {*Tensor::zeros(DType::float16, {2}), *Tensor::zeros(DType::float16, {2})});
  EXPECT_FALSE(cpu::cpu_backend().supports(halves.view())) << "16-bit floats are widened first";
  const Case transpose("Transpose", {}, {noise({2, 3}, 1)});
  EXPECT_FALSE(cpu::cpu_backend().supports(transpose.view())) << "a transform has no kernel of its own";
  PrepareContext context;
  EXPECT_FALSE(cpu::cpu_backend().prepare(transpose.view(), {}, context).ok());
  setenv("WALLE_CPU", "avx7", 1);
  const Status ready = cpu::cpu_backend().ready();
  ASSERT_FALSE(ready.ok());
  EXPECT_NE(ready.error().message().find("avx7"), std::string::npos);
}

TEST_F(CpuBackend, CostsCountOperandsOnce) {
  const Case c("Add", {}, {noise({7, 29}, 1), noise({29}, 2)});
  const ir::Cost cost = c.view().cost();
  EXPECT_EQ(cost.bytes, 4.0 * (7 * 29 + 29 + 7 * 29));
  EXPECT_EQ(cost.flops, 7.0 * 29);
}

}  // namespace
}  // namespace walle::backends
