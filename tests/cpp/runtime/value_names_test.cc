// Which name a caller is told about.
#include "runtime/value_names.h"

#include <gtest/gtest.h>

namespace walle::runtime {
namespace {

// Inputs x and mask, and an optional one.
ir::Graph graph() {
  ir::Graph g;
  for (const char* name : {"x", "mask", "state"}) {
    ir::Value value;
    value.name = name;
    if (value.name == "state") value.kind = ir::ValueKind::optional;
    g.inputs.push_back(g.add_value(std::move(value)));
  }
  return g;
}

std::string complaint(const std::vector<std::string>& given) {
  const Status status = check_input_names(graph(), given);
  return status.ok() ? "" : status.error().message();
}

TEST(ValueNames, OptionalInputsMayBeMissing) {
  EXPECT_EQ(complaint({"x", "mask"}), "");
  EXPECT_EQ(complaint({"state", "mask", "x"}), "");
}

TEST(ValueNames, AMisspeltNameIsToldBeforeAMissingOne) {
  const std::string said = complaint({"x", "mark"});
  EXPECT_NE(said.find("input 'mark'"), std::string::npos) << said;
  EXPECT_NE(said.find("did you mean 'mask'?"), std::string::npos) << said;
  EXPECT_NE(said.find("inputs named 'x', 'mask', 'state'"), std::string::npos) << said;
}

TEST(ValueNames, AMissingInputIsNamed) {
  EXPECT_NE(complaint({"x"}).find("no value for input 'mask'"), std::string::npos) << complaint({"x"});
}

TEST(ValueNames, WithoutANearOneThereIsNoSuggestion) {
  const std::string said = unknown_name("logits_of_the_last_layer", "output", {}).message();
  EXPECT_EQ(said.find("did you mean"), std::string::npos) << said;
  EXPECT_NE(said.find("outputs named none"), std::string::npos) << said;
}

}  // namespace
}  // namespace walle::runtime
