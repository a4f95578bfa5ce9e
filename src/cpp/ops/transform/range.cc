// Range: start, start + delta, ... below limit. Its length
// depends on the values, so it is computed while planning.
#include <cmath>

#include "base/limits.h"
#include "ops/rules/infer.h"
#include "ops/rules/movement.h"

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

// start, limit and delta where they are sizes, some of them symbols.
struct Counted {
  Dim start, limit, delta;
  Dim count() const { return (limit - start + delta - 1) / delta; }
};

// nullopt: numbers, or a form that counts like them.
std::optional<Counted> counted_of(Dim start, Dim limit, Dim delta) {
  // Larger ones are tables that one plan may have, but not each class.
  constexpr int64_t kMaxSymbolic = int64_t{1} << 20;
  const bool symbolic = start.symbolic() || limit.symbolic() || delta.symbolic();
  if (!symbolic || limit.value() > kMaxSymbolic || delta <= 0 || start < 0 || limit <= start)
    return std::nullopt;
  return Counted{start, limit, delta};
}

std::optional<Counted> inferred_counted(ir::InferContext& c) {
  Dim value[3];
  bool symbolic = false;
  for (int i = 0; i < 3; ++i) {
    if (!c.has(i) || (c.dtype(i) != DType::int64 && c.dtype(i) != DType::int32)) return std::nullopt;
    symbolic = symbolic || c.sizes(i);
  }
  for (int i = 0; symbolic && i < 3; ++i) {
    const auto dims = c.need_dims(i);
    if (!dims.ok() || dims->size() != 1) return std::nullopt;
    value[i] = (*dims)[0];
  }
  return counted_of(value[0], value[1], value[2]);
}

Status infer(ir::InferContext& c) {
  if (const auto range = inferred_counted(c); range && same_dtypes(c, 0, 3).ok()) {
    c.output(0, c.dtype(0), Shape(std::vector<Dim>{range->count()}));
    return {};
  }
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

// Of sizes that are symbols; of numbers the shape rule knows the values.
Status lower(LowerContext& c) {
  Dim value[3];
  for (int i = 0; i < 3; ++i) {
    WALLE_ASSIGN(const std::vector<Dim> dims, dims_of(c, i));
    value[i] = dims[0];
  }
  const auto range = counted_of(value[0], value[1], value[2]);
  if (!range) return internal_error("Range is answered by its shape rule", "Range");
  c.result(0, counted(c, c.out_dtype(0), range->start, range->delta, range->count()));
  return {};
}
}  // namespace

extern const ir::OpDef kRangeOp{
    .name = "Range", .op_class = ir::OpClass::transform, .inputs = {3, 3}, .infer = infer, .lower = lower};

}  // namespace walle::ops
