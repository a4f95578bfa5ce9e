// Random numbers on the CPU.
//
// With a seed the sequence is the Mersenne Twister's as NumPy draws it, so that a model gives the
// numbers it gave elsewhere. Without one it is Philox, a function of the position, so that threads need
// not wait for each other.
#include "kernels/random/random.h"
#include "backends/cpu/cpu_op.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  return node.out_dtype(0) == DType::float32 || node.out_dtype(0) == DType::float64;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(
      single_candidate(node, node.attrs().has("seed") ? "random_mersenne" : "random_philox", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const ir::Attributes& attrs = node.attrs();
  kernels::Random spec;
  spec.normal = node.op().name == "RandomNormal";
  spec.low = spec.normal ? attrs.get_float("mean", 0) : attrs.get_float("low", 0);
  spec.high = spec.normal ? attrs.get_float("scale", 1) : attrs.get_float("high", 1);
  if (attrs.has("seed")) spec.seed = attrs.get_float("seed", 0);
  return make_kernel(
      [spec, dtype = node.out_dtype(0), n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
        kernels::run_random(spec, dtype, a.output<void>(0), n, a.threads);
        return {};
      });
}
}  // namespace

extern const CpuOp kRandomCpu{
    .op = "Random", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
