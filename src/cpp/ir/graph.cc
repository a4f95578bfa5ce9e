#include "ir/graph.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace walle::ir {

namespace {
constexpr std::array<std::string_view, 3> kValueKinds = {"tensor", "sequence", "optional"};
}  // namespace

std::string_view value_kind_name(ValueKind kind) { return kValueKinds[static_cast<uint8_t>(kind)]; }

std::optional<ValueKind> value_kind_from_name(std::string_view name) {
  const auto found = std::ranges::find(kValueKinds, name);
  if (found == kValueKinds.end()) return std::nullopt;
  return static_cast<ValueKind>(found - kValueKinds.begin());
}

std::string describe(const Node& node) { return "node '" + node.name + "' (" + node.op + ")"; }

namespace {
std::string value_text(const Graph& g, ValueId id) {
  if (id == kNone) return "-";
  // By name where it has one: a number changes with every value added before it, and golden files would too.
  const Value& v = g.at(id);
  std::string out = "%" + (v.name.empty() ? std::to_string(id) : v.name);
  if (v.constant)
    out += ":const " + std::string(dtype_name(v.constant->dtype())) + v.constant->shape().text();
  return out;
}

std::string list_text(const Graph& g, const std::vector<ValueId>& ids) {
  std::string out;
  for (size_t i = 0; i < ids.size(); ++i) out += (i ? ", " : "") + value_text(g, ids[i]);
  return out;
}

void dump_into(const Graph& g, const std::string& indent, std::ostringstream& out) {
  out << indent << "graph " << g.name << "(" << list_text(g, g.inputs) << ")\n";
  for (const Node& n : g.nodes) {
    out << indent << "  " << list_text(g, n.outputs) << " = " << n.op << "(" << list_text(g, n.inputs) << ")";
    if (!n.attributes.items().empty()) out << " {" << n.attributes.text() << "}";
    out << "\n";
    for (const auto& [key, value] : n.attributes.items())
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value); body && *body)
        dump_into(**body, indent + "    ", out);
  }
  for (const State& state : g.states)
    out << indent << "  next " << value_text(g, state.value) << " = " << value_text(g, state.next) << "\n";
  out << indent << "  return " << list_text(g, g.outputs) << "\n";
}
}  // namespace

std::string dump(const Graph& graph) {
  std::ostringstream out;
  dump_into(graph, "", out);
  return out.str();
}

Status check_files(const ModelData& data) {
  for (const Buffer& file : data.files) WALLE_TRY(file.file()->unchanged());
  return {};
}

}  // namespace walle::ir
