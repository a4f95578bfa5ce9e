// Range: start, start + delta, ... below limit. Its length
// depends on the values, so it is computed while planning.
#include <cmath>

#include "base/limits.h"
#include "ops/lower.h"

namespace walle::ops {

namespace {
constexpr int64_t kMaxRange = base::kMaxPlanTable / kNumberWork;

// Made of T, which differs from the T it is computed in for 16-bit floats.
template <class Made, class T>
Status fill_range(ir::InferContext& c, T start, T limit, T delta) {
  const double count =
      std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  // Asked together: a delta of 0 gives infinity or NaN, and only the message names it.
  if (delta == T{0} || !std::isfinite(count) || count > static_cast<double>(kMaxRange))
    return model_error({"start ", start, ", limit ", limit, ", delta ", delta},
                       {"finite numbers, a delta other than zero, at most ", kMaxRange, " elements"}, "Range",
                       "correct the inputs");
  const auto n = static_cast<int64_t>(std::max(count, 0.0));
  WALLE_ASSIGN(Tensor out, Tensor::allocate(tensor::kDTypeOf<Made>, Shape{n}));
  Made* p = out.as_mutable<Made>().data();
  // Multiplied, not added up, so that errors of floats do not grow; integers
  // through uint64, because the product alone may leave the range of T.
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      p[i] = static_cast<Made>(start + static_cast<T>(i) * delta);
    else
      p[i] = static_cast<Made>(static_cast<uint64_t>(start) +
                               static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  }
  c.output_value(0, std::move(out));
  return {};
}

Status infer(ir::InferContext& c) {
  const Tensor* value[3];
  for (int i = 0; i < 3; ++i) {
    WALLE_ASSIGN(value[i], c.need(i));
    if (value[i]->elements() != 1 || value[i]->dtype() != value[0]->dtype())
      return model_error({"input ", i, " of ", dtype_name(value[i]->dtype()), value[i]->shape().text()},
                         "three scalars of one dtype", "Range", "correct the inputs");
  }
  Status status;
  const bool known = tensor::visit_all(value[0]->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide =
        std::conditional_t<std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>, float, T>;
    const auto number = [&](int i) { return static_cast<Wide>(value[i]->as<T>()[0]); };
    if constexpr (!std::is_same_v<T, bool>) status = fill_range<T, Wide>(c, number(0), number(1), number(2));
  });
  if (!known || value[0]->dtype() == DType::boolean)
    return model_error({"a range of ", dtype_name(value[0]->dtype())},
                       "a range of integers or floats of at least 16 bits", "Range", "cast the inputs");
  return status;
}

Status lower(LowerContext&) { return internal_error("Range is answered by its shape rule", "Range"); }
}  // namespace

extern const ir::OpDef kRangeOp{
    .name = "Range", .op_class = ir::OpClass::transform, .inputs = {3, 3}, .infer = infer, .lower = lower};

}  // namespace walle::ops
