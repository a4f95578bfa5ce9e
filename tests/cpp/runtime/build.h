// Small models for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include "runtime/session.h"

namespace walle::runtime {

class GraphBuilder {
 public:
  ir::ValueId input(const char* name, DType dtype, std::vector<ir::Dim> dims) {
    const auto id = graph_.add_value({name, ir::ValueKind::tensor, dtype, std::move(dims), std::nullopt});
    graph_.inputs.push_back(id);
    return id;
  }
  ir::ValueId constant(Tensor t) {
    ir::Value v;
    v.name = "c" + std::to_string(graph_.values.size());
    v.dtype = t.dtype();
    v.constant = std::move(t);
    return graph_.add_value(std::move(v));
  }
  ir::ValueId floats(const Shape& shape, const std::vector<float>& values) {
    return constant(*Tensor::from<float>(shape, values));
  }
  ir::ValueId ints(const std::vector<int64_t>& values) { return constant(*Tensor::vector_i64(values)); }
  ir::ValueId node(const char* op, const std::vector<ir::ValueId>& inputs, ir::Attributes attributes = {}) {
    ir::Value v;
    v.name = "v" + std::to_string(graph_.values.size());
    const auto id = graph_.add_value(std::move(v));
    graph_.nodes.push_back(
        {op, std::string(op) + std::to_string(graph_.nodes.size()), inputs, {id}, std::move(attributes)});
    return id;
  }
  void output(ir::ValueId id, const char* name) {
    graph_.at(id).name = name;
    graph_.outputs.push_back(id);
  }
  ir::Graph& graph() { return graph_; }
  ir::ModelData data() const {
    ir::ModelData m;
    m.graph = graph_;
    m.graph.name = "main";
    return m;
  }

 private:
  ir::Graph graph_;
};

inline Tensor ramp(const Shape& shape, float step = 1) {
  Tensor t = *Tensor::allocate(DType::float32, shape);
  float value = 0;
  for (float& v : t.as_mutable<float>()) v = std::exchange(value, value + step);
  return t;
}

inline std::shared_ptr<Model> model_of(const ir::ModelData& data, const ModelOptions& options = {}) {
  auto model = Model::create(data, options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
  return model.ok() ? *model : nullptr;
}

inline std::vector<float> numbers(const ir::RuntimeValue& value) {
  const auto span = value.tensor()->as<float>();
  return {span.begin(), span.end()};
}

}  // namespace walle::runtime
