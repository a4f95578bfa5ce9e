// Slice: data[start:end:step] along the given axes. One region; a negative step walks backwards.
#include <algorithm>

#include "ops/rules/movement.h"

namespace walle::ops {

namespace {
// More than an axis can have: what files write for "to the end" is brought near it, and nothing overflows.
constexpr int64_t kMaxElements = int64_t{1} << 60;

struct Plan {
  std::vector<Dim> start, step;  // per axis of the data
  Shape size;
};

// NumPy's clamping of one axis.
void clamp_axis(Dim dim, Dim given_start, Dim given_end, Dim given_step, int axis, Plan& plan) {
  // Farther steps select one element as well; these cannot overflow.
  const Dim step = std::clamp<Dim>(given_step, -dim - 1, dim + 1);
  const bool up = step > 0;
  // INT64_MIN stays below 0 after adding a size, so the clamp has it; -kMaxElements is as far below.
  const Dim last = up ? dim : std::max<Dim>(dim - 1, 0);
  const auto from_end = [&](Dim i) {
    return i < 0 ? std::max<Dim>(i, -kMaxElements) + dim : std::min<Dim>(i, kMaxElements);
  };
  const Dim start = std::clamp<Dim>(from_end(given_start), 0, last);
  // Going down, -1 stands for "past the first element": INT64_MIN or -dim - 1 in the file, which is how
  // exporters write it.
  const Dim end = std::clamp<Dim>(from_end(given_end), up ? 0 : -1, last);
  const Dim span = up ? end - start : start - end;
  const Dim stride = up ? step : -step;
  plan.start[axis] = start;
  plan.step[axis] = step;
  plan.size.set(axis, dim == 0 || span <= 0 ? Dim(0) : (span - 1) / stride + 1);
}

Result<Plan> make_plan(const Shape& data, const std::vector<Dim>& starts, const std::vector<Dim>& ends,
                       std::vector<int64_t> axes, std::vector<Dim> steps) {
  const size_t n = starts.size();
  // Without axes the first n are meant (ONNX), not the last.
  if (axes.empty())
    for (size_t i = 0; i < n; ++i) axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(n, 1);
  if (ends.size() != n || axes.size() != n || steps.size() != n)
    return model_error(
        {n, " starts, ", ends.size(), " ends, ", axes.size(), " axes, ", steps.size(), " steps"},
        "as many of each", "Slice inputs", "correct the lists");
  // An axis twice has no defined order.
  WALLE_ASSIGN(const std::vector<int> at, unique_axes(axes, data.rank()));
  const size_t rank = data.rank();
  Plan plan{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 1), data};
  for (size_t i = 0; i < n; ++i) {
    if (steps[i] == 0)
      return model_error("step 0", "a step other than zero", "input steps", "correct the step");
    clamp_axis(data.dim(at[i]), starts[i], ends[i], steps[i], at[i], plan);
  }
  return plan;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const std::vector<Dim> starts, c.need_dims(1));
  WALLE_ASSIGN(const std::vector<Dim> ends, c.need_dims(2));
  std::vector<int64_t> axes;
  std::vector<Dim> steps;
  if (c.has(3)) {
    WALLE_ASSIGN(axes, c.need_i64(3));
  }
  if (c.has(4)) {
    WALLE_ASSIGN(steps, c.need_dims(4));
  }
  WALLE_ASSIGN(const Plan plan, make_plan(c.shape(0), starts, ends, axes, steps));
  c.output(0, c.dtype(0), plan.size);
  return {};
}

Status lower(LowerContext& c) {
  WALLE_ASSIGN(const std::vector<Dim> starts, dims_of(c, 1));
  WALLE_ASSIGN(const std::vector<Dim> ends, dims_of(c, 2));
  WALLE_ASSIGN(const std::vector<int64_t> axes, ints_of(c, 3));
  WALLE_ASSIGN(const std::vector<Dim> steps, dims_of(c, 4));
  const Shape data = c.shape(c.in(0));
  WALLE_ASSIGN(const Plan plan, make_plan(data, starts, ends, axes, steps));
  const std::vector<Dim> zeros(data.rank(), 0);
  raster::Raster r;
  r.regions.push_back(box_region(0, plan.size, {data, plan.start, plan.step}, {plan.size, zeros}));
  result_raster(c, std::move(r));
  return {};
}
}  // namespace

extern const ir::OpDef kSliceOp{
    .name = "Slice", .op_class = ir::OpClass::transform, .inputs = {3, 5}, .infer = infer, .lower = lower};

}  // namespace walle::ops
