// Every transform operator on values small enough to work out by hand. An operator without a row fails the
// last test.
#include <set>

#include "run_op.h"

namespace walle::ops {
namespace {

const Tensor none;

std::vector<Row> rows() {
  const Tensor six = ramp(Shape{2, 3});  // 0 1 2 / 3 4 5
  const Tensor line = ramp(Shape{6});
  return {
      {"Transpose", {{"perm", Ints{1, 0}}}, {six}, {3, 2}, {0, 3, 1, 4, 2, 5}},
      {"Transpose", {}, {six}, {3, 2}, {0, 3, 1, 4, 2, 5}},
      {"Reshape", {}, {six, ints({3, -1})}, {3, 2}, {0, 1, 2, 3, 4, 5}},
      {"Reshape", {}, {six, ints({0, 3, 1})}, {2, 3, 1}, {0, 1, 2, 3, 4, 5}},
      {"Squeeze", {}, {ramp(Shape{1, 2, 1}), ints({-1})}, {1, 2}, {0, 1}},
      {"Squeeze", {}, {ramp(Shape{1, 2, 1})}, {2}, {0, 1}},
      {"Unsqueeze", {}, {ramp(Shape{2}), ints({0, -1})}, {1, 2, 1}, {0, 1}},
      {"Flatten", {{"axis", int64_t{-1}}}, {ramp(Shape{2, 1, 2})}, {2, 2}, {0, 1, 2, 3}},
      {"Slice", {}, {line, ints({4}), ints({-7}), ints({0}), ints({-2})}, {3}, {4, 2, 0}},
      {"Slice", {}, {six, ints({1}), ints({1000}), ints({-1})}, {2, 2}, {1, 2, 4, 5}},
      {"Slice", {}, {line, ints({5}), ints({2})}, {0}, {}},
      {"Pad", {}, {ramp(Shape{2}), ints({1, 2}), floats(Shape{}, {9})}, {5}, {9, 0, 1, 9, 9}},
      {"Pad", {{"mode", std::string("reflect")}}, {ramp(Shape{3}), ints({2, 1})}, {6}, {2, 1, 0, 1, 2, 1}},
      {"Pad", {{"mode", std::string("edge")}}, {ramp(Shape{2}), ints({1, 2})}, {5}, {0, 0, 1, 1, 1}},
      {"Pad", {{"mode", std::string("wrap")}}, {ramp(Shape{3}), ints({1, 2})}, {6}, {2, 0, 1, 2, 0, 1}},
      {"Pad", {}, {line, ints({-2, -3})}, {1}, {2}},
      {"Concat",
       {{"axis", int64_t{-1}}},
       {six, floats(Shape{2, 1}, {8, 9})},
       {2, 4},
       {0, 1, 2, 8, 3, 4, 5, 9}},
      {"Concat", {{"axis", int64_t{0}}}, {ramp(Shape{0}), line}, {6}, {0, 1, 2, 3, 4, 5}},
      {"Split", {{"axis", int64_t{1}}, {"num_outputs", int64_t{1}}}, {six}, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"Tile", {}, {ramp(Shape{1, 2}), ints({2, 2})}, {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1}},
      {"Expand", {}, {ramp(Shape{2, 1}), ints({1, 3})}, {2, 3}, {0, 0, 0, 1, 1, 1}},
      {"Gather", {{"axis", int64_t{1}}}, {six, ints({-1, 0})}, {2, 2}, {2, 0, 5, 3}},
      {"Gather", {}, {line, integer(4)}, {}, {4}},
      {"GatherElements",
       {{"axis", int64_t{1}}},
       {six, tensor(DType::int64, Shape{2, 1}, {2, -3})},
       {2, 1},
       {2, 3}},
      {"GatherND", {}, {six, tensor(DType::int64, Shape{2, 2}, {0, 1, -1, -1})}, {2}, {1, 5}},
      {"GatherND",
       {{"batch_dims", int64_t{1}}},
       {six, tensor(DType::int64, Shape{2, 1}, {2, 0})},
       {2},
       {2, 3}},
      {"ScatterElements",
       {{"reduction", std::string("add")}},
       {line, ints({1, 1}), ramp(Shape{2})},
       {6},
       {0, 2, 2, 3, 4, 5}},
      {"Scatter", {}, {line, ints({-1}), floats(Shape{1}, {7})}, {6}, {0, 1, 2, 3, 4, 7}},
      {"ScatterND",
       {},
       {line, tensor(DType::int64, Shape{2, 1}, {4, 0}), floats(Shape{2}, {7, 8})},
       {6},
       {8, 1, 2, 3, 7, 5}},
      {"DepthToSpace", {{"blocksize", int64_t{2}}}, {ramp(Shape{1, 4, 1, 1})}, {1, 1, 2, 2}, {0, 1, 2, 3}},
      {"SpaceToDepth", {{"blocksize", int64_t{2}}}, {ramp(Shape{1, 1, 2, 2})}, {1, 4, 1, 1}, {0, 1, 2, 3}},
      {"Shape", {}, {six}, {2}, {2, 3}},
      {"Shape", {{"start", int64_t{-1}}}, {six}, {1}, {3}},
      {"Size", {}, {six}, {}, {6}},
      {"ConstantOfShape", {{"value", floats(Shape{1}, {4})}}, {ints({2, 1})}, {2, 1}, {4, 4}},
      {"EyeLike", {{"k", int64_t{1}}}, {six}, {2, 3}, {0, 1, 0, 0, 0, 1}},
      {"Range", {}, {integer(5), integer(-2), integer(-3)}, {3}, {5, 2, -1}},
      {"Range", {}, {integer(1), integer(1), integer(1)}, {0}, {}},
      {"Trilu", {{"upper", int64_t{0}}}, {six}, {2, 3}, {0, 0, 0, 3, 4, 0}},
      {"Trilu", {}, {six, integer(1)}, {2, 3}, {0, 1, 2, 0, 0, 5}},
      {"ReverseSequence",
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       {six, ints({2, 3})},
       {2, 3},
       {1, 0, 2, 5, 4, 3}},
      {"CenterCropPad", {}, {line, ints({2})}, {2}, {2, 3}},
      {"CenterCropPad", {}, {ramp(Shape{2}), ints({4})}, {4}, {0, 0, 1, 0}},
      {"Col2Im", {}, {ramp(Shape{1, 2, 2}), ints({1, 3}), ints({1, 2})}, {1, 1, 1, 3}, {0, 3, 3}},
  };
}

TEST(Transform, EveryRowIsWhatTheHandSays) {
  for (const Row& row : rows()) expect_row(row);
}

TEST(Transform, EveryDTypeMovesAlike) {
  for (int d = 1; d < tensor::kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    Tensor t = *Tensor::zeros(dtype, Shape{2, 3});
    auto* bytes = static_cast<uint8_t*>(t.mutable_data());
    for (int64_t i = 0; i < t.bytes(); ++i)
      bytes[i] = dtype == DType::boolean ? static_cast<uint8_t>(i % 2) : static_cast<uint8_t>(i);
    const auto back = run_op("Transpose", {}, {(*run_op("Transpose", {}, {t}))[0]});
    ASSERT_TRUE(back.ok()) << dtype_name(dtype) << ": " << back.error().message();
    EXPECT_TRUE((*back)[0].identical(t)) << dtype_name(dtype);
  }
}

// Real parts 0, 1, 2 ... and imaginary ones -0.5, -1.5, ...
Tensor complexes(DType dtype, const Shape& shape) {
  Tensor t = *Tensor::zeros(dtype, shape);
  for (int64_t i = 0; i < 2 * shape.elements(); ++i) {
    const double part = i % 2 == 0 ? static_cast<double>(i / 2) : -0.5 - static_cast<double>(i / 2);
    if (dtype == DType::complex64)
      static_cast<float*>(t.mutable_data())[i] = static_cast<float>(part);
    else
      static_cast<double*>(t.mutable_data())[i] = part;
  }
  return t;
}

// Every element, by the real part that it was given.
std::vector<double> real_parts(const Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const bool narrow = t.dtype() == DType::complex64;
    const double real =
        narrow ? static_cast<const float*>(t.data())[2 * i] : static_cast<const double*>(t.data())[2 * i];
    const double imaginary = narrow ? static_cast<const float*>(t.data())[2 * i + 1]
                                    : static_cast<const double*>(t.data())[2 * i + 1];
    EXPECT_EQ(imaginary, -0.5 - real) << "element " << i << " was taken apart";
    out.push_back(real);
  }
  return out;
}

TEST(Transform, ComplexNumbersMoveWhole) {
  struct Moved {
    const char* op;
    ir::Attributes attributes;
    std::vector<Tensor> inputs;
    std::vector<double> want;
  };
  for (const DType dtype : {DType::complex64, DType::complex128}) {
    const Tensor six = complexes(dtype, Shape{2, 3});
    const Tensor one = complexes(dtype, Shape{1});
    const Tensor truth = tensor(DType::boolean, Shape{2, 1}, {1, 0});
    const std::vector<Moved> all = {
        {"Transpose", {}, {six}, {0, 3, 1, 4, 2, 5}},
        {"Slice", {}, {six, ints({2}), ints({-4}), ints({1}), ints({-1})}, {2, 1, 0, 5, 4, 3}},
        {"Concat", {{"axis", int64_t{1}}}, {six, six}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
        {"Gather", {{"axis", int64_t{1}}}, {six, ints({2, 0})}, {2, 0, 5, 3}},
        {"Pad", {}, {six, ints({0, 1, 0, 0}), one}, {0, 0, 1, 2, 0, 3, 4, 5}},
        {"Expand", {}, {one, ints({3})}, {0, 0, 0}},
        {"Reshape", {}, {six, ints({3, 2})}, {0, 1, 2, 3, 4, 5}},
        {"Tile", {}, {six, ints({1, 2})}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
        {"ConstantOfShape", {{"value", one}}, {ints({2})}, {0, 0}},
        {"Where", {}, {truth, six, one}, {0, 1, 2, 0, 0, 0}},
        {"ScatterND", {}, {six, tensor(DType::int64, Shape{1, 2}, {1, 2}), one}, {0, 1, 2, 3, 4, 0}},
        {"Identity", {}, {six}, {0, 1, 2, 3, 4, 5}},
    };
    for (const Moved& m : all) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + m.op);
      const auto got = run_op(m.op, m.attributes, m.inputs);
      ASSERT_TRUE(got.ok()) << got.error().message();
      EXPECT_EQ((*got)[0].dtype(), dtype);
      EXPECT_EQ(real_parts((*got)[0]), m.want);
    }
  }
}

TEST(Transform, NothingComputesWithComplexNumbers) {
  const Tensor six = complexes(DType::complex64, Shape{2, 3});
  struct Refused {
    const char* op;
    ir::Attributes attributes;
    std::vector<Tensor> inputs;
  };
  for (const Refused& r :
       {Refused{"Add", {}, {six, six}}, Refused{"Neg", {}, {six}},
        Refused{"MatMul", {}, {six, complexes(DType::complex64, Shape{3, 2})}},
        Refused{"ReduceSum", {}, {six}}, Refused{"Equal", {}, {six, six}},
        Refused{"Cast", {{"to", int64_t{1}}}, {six}}, Refused{"Cast", {{"to", int64_t{25}}}, {six}},
        Refused{"Cast", {{"to", int64_t{24}}}, {ramp(Shape{2})}}}) {
    const auto got = run_op(r.op, r.attributes, r.inputs);
    ASSERT_FALSE(got.ok()) << r.op;
    for (const char* part : {"complex", "real"})
      EXPECT_NE(got.error().message().find(part), std::string::npos) << got.error().message();
  }
  EXPECT_TRUE(run_op("Cast", {{"to", int64_t{24}}}, {six}).ok()) << "to what it is already";
}

TEST(Transform, SplitGivesEveryPart) {
  const auto parts =
      run_op("Split", {{"axis", int64_t{0}}, {"num_outputs", int64_t{3}}}, {ramp(Shape{7})}, 3);
  ASSERT_TRUE(parts.ok()) << parts.error().message();
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ(*(*parts)[2].to_f64(), std::vector<double>{6}) << "the last part is the shorter one";
  const auto columns = run_op("Split", {{"axis", int64_t{1}}}, {ramp(Shape{2, 3}), ints({2, 1})}, 2);
  ASSERT_TRUE(columns.ok()) << columns.error().message();
  EXPECT_EQ(*(*columns)[0].to_f64(), (std::vector<double>{0, 1, 3, 4}));
  EXPECT_EQ(*(*columns)[1].to_f64(), (std::vector<double>{2, 5}));
}

// Wrong arguments: refused with the number in the message, never taken as something else.
TEST(Transform, HostileArgumentsAreRefused) {
  const Tensor six = ramp(Shape{2, 3}), line = ramp(Shape{6});
  const double huge = 9e18;
  struct Bad {
    const char* op;
    ir::Attributes attributes;
    std::vector<Tensor> inputs;
  };
  const Bad bad[] = {
      {"Transpose", {{"perm", Ints{0, 0}}}, {six}},
      {"Transpose", {{"perm", Ints{0, 2}}}, {six}},
      {"Transpose", {{"perm", Ints{0, -1}}}, {six}},
      {"Transpose", {{"perm", Ints{0}}}, {six}},
      {"Reshape", {}, {six, ints({4, -1})}},
      {"Reshape", {}, {six, ints({-1, -1})}},
      {"Reshape", {}, {six, ints({-2, 3})}},
      {"Reshape", {}, {six, ints({huge, huge})}},
      {"Reshape", {}, {six, ints(std::vector<double>(9, 1))}},
      {"Reshape", {}, {six, floats(Shape{1}, {6})}},
      {"Squeeze", {}, {six, ints({0})}},
      {"Squeeze", {}, {six, ints({7})}},
      {"Unsqueeze", {}, {six, ints({0, 0})}},
      {"Unsqueeze", {}, {six, ints({9})}},
      {"Unsqueeze", {}, {ramp(Shape{1, 1, 1, 1, 1, 1, 1, 1}), ints({0})}},
      {"Flatten", {{"axis", int64_t{3}}}, {six}},
      {"Slice", {}, {line, ints({0}), ints({5}), ints({0}), ints({0})}},
      {"Slice", {}, {line, ints({0}), ints({5}), ints({1})}},
      {"Slice", {}, {line, ints({0, 0}), ints({5})}},
      {"Pad", {}, {line, ints({-4, -3})}},
      {"Pad", {}, {line, ints({huge, huge})}},
      {"Pad", {}, {line, ints({1})}},
      {"Pad", {{"mode", std::string("mirror")}}, {line, ints({1, 1})}},
      {"Concat", {{"axis", int64_t{0}}}, {six, line}},
      {"Concat", {{"axis", int64_t{2}}}, {six, six}},
      {"Concat", {{"axis", int64_t{0}}}, {six, tensor(DType::int64, Shape{2, 3}, {0, 0, 0, 0, 0, 0})}},
      {"Split", {}, {line, ints({2, 5})}},
      {"Split", {}, {line, ints({-2})}},
      {"Tile", {}, {line, ints({-1})}},
      {"Tile", {}, {line, ints({huge})}},
      {"Tile", {}, {line, ints({1, 1})}},
      {"Expand", {}, {line, ints({huge, 6})}},
      {"Expand", {}, {line, ints({5})}},
      {"Expand", {}, {line, ints({-1})}},
      {"Gather", {}, {line, ints({6})}},
      {"Gather", {}, {line, ints({-7})}},
      {"Gather", {{"axis", int64_t{1}}}, {line, ints({0})}},
      {"Gather", {}, {line, floats(Shape{1}, {0})}},
      {"GatherElements", {}, {line, ints({6})}},
      {"GatherElements", {}, {six, ints({0})}},
      {"GatherND", {}, {six, tensor(DType::int64, Shape{1, 3}, {0, 0, 0})}},
      {"GatherND", {}, {six, tensor(DType::int64, Shape{1, 2}, {0, 3})}},
      {"GatherND", {{"batch_dims", int64_t{-1}}}, {six, tensor(DType::int64, Shape{2, 1}, {0, 0})}},
      {"ScatterElements", {}, {line, ints({9}), ramp(Shape{1})}},
      {"ScatterElements", {{"reduction", std::string("xor")}}, {line, ints({0}), ramp(Shape{1})}},
      {"ScatterND", {}, {line, tensor(DType::int64, Shape{1, 1}, {6}), ramp(Shape{1})}},
      {"ScatterND", {}, {line, tensor(DType::int64, Shape{1, 1}, {0}), ramp(Shape{2})}},
      {"DepthToSpace", {{"blocksize", int64_t{0}}}, {ramp(Shape{1, 4, 1, 1})}},
      {"DepthToSpace", {{"blocksize", int64_t{3}}}, {ramp(Shape{1, 4, 1, 1})}},
      {"DepthToSpace", {{"blocksize", int64_t{1} << 40}}, {ramp(Shape{1, 4, 1, 1})}},
      {"SpaceToDepth", {{"blocksize", int64_t{-2}}}, {ramp(Shape{1, 1, 2, 2})}},
      {"ConstantOfShape", {}, {ints({-1})}},
      {"ConstantOfShape", {}, {ints({huge, 2})}},
      {"EyeLike", {{"dtype", int64_t{99}}}, {six}},
      {"EyeLike", {}, {line}},
      {"Range", {}, {integer(0), integer(5), integer(0)}},
      {"Range", {}, {integer(0), integer(huge), integer(1)}},
      {"Range", {}, {integer(-huge), integer(huge), integer(1)}},
      {"Trilu", {}, {line}},
      {"ReverseSequence", {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}, {six, ints({4, 0})}},
      {"ReverseSequence", {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{1}}}, {six, ints({1, 1, 1})}},
      {"CenterCropPad", {}, {line, ints({-1})}},
      {"CenterCropPad", {}, {line, ints({huge})}},
      {"Col2Im", {}, {ramp(Shape{1, 2, 2}), ints({1, 3}), ints({1, 3})}},
      {"Col2Im", {}, {ramp(Shape{1, 2, 2}), ints({-1, 3}), ints({1, 2})}},
      {"Col2Im", {{"strides", Ints{0, 0}}}, {ramp(Shape{1, 2, 2}), ints({1, 3}), ints({1, 2})}},
  };
  for (const Bad& b : bad) {
    const auto got = run_op(b.op, b.attributes, b.inputs);
    ASSERT_FALSE(got.ok()) << b.op << " {" << b.attributes.text() << "} accepted what it should refuse";
    EXPECT_NE(got.error().group(), base::ErrorGroup::internal)
        << b.op << " {" << b.attributes.text() << "}: " << got.error().message();
    EXPECT_FALSE(got.error().text().next.empty()) << got.error().message();
    EXPECT_NE(got.error().message().find("(" + std::string(b.op) + ")"), std::string::npos)
        << got.error().message();
  }
}

TEST(Transform, EveryOperatorHasARow) {
  std::set<std::string_view> tested;
  for (const Row& row : rows()) tested.insert(row.op);
  for (const ir::OpDef* op : all_ops())
    if (op->op_class == ir::OpClass::transform) {
      EXPECT_TRUE(tested.contains(op->name)) << op->name << ": add a row with values worked out by hand";
    }
}

// Sixteen axes do not fit a region: two at a time.
TEST(Transform, TileRepeatsEightAxes) {
  const Shape in{2, 1, 2, 1, 2, 1, 2, 1};
  const auto got = run_op("Tile", {}, {ramp(in), ints({2, 2, 2, 2, 2, 2, 2, 2})});
  ASSERT_TRUE(got.ok()) << got.error().message();
  ASSERT_EQ((*got)[0].shape(), (Shape{4, 2, 4, 2, 4, 2, 4, 2}));
  const auto y = (*got)[0].as<float>();
  const Shape own = in.strides();
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), from = 0;
    for (int a = 7; a >= 0; --a) {
      const int64_t size = 2 * in[a];
      from += rest % size % in[a] * own[a];
      rest /= size;
    }
    ASSERT_EQ(y[i], static_cast<float>(from)) << i;
  }
}

// Indices known while planning become regions where they run in equal steps; random ones do not.
TEST(Transform, GatherOfConstantIndices) {
  const Tensor data = ramp(Shape{600, 2});
  std::vector<double> stairs, mixed;
  for (int i = 0; i < 500; ++i) {
    stairs.push_back(i % 10 * 50 + i / 10);
    mixed.push_back(i * 7919 % 600 - (i % 3 == 0 ? 600 : 0));  // some from the end
  }
  for (const std::vector<double>& list :
       {stairs, mixed, std::vector<double>{5, 5, 5, -1}, std::vector<double>{3}}) {
    const auto got = run_op("Gather", {}, {data, ints(list)});
    ASSERT_TRUE(got.ok()) << got.error().message();
    const auto y = (*got)[0].as<float>();
    for (size_t i = 0; i < list.size(); ++i) {
      const double row = list[i] < 0 ? list[i] + 600 : list[i];
      ASSERT_EQ(y[2 * i], static_cast<float>(2 * row)) << i;
      ASSERT_EQ(y[2 * i + 1], static_cast<float>(2 * row + 1)) << i;
    }
  }
}

}  // namespace
}  // namespace walle::ops
