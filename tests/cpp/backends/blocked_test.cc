// The CPU's blocked memory: which values it takes apart, what it makes of them, and that its kernels read no
// other memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backends/cpu/blocked/bf16_backend.h"
#include "backends/cpu/blocked/bf16_op.h"
#include "backends/cpu/blocked/blocked_backend.h"
#include "backends/cpu/blocked/blocked_memory.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/host_memory.h"
#include "ops/registry.h"

namespace walle::backends::cpu {
namespace {

TEST(BlockedMemory, TakesApartFloatImages) {
  const BlockedMemory& m = blocked_memory();
  EXPECT_FALSE(m.row_major(DType::float32, Shape{1, 16, 2, 2}));
  EXPECT_FALSE(m.row_major(DType::float32, Shape{1, 20, 1, 1}));  // 12 lanes hold nothing
  EXPECT_TRUE(m.row_major(DType::float32, Shape{3, 32, 1, 1}));   // a row of whole blocks
  EXPECT_TRUE(m.row_major(DType::float32, Shape{0, 20, 2, 2}));
  EXPECT_TRUE(m.row_major(DType::float32, Shape{16, 4}));
  EXPECT_TRUE(m.row_major(DType::int64, Shape{1, 20, 2, 2}));
  EXPECT_EQ(m.bytes_of(DType::float32, Shape{2, 20, 3, 3}), 2 * 32 * 9 * 4);
  EXPECT_EQ(m.bytes_of(DType::int64, Shape{2, 20, 3, 3}), 2 * 20 * 9 * 8);
  EXPECT_EQ(m.bytes_of(DType::float32, Shape{2, 0, 3, 3}), 0);
}

TEST(BlockedMemory, WhatComesInGoesOutAsItWas) {
  BlockedMemory& m = blocked_memory();
  for (const Shape& shape : {Shape{2, 20, 3, 5}, Shape{1, 32, 1, 1}, Shape{7, 5}, Shape{}}) {
    std::vector<float> x(static_cast<size_t>(shape.elements())), y(x.size(), -1);
    std::iota(x.begin(), x.end(), 1.0f);
    auto block = Block::allocate(m, m.bytes_of(DType::float32, shape));
    ASSERT_TRUE(block.ok());
    ASSERT_TRUE(m.bring_in(block->handle(), x.data(), DType::float32, shape, 2).ok());
    ASSERT_TRUE(m.bring_out(y.data(), block->handle(), DType::float32, shape, 2).ok());
    EXPECT_EQ(x, y) << shape.text();
  }
}

TEST(BlockedMemory, PutsSixteenChannelsOfAPixelSideBySide) {
  BlockedMemory& m = blocked_memory();
  const Shape shape{1, 17, 1, 3};
  std::vector<float> x(51);
  std::iota(x.begin(), x.end(), 0.0f);
  auto block = Block::allocate(m, m.bytes_of(DType::float32, shape));
  ASSERT_TRUE(block.ok() && m.bring_in(block->handle(), x.data(), DType::float32, shape, 1).ok());
  const auto* there = reinterpret_cast<const float*>(m.visible(block->handle()));
  for (int64_t c = 0; c < 17; ++c)
    for (int64_t p = 0; p < 3; ++p) EXPECT_EQ(there[(c / 16 * 3 + p) * 16 + c % 16], x[c * 3 + p]);
}

TEST(Bf16Memory, KeepsImagesInHalfOfTheBytes) {
  const Bf16Memory& m = bf16_memory();
  EXPECT_FALSE(m.exact());
  EXPECT_TRUE(blocked_memory().exact() && host_memory().exact());
  EXPECT_EQ(m.kept_as(DType::float32, Shape{1, 16, 2, 2}), DType::bfloat16);
  EXPECT_EQ(m.kept_as(DType::float32, Shape{16, 4}), DType::float32);
  EXPECT_EQ(m.kept_as(DType::uint8, Shape{1, 16, 2, 2}), DType::uint8);
  EXPECT_EQ(m.bytes_of(DType::float32, Shape{2, 20, 3, 3}), 2 * 32 * 9 * 2);
  EXPECT_EQ(m.bytes_of(DType::float32, Shape{20, 3}), 20 * 3 * 4);
  EXPECT_FALSE(m.row_major(DType::float32, Shape{3, 32, 1, 1}));  // half of the bytes of a row
  EXPECT_TRUE(m.row_major(DType::float32, Shape{0, 20, 2, 2}));
  EXPECT_TRUE(m.row_major(DType::int64, Shape{1, 20, 2, 2}));
}

TEST(Bf16Memory, RoundsWhatComesIn) {
  if (!bf16_form_here()) GTEST_SKIP() << "images of bfloat16 need a machine that has it";
  Bf16Memory& m = bf16_memory();
  for (const Shape& shape : {Shape{2, 20, 3, 5}, Shape{1, 32, 1, 1}, Shape{7, 5}, Shape{}}) {
    std::vector<float> x(static_cast<size_t>(shape.elements())), y(x.size(), -1);
    std::iota(x.begin(), x.end(), 1.0f);
    if (shape.rank() == 4) x[3] = 1.00390625f;  // between 1 and 1.0078125
    auto block = Block::allocate(m, m.bytes_of(DType::float32, shape));
    ASSERT_TRUE(block.ok());
    ASSERT_TRUE(m.bring_in(block->handle(), x.data(), DType::float32, shape, 2).ok());
    ASSERT_TRUE(m.bring_out(y.data(), block->handle(), DType::float32, shape, 2).ok());
    if (shape.rank() == 4) {
      x[3] = 1;
      for (float& v : x) v = static_cast<float>(tensor::BFloat16(v));
    }
    EXPECT_EQ(x, y) << shape.text();
  }
}

struct Relu {
  ops::Program program;
  Relu() {
    for (int i = 0; i < 2; ++i) program.values.push_back({DType::float32, Shape{1, 4, 2, 2}, std::nullopt});
    program.nodes.push_back({ops::find_op("Relu"), {}, {0}, {1}, "relu", {}, {}});
  }
  NodeView view() const { return NodeView(program, program.nodes[0]); }
};

TEST(BlockedBackend, RefusesOperandsOfTheHost) {
  const Relu node;
  ASSERT_TRUE(blocked_backend().supports(node.view()));
  PrepareContext context;
  const auto candidates = blocked_backend().candidates(node.view(), 1);
  ASSERT_FALSE(candidates.empty());
  auto kernel = blocked_backend().prepare(node.view(), candidates[0], context);
  ASSERT_TRUE(kernel.ok());
  std::vector<float> x(64), y(64);
  const Handle in[] = {host_memory().of(x.data())}, out[] = {host_memory().of(y.data())};
  const Status status = (*kernel)->run({.in = in, .out = out, .workspace = {}});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("host memory"), std::string::npos) << status.error().message();
}

// A convolution of `channels` by weights of the model, with or without a residual.
struct FewChannels {
  ops::Program program;
  FewChannels(int64_t channels, bool constant, bool residual) {
    const auto value = [&](const Shape& shape) {
      program.values.push_back({DType::float32, shape, std::nullopt});
      return static_cast<ops::Ref>(program.values.size() - 1);
    };
    const ops::Ref x = value({1, channels, 4, 4}), w = value({20, channels, 1, 1});
    if (constant) {
      Tensor weights = *Tensor::allocate(DType::float32, program.at(w).shape);
      std::ranges::fill(weights.as_mutable<float>(), 1.0f);
      program.values[static_cast<size_t>(w)].constant = weights;
    }
    std::vector<ops::Ref> inputs{x, w};
    if (residual) inputs.insert(inputs.end(), {ops::kNoRef, value({1, 20, 4, 4})});
    const ops::Ref y = value({1, 20, 4, 4});
    program.nodes.push_back({ops::find_op("Conv"), {}, inputs, {y}, "conv", {}, {}});
  }
  NodeView view() const { return NodeView(program, program.nodes[0]); }
};

TEST(RowsToBlocks, TakesConvolutionsOfFewChannelsAndNothingElse) {
  const Backend& b = rows_to_blocks_backend();
  EXPECT_TRUE(b.supports(FewChannels(8, true, false).view()));
  EXPECT_FALSE(b.supports(FewChannels(9, true, false).view()));
  EXPECT_FALSE(b.supports(FewChannels(8, false, false).view()));  // weights are packed once per model
  EXPECT_FALSE(b.supports(FewChannels(8, true, true).view()));    // a residual would lie in blocks
  EXPECT_FALSE(b.supports(Relu().view()));
  EXPECT_EQ(&b.source(), &host_memory());
  EXPECT_EQ(&b.memory(), &blocked_memory());
}

// In float32 and, where the processor has it, in bfloat16, which holds these numbers too.
TEST(RowsToBlocks, ReadsTheHostAndWritesBlocks) {
  const FewChannels node(2, true, false);
  PrepareContext context;
  const auto candidates = rows_to_blocks_backend().candidates(node.view(), 1);
  ASSERT_EQ(std::ranges::count(candidates, Arithmetic::own, &Candidate::arithmetic), 1);
  for (const Candidate& candidate : candidates) {
    auto kernel = rows_to_blocks_backend().prepare(node.view(), candidate, context);
    ASSERT_TRUE(kernel.ok());
    std::vector<float> x(32);
    std::iota(x.begin(), x.end(), 0.0f);
    auto blocks = Block::allocate(blocked_memory(), 2 * 16 * 16 * 4);
    auto workspace = Block::allocate(blocked_memory(), candidate.workspace_bytes);
    ASSERT_TRUE(blocks.ok() && workspace.ok());
    const Handle in[] = {host_memory().of(x.data()), {}}, out[] = {blocks->handle()};
    ASSERT_TRUE((*kernel)->run({.in = in, .out = out, .workspace = workspace->handle()}).ok());
    const auto* y = reinterpret_cast<const float*>(blocked_memory().visible(blocks->handle()));
    for (int64_t p = 0; p < 16; ++p)
      EXPECT_EQ(y[p * 16], 2 * x[p] + 16) << p << " by " << candidate.algorithm;
    // Either of them in the other's place is refused.
    for (const auto& [from, to] : {std::pair{in[0], in[0]}, std::pair{out[0], out[0]}}) {
      const Handle read[] = {from, {}}, written[] = {to};
      EXPECT_FALSE((*kernel)->run({.in = read, .out = written, .workspace = workspace->handle()}).ok());
    }
  }
}

TEST(BlockedBackend, IsALayoutOfTheCpuAndNoBackendOfItsOwn) {
  ASSERT_EQ(cpu_backend().layouts().size(), 5u);
  EXPECT_EQ(cpu_backend().layouts()[0], &blocked_backend());
  EXPECT_EQ(cpu_backend().layouts()[1], &rows_to_blocks_backend());
  EXPECT_EQ(cpu_backend().layouts()[2], &bf16_blocks_backend());
  EXPECT_EQ(cpu_backend().layouts()[3], &rows_to_bf16_backend());
  EXPECT_EQ(cpu_backend().layouts()[4], &bf16_to_blocks_backend());
  EXPECT_TRUE(blocked_backend().layouts().empty());
  EXPECT_NE(blocked_backend().target(), cpu_backend().target());  // kept decisions tell them apart
}

}  // namespace
}  // namespace walle::backends::cpu
