#include "ops/passes/uses.h"

namespace walle::ops {

Uses::Uses(const Program& program)
    : readers_(program.values.size()),
      producer_(program.values.size(), -1),
      output_(program.values.size(), false) {
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    for (Ref r : program.nodes[i].inputs)
      // A node that reads a value twice is two readers: a fusion that removes one must see the other.
      if (r >= 0) readers_[r].push_back(static_cast<int>(i));
    for (Ref r : program.nodes[i].outputs)
      if (r >= 0) producer_[r] = static_cast<int>(i);
  }
  for (Ref r : program.outputs)
    if (r >= 0) output_[r] = true;
}

}  // namespace walle::ops
