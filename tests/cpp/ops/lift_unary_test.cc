// Which functions move before movement, and which stay behind it.
#include "ops/passes/lift_unary.h"

#include <algorithm>

#include "run_op.h"

namespace walle::ops {
namespace {

class Lifted {
 public:
  Lifted() : lowering_(program, {}) {}

  Ref input(const Shape& shape) {
    const Ref r = lowering_.add_value(DType::float32, shape);
    program.inputs.push_back(r);
    return r;
  }
  Ref one(const char* op, const std::vector<Ref>& inputs, const ir::Attributes& attributes = {}) {
    const auto made = lowering_.apply(*find_op(op), attributes, inputs, 1, "node");
    EXPECT_TRUE(made.ok()) << op << ": " << made.status().error().message();
    return made.ok() ? (*made)[0] : kNoRef;
  }
  Ref constant(Tensor value) { return lowering_.add_constant(std::move(value)); }
  Ref product() { return one("MatMul", {input({2, 3, 4}), input({2, 4, 5})}); }
  Ref transposed(Ref r) { return one("Transpose", {r}, {{"perm", Ints{0, 2, 1}}}); }

  // The operators in their order, after the pass.
  std::string after(std::vector<Ref> outputs) {
    program.outputs = std::move(outputs);
    EXPECT_TRUE(lift_unary(program).ok());
    std::string names;
    for (const ProgramNode& n : program.nodes) {
      names += (names.empty() ? "" : " ") + std::string(n.op->name);
      for (const Ref r : n.inputs)
        EXPECT_TRUE(r < 0 || known(r, n)) << n.op->name << " reads what is not made";
    }
    return names;
  }

  Program program;

 private:
  bool known(Ref r, const ProgramNode& before) const {
    if (program.at(r).constant || std::ranges::find(program.inputs, r) != program.inputs.end()) return true;
    for (const ProgramNode& n : program.nodes) {
      if (&n == &before) return false;
      if (std::ranges::find(n.outputs, r) != n.outputs.end()) return true;
    }
    return false;
  }

  Lowering lowering_;
};

TEST(LiftUnary, AFunctionMovesBeforeMovement) {
  Lifted p;
  const Ref y = p.one("Relu", {p.transposed(p.product())});
  EXPECT_EQ(p.after({y}), "MatMul Relu raster");
  EXPECT_EQ(p.program.nodes.back().outputs[0], y);
}

TEST(LiftUnary, ThroughSeveralRastersAndToAllOfTheirSources) {
  Lifted p;
  const Ref both =
      p.one("Concat", {p.transposed(p.product()), p.transposed(p.product())}, {{"axis", int64_t{1}}});
  const Ref y = p.one("Relu", {p.transposed(both)});
  EXPECT_EQ(p.after({y}), "MatMul Relu raster MatMul Relu raster raster raster");
}

TEST(LiftUnary, APhasedConvTransposeEndsInItsActivation) {
  Lifted p;
  const ir::Attributes a{{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  const Ref c = p.one("ConvTranspose", {p.input({1, 8, 9, 9}), p.input({8, 8, 4, 4})}, a);
  EXPECT_EQ(p.after({p.one("Relu", {c})}), "raster Conv Relu raster");
}

TEST(LiftUnary, WhatWouldNotBeFoldedStays) {
  {
    Lifted p;  // no kernel ends in it
    EXPECT_EQ(p.after({p.one("Exp", {p.transposed(p.product())})}), "MatMul raster Exp");
  }
  {
    Lifted p;  // not made by a product
    EXPECT_EQ(p.after({p.one("Relu", {p.transposed(p.one("Exp", {p.product()}))})}),
              "MatMul Exp raster Relu");
  }
  {
    Lifted p;  // the product itself is a result
    const Ref made = p.product();
    EXPECT_EQ(p.after({p.one("Relu", {p.transposed(made)}), made}), "MatMul raster Relu");
  }
  {
    Lifted p;  // somebody reads the moved product as it is
    const Ref moved = p.transposed(p.product());
    EXPECT_EQ(p.after({p.one("Relu", {moved}), p.one("Exp", {moved})}), "MatMul raster Relu Exp");
  }
  {
    Lifted p;  // a fill of 1 would have to become f(1)
    const Ref pads = p.constant(ints({0, 0, 0, 0, 1, 1}));
    const Ref fill = p.constant(floats(Shape{}, {1}));
    EXPECT_EQ(p.after({p.one("Relu", {p.one("Pad", {p.product(), pads, fill})})}), "MatMul raster Relu");
  }
  {
    Lifted p;  // a slice: most of the product is not read behind it
    const Ref from = p.constant(ints({0}));
    const Ref to = p.constant(ints({1}));
    EXPECT_EQ(p.after({p.one("Relu", {p.one("Slice", {p.product(), from, to})})}), "MatMul raster Relu");
  }
}

}  // namespace
}  // namespace walle::ops
