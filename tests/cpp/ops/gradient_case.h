// Gradients compared with central differences in float64: an operator in the middle of a small graph.
#pragma once

#include <cmath>
#include <random>

#include "ops/inline_graph.h"
#include "run_op.h"

namespace walle::ops {

// A graph of nodes with one result each, made input by input and node by node.
class Body {
 public:
  ir::ValueId input() {
    graph_.inputs.push_back(value());
    return graph_.inputs.back();
  }
  ir::ValueId constant(Tensor t) {
    const ir::ValueId id = value();
    graph_.at(id).constant = std::move(t);
    return id;
  }
  std::vector<ir::ValueId> nodes(const std::string& op, const std::vector<ir::ValueId>& inputs, int outputs,
                                 ir::Attributes attributes = {}) {
    std::vector<ir::ValueId> made;
    for (int i = 0; i < outputs; ++i) made.push_back(value());
    graph_.nodes.push_back({op, "the " + op, inputs, made, std::move(attributes)});
    return made;
  }
  ir::ValueId node(const std::string& op, const std::vector<ir::ValueId>& inputs,
                   ir::Attributes attributes = {}) {
    return nodes(op, inputs, 1, std::move(attributes))[0];
  }
  // The sum of all elements.
  ir::ValueId total(ir::ValueId id) { return node("ReduceSum", {id}, {{"keepdims", int64_t{0}}}); }
  void output(ir::ValueId id) { graph_.outputs.push_back(id); }
  std::shared_ptr<const ir::Graph> graph() const { return std::make_shared<ir::Graph>(graph_); }

 private:
  ir::ValueId value() {
    ir::Value v;
    v.name = "v" + std::to_string(graph_.values.size());
    return graph_.add_value(std::move(v));
  }
  ir::Graph graph_;
};

// Gradients and the body's results.
inline Result<std::vector<Tensor>> run_gradient(const std::shared_ptr<const ir::Graph>& body, int64_t wrt,
                                                const std::vector<Tensor>& inputs, int outputs) {
  Program program;
  Lowering lowering(program, {nullptr, runtime::fold_program, base::kMaxTensorBytes});
  std::vector<Ref> refs;
  for (const Tensor& t : inputs) refs.push_back(lowering.add_constant(t));
  WALLE_ASSIGN(program.outputs,
               lowering.apply(*find_op("Gradient"), {{"body", body}, {"wrt", wrt}}, refs, outputs, "node"));
  return runtime::fold_program(program);  // which runs it
}

// What a graph gives, computed as constants.
inline Result<std::vector<Tensor>> run_graph(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  Program program;
  Lowering lowering(program, {nullptr, runtime::fold_program, base::kMaxTensorBytes});
  std::vector<Ref> refs;
  for (const Tensor& t : inputs) refs.push_back(lowering.add_constant(t));
  WALLE_ASSIGN(const std::vector<Ref> made, inline_graph(lowering, graph, refs));
  std::vector<Tensor> results;
  for (Ref r : made) results.push_back(*program.at(r).constant);
  return results;
}

inline Tensor doubles(const Shape& shape, const std::vector<double>& values) {
  return tensor(DType::float64, shape, values);
}

// Numbers apart from each other and from whole and half ones, where functions have kinks and jumps.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : rng_(seed) {}

  Tensor draw(const Shape& shape, double low = -2.5, double high = 2.5) {
    std::vector<double> values(static_cast<size_t>(shape.elements()));
    for (double& v : values) {
      do v = std::uniform_real_distribution<double>(low, high)(rng_);
      while (std::abs(2 * v - std::round(2 * v)) < 0.02);
    }
    return doubles(shape, values);
  }
  int64_t size(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }

 private:
  std::mt19937 rng_;
};

// An operator, its operands and which of its results is looked at. The first `wrt` operands vary.
struct Case {
  std::string op;
  std::vector<Tensor> inputs;
  ir::Attributes attributes = {};
  int wrt = 1;
  int outputs = 1;
  int output = 0;
  double tolerance = 1e-6;
};

// The loss: the looked-at result, each element weighed with a number of its own, summed.
inline std::shared_ptr<const ir::Graph> loss_of(const Case& c) {
  Body body;
  std::vector<ir::ValueId> ids;
  for (const Tensor& t : c.inputs)
    ids.push_back(t.defined() ? (std::ssize(ids) < c.wrt ? body.input() : body.constant(t)) : ir::kNone);
  const ir::ValueId y = body.nodes(c.op, ids, c.outputs, c.attributes)[c.output];
  const auto forward = run_op(c.op, c.attributes, c.inputs, c.outputs);
  EXPECT_TRUE(forward.ok()) << (forward.ok() ? "" : forward.error().message());
  const Shape shape = forward.ok() ? (*forward)[c.output].shape() : Shape{};
  const ir::ValueId wide = body.node("Cast", {y}, {{"to", static_cast<int64_t>(DType::float64)}});
  body.output(body.total(body.node("Mul", {wide, body.constant(Numbers(7).draw(shape))})));
  return body.graph();
}

// One element of one input moved by h both ways.
inline double difference(const ir::Graph& graph, std::vector<Tensor> inputs, size_t input, int64_t element,
                         double h) {
  double ends[2];
  const double at = inputs[input].as<double>()[element];
  for (const int side : {0, 1}) {
    std::vector<double> values = *inputs[input].to_f64();
    values[element] = side ? at + h : at - h;
    std::vector<Tensor> moved = inputs;
    moved[input] = doubles(inputs[input].shape(), values);
    const auto got = run_graph(graph, moved);
    EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message());
    ends[side] = got.ok() ? (*(*got)[0].to_f64())[0] : 0;
  }
  return (ends[1] - ends[0]) / (2 * h);
}

inline void expect_gradient(const Case& c) {
  std::string operands;
  for (const Tensor& t : c.inputs) operands += t.defined() ? " " + t.shape().text() : " -";
  SCOPED_TRACE(c.op + operands + " {" + c.attributes.text() + "}");
  const auto graph = loss_of(c);
  const std::vector<Tensor> inputs(c.inputs.begin(), c.inputs.begin() + c.wrt);
  const auto got = run_gradient(graph, c.wrt, inputs, c.wrt);
  ASSERT_TRUE(got.ok()) << got.error().message();
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ((*got)[i].shape(), inputs[i].shape());
    const std::vector<double> values = *(*got)[i].to_f64();
    for (int64_t e = 0; e < std::ssize(values); ++e) {
      const double want = difference(*graph, inputs, i, e, 1e-5);
      EXPECT_NEAR(values[e], want, c.tolerance * (1 + std::abs(want))) << "input " << i << " element " << e;
    }
  }
}

}  // namespace walle::ops
