// Plans a session keeps: found again for the shapes and shape-deciding values they were made for, for no
// others, and not without bound.
#include "backends/host_memory.h"
#include "build.h"

namespace walle::runtime {
namespace {

// y = reshape(relu(x), target): one plan per shape of x and value of target.
std::shared_ptr<Model> reshaping() {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto target = b.input("target", DType::int64, {{2, ""}});
  b.output(b.node("Exp", {b.node("Reshape", {b.node("Relu", {x}), target})}), "y");
  return model_of(b.data());
}

Shape run(Session& session, int64_t n, std::vector<int64_t> target) {
  const std::vector<NamedValue> in{{"x", ramp({n}, 0)}, {"target", *Tensor::vector_i64(target)}};
  const auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  return out.ok() ? (*out)[0].tensor()->shape() : Shape{};
}

TEST(PlanCache, ShapesAndValuesAreTheKey) {
  const auto model = reshaping();
  auto session = *model->session({});
  const auto plans = [&] { return session->explain().plans; };
  EXPECT_EQ(run(*session, 6, {2, 3}), (Shape{2, 3}));
  const int one = plans();
  EXPECT_EQ(run(*session, 6, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(plans(), one) << "the same again needs no plan";
  EXPECT_EQ(run(*session, 6, {3, 2}), (Shape{3, 2})) << "another value under an equal shape";
  EXPECT_EQ(plans(), 2 * one);
  EXPECT_EQ(run(*session, 12, {3, -1}), (Shape{3, 4}));
  EXPECT_EQ(plans(), 3 * one);
  EXPECT_EQ(run(*session, 6, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(plans(), 3 * one) << "the first plan is still there";
}

// The key holds a copy: the caller may write something else into the same memory.
TEST(PlanCache, TheCallersMemoryIsNotTheKey) {
  const auto model = reshaping();
  auto session = *model->session({});
  Tensor target = *Tensor::vector_i64(std::vector<int64_t>{2, 3});
  const std::vector<NamedValue> in{{"x", ramp({6})}, {"target", target}};
  EXPECT_EQ((*session->run(in))[0].tensor()->shape(), (Shape{2, 3}));
  target.as_mutable<int64_t>()[0] = 6;
  target.as_mutable<int64_t>()[1] = 1;
  EXPECT_EQ((*session->run(in))[0].tensor()->shape(), (Shape{6, 1}));
}

TEST(PlanCache, EverNewShapesDoNotGrowItForEver) {
  const auto model = reshaping();
  auto session = *model->session({.debug = {.classes = false}});
  int most = 0;
  for (int64_t n = 1; n < 200; ++n) {
    EXPECT_EQ(run(*session, n, {1, -1}), (Shape{1, n}));
    most = std::max(most, session->explain().plans);
  }
  EXPECT_GT(most, 10);
  EXPECT_LE(most, 64);
  EXPECT_EQ(run(*session, 1, {1, -1}), (Shape{1, 1})) << "what was dropped is planned again";
}

// Results are given back in memory that the next run may use again only when nobody holds them.
TEST(PlanCache, ResultsAreNotOverwrittenWhileHeld) {
  GraphBuilder b;
  b.output(b.node("Exp", {b.input("x", DType::float32, {{2, ""}})}), "y");
  const auto model = model_of(b.data());
  auto session = *model->session({});
  const auto first = *session->run(std::vector<NamedValue>{{"x", ramp({2}, 0)}});
  const auto second = *session->run(std::vector<NamedValue>{{"x", ramp({2}, 1)}});
  EXPECT_EQ(numbers(first[0]), (std::vector<float>{1, 1}));
  EXPECT_NE(first[0].tensor()->data(), second[0].tensor()->data());
}

TEST(PreparedConstants, AreMadeOncePerModelAndKind) {
  PreparedConstants cache;
  const Tensor a = ramp({4}), b = ramp({4});
  int made = 0;
  const auto make = [&]() -> Result<backends::Block> {
    ++made;
    return backends::Block::allocate(backends::host_memory(), 64);
  };
  const auto get = [&](std::vector<const Tensor*> sources, const char* kind) {
    return (*cache.get(sources, kind, make))->handle();
  };
  const auto first = get({&a}, "gemm_avx2");
  EXPECT_EQ(get({&a}, "gemm_avx2"), first);
  EXPECT_EQ(made, 1);
  EXPECT_NE(get({&a}, "gemm_avx512"), first);
  EXPECT_NE(get({&b}, "gemm_avx2"), first);
  EXPECT_NE(get({&a, &b}, "gemm_avx2"), first) << "every source counts";
  EXPECT_NE(get({&a, &b}, "gemm_avx2"), get({&b, &a}, "gemm_avx2"));
  EXPECT_EQ(made, 5);
  const auto failing = [] { return Result<backends::Block>(resource_error("no memory", "", "", "")); };
  const std::vector<const Tensor*> source{&b};
  EXPECT_FALSE(cache.get(source, "other", failing).ok());
  EXPECT_TRUE(cache.get(source, "other", make).ok()) << "a failure is not remembered";
}

}  // namespace
}  // namespace walle::runtime
