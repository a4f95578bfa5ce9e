// Operators on sizes and attributes that no exporter writes: planning ends, with a plan or with an error that
// names the cause, and overflows nothing on the way (the sanitizer build sees that). Nothing is computed: the
// inputs would not fit into memory.
#include <cmath>
#include <limits>

#include "ops/passes/merge_rasters.h"
#include "run_op.h"

namespace walle::ops {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t k2_31 = int64_t{1} << 31, k2_33 = int64_t{1} << 33;

struct In {
  Shape shape;
  DType dtype = DType::float32;
  Tensor constant;
  bool given = true;
};

In value(const Shape& shape, DType dtype = DType::float32) { return {shape, dtype, {}}; }
In bytes(const Shape& shape) { return value(shape, DType::uint8); }
In known(Tensor t) { return {t.shape(), t.dtype(), t}; }
In list(const Ints& values) { return known(*Tensor::vector_i64(values)); }
In number(int64_t v) { return known(*Tensor::scalar<int64_t>(v)); }
In omitted() { return {{}, DType::undefined, {}, false}; }

class Planner {
 public:
  Planner() : lowering_(program_, {nullptr, runtime::fold_program, 1024}) {}

  Result<std::vector<Ref>> apply(const char* op, const ir::Attributes& attributes,
                                 const std::vector<In>& inputs, int outputs = 1) {
    std::vector<Ref> refs;
    for (const In& in : inputs) refs.push_back(ref(in));
    return lowering_.apply(*find_op(op), attributes, refs, outputs, "node");
  }
  Result<Ref> one(const char* op, const ir::Attributes& attributes, const std::vector<Ref>& inputs) {
    WALLE_ASSIGN(const std::vector<Ref> made, lowering_.apply(*find_op(op), attributes, inputs, 1, "node"));
    return made[0];
  }
  Ref ref(const In& in) {
    if (!in.given) return kNoRef;
    return in.constant.defined() ? lowering_.add_constant(in.constant)
                                 : lowering_.add_value(in.dtype, in.shape);
  }
  Program& program() { return program_; }

 private:
  Program program_;
  Lowering lowering_;
};

struct Hostile {
  const char* op;
  ir::Attributes attributes;
  std::vector<In> inputs;
  const char* refused;  // part of the message; nullptr: it can be planned
};

ir::Attributes tree(int64_t nodes, int64_t targets, double mode) {
  const std::vector<double> zeros(static_cast<size_t>(nodes), 0.0);
  const Ints none(static_cast<size_t>(nodes), 0), all(static_cast<size_t>(nodes), 1);
  Ints roots;
  for (int64_t i = 0; i < nodes; ++i) roots.push_back(i);
  const Shape shape{nodes};
  return {{"nodes_featureids", none},
          {"nodes_splits", floats(shape, zeros)},
          {"nodes_modes", floats(shape, std::vector<double>(zeros.size(), mode))},
          {"nodes_truenodeids", none},
          {"nodes_trueleafs", all},
          {"nodes_falsenodeids", none},
          {"nodes_falseleafs", all},
          {"tree_roots", roots},
          {"n_targets", targets},
          {"leaf_targetids", Ints{0}},
          {"leaf_weights", floats(Shape{1}, {0})}};
}

void expect(const std::vector<Hostile>& rows) {
  for (const Hostile& h : rows) {
    SCOPED_TRACE(std::string(h.op) + " {" + h.attributes.text().substr(0, 200) + "}");
    Planner planner;
    const auto got = planner.apply(h.op, h.attributes, h.inputs);
    if (!h.refused) {
      EXPECT_TRUE(got.ok()) << got.error().message();
      EXPECT_TRUE(merge_rasters(planner.program()).ok());
      continue;
    }
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().message().find(h.refused), std::string::npos) << got.error().message();
    EXPECT_NE(got.error().group(), base::ErrorGroup::internal) << got.error().message();
    EXPECT_FALSE(got.error().text().next.empty()) << got.error().message();
  }
}

TEST(Hostile, ProductsOfSizes) {
  const Ints strides{k2_31 - 1, k2_31 - 1, k2_31 - 1};
  expect({
      {"Einsum",
       {{"equation", std::string("ab,a,b->a")}},
       {bytes({1, 1}), bytes({k2_33}), bytes({k2_33})},
       "17179869184"},
      {"STFT", {}, {value({1, 8, 2}), number(kMax), omitted(), number(4)}, nullptr},
      {"STFT", {}, {value({1, k2_33, 1}), number(1), omitted(), number(k2_33 / 2)}, "STFT"},
      {"DequantizeLinear",
       {{"axis", int64_t{1}}, {"block_size", kMax}},
       {value({4, 4}, DType::int8), value({4, 1})},
       nullptr},
      {"DequantizeLinear",
       {{"axis", int64_t{1}}, {"block_size", kMax / 2}},
       {value({4, 4}, DType::int8), value({4, 1})},
       nullptr},
      {"DequantizeLinear",
       {{"axis", int64_t{1}}, {"block_size", int64_t{1}}},
       {value({1, 1}, DType::int8), value({1, 1}), value({1}, DType::int8)},
       "shape [1]"},
      {"Conv", {{"group", kMax}}, {value({1, 2, 4}), value({0, 2, 1})}, "group"},
      {"Conv",
       {{"pads", Ints{k2_31 - 1, 0, 0, k2_31 - 1, 0, 0}}},
       {bytes({1, k2_33, 1, 1, 1}), bytes({1, k2_33, 2, 1, 1})},
       "17179869184"},
      {"Conv", {{"strides", strides}}, {bytes({1, 1, 1, 1 << 17, 1 << 17}), bytes({1, 1, 1, 1, 1})}, nullptr},
      {"Conv",
       {{"dilations", Ints{k2_31 - 1, 1, 1}}, {"strides", Ints{1, 1 << 17, 1 << 17}}},
       {bytes({1, 1, 0, 1 << 17, 1 << 17}), bytes({1, 1, 2, 1, 1})},
       nullptr},
      {"Conv", {}, {bytes({1, 1, 256, 256, 256}), bytes({1, 1, 256, 256, 256})}, "65536"},
      {"ConvTranspose", {{"output_shape", Ints{kMin}}}, {value({1, 1, 2}), value({1, 1, 3})}, "output size"},
      {"ConvTranspose",
       {{"output_shape", Ints{1, 1 << 30}}, {"dilations", Ints{k2_31 - 1, 1}}},
       {value({1, 1, 1, 1}), value({1, 1, 1024, 1})},
       nullptr},
      {"ConvTranspose",
       {{"output_shape", Ints{1, 1 << 30, 8}}, {"strides", Ints{k2_31 - 1, 1, 1}}},
       {value({1, 1, 1, 1, 1}, DType::float16), value({1, 1, 1, 1, 1}, DType::float16)},
       "17179869184"},
      {"ConvTranspose",
       {{"group", k2_31}},
       {value({1, 0, 1, k2_31 - 1}), value({0, 1, 65536, 1})},
       "17179869184"},
      {"DeformColumns",
       {{"offset_group", k2_33}, {"kernel_shape", Ints{32767, 65536}}, {"pads", Ints{32766, 65535, 0, 0}}},
       {value({1, k2_33, 1, 1}), value({1, 1, 1, 1})},
       "offset_group"},
      {"Col2Im",
       {{"strides", strides}},
       {bytes({1, 1, 1}), list({1, 1 << 17, 1 << 17}), list({1, 1, 1})},
       nullptr},
      {"DepthToSpace", {{"blocksize", int64_t{1 << 20}}}, {bytes({1, 0, 1 << 17, 1 << 17})}, "blocksize"},
      {"SpaceToDepth", {{"blocksize", int64_t{1 << 20}}}, {bytes({1, 2 * k2_33, 0, 0})}, "blocksize"},
      {"Trilu", {}, {bytes({2 * k2_33, 0})}, nullptr},
  });
}

TEST(Hostile, NumbersThatTheDtypeDoesNotHold) {
  std::vector<In> many(200, value({2}, DType::int8));
  const double nan = std::nan("");
  expect({
      {"Gemm", {{"alpha", 1e30}}, {value({1, 1}, DType::int32), value({1, 1}, DType::int32)}, "holds"},
      {"Mean", {}, many, "holds"},
      {"GlobalLpPool", {{"p", kMax}}, {value({1, 1, 2}, DType::int64)}, "holds"},
      {"NegativeLogLikelihoodLoss",
       {{"ignore_index", kMax}},
       {value({1, 3}), value({1}, DType::int64)},
       nullptr},
      {"NegativeLogLikelihoodLoss",
       {{"ignore_index", int64_t{1} << 40}},
       {value({1, 3}), value({1}, DType::int32)},
       nullptr},
      {"LabelEncoder",
       {{"keys_int64s", Ints{1}}, {"values_int64s", Ints{1}}, {"default_int64", kMax}},
       {value({2}, DType::int64)},
       "2^53"},
      {"TreeEnsemble", tree(1, 1, nan), {value({1, 4})}, "node mode"},
  });
}

TEST(Hostile, TablesAndSteps) {
  expect({
      {"MaxUnpool",
       {{"kernel_shape", Ints{1 << 30}}},
       {value({1, 1, 1}), value({1, 1, 1}, DType::int64)},
       nullptr},
      {"RNN",
       {{"hidden_size", int64_t{1024}}},
       {value({1, 1 << 20, 1}), value({1, 1024, 1}), value({1, 1024, 1024})},
       nullptr},
      {"ConvTranspose", {}, {value({1, 1, 1, 2}), value({1, 1, 65536, 1})}, nullptr},
      {"TreeEnsemble", tree(130, 1 << 20, 0), {value({1, 4})}, "steps while planning"},
      {"Resize", {}, {value({3}), omitted(), omitted(), list({1 << 26})}, "steps while planning"},
  });
}

TEST(Hostile, OmittedOperands) {
  expect({
      {"Einsum", {{"equation", std::string("a,,b->ab")}}, {value({2}), omitted(), value({3})}, "left out"},
      {"Max", {}, {value({2}), omitted(), value({2})}, "left out"},
      {"Concat", {{"axis", int64_t{0}}}, {value({2}), omitted()}, "parts [2] and []"},
  });
  EXPECT_EQ(find_op("LSTM")->outputs.min, 1);  // what decompositions write their first result to is there
}

// A transform of an axis of no length: its result is that of zeros.
TEST(Hostile, EmptyAxes) {
  const Tensor empty = *Tensor::zeros(DType::float32, Shape{1, 0, 1});
  const auto got = run_op("DFT", {}, {empty, integer(4), integer(1)});
  ASSERT_TRUE(got.ok()) << got.error().message();
  EXPECT_TRUE((*got)[0].identical(*Tensor::zeros(DType::float32, Shape{1, 4, 2})));
}

TEST(Hostile, NodesCountTogether) {
  Planner ranges;
  const auto scalar = [](int32_t v) { return known(*Tensor::scalar<int32_t>(v)); };
  const std::vector<In> most{scalar(0), scalar(static_cast<int32_t>(base::kMaxPlanTable / 8 + 1)), scalar(1)};
  EXPECT_TRUE(ranges.apply("Range", {}, most).ok());
  const auto second = ranges.apply("Range", {}, most);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().group(), base::ErrorGroup::resource) << second.error().message();

  Planner pads;
  Status status;
  int fine = 0;
  for (; status.ok() && fine < 100; ++fine)
    status =
        pads.apply("Pad", {{"mode", std::string("wrap")}}, {value({1}), list({0, base::kMaxRegions - 1})})
            .status();
  EXPECT_EQ(fine - 1, base::kMaxPlanRegions / base::kMaxRegions);
  EXPECT_EQ(status.error().group(), base::ErrorGroup::resource) << status.error().message();
}

TEST(Hostile, NodesOfADecompositionShareTheirName) {
  Planner planner;
  ASSERT_TRUE(planner
                  .apply("LSTM", {{"hidden_size", int64_t{1}}},
                         {value({100, 1, 1}), value({1, 4, 1}), value({1, 4, 1})})
                  .ok());
  const auto& nodes = planner.program().nodes;
  ASSERT_GT(nodes.size(), 1000U);
  for (const ProgramNode& n : nodes) EXPECT_EQ(&n.origin.text(), &nodes[0].origin.text());
}

// Merging gives up where it would take too long; the plan stays as it was lowered.
TEST(Hostile, MergesThatWouldTakeLong) {
  Planner stacked;  // every region of one Pad meets every one of the other
  Ref x = stacked.ref(value({2, 2, 2, 2, 2, 2, 2, 2}));
  const Ref pads = stacked.ref(list(Ints(16, 1)));
  for (int i = 0; i < 4; ++i) x = *stacked.one("Pad", {{"mode", std::string("edge")}}, {x, pads});
  stacked.program().outputs = {x};
  ASSERT_TRUE(merge_rasters(stacked.program()).ok());
  EXPECT_GE(count_copies(stacked.program()), 2);

  Planner cut;  // each transposed row is another piece
  const Ref padded =
      *cut.one("Pad", {}, {cut.ref(bytes({1 << 20})), cut.ref(list({5, 2 * k2_33 - (1 << 20) - 5}))});
  const Ref square = *cut.one("Reshape", {}, {padded, cut.ref(list({1 << 17, 1 << 17}))});
  for (int i = 0; i < 200; ++i) cut.program().outputs.push_back(*cut.one("Transpose", {}, {square}));
  ASSERT_TRUE(merge_rasters(cut.program()).ok());
  EXPECT_GE(count_copies(cut.program()), 2);
}

TEST(Hostile, ManyPartsMergeBack) {
  Planner planner;
  const Ref x = planner.ref(value({1024}));
  planner.program().inputs = {x};
  const auto parts = planner.apply("Split", {{"num_outputs", int64_t{512}}}, {value({1024})}, 512);
  ASSERT_TRUE(parts.ok()) << parts.error().message();
  const Ref joined = *planner.one("Concat", {{"axis", int64_t{0}}}, *parts);
  planner.program().outputs = {joined};
  ASSERT_TRUE(merge_rasters(planner.program()).ok());
  EXPECT_EQ(count_copies(planner.program()), 0);
}

}  // namespace
}  // namespace walle::ops
