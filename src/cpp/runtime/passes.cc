#include "runtime/passes.h"

namespace walle::runtime {

Status run_passes(ops::Program& program, const std::vector<const backends::Backend*>&, const SessionOptions&) {
  ops::remove_dead_nodes(program);
  return {};
}

}  // namespace walle::runtime
