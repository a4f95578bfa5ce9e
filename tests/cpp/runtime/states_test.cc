// State values: what outlives a run, what a failed one leaves, and who shares memory with whom.
#include <gtest/gtest.h>

#include "build.h"
#include "ir/walle_file.h"
#include "runtime/session_states.h"

namespace walle::runtime {
namespace {

using Floats = std::vector<float>;

// next = total + sum(x) * gain; y = total. `rows` of x are of any number.
ir::ModelData accumulator(bool sized = true) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto total = b.floats({2}, {10, 20});
  b.graph().at(total).name = "total";
  if (sized) b.graph().at(total).shape = {{2, ""}};
  const auto gain = b.floats({2}, {1, -1});
  const auto sum = b.node("ReduceSum", {x}, {{"keepdims", int64_t{1}}});
  const auto next = b.node("Add", {total, b.node("Mul", {sum, gain})});
  b.output(b.node("Identity", {total}), "y");
  b.graph().states = {{total, next}};
  return b.data();
}

std::unique_ptr<Session> session_of(const std::shared_ptr<Model>& model) {
  auto session = model->session({});
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message());
  return session.ok() ? std::move(*session) : nullptr;
}

Session::Values run(Session& session, int64_t n) {
  Tensor ones = *Tensor::allocate(DType::float32, Shape{n});
  for (float& v : ones.as_mutable<float>()) v = 1;
  auto out = session.run(Session::Values{ones});
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  return out.ok() ? *out : Session::Values();
}

Floats contents(Session& session, const char* name = "total") {
  const auto t = session.state(name);
  EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().message());
  return t.ok() ? numbers(*t) : Floats();
}

TEST(States, ARunReadsTheOldContentsAndLeavesTheNext) {
  for (const bool sized : {true, false}) {
    const auto session = session_of(model_of(accumulator(sized)));
    EXPECT_EQ(contents(*session), (Floats{10, 20}));
    EXPECT_EQ(numbers(run(*session, 3)[0]), (Floats{10, 20}));
    // Another shape is another plan, which goes on from there.
    EXPECT_EQ(numbers(run(*session, 5)[0]), (Floats{13, 17}));
    EXPECT_EQ(numbers(run(*session, 3)[0]), (Floats{18, 12}));
    EXPECT_EQ(contents(*session), (Floats{21, 9}));
  }
}

TEST(States, AreReadWrittenAndReset) {
  const auto session = session_of(model_of(accumulator()));
  Tensor mine = *Tensor::from<float>(Shape{2}, Floats{1, 2});
  ASSERT_TRUE(session->set_state("total", mine).ok());
  mine.as_mutable<float>()[0] = 99;  // it was copied
  run(*session, 1);
  Tensor copy = *session->state("total");
  EXPECT_EQ(numbers(copy), (Floats{2, 1}));
  copy.as_mutable<float>()[0] = 99;  // so was this
  EXPECT_EQ(contents(*session), (Floats{2, 1}));
  ASSERT_TRUE(session->reset_states().ok());
  EXPECT_EQ(contents(*session), (Floats{10, 20}));
  run(*session, 1);
  ASSERT_TRUE(session->reset_states().ok());  // and the model's constant is what it was
  EXPECT_EQ(contents(*session), (Floats{10, 20}));
}

TEST(States, WhatDoesNotFitIsRefused) {
  const auto session = session_of(model_of(accumulator()));
  EXPECT_NE(session->state("totals").error().message().find("did you mean 'total'"), std::string::npos);
  EXPECT_FALSE(session->set_state("x", ramp(Shape{2})).ok());
  EXPECT_FALSE(session->set_state("total", ramp(Shape{3})).ok());
  EXPECT_FALSE(session->set_state("total", *Tensor::zeros(DType::float64, Shape{2})).ok());
  EXPECT_FALSE(session->set_state("total", Tensor()).ok());
  EXPECT_EQ(contents(*session), (Floats{10, 20}));
}

TEST(States, SessionsDoNotShareThem) {
  const auto model = model_of(accumulator());
  const auto one = session_of(model);
  const auto other = session_of(model);
  run(*one, 4);
  EXPECT_EQ(contents(*other), (Floats{10, 20}));
  run(*other, 1);
  EXPECT_EQ(contents(*one), (Floats{14, 16}));
  EXPECT_EQ(contents(*other), (Floats{11, 19}));
}

// The counter has been computed when the index is found to lie outside.
TEST(States, AFailedRunLeavesThemAsTheyWere) {
  GraphBuilder b;
  const auto i = b.input("i", DType::int64, {{1, ""}});
  const auto count = b.floats({1}, {0});
  b.graph().at(count).name = "count";
  const auto next = b.node("Add", {count, b.floats({1}, {1})});
  const auto table = b.node("Add", {next, b.floats({4}, {0, 1, 2, 3})});
  b.output(b.node("Gather", {table, i}), "y");
  b.graph().states = {{count, next}};
  const auto session = session_of(model_of(b.data()));
  const auto at = [&](int64_t index) {
    return session->run(Session::Values{*Tensor::vector_i64({{index}})});
  };
  ASSERT_TRUE(at(1).ok());
  EXPECT_FALSE(at(7).ok());
  EXPECT_EQ(contents(*session, "count"), (Floats{1}));
  CancelToken cancelled;
  cancelled.cancel();
  RunOptions options;
  options.cancel = &cancelled;
  EXPECT_FALSE(session->run(Session::Values{*Tensor::vector_i64({{1}})}, options).ok());
  EXPECT_EQ(contents(*session, "count"), (Floats{1}));
  ASSERT_TRUE(at(1).ok());
  EXPECT_EQ(contents(*session, "count"), (Floats{2}));
}

// Results that are a state, or its next contents, and memory of the caller's that becomes one.
TEST(States, ShareMemoryWithNobody) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{2, ""}});
  const auto kept = b.floats({2}, {1, 2});
  const auto sum = b.floats({2}, {0, 0});
  b.graph().at(kept).name = "kept";
  b.graph().at(sum).name = "sum";
  const auto next = b.node("Add", {sum, x});
  b.output(b.node("Identity", {sum}), "old");
  b.output(next, "new");
  b.graph().states = {{kept, x}, {sum, next}};
  const auto session = session_of(model_of(b.data()));
  Tensor mine = *Tensor::from<float>(Shape{2}, Floats{3, 4});
  auto out = *session->run(Session::Values{mine});
  for (ir::RuntimeValue& v : out) std::get<Tensor>(v.state).as_mutable<float>()[0] = -1;
  mine.as_mutable<float>()[0] = -1;
  EXPECT_EQ(contents(*session, "kept"), (Floats{3, 4}));
  EXPECT_EQ(contents(*session, "sum"), (Floats{3, 4}));
  // In memory that is given for a result, which is the next contents too.
  RunOptions options;
  options.results = {Tensor(), *Tensor::zeros(DType::float32, Shape{2})};
  ASSERT_TRUE(session->run(Session::Values{ramp(Shape{2})}, options).ok());
  EXPECT_EQ(numbers(options.results[1]), (Floats{3, 5}));
  options.results[1].as_mutable<float>()[0] = -1;
  EXPECT_EQ(contents(*session, "sum"), (Floats{3, 5}));
}

// a, b = b, a + b
TEST(States, MayExchangeTheirContents) {
  GraphBuilder b;
  const auto first = b.floats({1}, {0});
  const auto second = b.floats({1}, {1});
  for (const auto& [id, name] : {std::pair(first, "a"), std::pair(second, "b")}) {
    b.graph().at(id).name = name;
    b.graph().at(id).shape = {{1, ""}};
  }
  b.graph().states = {{first, second}, {second, b.node("Add", {first, second})}};
  const auto session = session_of(model_of(b.data()));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(session->run(Session::Values{}).ok());
  EXPECT_EQ(contents(*session, "a"), (Floats{55}));
  EXPECT_EQ(contents(*session, "b"), (Floats{89}));
}

TEST(States, GrowWhereTheirSizesAreSymbols) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto cache = b.constant(*Tensor::zeros(DType::float32, Shape{0}));
  b.graph().at(cache).name = "cache";
  b.graph().at(cache).shape = {{-1, "length"}};
  b.graph().states = {{cache, b.node("Concat", {cache, x}, {{"axis", int64_t{0}}})}};
  const auto session = session_of(model_of(b.data()));
  for (const int64_t n : {2, 1, 3}) ASSERT_TRUE(session->run(Session::Values{ramp(Shape{n}, 1)}).ok());
  EXPECT_EQ(contents(*session, "cache"), (Floats{0, 1, 0, 0, 1, 2}));
}

TEST(States, NextContentsFitWhatIsDeclared) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}});
  const auto last = b.floats({2}, {7, 8});
  b.graph().at(last).name = "last";
  b.graph().at(last).shape = {{2, ""}};
  b.graph().states = {{last, b.node("Neg", {x})}};
  const auto session = session_of(model_of(b.data()));
  ASSERT_TRUE(session->run(Session::Values{ramp(Shape{2})}).ok());
  const auto longer = session->run(Session::Values{ramp(Shape{3})});
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(longer.error().message().find("state 'last'"), std::string::npos) << longer.error().message();
  EXPECT_EQ(contents(*session, "last"), (Floats{0, -1}));
}

// What a run replaces is what the next one computes into.
TEST(States, AStreamOfRunsUsesTwoBuffers) {
  const auto session = session_of(model_of(accumulator()));
  const auto held = [&] { return session->memory().free + session->memory().lent; };
  for (int i = 0; i < 4; ++i) run(*session, 3);
  const int64_t before = held();
  for (int i = 0; i < 40; ++i) run(*session, 3);
  EXPECT_EQ(held(), before);
  EXPECT_GT(before, 0);
}

TEST(States, SurviveAFileWithoutWhatASessionHolds) {
  const auto model = model_of(accumulator());
  const auto session = session_of(model);
  const auto before = ir::serialize_walle(model->stored());
  run(*session, 5);
  const auto after = ir::serialize_walle(model->stored());
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
}

TEST(States, AreMadeOfInputs) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{2, ""}});
  const auto total = b.input("total", DType::float32, {{2, ""}});
  b.output(b.node("Mul", {x, total}), "y");
  b.output(b.node("Add", {x, total}), "next");
  const auto plain = model_of(b.data());
  const StateSpec spec{"total", "next", ramp(Shape{2})};
  const auto made = plain->with_states({&spec, 1});
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ((*made)->graph().inputs.size(), 1u);
  EXPECT_EQ((*made)->graph().outputs.size(), 1u);
  auto session = *(*made)->session({});
  ASSERT_TRUE(session->run(Session::Values{ramp(Shape{2})}).ok());
  EXPECT_EQ(contents(*session), (Floats{0, 2}));
  for (const StateSpec& wrong : {StateSpec{"totl", "next", ramp(Shape{2})},
                                 {"total", "nxt", ramp(Shape{2})},
                                 {"total", "next", ramp(Shape{3})},
                                 {"total", "next", Tensor()}})
    EXPECT_FALSE(plain->with_states({&wrong, 1}).ok());
}

TEST(States, FaultyGraphsAreRefused) {
  const auto refused = [](auto&& change) {
    ir::ModelData data = accumulator();
    change(data.graph);
    const auto model = Model::create(std::move(data));
    return !model.ok() && model.error().group() == base::ErrorGroup::model;
  };
  EXPECT_FALSE(refused([](ir::Graph&) {}));
  EXPECT_TRUE(refused([](ir::Graph& g) { g.states[0].value = 99; }));
  EXPECT_TRUE(refused([](ir::Graph& g) { g.states[0].next = -1; }));
  EXPECT_TRUE(refused([](ir::Graph& g) { g.states[0].value = g.inputs[0]; }));
  EXPECT_TRUE(refused([](ir::Graph& g) { g.states.push_back(g.states[0]); }));
  EXPECT_TRUE(refused([](ir::Graph& g) { g.overridable = {g.states[0].value}; }));
  EXPECT_TRUE(refused([](ir::Graph& g) { g.states[0].next = g.add_value({}); }));
}

}  // namespace
}  // namespace walle::runtime
