#include "ops/program.h"

#include <algorithm>
#include <sstream>

namespace walle::ops {

void remove_dead_nodes(Program& program) {
  std::vector<bool> live(program.values.size(), false);
  for (Ref r : program.outputs)
    if (r >= 0) live[r] = true;
  std::vector<ProgramNode> kept;
  // Backwards through a topological order: every reader has been seen before the node it reads.
  for (auto it = program.nodes.rbegin(); it != program.nodes.rend(); ++it) {
    // One result read by anybody keeps the node: atoms of several results (TopK) compute them together.
    const bool needed = std::ranges::any_of(it->outputs, [&](Ref r) { return r >= 0 && live[r]; });
    if (!needed) continue;
    for (Ref r : it->inputs)
      if (r >= 0) live[r] = true;
    kept.push_back(std::move(*it));
  }
  std::ranges::reverse(kept);
  program.nodes = std::move(kept);
}

namespace {
std::string ref_text(const Program& p, Ref r) {
  if (r < 0) return "-";
  const ProgramValue& v = p.at(r);
  return "%" + std::to_string(r) + (v.constant ? ":const" : "");
}
}  // namespace

std::string dump(const Program& program) {
  std::ostringstream out;
  for (const ProgramNode& n : program.nodes) {
    out << "  ";
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      out << (i ? ", " : "") << ref_text(program, n.outputs[i]);
      if (n.outputs[i] >= 0)
        out << ' ' << dtype_name(program.at(n.outputs[i]).dtype) << program.at(n.outputs[i]).shape.text();
    }
    out << " = " << n.op->name << "(";
    for (size_t i = 0; i < n.inputs.size(); ++i) out << (i ? ", " : "") << ref_text(program, n.inputs[i]);
    out << ")";
    if (!n.attributes.items().empty()) out << " {" << n.attributes.text() << "}";
    if (n.raster) out << ' ' << n.raster->text();
    if (n.loop) out << ' ' << n.loop->text();
    // At the end of the line, because one graph node makes many of these and its name repeats.
    if (!n.origin.text().empty()) out << "  # " << n.origin.text();
    out << "\n";
  }
  return out.str();
}

}  // namespace walle::ops
