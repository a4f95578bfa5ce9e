// MaxPool and AveragePool on the CPU, in the canonical form of ops/atomic/max_pool.cc and average_pool.cc.
#include "kernels/pool/pool.h"
#include "backends/cpu/cpu_op.h"
#include "kernels/pool/pool_reference.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kSimd };

kernels::PoolShape shape_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& y = node.out_shape(0);
  const auto kernel = node.attrs().get_ints("kernel_shape", {1, 1});
  const auto stride = node.attrs().get_ints("strides", {1, 1});
  const auto dilation = node.attrs().get_ints("dilations", {1, 1});
  const auto pad = node.attrs().get_ints("pads", {0, 0, 0, 0});
  kernels::PoolShape s;
  s.channels = x[0] * x[1];
  s.h = x[2];
  s.w = x[3];
  s.oh = y[2];
  s.ow = y[3];
  s.kh = kernel[0];
  s.kw = kernel[1];
  s.sh = stride[0];
  s.sw = stride[1];
  s.dh = dilation[0];
  s.dw = dilation[1];
  s.pt = pad[0];
  s.pl = pad[1];
  s.pb = pad[2];
  s.pr = pad[3];
  s.mean = node.op().name == "AveragePool";
  s.count_padding = node.attrs().get_int("count_include_pad", 0) != 0;
  return s;
}

bool supports(const NodeView& node) {
  return node.shape(0).rank() == 4 && tensor::visit_numeric(node.dtype(0), [](auto) {});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(rated_candidate(node, "pool_reference", 0.5, threads, kReference));
  const auto isa = float_isa(node);
  if (!isa || node.out_shape(0).elements() == 0) return;
  Candidate simd = rated_candidate(node, "pool_f32_lines_" + std::string(isa_name(*isa)), 10, threads, kSimd);
  simd.workspace_bytes = kernels::pool_workspace_bytes(kernels::make_pool(shape_of(node), *isa), threads);
  out.push_back(std::move(simd));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  const kernels::PoolShape shape = shape_of(node);
  if (candidate.choice == kSimd) {
    WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
    auto pool = std::make_shared<const kernels::Pool>(kernels::make_pool(shape, isa));
    return make_kernel([pool](const HostArgs& a) -> Status {
      kernels::run_pool(*pool, a.input<float>(0), a.output<float>(0), a.threads, a.workspace);
      return {};
    });
  }
  std::unique_ptr<Kernel> kernel;
  tensor::visit_numeric(node.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = make_kernel([shape](const HostArgs& a) -> Status {
      kernels::pool_reference(shape, a.input<T>(0), a.output<T>(0), a.threads);
      return {};
    });
  });
  return kernel;
}
}  // namespace

extern const CpuOp kMaxPoolCpu{"MaxPool", supports, candidates, prepare};
extern const CpuOp kAveragePoolCpu{"AveragePool", supports, candidates, prepare};

}  // namespace walle::backends::cpu
