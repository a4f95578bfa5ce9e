// Weights that a model stores in 16 bits behind a Cast: kept so, read as they lie, and the results are those
// of float32 constants.
#include "ops/stored_halves.h"

#include <gtest/gtest.h>

#include "build.h"
#include "runtime/session.h"
#include "tensor/half.h"
#include "tensor/widen.h"

namespace walle::runtime {
namespace {

// How a model holds its weights.
enum class Kind { float16, bfloat16, as_float32_of_float16, as_float32_of_bfloat16 };

bool is_bfloat(Kind kind) { return kind == Kind::bfloat16 || kind == Kind::as_float32_of_bfloat16; }
bool is_wide(Kind kind) {
  return kind == Kind::as_float32_of_float16 || kind == Kind::as_float32_of_bfloat16;
}

Tensor half_weights(const Shape& shape, bool bfloat) {
  Tensor out = *Tensor::allocate(bfloat ? DType::bfloat16 : DType::float16, shape);
  auto* bits = static_cast<uint16_t*>(out.mutable_data());
  for (int64_t i = 0; i < out.elements(); ++i) {
    const float x = 0.002F * static_cast<float>(i * 7919 % 613) - 0.6F;
    bits[i] = bfloat ? tensor::float_to_bfloat16_bits(x) : tensor::float_to_half_bits(x);
  }
  return out;
}

ir::ValueId weights(GraphBuilder& b, const Shape& shape, Kind kind) {
  const Tensor narrow = half_weights(shape, is_bfloat(kind));
  if (!is_wide(kind)) return b.node("Cast", {b.constant(narrow)}, {{"to", int64_t{1}}});
  Tensor wide = *Tensor::allocate(DType::float32, shape);
  tensor::widen(narrow.dtype(), narrow.address(), wide.as_mutable<float>().data(), narrow.elements());
  return b.constant(wide);
}

struct Net {
  const char* name;
  ir::ModelData (*make)(Kind kind);
  std::vector<NamedValue> inputs;
};

ir::ModelData products(Kind kind) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {600, ""}});
  const auto large = b.node("MatMul", {x, weights(b, {600, 500}, kind)});  // read where it lies by few rows
  const auto turned = b.node(
      "Gemm",
      {b.node("Relu", {large}), weights(b, {70, 500}, kind), b.floats({70}, std::vector<float>(70, 0.1F))},
      {{"transB", int64_t{1}}, {"alpha", 1.0}, {"beta", 1.0}});
  b.output(b.node("Tanh", {turned}), "y");
  return b.data();
}

ir::ModelData pictures(Kind kind) {
  GraphBuilder b;
  auto x = b.input("x", DType::float32, {{-1, "n"}, {32, ""}, {9, ""}, {11, ""}});
  const auto conv = [&](const Shape& shape, int64_t group, int64_t pad) {
    x = b.node("Relu", {b.node("Conv", {x, weights(b, shape, kind)},
                               {{"group", group}, {"pads", std::vector<int64_t>(4, pad)}})});
  };
  conv({48, 32, 3, 3}, 1, 1);
  conv({256, 48, 1, 1}, 1, 0);
  conv({256, 1, 3, 3}, 256, 1);
  conv({20, 256, 2, 3}, 1, 0);
  b.output(x, "y");
  return b.data();
}

ir::ModelData text(Kind kind) {
  GraphBuilder b;
  const auto ids = b.input("x", DType::int64, {{-1, "n"}, {-1, "t"}});
  const auto table = weights(b, {300, 64}, kind);
  const auto rows = b.node("Gather", {table, ids}, {{"axis", int64_t{0}}});
  const auto tied = b.node("Transpose", {table}, {{"perm", std::vector<int64_t>{1, 0}}});
  b.output(b.node("MatMul", {b.node("Tanh", {rows}), tied}), "y");
  return b.data();
}

Tensor ids(const Shape& shape) {
  Tensor out = *Tensor::allocate(DType::int64, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.as_mutable<int64_t>()[i] = i * 37 % 300;
  return out;
}

std::vector<Net> nets() {
  std::vector<Net> out;
  for (const int64_t n : {0, 1, 2, 5, 40})
    out.push_back({"products", products, {{"x", ramp({n, 600}, 1e-4F)}}});
  for (const int64_t n : {0, 1, 3})
    out.push_back({"pictures", pictures, {{"x", ramp({n, 32, 9, 11}, 1e-4F)}}});
  for (const int64_t t : {0, 1, 17}) out.push_back({"text", text, {{"x", ids({2, t})}}});
  return out;
}

std::vector<float> result(Session& session, const std::vector<NamedValue>& in) {
  auto out = session.run(in);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
  return out.ok() ? numbers((*out)[0]) : std::vector<float>();
}

TEST(StoredHalves, ResultsAreThoseOfFloat32Constants) {
  for (const Net& net : nets())
    for (const auto& [narrow, wide] : {std::pair(Kind::float16, Kind::as_float32_of_float16),
                                       std::pair(Kind::bfloat16, Kind::as_float32_of_bfloat16)})
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(std::string(net.name) + " " + net.inputs[0].value.tensor()->shape().text());
        const auto model = model_of(net.make(narrow)), floats = model_of(net.make(wide));
        const auto session = *model->session({.threads = threads}),
                   by_floats = *floats->session({.threads = threads});
        EXPECT_EQ(result(*session, net.inputs), result(*by_floats, net.inputs));
      }
}

TEST(StoredHalves, SwitchesChangeNothing) {
  for (const Net& net : nets()) {
    const auto model = model_of(net.make(Kind::bfloat16)),
               floats = model_of(net.make(Kind::as_float32_of_bfloat16));
    for (const auto& options :
         {SessionOptions{.debug = {.merge = false}}, SessionOptions{.debug = {.layouts = false}},
          SessionOptions{.backend = "cpu,null"}}) {
      SCOPED_TRACE(net.name);
      EXPECT_EQ(result(**model->session(options), net.inputs),
                result(**floats->session(options), net.inputs));
    }
  }
}

TEST(StoredHalves, NothingWideIsKept) {
  const auto model = model_of(products(Kind::float16));
  const auto session = *model->session({});
  for (const int64_t n : {2, 40, 3}) result(*session, {{"x", ramp({n, 600}, 1e-4F)}});
  const MemoryReport held = session->memory();
  // The second matrix is turned, in 16 bits; its bias is a few numbers.
  EXPECT_GE(held.folded, 70 * 500 * 2);
  EXPECT_LE(held.folded, 70 * 500 * 2 + 4096);
  EXPECT_EQ(held.packed, 0);
  // One row by few weights is packed in float32: the turned one alone.
  result(*session, {{"x", ramp({1, 600}, 1e-4F)}});
  EXPECT_LE(session->memory().packed, 96 * 500 * 4);
}

TEST(StoredHalves, ExplainSaysWhatWeightsLieIn) {
  for (const auto& [kind, name] : {std::pair(Kind::float16, "float16"), std::pair(Kind::bfloat16, "bfloat16"),
                                   std::pair(Kind::as_float32_of_float16, "float32")}) {
    const auto model = model_of(products(kind));
    const auto session = *model->session({});
    result(*session, {{"x", ramp({40, 600}, 1e-4F)}});
    int seen = 0;
    for (const ExplainRow& row : session->explain().rows)
      if (row.op == "MatMul") {
        ++seen;
        EXPECT_EQ(row.weights, name);
        EXPECT_EQ(row.arithmetic, "float32");
      }
    EXPECT_EQ(seen, 2);
  }
}

TEST(StoredHalves, SmallConstantsAndResultsAreFolded) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {40, ""}});
  b.output(b.node("Add", {x, weights(b, {40}, Kind::float16)}), "y");
  b.output(weights(b, {40, 60}, Kind::float16), "w");  // a result is a tensor of its own
  const auto model = model_of(b.data());
  EXPECT_EQ(model->graph().nodes.size(), 1u);
  const auto session = *model->session({});
  auto out = session->run(std::vector<NamedValue>{{"x", ramp({3, 40})}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(
      numbers((*out)[1]),
      numbers(ir::RuntimeValue(*Tensor::widened_late(half_weights({40, 60}, false)).for_one_reading())));
}

}  // namespace
}  // namespace walle::runtime
