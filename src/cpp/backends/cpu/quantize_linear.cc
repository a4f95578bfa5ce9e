// QuantizeLinear and DequantizeLinear on the CPU, claimed whole: float32 to and from integers of 2 to 16 bits
// (and int32, which sums of products are read from), scales per tensor, per axis or per block. Other scales -
// float16, bfloat16, float64 - and float8 run as the operators that they stand for.
#include "backends/cpu/cpu_op.h"
#include "base/checked.h"
#include "kernels/quant/quantize.h"

namespace walle::backends::cpu {

namespace {
enum Input { kX, kScale, kZero };

constexpr double kFlops = 4;  // an element: scaled, rounded, bounded, moved

bool supports_quantize(const NodeView& node) {
  return node.dtype(kX) == DType::float32 && node.dtype(kScale) == DType::float32 &&
         kernels::is_code(node.out_dtype(0)) && (!node.has(kZero) || kernels::is_code(node.dtype(kZero)));
}

bool supports_dequantize(const NodeView& node) {
  const DType from = node.dtype(kX);
  return (kernels::is_code(from) || from == DType::int32) && node.dtype(kScale) == DType::float32 &&
         node.out_dtype(0) == DType::float32;
}

kernels::QuantAxes axes_of(const NodeView& node) {
  const Shape& x = node.shape(kX);
  const int64_t block = node.attrs().get_int("block_size", 0);
  if (block == 0 && node.shape(kScale).elements() == 1) return {.inner = x.elements()};
  // The shape rule has seen that there is such an axis.
  const int axis = tensor::normalize_axis(node.attrs().get_int("axis", 1), x.rank()).value();
  kernels::QuantAxes out{.axis = x[axis]};
  for (int i = 0; i < axis; ++i) out.outer *= x[i];
  for (int i = axis + 1; i < x.rank(); ++i) out.inner *= x[i];
  // Longer than its axis is as long; its own length would overflow products.
  out.block = std::min(block, std::max<int64_t>(out.axis, 1));
  return out;
}

int64_t zero_floats(const NodeView& node) {
  return node.has(kZero) ? base::round_up(node.shape(kZero).elements(), int64_t{16}) : 0;
}

void candidates_as(std::string_view name, const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = vector_candidate(node, name, *isa, threads, 0);
  c.features[Quantity::flop] = kFlops * static_cast<double>(node.out_shape(0).elements());
  c.workspace_bytes = zero_floats(node) * static_cast<int64_t>(sizeof(float));
  out.push_back(std::move(c));
}

void quantize_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  candidates_as("quantize_f32", node, threads, out);
}
void dequantize_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  candidates_as("dequantize_f32", node, threads, out);
}

// Zero points of a run as floats, in the workspace.
struct Zeros {
  explicit Zeros(const NodeView& node)
      : dtype(node.has(kZero) ? node.dtype(kZero) : DType::undefined),
        count(node.has(kZero) ? node.shape(kZero).elements() : 0) {}
  const float* read(const HostArgs& a) const {
    if (count == 0) return nullptr;
    auto* room = reinterpret_cast<float*>(a.workspace);
    kernels::read_zero_points(dtype, a.input<void>(kZero), count, room);
    return room;
  }

  DType dtype;
  int64_t count;
};

Result<std::unique_ptr<Kernel>> prepare_quantize(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([&table = kernels::quant_table(isa), to = node.out_dtype(0), axes = axes_of(node),
                      zeros = Zeros(node)](const HostArgs& a) -> Status {
    kernels::run_quantize(table, to, axes, a.input<float>(kX), a.input<float>(kScale), zeros.read(a),
                          a.output<void>(0), a.threads);
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare_dequantize(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([&table = kernels::quant_table(isa), from = node.dtype(kX), axes = axes_of(node),
                      zeros = Zeros(node)](const HostArgs& a) -> Status {
    kernels::run_dequantize(table, from, axes, a.input<void>(kX), a.input<float>(kScale), zeros.read(a),
                            a.output<float>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kQuantizeLinearCpu{.op = "QuantizeLinear",
                                      .supports = supports_quantize,
                                      .candidates = quantize_candidates,
                                      .prepare = prepare_quantize};
extern const CpuOp kDequantizeLinearCpu{.op = "DequantizeLinear",
                                        .supports = supports_dequantize,
                                        .candidates = dequantize_candidates,
                                        .prepare = prepare_dequantize};

}  // namespace walle::backends::cpu
