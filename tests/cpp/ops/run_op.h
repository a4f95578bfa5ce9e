// One operator on constant inputs: shape rule, decomposition and the CPU's kernels, as the executor runs
// single operators.
#pragma once

#include <gtest/gtest.h>

#include "ops/lower.h"
#include "ops/registry.h"
#include "runtime/fold.h"

namespace walle::ops {

inline Result<std::vector<Tensor>> run_op(std::string_view name, const ir::Attributes& attributes,
                                          const std::vector<Tensor>& inputs, int outputs = 1) {
  const ir::OpDef* def = find_op(name);
  if (!def) return internal_error("no operator " + std::string(name), "test");
  Program program;
  Lowering lowering(program, {nullptr, runtime::fold_program, base::kMaxTensorBytes});
  std::vector<Ref> refs;
  for (const Tensor& t : inputs) refs.push_back(t.defined() ? lowering.add_constant(t) : kNoRef);
  WALLE_ASSIGN(const std::vector<Ref> made, lowering.apply(*def, attributes, refs, outputs, "node"));
  std::vector<Tensor> results;
  for (Ref r : made) {
    if (r >= 0 && !program.at(r).constant)
      return internal_error(std::string(name) + " was not computed", "test");
    results.push_back(r < 0 ? Tensor() : *program.at(r).constant);
  }
  return results;
}

// Values of any dtype from doubles.
inline Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor t = *Tensor::zeros(dtype, shape);
  EXPECT_EQ(static_cast<int64_t>(values.size()), t.elements());
  tensor::visit_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto to = t.as_mutable<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>)
        to[i] = T(static_cast<float>(values[i]));
      else
        to[i] = static_cast<T>(values[i]);
    }
  });
  return t;
}

inline Tensor floats(const Shape& shape, const std::vector<double>& values) {
  return tensor(DType::float32, shape, values);
}
inline Tensor ints(const std::vector<double>& values) {
  return tensor(DType::int64, Shape{static_cast<int64_t>(values.size())}, values);
}
inline Tensor integer(double value) { return tensor(DType::int64, Shape{}, {value}); }
inline Tensor ramp(const Shape& shape) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return floats(shape, values);
}

// A table row: an operator, what it is given, and what must come out.
struct Row {
  const char* op;
  ir::Attributes attributes;
  std::vector<Tensor> inputs;
  Shape shape;
  std::vector<double> want;
  double tolerance = 0;
};

inline void expect_row(const Row& row) {
  SCOPED_TRACE(std::string(row.op) + " {" + row.attributes.text() + "}");
  const auto got = run_op(row.op, row.attributes, row.inputs);
  ASSERT_TRUE(got.ok()) << got.error().message();
  ASSERT_EQ((*got)[0].shape(), row.shape);
  const std::vector<double> values = *(*got)[0].to_f64();
  for (size_t i = 0; i < row.want.size(); ++i)
    EXPECT_NEAR(values[i], row.want[i], row.tolerance * (1 + std::abs(row.want[i]))) << "element " << i;
}

using Ints = std::vector<int64_t>;

}  // namespace walle::ops
