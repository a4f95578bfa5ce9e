// DynamicQuantizeLinear on the CPU, claimed whole: the range of x, then its codes.
//
// A NaN makes the scale NaN and all codes 0, as the operators do that it stands for; so does an infinity what
// they make of it.
#include <cmath>

#include "backends/cpu/cpu_op.h"
#include "base/thread_pool.h"
#include "kernels/eltwise/saturate.h"
#include "kernels/parallel.h"
#include "kernels/quant/quantize.h"

namespace walle::backends::cpu {

namespace {
constexpr float kCodes = 255;  // steps between the smallest and the largest uint8
constexpr double kFlops = 6;
struct Range {
  float low = 0, high = 0;  // it holds 0, so that 0 has an exact code

  // NaN stays.
  void add(Range other) {
    low = other.low < low || other.low != other.low ? other.low : low;
    high = other.high > high || other.high != other.high ? other.high : high;
  }
};

Range range_of(const kernels::QuantTable& table, const float* x, int64_t n) {
  Range out;
  table.range(x, n, &out.low, &out.high);
  return out;
}

// Each in a cache line of its own.
struct alignas(64) Part {
  Range range;
};

int64_t parts_of(int64_t n, int threads) {
  return std::clamp<int64_t>(n / kernels::kVectorGrain, 1, std::max(threads, 1));
}

Range range_of(const kernels::QuantTable& table, const float* x, int64_t n, int threads, Part* parts) {
  const int64_t count = parts_of(n, threads);
  if (count == 1) return range_of(table, x, n);
  base::parallel_for(count, threads, [&](int64_t i) {
    const int64_t from = n * i / count;
    parts[i].range = range_of(table, x + from, n * (i + 1) / count - from);
  });
  Range out;
  for (int64_t i = 0; i < count; ++i) out.add(parts[i].range);
  return out;
}

bool supports(const NodeView& node) {
  // The least number of none is for the operators to say.
  return node.dtype(0) == DType::float32 && node.shape(0).elements() > 0;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = vector_candidate(node, "dynamic_quantize_f32", *isa, threads, 0);
  c.features[Quantity::flop] = kFlops * static_cast<double>(node.shape(0).elements());
  c.workspace_bytes = parts_of(node.shape(0).elements(), threads) * static_cast<int64_t>(sizeof(Part));
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([&quant = kernels::quant_table(isa), n = node.shape(0).elements(),
                      codes = node.has_output(0), scale_out = node.has_output(1),
                      point_out = node.has_output(2)](const HostArgs& a) -> Status {
    const auto* x = a.input<float>(0);
    const Range range = range_of(quant, x, n, a.threads, reinterpret_cast<Part*>(a.workspace));
    const float step = (range.high - range.low) / kCodes;
    // Of zeros alone any scale does; 1, as onnxruntime has it, is one that can be divided by.
    const float scale = step == 0 ? 1.0f : step;
    const float whole = std::nearbyint(-range.low / scale);
    uint8_t point = 0;
    kernels::run_saturate(DType::float32, &whole, DType::uint8, &point, 1);
    const float zero = point;
    if (codes)
      kernels::run_quantize(quant, DType::uint8, {.inner = n}, x, &scale, &zero, a.output<void>(0),
                            a.threads);
    if (scale_out) *a.output<float>(1) = scale;
    if (point_out) *a.output<uint8_t>(2) = point;
    return {};
  });
}
}  // namespace

extern const CpuOp kDynamicQuantizeLinearCpu{
    .op = "DynamicQuantizeLinear", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
