// The indexed movement atom (gather, scatter) on the CPU.
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return node.node().loop && (node.node().loop->combine == raster::Combine::assign || tensor::visit_numeric(node.out_dtype(0), [](auto) {}));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "loop_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const raster::LoopSpec spec = *node.node().loop;
  return make_kernel([spec, dtype = node.out_dtype(0), index = node.dtype(1), n = node.out_shape(0).elements()](const RunArgs& a) {
    return raster::run_loop_reference(spec, dtype, a.in[0], index, a.in[1], spec.base ? a.in[2] : nullptr, a.out[0], n);
  });
}
}  // namespace

extern const CpuOp kLoopCpu{"loop", supports, candidates, prepare};

}  // namespace walle::backends::cpu
