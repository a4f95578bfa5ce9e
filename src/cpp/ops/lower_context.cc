#include "ops/lower.h"
#include "ops/registry.h"

namespace walle::ops {

const Shape& LowerContext::shape(Ref r) const {
  static const Shape empty;
  return r < 0 ? empty : lowering_.program().at(r).shape;
}

DType LowerContext::dtype(Ref r) const { return r < 0 ? DType::undefined : lowering_.program().at(r).dtype; }

const Tensor* LowerContext::constant(Ref r) const {
  if (r < 0) return nullptr;
  const auto& value = lowering_.program().at(r).constant;
  return value ? &*value : nullptr;
}

std::vector<Ref> LowerContext::emit_many(std::string_view op, const std::vector<Ref>& inputs, ir::Attributes attributes, int outputs) {
  const std::vector<Ref> nothing(static_cast<size_t>(outputs), kNoRef);
  if (failed()) return nothing;
  const ir::OpDef* def = find_op(op);
  if (!def) {
    fail(internal_error("operator '" + std::string(op) + "' is not in the op table", origin_));
    return nothing;
  }
  auto refs = lowering_.apply(*def, attributes, inputs, outputs, origin_);
  if (!refs.ok()) {
    fail(refs.take_error());
    return nothing;
  }
  return *refs;
}

Ref LowerContext::emit(std::string_view op, const std::vector<Ref>& inputs, ir::Attributes attributes) {
  return emit_many(op, inputs, std::move(attributes), 1)[0];
}

Ref LowerContext::emit(std::string_view op, std::initializer_list<Ref> inputs, ir::Attributes attributes) {
  return emit_many(op, std::vector<Ref>(inputs), std::move(attributes), 1)[0];
}

bool LowerContext::may_tabulate(int64_t elements) {
  if (failed()) return false;
  if (Status s = lowering_.count_table(elements); !s.ok()) fail(s.error().within("node '" + origin_ + "'"));
  return !failed();
}

Ref LowerContext::raster(raster::Raster raster, DType dtype, const Shape& shape, const std::vector<Ref>& sources) {
  if (failed()) return kNoRef;
  auto r = lowering_.append_raster(std::move(raster), dtype, shape, sources, origin_);
  if (r.ok()) return *r;
  fail(r.take_error());
  return kNoRef;
}

Ref LowerContext::loop(raster::LoopSpec loop, DType dtype, const Shape& shape, const std::vector<Ref>& operands) {
  if (failed()) return kNoRef;
  auto r = lowering_.append_loop(std::move(loop), dtype, shape, operands, origin_);
  if (r.ok()) return *r;
  fail(r.take_error());
  return kNoRef;
}

Ref LowerContext::scalar(DType dtype, double value) {
  if (failed()) return kNoRef;
  auto t = Tensor::allocate(dtype, Shape{});
  if (!t.ok()) {
    fail(t.take_error());
    return kNoRef;
  }
  const bool known = tensor::visit_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>)
      t->as_mutable<T>()[0] = T(static_cast<float>(value));
    else
      t->as_mutable<T>()[0] = static_cast<T>(value);
  });
  if (!known)  // float8 travels and is cast; no operator computes in it
    fail(model_error("operands of " + std::string(dtype_name(dtype)), "a dtype the operator computes in", origin_, "cast them to float32"));
  return constant(std::move(*t));
}

Ref LowerContext::ints(std::vector<int64_t> values) {
  auto t = Tensor::vector_i64(values);
  if (t.ok()) return constant(std::move(*t));
  fail(t.take_error());
  return kNoRef;
}

Ref LowerContext::reshape(Ref r, const Shape& to) {
  if (failed()) return kNoRef;
  if (shape(r) == to) return r;
  raster::Raster whole;
  whole.regions.push_back(raster::contiguous_region(0, to.elements()));
  if (shape(r).elements() != to.elements()) {
    fail(internal_error("reshape of " + shape(r).text() + " to " + to.text(), origin_));
    return kNoRef;
  }
  return raster(std::move(whole), dtype(r), to, {r});
}

Ref LowerContext::cast(Ref r, DType to) {
  if (dtype(r) == to) return r;
  return emit("Cast", {r}, {{"to", static_cast<int64_t>(to)}});
}

Ref LowerContext::reduce(std::string_view op, Ref r, std::vector<int64_t> axes, bool keepdims) {
  return emit(op, {r, ints(std::move(axes))}, {{"keepdims", int64_t{keepdims}}});
}

Result<std::vector<Ref>> LowerContext::finish() {
  if (error_) return *error_;
  return results_;
}

}  // namespace walle::ops
