#include "runtime/passes.h"

#include <algorithm>

#include "ops/passes/fuse_epilogue.h"
#include "ops/passes/merge_rasters.h"
#include "ops/passes/widen.h"

namespace walle::runtime {

Status run_passes(ops::Program& program, const std::vector<const backends::Backend*>& backends,
                  const SessionOptions& options) {
  ops::remove_dead_nodes(program);
  WALLE_TRY(ops::widen_floats(program, [&](const ops::Program& p, const ops::ProgramNode& node) {
    const backends::NodeView view(p, node);
    return std::ranges::any_of(backends, [&](const backends::Backend* b) { return b->supports(view); });
  }));
  if (options.merge) WALLE_TRY(ops::merge_rasters(program));
  if (options.fuse) WALLE_TRY(ops::fuse_epilogues(program));
  ops::remove_dead_nodes(program);
  return {};
}

}  // namespace walle::runtime
