#include "runtime/lower_node.h"

namespace walle::runtime {

Status lower_node(SegmentBuilder& segment, const TypedNode& typed) {
  WALLE_ASSIGN(const std::vector<ops::Ref> results,
               segment.lowering().apply_inferred(typed.op, typed.node.attributes, typed.inputs, typed.outputs,
                                                 typed.node.name));
  segment.add(typed.node, results);
  return {};
}

}  // namespace walle::runtime
