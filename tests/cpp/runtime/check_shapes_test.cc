// What fits no run is told when the model is made; what open sizes, values or branches decide is not.
#include "runtime/check_shapes.h"

#include "build.h"

namespace walle::runtime {
namespace {

Status checked(const GraphBuilder& b) { return check_shapes(b.data().graph); }

TEST(CheckShapes, ConstantsThatNeverFit) {
  GraphBuilder b;
  b.output(b.node("Reshape", {b.floats({2}, {1, 2}), b.ints({3})}), "wrong");
  const Status status = checked(b);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().group(), base::ErrorGroup::model);
  EXPECT_NE(status.error().message().find("Reshape"), std::string::npos);
  EXPECT_FALSE(Model::create(b.data()).ok());
}

TEST(CheckShapes, ValuesAreLeftToTheRun) {
  GraphBuilder b;
  b.output(b.node("Gather", {b.floats({2}, {1, 2}), b.ints({3})}), "beyond");
  EXPECT_TRUE(checked(b).ok());
}

// A rule that fails for the sizes at hand, and asked about them before, says nothing of others.
TEST(CheckShapes, OpenSizesMayFit) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {4, ""}});
  const auto z = b.input("z", DType::float32, {{3, ""}, {4, ""}});
  b.output(b.node("Add", {x, z}), "y");
  b.output(b.node("Add", {x, z}), "again");  // the same question once more
  b.output(b.node("Squeeze", {x, b.ints({0})}), "one");
  EXPECT_TRUE(checked(b).ok());
}

TEST(CheckShapes, OpenSizesThatDoNotMatter) {
  GraphBuilder b;
  const auto x = b.input("x", DType::float32, {{-1, "n"}, {4, ""}});
  const auto half = b.node("Mul", {x, b.floats({}, {0.5F})});
  b.output(b.node("MatMul", {half, b.floats({5, 1}, {1, 2, 3, 4, 5})}), "y");
  const Status status = checked(b);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("MatMul"), std::string::npos) << status.error().message();
}

TEST(CheckShapes, HugeSizesDoNotOverflow) {
  for (const int64_t size : {int64_t{1} << 62, INT64_MAX}) {
    GraphBuilder b;
    const auto x = b.input("x", DType::float32, {{size, ""}, {size, ""}, {-1, "n"}});
    b.output(b.node("Flatten", {x}), "y");
    EXPECT_TRUE(checked(b).ok());
  }
}

}  // namespace
}  // namespace walle::runtime
