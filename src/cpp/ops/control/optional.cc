// Optional, OptionalHasElement, OptionalGetElement: an optional is a run-time value that may be empty.
#include <array>

#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
bool given(const ControlContext& c) { return c.input_count() > 0 && !c.in(0).empty(); }

Status run_wrap(ControlContext& c) {
  // Optional without an input is an empty one (its attribute `type` says of what; nothing here needs to
  // know).
  c.output(0, given(c) ? c.in(0) : ir::RuntimeValue());
  return {};
}

Status run_has(ControlContext& c) {
  WALLE_ASSIGN(Tensor flag, Tensor::scalar<bool>(given(c)));
  c.output(0, std::move(flag));
  return {};
}

Status run_get(ControlContext& c) {
  if (!given(c))
    return model_error("an empty optional", "an optional that holds a value", "OptionalGetElement",
                       "test OptionalHasElement first");
  c.output(0, c.in(0));
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::Arity inputs, ir::ControlFn run) {
  return {.name = name, .op_class = ir::OpClass::control, .inputs = inputs, .control = run};
}

constexpr std::array kRows{row("Optional", {0, 1}, run_wrap), row("OptionalHasElement", {0, 1}, run_has),
                           row("OptionalGetElement", {1, 1}, run_get)};
}  // namespace

extern const std::span<const ir::OpDef> kOptionalOps = kRows;

}  // namespace walle::ops
