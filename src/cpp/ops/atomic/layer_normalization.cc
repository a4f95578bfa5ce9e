// LayerNormalization over the axes from `axis` on, with its statistics as optional results; RMSNormalization
// takes the mean as 0. One atomic operator of two kinds.
#include <array>

#include "ops/gradient.h"
#include "ops/registry.h"
#include "ops/rules/cost.h"
#include "ops/rules/formula.h"
#include "ops/rules/infer.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_TRY(same_dtypes(c, 0, c.input_count()));
  const Shape& x = c.shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), x.rank()));
  for (int i = 1; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    const auto fits = tensor::broadcast(x, c.shape(i));
    if (!fits.ok() || *fits != x)
      return model_error({"shape ", c.shape(i).text()}, {"a shape that broadcasts to ", x.text()},
                         "scale or bias", "reshape it or change axis");
  }
  c.output(0, c.dtype(0), x);
  // The statistics are float32 whatever X is: ONNX's stash_type, in its default.
  Shape statistics = x;
  for (int i = axis; i < x.rank(); ++i) statistics.set(i, 1);
  c.output(1, DType::float32, statistics);
  c.output(2, DType::float32, statistics);
  return {};
}

// Kernels take a scale and a bias of the normalised axes. Others, which ONNX allows where they broadcast to
// x, follow as operations of their own.
template <bool Centred>
Status lower(LowerContext& c) {
  const Shape x = c.shape(c.in(0));
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), x.rank()));
  const Shape normalized = x.sub(axis, x.rank());
  const auto fits = [&](int i) {
    if (!c.has(i)) return true;
    const auto both = tensor::broadcast(normalized, c.shape(c.in(i)));
    return both.ok() && *both == normalized;
  };
  if (fits(1) && fits(2)) return {};
  const Ref one = c.scalar(c.dtype(c.in(0)), 1);
  const std::vector<Ref> parts = c.emit_many(Centred ? "LayerNormalization" : "RMSNormalization",
                                             {c.in(0), one}, c.attrs(), c.output_count());
  Ref y = c.mul(parts[0], c.in(1));
  if (c.has(2)) y = c.add(y, c.in(2));
  c.result(0, y);
  for (int i = 1; i < c.output_count(); ++i) c.result(i, parts[i]);
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in, std::span<const ir::InferOutput>) {
  // A few passes over a row that stays in the cache, read and written once.
  constexpr double kOperations = 8;
  const auto n = static_cast<double>(in[0].shape.elements());
  return {kOperations * n, 2 * bytes_of(in[0].shape, in[0].dtype)};
}

// With d = x - mean (x itself for RMSNormalization), s = 1 / sqrt(mean(d^2) + epsilon) and h = d * s, the
// gradient u = g * scale of h gives x  s * (u - h * mean(u * h)), centred where x was. The statistics are
// computed anew: kernels keep theirs in float32, if at all.
template <bool Centred>
Status gradient(GradientContext& c) {
  const Shape shape = c.out_shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", -1), shape.rank()));
  std::vector<int64_t> axes;
  for (int i = axis; i < shape.rank(); ++i) axes.push_back(i);
  const auto mean = [&](const Term& t) { return Term(c, c.reduce("ReduceMean", t.ref(), axes, true)); };
  const Term x(c, c.in(0));
  const Term d = Centred ? x - mean(x) : x;
  const Term s = 1 / sqrt(mean(d * d) + c.attrs().get_float("epsilon", 1e-5));
  const Term h = d * s;
  Term dx = 0;
  const auto add = [&](const Term& t) { dx = dx.is_number() ? t : dx + t; };
  if (c.dy(0) >= 0) {
    const Term g(c, c.dy(0));
    if (c.wants(1)) c.result(1, sum_to(c, (g * h).ref(), c.out_shape(1)));
    if (c.wants(2)) c.result(2, sum_to(c, c.dy(0), c.out_shape(2)));
    const Term u = g * Term(c, c.in(1));
    const Term v = u - h * mean(u * h);
    if (c.wants(0)) add(s * (Centred ? v - mean(u) : v));
  }
  if (!c.wants(0)) return {};
  const auto n = static_cast<double>(shape.product(axis, shape.rank()));
  // The mean and s as results of their own.
  if (c.dy(1) >= 0) add(Term(c, expand_to(c, c.cast(c.dy(1), x.dtype()), shape)) / n);
  if (c.dy(2) >= 0) add(Term(c, c.cast(c.dy(2), x.dtype())) * (-1 / n) * s * s * h);
  c.result(0, dx.ref());
  return {};
}

constexpr ir::OpDef row(std::string_view name, int inputs, int outputs, ir::LowerFn lower,
                        ir::GradientFn gradient) {
  return {.name = name,
          .inputs = {2, inputs},
          .outputs = {1, outputs},
          .infer = infer,
          .lower = lower,
          .cost = cost,
          .numeric = ir::NumericClass::accumulation,
          .family = "LayerNormalization",
          .gradient = gradient};
}
constexpr std::array kRows{row("LayerNormalization", 3, 3, lower<true>, gradient<true>),
                           row("RMSNormalization", 2, 1, lower<false>, gradient<false>)};
}  // namespace

extern const std::span<const ir::OpDef> kLayerNormalizationOps = kRows;

}  // namespace walle::ops
