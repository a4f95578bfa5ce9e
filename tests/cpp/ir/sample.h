// Small graphs for the tests of this folder.
#pragma once

#include <numeric>

#include "ir/verify.h"

namespace walle::ir {

inline Status no_infer(InferContext&) { return {}; }

inline const OpDef* sample_op(std::string_view name) {
  static const OpDef add{.name = "Add", .inputs = {2, 2}, .infer = no_infer};
  static const OpDef relu{.name = "Relu", .inputs = {1, 1}, .infer = no_infer};
  static const OpDef branch{
      .name = "If", .op_class = OpClass::control, .inputs = {1, -1}, .outputs = {1, -1}};
  for (const OpDef* op : {&add, &relu, &branch})
    if (op->name == name) return op;
  return nullptr;
}

inline Tensor ramp(const Shape& shape) {
  Tensor t = Tensor::allocate(DType::float32, shape).value();
  auto values = t.as_mutable<float>();
  std::iota(values.begin(), values.end(), 1.0F);
  return t;
}

inline Value named(std::string name) {
  Value v;
  v.name = std::move(name);
  return v;
}

inline Value input(std::string name) {
  Value v = named(std::move(name));
  v.dtype = DType::float32;
  v.shape = std::vector<Dim>{{-1, "n"}, {3, ""}};
  return v;
}

inline Value constant(std::string name, const Tensor& t) {
  Value v = named(std::move(name));
  v.dtype = t.dtype();
  v.constant = t;
  return v;
}

// z = relu(x + w)
inline ModelData sample() {
  ModelData m;
  Graph& g = m.graph;
  g.name = "sample";
  const ValueId x = g.add_value(input("x")), w = g.add_value(constant("w", ramp({3})));
  const ValueId y = g.add_value(named("y")), z = g.add_value(named("z"));
  g.nodes.push_back(
      {"Add", "sum", {x, w}, {y}, {{"axis", int64_t{-1}}, {"list", std::vector<int64_t>{1, 2}}}});
  g.nodes.push_back({"Relu", "clip", {y}, {z}, {{"alpha", 0.5}, {"mode", std::string("linear")}}});
  g.inputs = {x};
  g.outputs = {z};
  m.metadata["who"] = "test";
  m.signatures.push_back({"serve", {{"in", "x"}}, {{"out", "z"}}});
  return m;
}

// An If nested `depth` deep, all bodies using the same constant memory.
inline std::shared_ptr<Graph> nested(int depth, const Tensor& shared) {
  auto g = std::make_shared<Graph>();
  g->name = "level" + std::to_string(depth);
  const ValueId c = g->add_value(constant("c", ramp({3}))), w = g->add_value(constant("w", shared));
  const ValueId y = g->add_value(named("y"));
  if (depth == 0) {
    g->nodes.push_back({"Relu", "leaf", {w}, {y}, {}});
  } else {
    std::shared_ptr<const Graph> body = nested(depth - 1, shared);
    g->nodes.push_back({"If", "if", {c}, {y}, {{"then_branch", body}, {"else_branch", body}}});
  }
  g->outputs = {y};
  return g;
}

}  // namespace walle::ir
