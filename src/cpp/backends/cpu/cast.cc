// Cast on the CPU, between any two dtypes.
#include "kernels/eltwise/cast.h"
#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/saturate.h"
#include "kernels/parallel.h"

namespace walle::backends::cpu {

namespace {
bool saturates(const NodeView& node) { return node.attrs().get_int("saturate_integers", 0) != 0; }

bool supports(const NodeView& node) {
  return !saturates(node) || kernels::can_saturate(node.dtype(0), node.out_dtype(0));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const char* name = saturates(node) ? "eltwise_saturate" : "eltwise_cast_reference";
  out.push_back(single_candidate(node, name, threads));
}

Result<std::unique_ptr<Kernel>> saturating_kernel(const NodeView& node) {
  return make_kernel([from = node.dtype(0), to = node.out_dtype(0),
                      n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kScalarGrain, a.threads, [&](int64_t begin, int64_t end) {
      kernels::run_saturate(from, a.input<std::byte>(0) + begin * dtype_size(from), to,
                            a.output<std::byte>(0) + begin * dtype_size(to), end - begin);
    });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  if (saturates(node)) return saturating_kernel(node);
  // "saturate" is asked of 8-bit floats only, "round_mode" of float8e8m0, whose values are powers of two.
  const bool saturate = node.attrs().get_int("saturate", 1) != 0;
  const std::string mode = node.attrs().get_string("round_mode", "up");
  const auto rounding = mode == "down"      ? tensor::PowerRounding::down
                        : mode == "nearest" ? tensor::PowerRounding::nearest
                                            : tensor::PowerRounding::up;
  return make_kernel([=, from = node.dtype(0), to = node.out_dtype(0),
                      n = node.out_shape(0).elements()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kScalarGrain, a.threads, [&](int64_t begin, int64_t end) {
      kernels::run_cast(from, a.input<std::byte>(0) + begin * dtype_size(from), to,
                        a.output<std::byte>(0) + begin * dtype_size(to), end - begin, saturate, rounding);
    });
    return {};
  });
}
}  // namespace

extern const CpuOp kCastCpu{.op = "Cast", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
