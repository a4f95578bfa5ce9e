// Adagrad, Adam and Momentum (ai.onnx.preview.training): one update step of any
// number of parameters. Inputs: learning rate, step number, then all parameters,
// all gradients and each further state; outputs: parameters, states.
#include <array>

#include "ops/registry.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer_states(ir::InferContext& c, int groups) {
  // Two scalars first, then `groups` inputs per parameter.
  const int n = (c.input_count() - 2) / groups;
  if (n < 1 || c.input_count() != 2 + n * groups)
    return model_error({c.input_count(), " inputs"}, {"two and a multiple of ", groups}, "optimizer",
                       "check the inputs");
  for (const int i : {0, 1})
    if (!c.has(i) || c.shape(i).elements() != 1)
      return model_error({"shape ", c.shape(i).text()}, "one number",
                         i == 0 ? "learning rate" : "step number", "pass a scalar");
  // Inputs come in groups of n: input i belongs to parameter i modulo n.
  for (int i = 0; i < c.input_count() - 2; ++i) {
    if (!c.has(2 + i) || c.shape(2 + i) != c.shape(2 + i % n) || c.dtype(2 + i) != c.dtype(2 + i % n))
      return model_error("an input that differs from its parameter",
                         "parameter, gradient and states of one shape and dtype", {"optimizer input ", 2 + i},
                         "check the order of the inputs");
  }
  for (int g = 0, out = 0; g < groups; ++g) {
    if (g == 1) continue;  // gradients do not come back
    for (int i = 0; i < n; ++i) c.output(out++, c.dtype(2 + i), c.shape(2 + i));
  }
  return {};
}
Status infer_two(ir::InferContext& c) { return infer_states(c, 3); }
Status infer_three(ir::InferContext& c) { return infer_states(c, 4); }

// One parameter's operands and the node's numbers as scalars of its dtype.
struct Step {
  LowerContext& c;
  int index;
  int count;
  Ref in(int group) const { return c.in(2 + group * count + index); }
  DType dtype() const { return c.dtype(in(0)); }
  Ref number(double v) const { return c.scalar(dtype(), v); }
  Ref attribute(const char* name, double otherwise) const {
    return number(c.attrs().get_float(name, otherwise));
  }
  Ref rate() const { return c.reshape(c.cast(c.in(0), dtype()), Shape{}); }
  Ref step() const { return c.reshape(c.cast(c.in(1), dtype()), Shape{}); }
  // With the gradient of norm_coefficient / 2 * |x|^2 (weight decay as L2 regularisation).
  Ref gradient() const { return c.add(in(1), c.mul(attribute("norm_coefficient", 0), in(0))); }
  void result(int group, Ref r) const { c.result(group * count + index, r); }
};

// Duchi, Hazan and Singer, "Adaptive Subgradient Methods" (2011).
Status lower_adagrad(LowerContext& c) {
  const int n = (c.input_count() - 2) / 3;
  for (int i = 0; i < n; ++i) {
    const Step s{c, i, n};
    // The rate decays with the step number T: R / (1 + T * decay_factor), in ONNX's words.
    const Ref rate = c.div(s.rate(), c.add(s.number(1), c.mul(s.step(), s.attribute("decay_factor", 0))));
    const Ref g = s.gradient();
    const Ref squares = c.add(s.in(2), c.mul(g, g));
    const Ref scale = c.add(c.emit("Sqrt", {squares}), s.attribute("epsilon", 1e-6));
    s.result(0, c.sub(s.in(0), c.div(c.mul(rate, g), scale)));
    s.result(1, squares);
  }
  return {};
}

// old * factor + new * (1 - factor)
Ref blend(const Step& s, const char* factor, double otherwise, Ref old, Ref fresh) {
  const double f = s.c.attrs().get_float(factor, otherwise);
  return s.c.add(s.c.mul(old, s.number(f)), s.c.mul(fresh, s.number(1 - f)));
}

// Kingma and Ba, "Adam" (2015); the defaults are the paper's but for epsilon, which ONNX sets to 1e-6.
Status lower_adam(LowerContext& c) {
  const int n = (c.input_count() - 2) / 4;
  for (int i = 0; i < n; ++i) {
    const Step s{c, i, n};
    const Ref g = s.gradient();
    const Ref mean = blend(s, "alpha", 0.9, s.in(2), g);
    const Ref squares = blend(s, "beta", 0.999, s.in(3), c.mul(g, g));
    // The first steps' bias is undone; step 0 asks for no correction.
    const Ref one = s.number(1);
    const Ref up = c.emit("Sqrt", {c.sub(one, c.emit("Power", {s.attribute("beta", 0.999), s.step()}))});
    const Ref down = c.sub(one, c.emit("Power", {s.attribute("alpha", 0.9), s.step()}));
    const Ref rate = c.emit(
        "Where", {c.emit("Greater", {s.step(), s.number(0)}), c.mul(s.rate(), c.div(up, down)), s.rate()});
    const Ref scale = c.add(c.emit("Sqrt", {squares}), s.attribute("epsilon", 1e-6));
    const Ref moved = c.sub(s.in(0), c.div(c.mul(rate, mean), scale));
    s.result(0, c.mul(moved, s.number(1 - c.attrs().get_float("norm_coefficient_post", 0))));
    s.result(1, mean);
    s.result(2, squares);
  }
  return {};
}

Status lower_momentum(LowerContext& c) {
  const int n = (c.input_count() - 2) / 3;
  const std::string mode = c.attrs().get_string("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return model_error({"mode '", mode, "'"}, "standard or nesterov", "Momentum", "correct the mode");
  for (int i = 0; i < n; ++i) {
    const Step s{c, i, n};
    const Ref g = s.gradient();
    const Ref beta =
        // The first step (T = 0) takes the gradient whole, whatever beta says.
        c.emit("Where", {c.emit("Greater", {s.step(), s.number(0)}), s.attribute("beta", 1), s.number(1)});
    const Ref velocity = c.add(c.mul(s.attribute("alpha", 0.9), s.in(2)), c.mul(beta, g));
    const Ref direction =
        // Nesterov: a look ahead along the new velocity (Sutskever et al., 2013).
        mode == "standard" ? velocity : c.add(g, c.mul(s.attribute("alpha", 0.9), velocity));
    s.result(0, c.sub(s.in(0), c.mul(s.rate(), direction)));
    s.result(1, velocity);
  }
  return {};
}

constexpr ir::OpDef row(std::string_view name, ir::InferFn infer, ir::LowerFn lower) {
  return {.name = name,
          .op_class = ir::OpClass::composite,
          .inputs = {5, -1},
          .outputs = {2, -1},
          .infer = infer,
          .lower = lower,
          .numeric = ir::NumericClass::elementwise};
}
constexpr std::array kRows{row("Adagrad", infer_two, lower_adagrad), row("Adam", infer_three, lower_adam),
                           row("Momentum", infer_two, lower_momentum)};
}  // namespace

extern const std::span<const ir::OpDef> kOptimizersOps = kRows;

}  // namespace walle::ops
