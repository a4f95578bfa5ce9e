#include "runtime/value_names.h"

#include <algorithm>
#include <iterator>

#include "base/nearest_name.h"

namespace walle::runtime {

namespace {

std::string listed(std::string_view role, std::span<const std::string> known) {
  std::string out;
  for (const std::string& name : known) out += (out.empty() ? "'" : ", '") + name + "'";
  return std::string(role) + "s named " + (out.empty() ? "none" : out);
}

}  // namespace

std::vector<std::string> value_names(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const ir::ValueId id : ids) names.push_back(graph.at(id).name);
  return names;
}

// A near name is the likely cause; without one the list in the message is the best there is.
Error unknown_name(std::string_view given, std::string_view role, std::span<const std::string> known) {
  const std::string otherwise = Text{"see the model's ", role, "s for their names"}.str();
  return argument_error({role, " '", given, "'"}, listed(role, known), "run",
                        base::did_you_mean(given, known, otherwise));
}

Status check_input_names(const ir::Graph& graph, std::span<const std::string> given) {
  std::vector<std::string> known = value_names(graph, graph.inputs);
  std::ranges::move(value_names(graph, graph.overridable), std::back_inserter(known));
  for (const std::string& name : given)
    if (std::ranges::find(known, name) == known.end()) return unknown_name(name, "input", known);
  for (const ir::ValueId id : graph.inputs) {
    const ir::Value& declared = graph.at(id);
    // An optional that is not given is empty, which is a value.
    if (declared.kind == ir::ValueKind::optional || std::ranges::find(given, declared.name) != given.end())
      continue;
    return argument_error({"no value for input '", declared.name, "'"}, listed("input", known), "run",
                          {"pass a value for '", declared.name, "'"});
  }
  return {};
}

}  // namespace walle::runtime
