// The null backend catches what a device would not forgive: a kernel that reads bytes nobody brought to its
// memory, keeps a pointer to the host's, or counts on what its results and scratch held before.
#include "backends/null/null_backend.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/host_memory.h"
#include "ops/lower.h"
#include "ops/registry.h"

namespace walle::backends {
namespace {

using null::NullBackend;
using null::NullMemory;

// y = op(x, c) on four floats, c a constant.
struct OneNode {
  ops::Program program;
  Tensor c = *Tensor::from<float>(Shape{4}, std::vector<float>{10, 20, 30, 40});

  explicit OneNode(const char* op = "Add") {
    program.values.push_back({DType::float32, Shape{4}, std::nullopt});
    program.values.push_back({DType::float32, Shape{4}, c});
    program.values.push_back({DType::float32, Shape{4}, std::nullopt});
    program.nodes.push_back({ops::find_op(op), {}, {0, 1}, {2}, op, {}, {}});
  }
  NodeView view() const { return NodeView(program, program.nodes[0]); }
};

using Body = std::function<Status(const HostArgs&)>;

// A host backend whose only kernel the test writes; it may look at the node while preparing.
class Scripted final : public Backend {
 public:
  explicit Scripted(std::function<Body(const NodeView&)> prepare, int64_t workspace = 64)
      : prepare_(std::move(prepare)), workspace_(workspace) {}
  std::string_view name() const override { return "scripted"; }
  Memory& memory() const override { return host_memory(); }
  bool supports(const NodeView&) const override { return true; }
  std::vector<Candidate> candidates(const NodeView&, int) const override {
    Candidate c;
    c.algorithm = "scripted";
    c.workspace_bytes = workspace_;
    return {c};
  }
  Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&,
                                          PrepareContext&) const override {
    return make_kernel(prepare_(node));
  }

 private:
  std::function<Body(const NodeView&)> prepare_;
  int64_t workspace_;
};

// x = {1, 2, 3, 4} and c through `backend`, with copies as a plan would make them.
Result<std::vector<float>> run(const Backend& backend) {
  const OneNode n;
  const Candidate candidate = backend.candidates(n.view(), 1).front();
  PrepareContext context;
  WALLE_ASSIGN(const auto kernel, backend.prepare(n.view(), candidate, context));
  Memory& memory = backend.memory();
  const std::vector<float> x{1, 2, 3, 4};
  std::vector<float> y(4);
  WALLE_ASSIGN(const Block block, Block::allocate(memory, 4 * 64));
  const Handle at = block.handle();
  WALLE_TRY(memory.copy_in(at, x.data(), 16));
  WALLE_TRY(memory.copy_in(at + 64, n.c.data(), 16));
  const Handle in[] = {at, at + 64}, out[] = {at + 128};
  WALLE_TRY(kernel->run({.in = in, .out = out, .workspace = at + 192, .threads = 1}));
  WALLE_TRY(memory.copy_out(y.data(), at + 128, 16));
  return y;
}

// Right in host memory, told apart in the null backend's.
void expect_caught(const Scripted& broken) {
  const std::vector<float> right{11, 22, 33, 44};
  const auto direct = run(broken);
  ASSERT_TRUE(direct.ok());
  EXPECT_EQ(*direct, right);
  const NullBackend null(broken);
  const auto apart = run(null);
  ASSERT_TRUE(apart.ok()) << apart.error().message();
  EXPECT_NE(*apart, right);
}

void add(const float* x, const float* c, float* y) {
  for (int i = 0; i < 4; ++i) y[i] = x[i] + c[i];
}

TEST(NullBackend, ComputesWhatTheHostComputes) {
  const NullBackend null(cpu::cpu_backend());
  const auto got = run(null);
  ASSERT_TRUE(got.ok()) << got.error().message();
  EXPECT_EQ(*got, (std::vector<float>{11, 22, 33, 44}));
}

TEST(NullBackend, CatchesAKernelThatKeepsAPointerToAConstant) {
  expect_caught(Scripted([](const NodeView& node) -> Body {
    const auto* c = static_cast<const float*>(node.constant(1)->data());
    return [c](const HostArgs& a) {
      add(a.input<float>(0), c, a.output<float>(0));
      return Status();
    };
  }));
}

TEST(NullBackend, CatchesAKernelThatKeepsTheConstantItself) {
  expect_caught(Scripted([](const NodeView& node) -> Body {
    return [c = *node.constant(1)](const HostArgs& a) {
      add(a.input<float>(0), c.as<float>().data(), a.output<float>(0));
      return Status();
    };
  }));
}

TEST(NullBackend, CatchesAKernelThatReadsItsScratchBeforeWritingIt) {
  const Scripted broken([](const NodeView&) -> Body {
    return [](const HostArgs& a) {
      const float before = *reinterpret_cast<const float*>(a.workspace);
      add(a.input<float>(0), a.input<float>(1), a.output<float>(0));
      a.output<float>(0)[0] += before;
      return Status();
    };
  });
  const NullBackend null(broken);
  EXPECT_TRUE(std::isnan((*run(null))[0]));
}

TEST(NullBackend, CatchesAKernelThatLeavesPartOfItsResultUnwritten) {
  const Scripted broken([](const NodeView&) -> Body {
    return [](const HostArgs& a) {
      a.output<float>(0)[0] = 11;
      return Status();
    };
  });
  const NullBackend null(broken);
  const std::vector<float> got = *run(null);
  EXPECT_EQ(got[0], 11);
  EXPECT_GT(got[1], 3e38);
  EXPECT_TRUE(std::isnan(got[2]));
}

TEST(NullBackend, KernelsTakeOperandsOfTheirOwnMemoryAlone) {
  const OneNode n;
  PrepareContext context;
  const NullBackend null(cpu::cpu_backend());
  const Block theirs = *Block::allocate(null.memory(), 256);
  const Block ours = *Block::allocate(host_memory(), 256);
  std::memset(host_memory().pointer(ours.handle()), 0, 256);
  for (const Backend* backend : {static_cast<const Backend*>(&null), &cpu::cpu_backend()}) {
    const auto kernel = *backend->prepare(n.view(), backend->candidates(n.view(), 1).front(), context);
    const bool device = backend == &null;
    const Handle right = (device ? theirs : ours).handle(), wrong = (device ? ours : theirs).handle();
    for (int odd = 0; odd < 4; ++odd) {
      const auto pick = [&](int i) { return (i == odd ? wrong : right) + i * 64; };
      const Handle in[] = {pick(0), pick(1)}, out[] = {pick(2)};
      const Status status = kernel->run({.in = in, .out = out, .workspace = pick(3), .threads = 1});
      ASSERT_FALSE(status.ok()) << backend->name() << " took operand " << odd;
      EXPECT_EQ(status.error().group(), base::ErrorGroup::internal);
    }
  }
}

TEST(NullBackend, TakesPartInNoSearchThatHasTheHost) {
  const OneNode n;
  const NullBackend null(cpu::cpu_backend());
  const auto host = cpu::cpu_backend().candidates(n.view(), 1), dear = null.candidates(n.view(), 1);
  ASSERT_EQ(host.size(), dear.size());
  for (size_t i = 0; i < host.size(); ++i)
    for (int q = 0; q < kQuantities; ++q) {
      const bool launches = kQuantityNames[q] == "launches";
      EXPECT_DOUBLE_EQ(dear[i].features.amount[q],
                       host[i].features.amount[q] + (launches ? NullBackend::kLaunches : 0));
    }
  EXPECT_EQ(null.name(), "null");
  EXPECT_NE(null.target().find("memory of its own"), std::string::npos);
  EXPECT_TRUE(null.ready().ok());
}

TEST(NullMemory, HoldsPoisonUntilSomethingIsCopiedIn) {
  NullMemory memory;
  const Block block = *Block::allocate(memory, 64);
  std::vector<float> seen(16);
  const auto read = [&] { ASSERT_TRUE(memory.copy_out(seen.data(), block.handle(), 64).ok()); };
  const auto poisoned = [&](int i) { return i % 2 ? seen[i] > 3e38F : std::isnan(seen[i]); };
  read();
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(poisoned(i)) << i;
  const std::vector<float> ones(4, 1);
  ASSERT_TRUE(memory.copy_in(block.handle() + 16, ones.data(), 16).ok());
  ASSERT_TRUE(memory.copy_within(block.handle() + 48, block.handle() + 16, 16).ok());
  read();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(seen[i] == 1, i / 4 % 2 == 1) << i;
  memory.discard(block.handle(), 64);
  read();
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(poisoned(i)) << i;
}

TEST(NullMemory, KnowsNothingButItsLivingBlocks) {
  NullMemory memory, other;
  float value = 0;
  const auto refused = [&](Handle h, int64_t bytes) { return !memory.copy_out(&value, h, bytes).ok(); };
  Block block = *Block::allocate(memory, 64);
  const Handle at = block.handle();
  EXPECT_FALSE(refused(at, 4));
  EXPECT_FALSE(refused(at + 64, 0));
  EXPECT_TRUE(refused(at + 61, 4)) << "past the end";
  EXPECT_TRUE(refused(at + -4, 4)) << "before the beginning";
  EXPECT_TRUE(refused(at, -1));
  EXPECT_TRUE(refused(Handle(), 4));
  EXPECT_TRUE(refused(host_memory().of(&value), 4)) << "the host's";
  EXPECT_TRUE(refused(Block::allocate(other, 64)->handle(), 4)) << "freed, and another's";
  const Block theirs = *Block::allocate(other, 64);
  EXPECT_TRUE(refused(theirs.handle(), 4)) << "another's";
  block = Block();
  EXPECT_TRUE(refused(at, 4)) << "freed";
  const Block next = *Block::allocate(memory, 64);
  EXPECT_FALSE(next.handle() == at) << "numbers are not given out twice";
  EXPECT_TRUE(refused(at, 4));
  EXPECT_EQ(host_memory().pointer(next.handle()), nullptr) << "no pointer for host code";
  EXPECT_FALSE(memory.allocate(-1).ok());
  EXPECT_FALSE(memory.allocate(int64_t{1} << 40).ok());
}

TEST(HostMemory, MovesBytesAndRefusesHandlesOfOthers) {
  HostMemory& host = host_memory();
  NullMemory other;
  const Block block = *Block::allocate(host, 8), theirs = *Block::allocate(other, 8);
  const int64_t seven = 7;
  int64_t got = 0;
  ASSERT_TRUE(host.copy_in(block.handle(), &seven, 8).ok());
  ASSERT_TRUE(host.copy_out(&got, block.handle(), 8).ok());
  EXPECT_EQ(got, 7);
  EXPECT_FALSE(host.copy_in(theirs.handle(), &seven, 8).ok());
  EXPECT_FALSE(host.copy_out(&got, theirs.handle(), 8).ok());
  EXPECT_FALSE(host.copy_within(block.handle(), theirs.handle(), 8).ok());
  EXPECT_FALSE(host.allocate(-1).ok());
}

}  // namespace
}  // namespace walle::backends
