// NonMaxSuppression: how many boxes survive is known only after looking, so
// the executor runs it: the kernel (BoxSelection) fills a table of the
// largest possible size and says how many rows count; the rows are cut here.
#include <algorithm>
#include <limits>

#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
// boxes [B, N, 4], scores [B, C, N] float32 -> rows int64
// [B * C * min(limit, N), 3] (batch, class, box), count int64 [1].
Status infer_selection(ir::InferContext& c) {
  const Shape& boxes = c.shape(0);
  const Shape& scores = c.shape(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2] || c.dtype(0) != DType::float32 || c.dtype(1) != DType::float32)
    return model_error({"boxes", boxes.text(), " with scores", scores.text()},
                       "float32 boxes [batch, N, 4] and scores [batch, classes, N]", "NonMaxSuppression",
                       "correct the shapes");
  // Never more than there are boxes: the table is made for the limit.
  const int64_t limit = std::min(c.attrs().get_int("limit", 0), boxes[1]);
  const int64_t pairs[] = {boxes[0], scores[1], std::max<int64_t>(limit, 0), 3};
  WALLE_ASSIGN(const Shape all, Shape::checked(pairs, dtype_size(DType::int64), "NonMaxSuppression"));
  c.output(0, DType::int64, Shape{all.product(0, 3), 3});
  c.output(1, DType::int64, Shape{1});
  return {};
}

Result<double> number(const ControlContext& c, int i, double fallback) {
  if (i >= c.input_count() || c.in(i).empty()) return fallback;
  const Tensor* t = c.in(i).tensor();
  if (!t || t->elements() != 1)
    return model_error("a threshold that is not one number", "one number", {"input ", i},
                       "correct the input");
  WALLE_ASSIGN(const std::vector<double> v, t->to_f64());
  return v[0];
}

constexpr double kAllBoxes = 1e15;  // more than there can be, and exact as an integer

Status run(ControlContext& c) {
  const Tensor* boxes = c.in(0).tensor();
  const Tensor* scores = c.in(1).tensor();
  if (!boxes || !scores)
    return model_error("missing boxes or scores", "two tensors", "NonMaxSuppression", "connect both");
  // Defaults of ONNX: no box per class (!), an overlap of 0, no score threshold.
  WALLE_ASSIGN(const double limit, number(c, 2, 0));
  WALLE_ASSIGN(const double iou, number(c, 3, 0));
  WALLE_ASSIGN(const double least, number(c, 4, -std::numeric_limits<double>::infinity()));
  const ir::Attributes a{{"limit", static_cast<int64_t>(std::clamp(limit, 0.0, kAllBoxes))},
                         {"iou_threshold", iou},
                         {"score_threshold", least},
                         {"center_point_box", c.attrs().get_int("center_point_box", 0)}};
  WALLE_ASSIGN(const std::vector<Tensor> found, c.run_op("BoxSelection", a, {*boxes, *scores}, 2));
  const int64_t count = found[1].as<int64_t>()[0];
  // The first rows of the table's buffer: nothing is copied.
  c.output(0, Tensor(DType::int64, Shape{count, 3}, found[0].buffer(), found[0].byte_offset()));
  return {};
}
}  // namespace

extern const ir::OpDef kBoxSelectionOp{.name = "BoxSelection",
                                       .inputs = {2, 2},
                                       .outputs = {2, 2},
                                       .infer = infer_selection,
                                       .no_gradient = "positions are no numbers that vary"};
extern const ir::OpDef kNonMaxSuppressionOp{
    .name = "NonMaxSuppression", .op_class = ir::OpClass::control, .inputs = {2, 5}, .control = run};

}  // namespace walle::ops
