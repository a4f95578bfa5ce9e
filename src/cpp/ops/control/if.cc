// If: runs then_branch or else_branch. Inputs: the condition, then the captures of both branches in that
// order (attributes then_captures, else_captures count them).
#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
Status run(ControlContext& c) {
  const Tensor* condition = c.in(0).tensor();
  if (!condition || condition->dtype() != DType::boolean || condition->elements() != 1)
    return model_error("a condition that is not one boolean", "a bool tensor with one element", "input cond",
                       "reduce or cast the condition");
  const bool taken = condition->as<bool>()[0];
  const int64_t then_captures = c.attrs().get_int("then_captures", 0);
  const int64_t else_captures = c.attrs().get_int("else_captures", 0);
  // Captures are explicit inputs, so that a branch is a function of its inputs alone.
  const int64_t first = taken ? 1 : 1 + then_captures;
  const int64_t count = taken ? then_captures : else_captures;
  // Counts from a file, and sums of them must not overflow: each is bounded by the inputs.
  if (then_captures < 0 || else_captures < 0 || first + count > c.input_count())
    return model_error("captures beyond the inputs", "one input per capture",
                       "attributes then_captures, else_captures", "convert the model again");
  std::vector<ir::RuntimeValue> inputs;
  for (int64_t i = 0; i < count; ++i) inputs.push_back(c.in(static_cast<int>(first + i)));
  WALLE_ASSIGN(std::vector<ir::RuntimeValue> results,
               c.run_body(taken ? "then_branch" : "else_branch", std::move(inputs)));
  for (int i = 0; i < c.output_count() && i < static_cast<int>(results.size()); ++i)
    c.output(i, std::move(results[i]));
  return {};
}
}  // namespace

extern const ir::OpDef kIfOp{
    .name = "If", .op_class = ir::OpClass::control, .inputs = {1, -1}, .outputs = {1, -1}, .control = run};

}  // namespace walle::ops
