// LayerNormalization and RMSNormalization on the CPU.
//
// Two kernels: a reference for every case of the definition, and vector rows for float32 without statistics,
// as transformers, and instance and group normalisation, ask for.
#include <cstring>

#include "backends/cpu/cpu_op.h"
#include "kernels/eltwise/broadcast.h"
#include "kernels/norm/layer_norm.h"
#include "kernels/parallel.h"
#include "kernels/rows.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kRows };

// Elements that a thread must get: three vector passes over a row (mean, variance, result), the later two
// from the cache, so half of what a single pass needs.
constexpr int64_t kNormGrain = kernels::kVectorGrain / 2;

bool supports(const NodeView& node) {
  return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

Result<int> axis_of(const NodeView& node) {
  return tensor::normalize_axis(node.attrs().get_int("axis", -1), node.shape(0).rank());
}

// Scale or bias written out to one row of the normalised shape, so that the kernel knows one layout
// only; nothing to do when it has that shape already. In every run, because it may be computed; a row is
// short beside the rows.
struct Spread {
  bool needed = false;
  kernels::Broadcast plan;
};

Spread spread_of(const NodeView& node, int input, const Shape& normalized) {
  if (!node.has(input) || node.shape(input).elements() == normalized.elements()) return {};
  const Shape operand[] = {node.shape(input)};
  return {true, kernels::make_broadcast(normalized, operand)};
}

template <class T>
void write_out(const kernels::Broadcast& b, const void* from, void* to) {
  const int64_t step = b.stride[0][b.rank - 1];
  kernels::for_each_run(b, 0, b.elements, [&](int64_t at, const auto& offset, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<T*>(to)[at + i] = static_cast<const T*>(from)[offset[0] + i * step];
  });
}

const void* spread(const Spread& s, int64_t element, const void* from, std::byte* scratch) {
  if (!s.needed) return from;
  if (element == 4)  // bits are moved, so the type's size is all that matters: float32 or float64
    write_out<uint32_t>(s.plan, from, scratch);
  else
    write_out<uint64_t>(s.plan, from, scratch);
  return scratch;
}

// Statistics are results of training exports alone.
bool rows_apply(const NodeView& node, const Shape& normalized) {
  return normalized.elements() > 0 && !node.has_output(1) && !node.has_output(2);
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = reference_candidate(node, "layer_norm_reference", threads);
  const auto axis = axis_of(node);
  const Shape& x = node.shape(0);
  // A row for the scale and one for the bias, wanted or not: that is known only when operands are looked at.
  const int64_t workspace = axis.ok() ? 2 * x.product(*axis, x.rank()) * dtype_size(node.dtype(0)) : 0;
  c.workspace_bytes = workspace;
  out.push_back(std::move(c));
  const auto isa = float_isa(node);
  if (!isa || !axis.ok() || !rows_apply(node, x.sub(*axis, x.rank()))) return;
  Candidate rows = vector_candidate(node, "layer_norm_f32_rows", *isa, threads, kRows);
  rows.features[Quantity::tiles] = static_cast<double>(x.product(0, *axis));
  rows.workspace_bytes = workspace;
  out.push_back(std::move(rows));
}

struct Operands {
  Spread scale, bias;
  bool has_bias = false;
};

Result<std::unique_ptr<Kernel>> rows_kernel(const kernels::LayerNorm& spec, const Operands& o) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::NormTable& table = kernels::norm_table(isa);
  return make_kernel([spec, o,
                      run = spec.center ? table.layer_norm : table.rms_norm](const HostArgs& a) -> Status {
    const auto* scale =
        static_cast<const float*>(spread(o.scale, sizeof(float), a.input<void>(1), a.workspace));
    const auto* bias = o.has_bias ? static_cast<const float*>(spread(o.bias, sizeof(float), a.input<void>(2),
                                                                     a.workspace + spec.n * sizeof(float)))
                                  : nullptr;
    kernels::parallel_ranges(
        spec.rows, kernels::items_of(kNormGrain, spec.n), a.threads, [&](int64_t begin, int64_t end) {
          run(a.input<float>(0) + begin * spec.n, scale, bias, a.output<float>(0) + begin * spec.n,
              end - begin, spec.n, static_cast<float>(spec.epsilon));
        });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  WALLE_ASSIGN(const int axis, axis_of(node));
  const Shape& x = node.shape(0);
  const Shape normalized = x.sub(axis, x.rank());
  const kernels::LayerNorm spec{.rows = x.product(0, axis),
                                .n = normalized.elements(),
                                .epsilon = node.attrs().get_float("epsilon", 1e-5),
                                .center = node.op().name == "LayerNormalization"};
  const Spread scale = spread_of(node, 1, normalized);
  const Spread bias = spread_of(node, 2, normalized);
  if (candidate.choice == kRows) return rows_kernel(spec, {scale, bias, node.has(2)});
  const bool outputs[] = {true, node.has_output(1), node.has_output(2)};
  return make_kernel([=, has_bias = node.has(2), dtype = node.dtype(0),
                      element = dtype_size(node.dtype(0))](const HostArgs& a) -> Status {
    const void* s = spread(scale, element, a.input<void>(1), a.workspace);
    const void* b =
        has_bias ? spread(bias, element, a.input<void>(2), a.workspace + spec.n * element) : nullptr;
    kernels::run_layer_norm(spec, dtype, a.input<void>(0), s, b, a.output<void>(0),
                            outputs[1] ? a.output<float>(1) : nullptr,
                            outputs[2] ? a.output<float>(2) : nullptr, a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kLayerNormalizationCpu{
    .op = "LayerNormalization", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
