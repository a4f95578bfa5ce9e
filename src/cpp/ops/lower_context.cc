#include <algorithm>

#include "ops/lower.h"
#include "ops/registry.h"
#include "tensor/representable.h"

namespace walle::ops {

const Shape& LowerContext::shape(Ref r) const {
  // After a failure every reference is kNoRef, and decompositions go on asking for shapes until they return.
  static const Shape empty;
  return r < 0 ? empty : lowering_.program().at(r).shape;
}

DType LowerContext::dtype(Ref r) const { return r < 0 ? DType::undefined : lowering_.program().at(r).dtype; }

const Tensor* LowerContext::constant(Ref r) const {
  // Without memory for it a value is not known, and the rule says so.
  if (r < 0 || !lowering_.pin(r).ok()) return nullptr;
  const auto& value = lowering_.program().at(r).constant;
  return value ? &*value : nullptr;
}

std::optional<std::vector<Dim>> LowerContext::dims(Ref r) const {
  if (r < 0) return std::nullopt;
  const ProgramValue& value = lowering_.program().at(r);
  if (!value.sizes.empty()) return value.sizes;
  if (!value.constant) return std::nullopt;
  const auto numbers = value.constant->to_i64();
  if (!numbers.ok()) return std::nullopt;
  return std::vector<Dim>(numbers->begin(), numbers->end());
}

std::vector<Ref> LowerContext::emit_many(std::string_view op, const std::vector<Ref>& inputs,
                                         ir::Attributes attributes, int outputs) {
  const std::vector<Ref> nothing(outputs, kNoRef);
  // Sticky errors: a decomposition calls on with references that do not exist, and nothing may be made of
  // them.
  if (failed()) return nothing;
  // By name, as a model file has it: decompositions of one file need no header of another.
  const ir::OpDef* def = find_op(op);
  if (!def) {
    fail(internal_error({"operator '", op, "' is not in the op table"}, origin_.text()));
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

bool LowerContext::may_tabulate(int64_t elements, int64_t work) {
  if (failed()) return false;
  if (Status s = lowering_.count_table(elements, work); !s.ok())
    fail(s.error().within({"node '", origin_.text(), "'"}));
  return !failed();
}

bool LowerContext::may_have(DType dtype, const Shape& shape) {
  if (failed()) return false;
  // At least one byte per element: an undefined dtype has size 0 and would let any shape through.
  if (Status s = shape.check(std::max<int64_t>(dtype_size(dtype), 1), origin_.text()); !s.ok())
    fail(s.take_error());
  return !failed();
}

bool LowerContext::all_given(const std::vector<Ref>& inputs) {
  if (failed()) return false;
  if (std::ranges::any_of(inputs, [](Ref r) { return r < 0; }))
    fail(model_error("an input left out", "a value for it", {"node '", origin_.text(), "'"},
                     "connect the input"));
  return !failed();
}

Ref LowerContext::raster(raster::Raster raster, DType dtype, const Shape& shape,
                         const std::vector<Ref>& sources) {
  if (!all_given(sources)) return kNoRef;
  auto r = lowering_.append_raster(std::move(raster), dtype, shape, sources, origin_);
  if (r.ok()) return *r;
  fail(r.take_error());
  return kNoRef;
}

Ref LowerContext::loop(raster::LoopSpec loop, DType dtype, const Shape& shape,
                       const std::vector<Ref>& operands) {
  if (!all_given(operands)) return kNoRef;
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
  bool holds = true;
  const bool known = tensor::visit_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // An attribute's number beside an integer operand may lie outside its dtype; casting it would be
    // undefined.
    holds = tensor::representable<T>(value);
    if constexpr (std::is_same_v<T, tensor::Half> || std::is_same_v<T, tensor::BFloat16>)
      t->as_mutable<T>()[0] = T(static_cast<float>(value));
    else if (holds)
      t->as_mutable<T>()[0] = static_cast<T>(value);
  });
  if (!holds)
    fail(model_error({"the number ", value, " beside operands of ", dtype_name(dtype)},
                     "a number that this dtype holds", origin_.text(),
                     "correct the node's attributes, or cast its operands to float32"));
  if (!known)  // float8 travels and is cast; no operator computes in it
    fail(model_error({"operands of ", dtype_name(dtype)}, "a dtype the operator computes in", origin_.text(),
                     "cast them to float32"));
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
  // One contiguous region: the planner recognises it as an alias, so that a reshape moves nothing.
  whole.regions.push_back(raster::contiguous_region(0, to.dim_elements()));
  // The operator's own fault, not the model's: shape rules have run.
  if (shape(r).dim_elements() != to.dim_elements()) {
    fail(internal_error({"reshape of ", shape(r).text(), " to ", to.text()}, origin_.text()));
    return kNoRef;
  }
  return raster(std::move(whole), dtype(r), to, {r});
}

Ref LowerContext::cast(Ref r, DType to) {
  // No node for nothing: decompositions cast freely.
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
