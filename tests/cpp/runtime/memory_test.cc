// Short memory: every allocation of loading, planning and running is made to fail once. Each time the answer
// is a resource error, and the session computes the right thing when memory is back.
#include "base/memory.h"

#include <atomic>

#include "build.h"

namespace walle::runtime {
namespace {

std::atomic<uint64_t> g_fail_at{0};

bool at_number(uint64_t number, size_t) { return number == g_fail_at.load(); }

// y = relu(reshape(x w + b, target)), with the target shape known only when running; s = a Conv; an If over
// both.
ir::ModelData many_allocations() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {4, ""}});
  const auto target = b.input("target", DType::int64, {{-1, ""}});
  const auto picture = b.input("picture", DType::float32, {{1, ""}, {2, ""}, {6, ""}, {6, ""}});
  const auto product = b.node("MatMul", {x, b.constant(ramp({4, 6}, 0.25F))});
  const auto sum = b.node("Add", {product, b.floats({6}, {1, 2, 3, 4, 5, 6})});
  const auto shaped = b.node("Reshape", {sum, target});
  b.output(b.node("Relu", {shaped}), "y");
  const auto conv = b.node("Conv", {picture, b.constant(ramp({3, 2, 3, 3}, 0.01F))});
  b.output(b.node("ReduceMean", {conv, b.ints({2, 3})}), "s");

  const auto body = [](float value) {
    GraphBuilder inner;
    const auto in =
        inner.graph().add_value({"in", ir::ValueKind::tensor, DType::undefined, std::nullopt, std::nullopt});
    inner.graph().inputs.push_back(in);
    inner.output(inner.node("Mul", {in, inner.floats({}, {value})}), "out");
    return std::make_shared<const ir::Graph>(inner.graph());
  };
  const auto flag = b.node("Cast", {b.node("ReduceMax", {target}, {{"keepdims", int64_t{0}}})},
                           {{"to", static_cast<int64_t>(DType::boolean)}});
  const auto chosen = b.node("If", {flag, sum, sum},
                             {{"then_branch", body(2)},
                              {"else_branch", body(3)},
                              {"then_captures", int64_t{1}},
                              {"else_captures", int64_t{1}}});
  b.output(chosen, "chosen");
  return b.data();
}

std::vector<NamedValue> inputs() {
  return {{"x", ramp({3, 4})},
          {"target", *Tensor::vector_i64(std::vector<int64_t>{2, 9})},
          {"picture", ramp({1, 2, 6, 6}, 0.1F)}};
}

// Loads and runs twice; the results of the first run, or what went wrong.
Result<std::vector<ir::RuntimeValue>> whole_life(const ir::ModelData& data, const std::vector<NamedValue>& in,
                                                 const SessionOptions& options) {
  WALLE_ASSIGN(auto model, Model::create(data, {options.debug.fold}));
  WALLE_ASSIGN(auto session, model->session(options));
  WALLE_ASSIGN(auto first, session->run(in));
  WALLE_ASSIGN(auto second, session->run(in));
  return first;
}

void expect_same(const std::vector<ir::RuntimeValue>& got, const std::vector<ir::RuntimeValue>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i].tensor()->identical(*want[i].tensor())) << "result " << i;
}

TEST(ShortMemory, EveryAllocationMayFailOnce) {
  const ir::ModelData data = many_allocations();
  const auto in = inputs();
  const SessionOptions split{.backend = "cpu,null", .debug = {.placement = 1}};
  for (const SessionOptions& options : {SessionOptions(), SessionOptions{.debug = {.fold = false}}, split}) {
    const uint64_t begin = base::allocation_count();
    const auto want = whole_life(data, in, options);
    ASSERT_TRUE(want.ok()) << want.error().message();
    const uint64_t count = base::allocation_count() - begin;
    ASSERT_GT(count, 10u) << "the seam no longer sees the tensors";
    int failed = 0;
    for (uint64_t n = 0; n < count; ++n) {
      g_fail_at = base::allocation_count() + n;
      base::set_allocation_fault(at_number);
      const auto got = whole_life(data, in, options);
      base::set_allocation_fault(nullptr);
      if (got.ok()) {  // constants that cannot be folded at load time are computed later
        expect_same(*got, *want);
        continue;
      }
      ++failed;
      EXPECT_EQ(got.error().group(), base::ErrorGroup::resource)
          << "allocation " << n << ": " << got.error().message();
      EXPECT_FALSE(got.error().text().next.empty());
    }
    EXPECT_GT(failed, 8);
  }
}

TEST(ShortMemory, TheSessionGoesOnAfterwards) {
  const auto model = model_of(many_allocations());
  const auto in = inputs();
  const auto want = *(*model->session({}))->run(in);
  for (uint64_t n = 0; n < 40; ++n) {
    auto session = *model->session({});
    g_fail_at = base::allocation_count() + n;
    base::set_allocation_fault(at_number);
    const auto first = session->run(in);
    base::set_allocation_fault(nullptr);
    for (int again = 0; again < 2; ++again) {
      const auto got = session->run(in);
      ASSERT_TRUE(got.ok()) << "after failure " << n << ": " << got.error().message();
      expect_same(*got, want);
    }
    if (first.ok() && n > 5) break;  // no allocation was left to fail
  }
}

// The value that decides Reshape's result is copied into the plan; the rule for Reshape cannot say why it is
// not there.
TEST(ShortMemory, AShapeDecidingValueThatCannotBeKeptIsAResourceError) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{6, ""}});
  const auto target = b.input("target", DType::int64, {{2, ""}});
  b.output(b.node("Reshape", {x, target}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  const std::vector<NamedValue> in{{"x", ramp({6})},
                                   {"target", *Tensor::vector_i64(std::vector<int64_t>{2, 3})}};
  base::set_allocation_fault([](uint64_t, size_t bytes) { return bytes == 16; });
  const auto got = session->run(in);
  base::set_allocation_fault(nullptr);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().group(), base::ErrorGroup::resource) << got.error().message();
  EXPECT_NE(got.error().message().find("Reshape"), std::string::npos) << got.error().message();
  EXPECT_TRUE(session->run(in).ok());
}

}  // namespace
}  // namespace walle::runtime
