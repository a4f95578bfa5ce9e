// Compress and NonZero: how much survives depends on the values, so the executor runs them and plans what
// follows for the shapes it finds.
#include <array>

#include "base/copy.h"
#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
Result<const Tensor*> tensor_input(const ControlContext& c, int i) {
  const Tensor* t = i < c.input_count() ? c.in(i).tensor() : nullptr;
  if (!t) return model_error("no tensor", "a tensor", {"input ", i}, "connect the input");
  return t;
}

Status run_compress(ControlContext& c) {
  WALLE_ASSIGN(const Tensor* data, tensor_input(c, 0));
  WALLE_ASSIGN(const Tensor* condition, tensor_input(c, 1));
  // Without the attribute ONNX Compress takes the flattened data; 0 would mean the first axis.
  const bool flat = !c.attrs().has("axis");
  Shape shape = flat ? Shape{data->elements()} : data->shape();
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(flat ? 0 : c.attrs().get_int("axis", 0), shape.rank()));
  if (condition->dtype() != DType::boolean || condition->shape().rank() != 1 ||
      condition->elements() > shape[axis])
    return model_error({"a condition ", dtype_name(condition->dtype()), condition->shape().text()},
                       {"a bool vector of at most ", shape[axis], " elements"}, "input condition",
                       "correct the condition");
  std::vector<int64_t> kept;
  const auto bits = condition->as<bool>();
  for (size_t i = 0; i < bits.size(); ++i)
    // Booleans of another runtime may be any byte but 0; Tensor::with_plain_booleans() has seen to that where
    // they came in.
    if (bits[i]) kept.push_back(static_cast<int64_t>(i));
  const int64_t outer = shape.product(0, axis);
  const int64_t row = shape[axis];
  const int64_t run = shape.product(axis + 1, shape.rank()) * dtype_size(data->dtype());
  shape[axis] = static_cast<int64_t>(kept.size());
  WALLE_ASSIGN(Tensor out, Tensor::allocate(data->dtype(), shape));
  auto* to = static_cast<std::byte*>(out.mutable_data());
  const auto* from = static_cast<const std::byte*>(data->data());
  // run > 0: tensors without elements may have no address.
  for (int64_t o = 0; o < outer && run > 0; ++o)
    for (int64_t k : kept) {
      base::copy_bytes(to, from + (o * row + k) * run, run);
      to += run;
    }
  c.output(0, std::move(out));
  return {};
}

template <class T>
bool is_nonzero(T v) {
  if constexpr (std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>)
    // By value, so that -0 is zero.
    return static_cast<float>(v) != 0.0f;
  else
    return v != T{};
}

Status run_nonzero(ControlContext& c) {
  WALLE_ASSIGN(const Tensor* data, tensor_input(c, 0));
  std::vector<int64_t> found;
  const bool known = tensor::visit_all(data->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto values = data->as<T>();
    for (size_t i = 0; i < values.size(); ++i)
      if (is_nonzero(values[i])) found.push_back(static_cast<int64_t>(i));
  });
  if (!known)
    return model_error({"data of ", dtype_name(data->dtype())}, "a numeric or boolean dtype", "input 0",
                       "cast the data");
  const auto n = static_cast<int64_t>(found.size());
  const Shape& shape = data->shape();
  // A scalar has no coordinates: its result has zero rows.
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::int64, Shape{shape.rank(), n}));
  int64_t* to = out.as_mutable<int64_t>().data();
  const Shape strides = shape.strides();
  // Coordinates by axis, [rank, n]: ONNX NonZero is the transpose of np.argwhere.
  for (int a = 0; a < shape.rank(); ++a)
    for (int64_t i = 0; i < n; ++i) *to++ = found[i] / strides[a] % shape[a];
  c.output(0, std::move(out));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{
        .name = "Compress", .op_class = ir::OpClass::control, .inputs = {2, 2}, .control = run_compress},
    ir::OpDef{.name = "NonZero", .op_class = ir::OpClass::control, .control = run_nonzero},
};
}  // namespace

extern const std::span<const ir::OpDef> kCompressOps = kRows;

}  // namespace walle::ops
