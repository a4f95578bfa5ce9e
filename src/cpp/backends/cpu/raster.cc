// The movement atom on the CPU.
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView&) { return true; }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "raster_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_kernel([raster = *node.node().raster, dtype = node.out_dtype(0), n = node.out_shape(0).elements()](const RunArgs& a) {
    return raster::copy_reference(raster, dtype, a.in, a.out[0], n);
  });
}
}  // namespace

extern const CpuOp kRasterCpu{"raster", supports, candidates, prepare};

}  // namespace walle::backends::cpu
