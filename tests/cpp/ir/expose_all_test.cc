#include "ir/expose_all.h"

#include <gtest/gtest.h>

#include "sample.h"

namespace walle::ir {
namespace {

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.outputs) names.push_back(graph.at(id).name);
  return names;
}

TEST(ExposeAll, GivesWhatEveryNodeMakes) {
  const ModelData all = expose_all(sample().graph);
  EXPECT_EQ(output_names(all.graph), (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(all.graph.inputs, sample().graph.inputs);
  EXPECT_TRUE(all.signatures.empty());
}

TEST(ExposeAll, TellsValuesOfOneNameApart) {
  Graph graph = sample().graph;
  const ValueId z = graph.outputs[0];
  graph.at(z).name = "y";
  EXPECT_EQ(output_names(expose_all(graph).graph), (std::vector<std::string>{"y", "y#" + std::to_string(z)}));
}

TEST(ExposeAll, LeavesOmittedOutputsOut) {
  Graph graph = sample().graph;
  graph.nodes[0].outputs.push_back(kNone);
  EXPECT_EQ(expose_all(graph).graph.outputs.size(), 2u);
}

TEST(ValueKinds, HaveNamesBothWays) {
  for (const ValueKind kind : {ValueKind::tensor, ValueKind::sequence, ValueKind::optional})
    EXPECT_EQ(value_kind_from_name(value_kind_name(kind)), kind);
  EXPECT_EQ(value_kind_name(ValueKind::sequence), "sequence");
  EXPECT_FALSE(value_kind_from_name("map").has_value());
}

}  // namespace
}  // namespace walle::ir
