#include "ops/rules/gather.h"

namespace walle::ops {

Status check_index_dtype(const ir::InferContext& c, int input) {
  const DType dtype = c.dtype(input);
  // ONNX's Tind. Smaller integers would save nothing: kernels resolve indices to 64 bits.
  if (dtype == DType::int32 || dtype == DType::int64) return {};
  return model_error({"indices of ", dtype_name(dtype)}, "int32 or int64", {"input ", input},
                     "cast the indices");
}

Result<int64_t> checked_index(int64_t index, int64_t bound, int64_t position) {
  // Negative indices count from the end since opset 11.
  if (index < -bound || index >= bound)
    return model_error({"index ", index, " at position ", position},
                       {"an index in [", -bound, ", ", bound - 1, "]"}, "indices",
                       "clip or correct the indices");
  return index < 0 ? index + bound : index;
}

Result<raster::Combine> combine_of(const ir::Attributes& attrs) {
  const std::string name = attrs.get_string("reduction", "none");
  if (name == "none") return raster::Combine::assign;
  if (name == "add") return raster::Combine::add;
  if (name == "mul") return raster::Combine::mul;
  if (name == "min") return raster::Combine::min;
  if (name == "max") return raster::Combine::max;
  return model_error({"reduction '", name, "'"}, "none, add, mul, min or max", "attribute reduction",
                     "correct it");
}

Ref scatter_loop(LowerContext& c, raster::LoopSpec loop, Ref data, Ref indices, Ref updates) {
  const DType dtype = c.dtype(data);
  const Shape shape = c.shape(data);
  // Sums of 16-bit floats lose what is added late; replacing alone copies bits.
  const bool narrow = loop.combine != raster::Combine::assign && tensor::is_half_float(dtype);
  // Onto the data: what no index names stays as it is.
  loop.index_on_dst = true;
  loop.base = true;
  if (!narrow) return c.loop(std::move(loop), dtype, shape, {updates, indices, data});
  const Ref wide = c.loop(std::move(loop), DType::float32, shape,
                          {c.cast(updates, DType::float32), indices, c.cast(data, DType::float32)});
  return c.cast(wide, dtype);
}

}  // namespace walle::ops
