// BitCast on the CPU: a copy. Bits that become booleans are true unless they are zero, because every kernel
// knows two booleans only.
#include <algorithm>

#include "backends/cpu/cpu_op.h"
#include "base/copy.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView&) { return true; }  // bits have no type

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(single_candidate(node, "raster_copy_bits", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const int64_t bytes = node.out_shape(0).elements() * dtype_size(node.out_dtype(0));
  const bool truth = node.out_dtype(0) == DType::boolean;
  return make_kernel([=](const HostArgs& a) -> Status {
    const auto* from = a.input<uint8_t>(0);
    if (truth)
      std::transform(from, from + bytes, a.output<uint8_t>(0), [](uint8_t b) { return uint8_t{b != 0}; });
    else
      base::copy_bytes(a.output<uint8_t>(0), from, bytes);
    return {};
  });
}
}  // namespace

extern const CpuOp kBitCastCpu{
    .op = "BitCast", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
