// Softmax and LogSoftmax on the CPU.
//
// Three kernels: a reference for every dtype, and for float32 vectors of a row's elements (long rows along
// the last axis, where attention and classifiers have it) or of as many rows (any other axis, short rows).
#include "kernels/softmax/softmax.h"
#include "backends/cpu/cpu_op.h"
#include "base/checked.h"
#include "kernels/parallel.h"
#include "kernels/rows.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kRows, kLanes };

// Elements that a thread must get: three passes over a row by vectors (maximum, exponentials and their sum,
// scaling), and the exponential alone is a dozen operations.
constexpr int64_t kSoftmaxGrain = kernels::kVectorGrain / 4;

bool supports(const NodeView& node) {
  return node.dtype(0) == DType::float32 || node.dtype(0) == DType::float64;
}

Result<kernels::Softmax> spec_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  kernels::Softmax spec;
  spec.log = node.op().name == "LogSoftmax";
  if (x.rank() > 0) {  // a scalar has no axis to name, and is one row of one element
    WALLE_ASSIGN(const int axis, tensor::normalize_axis(node.attrs().get_int("axis", -1), x.rank()));
    spec.outer = x.product(0, axis);
    spec.axis = x[axis];
    spec.inner = x.product(axis + 1, x.rank());
  }
  return spec;
}

// Steps: one vector of rows, one element of each. Tails: elements that are turned, or gathered one by one.
Candidate lanes_candidate(const NodeView& node, const kernels::Softmax& s, kernels::Isa isa, int threads) {
  Candidate c = vector_candidate(node, "softmax_f32_lanes", isa, threads, kLanes);
  const int64_t lanes = kernels::softmax_table(isa).width;
  const bool short_axis = s.axis <= kernels::kTurnedAxis;
  const bool behind = s.inner == 1;
  const bool scattered = short_axis && !behind && 2 * s.inner < lanes;
  const int64_t groups = behind || scattered ? base::ceil_div(s.outer * s.inner, lanes)
                                             : s.outer * base::ceil_div(s.inner, lanes);
  const auto vectors = static_cast<double>(groups);
  const auto axis = static_cast<double>(s.axis);
  c.features[Quantity::flop] = vectors * axis * static_cast<double>(lanes);
  // Logarithms are taken a row at a time.
  c.features[Quantity::tiles] = vectors * (s.log ? static_cast<double>(lanes) : 1);
  if (scattered)
    c.features[Quantity::tails] = vectors * axis * static_cast<double>(lanes);
  else if (behind && (s.axis > 2 || s.log))
    c.features[Quantity::tails] = vectors * axis * static_cast<double>(lanes) / 2;
  return c;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "softmax_reference", threads));
  const auto isa = float_isa(node);
  const auto spec = spec_of(node);
  // An empty axis has no maximum.
  if (!isa || !spec.ok() || node.shape(0).elements() == 0) return;
  if (spec->inner == 1) {
    Candidate rows = vector_candidate(node, "softmax_f32_rows", *isa, threads, kRows);
    rows.features[Quantity::tiles] = static_cast<double>(spec->outer);
    out.push_back(std::move(rows));
  }
  // Long rows behind one another would be one lane of a vector each.
  if (spec->inner == 1 && spec->axis > kernels::kTurnedAxis) return;
  out.push_back(lanes_candidate(node, *spec, *isa, threads));
}

Result<std::unique_ptr<Kernel>> rows_kernel(const kernels::Softmax& spec) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::SoftmaxTable& table = kernels::softmax_table(isa);
  return make_kernel([spec, run = spec.log ? table.log_rows : table.rows](const HostArgs& a) -> Status {
    kernels::parallel_ranges(spec.outer, kernels::items_of(kSoftmaxGrain, spec.axis), a.threads,
                             [&](int64_t begin, int64_t end) {
                               run(a.input<float>(0) + begin * spec.axis,
                                   a.output<float>(0) + begin * spec.axis, end - begin, spec.axis);
                             });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> lanes_kernel(const kernels::Softmax& spec) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([spec, run = kernels::softmax_table(isa).lanes](const HostArgs& a) -> Status {
    const kernels::SoftmaxTask task{.x = a.input<float>(0),
                                    .y = a.output<float>(0),
                                    .axis = spec.axis,
                                    .inner = spec.inner,
                                    .log = spec.log};
    kernels::parallel_ranges(spec.outer * spec.inner, kernels::items_of(kSoftmaxGrain, spec.axis), a.threads,
                             [&](int64_t begin, int64_t end) { run(task, begin, end); });
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Softmax spec, spec_of(node));
  if (candidate.choice == kRows) return rows_kernel(spec);
  if (candidate.choice == kLanes) return lanes_kernel(spec);
  return make_kernel([spec, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_softmax(spec, dtype, a.input<void>(0), a.output<void>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kSoftmaxCpu{
    .op = "Softmax", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
