// Element-wise functions of two operands on the CPU.
#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/binary.h"
#include "kernels/parallel.h"

namespace walle::backends::cpu {

namespace {
std::optional<kernels::BinaryKind> kind_of(const NodeView& node) {
  return kernels::binary_kind(node.op().name, node.attrs().get_int("fmod", 0) != 0, node.attrs().get_string("direction", "RIGHT") == "LEFT");
}

bool supports(const NodeView& node) {
  const auto kind = kind_of(node);
  return kind && node.dtype(0) == node.dtype(1) && kernels::binary_supports(*kind, node.dtype(0));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "eltwise_binary_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape operands[] = {node.shape(0), node.shape(1)};
  const kernels::Broadcast plan = kernels::make_broadcast(node.out_shape(0), operands);
  return make_kernel([plan, kind = *kind_of(node), dtype = node.dtype(0)](const RunArgs& a) -> Status {
    kernels::parallel_ranges(plan.elements, 16384, a.threads, [&](int64_t begin, int64_t end) {
      kernels::run_binary(kind, dtype, plan, a.in[0], a.in[1], a.out[0], begin, end);
    });
    return {};
  });
}
}  // namespace

extern const CpuOp kBinaryCpu{"Binary", supports, candidates, prepare};

}  // namespace walle::backends::cpu
