// BoxSelection (the kernel of NonMaxSuppression) on the CPU.
//
// How many boxes stay is known after it ran, and plans have fixed shapes: the result has room for as many as
// there could be, and the second one says how many rows of it count; the executor cuts off the rest
// (ops/control/non_max_suppression.cc).
#include <algorithm>
#include <limits>

#include "backends/cpu/cpu_op.h"
#include "kernels/nms/box_selection.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) { return node.dtype(0) == DType::float32; }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = reference_candidate(node, "box_selection_reference", threads);
  // The order of the boxes by score, of one class at a time.
  c.workspace_bytes = node.shape(0)[1] * static_cast<int64_t>(sizeof(int32_t));
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  kernels::BoxSelection s;
  s.batch = node.shape(1)[0];
  s.classes = node.shape(1)[1];
  s.boxes = node.shape(1)[2];
  // 32-bit positions halve the workspace; base::kMaxTensorBytes lets no more than 2^30 boxes come here.
  if (s.boxes > std::numeric_limits<int32_t>::max())
    return model_error({s.boxes, " boxes"}, "fewer than 2^31", "NonMaxSuppression", "filter the boxes first");
  s.limit = node.attrs().get_int("limit", 0);
  s.iou_threshold = static_cast<float>(node.attrs().get_float("iou_threshold", 0));
  s.score_threshold =
      static_cast<float>(node.attrs().get_float("score_threshold", -std::numeric_limits<double>::infinity()));
  s.center_point_box = node.attrs().get_int("center_point_box", 0) != 0;
  return make_kernel([s, rows = node.out_shape(0)[0]](const HostArgs& a) -> Status {
    auto* out = a.output<int64_t>(0);
    const int64_t found = kernels::run_box_selection(s, a.input<float>(0), a.input<float>(1), out,
                                                     reinterpret_cast<int32_t*>(a.workspace));
    // A row is batch, class, box. What does not count is zero and not garbage, so that two runs
    // compare equal.
    std::fill(out + found * 3, out + rows * 3, int64_t{0});
    a.output<int64_t>(1)[0] = found;
    return {};
  });
}
}  // namespace

extern const CpuOp kBoxSelectionCpu{
    .op = "BoxSelection", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
