#include "ops/rules/quantize.h"

#include "base/checked.h"
#include "ops/rules/views.h"

namespace walle::ops {

bool holds_codes(DType dtype) {
  const bool tiny = tensor::is_tiny_integer(dtype);
  return tiny || (tensor::is_integer(dtype) && tensor::dtype_bits(dtype) <= 16);
}

Status check_quantization(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  const Shape& scale = c.shape(1);
  if (!tensor::is_float(c.dtype(1)) || tensor::is_float8(c.dtype(1)))
    return model_error({"scale of ", dtype_name(c.dtype(1))}, "a float scale", "quantisation",
                       "cast the scale");
  const auto wrong = [&](const Shape& got, Text expected) {
    return model_error({"shape ", got.text(), " for data of shape ", x.text()}, expected,
                       "scale or zero point", "check axis and block_size");
  };
  const int64_t block = c.attrs().get_int("block_size", 0);
  if (block < 0)
    return model_error({"block_size=", block}, "zero or more", "quantisation", "correct block_size");
  // Scale and zero point of one element may differ in rank: some exporters write [1] beside a scalar.
  const bool single = block == 0 && c.has(2) && c.shape(2).elements() == 1 && scale.elements() == 1;
  if (c.has(2) && !single && c.shape(2) != scale)
    return wrong(c.shape(2), {"the shape of the scale ", scale.text()});
  // Per tensor: any rank will do.
  if (scale.elements() == 1 && block == 0) return {};
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(c.attrs().get_int("axis", 1), x.rank()));
  if (block == 0)
    return scale.rank() == 1 && scale[0] == x[axis] ? Status()
                                                    : wrong(scale, {"one element per index of axis ", axis});
  Shape expected = x;
  expected[axis] = base::ceil_div(x[axis], block);
  return scale == expected ? Status() : wrong(scale, expected.text());
}

Status check_code_bounds(const ir::InferContext& c, DType dtype, const char* low, const char* high) {
  const int64_t least = dtype == DType::int8 ? -128 : 0, most = least + 255;
  const int64_t from = c.attrs().get_int(low, least), to = c.attrs().get_int(high, most);
  if (least <= from && from <= to && to <= most) return {};
  return model_error({low, " ", from, " and ", high, " ", to},
                     {"codes from ", least, " to ", most, ", in order"}, "quantisation",
                     "correct the bounds");
}

Ref bounded_codes(LowerContext& c, Ref codes, const char* low, const char* high) {
  for (const auto& [name, op] : {std::pair{low, "Max2"}, std::pair{high, "Min2"}})
    if (c.attrs().has(name))
      codes = c.emit(op, {codes, c.scalar(c.dtype(codes), static_cast<double>(c.attrs().get_int(name, 0)))});
  return codes;
}

namespace {
// Element i along `axis` is element i / block of r.
Ref repeat_blocks(LowerContext& c, Ref r, const Shape& x, int axis, int64_t block) {
  Shape split;
  std::vector<int64_t> stride;
  const Shape own = c.shape(r).strides();
  for (int i = 0; i < x.rank(); ++i) {
    split.push_back(c.shape(r)[i]);
    stride.push_back(own[i]);
    if (i == axis) {
      split.push_back(block);
      stride.push_back(0);
    }
  }
  Shape merged = x;
  merged[axis] = c.shape(r)[axis] * block;
  // Whole blocks first, then cut: one strided view cannot end in the middle of a block.
  const Ref whole = c.reshape(strided_view(c, r, split, stride), merged);
  return strided_view(c, whole, x, merged.strides().dims());  // the last block may be cut
}
}  // namespace

Ref quantization_operand(LowerContext& c, Ref r) {
  if (c.failed()) return kNoRef;
  const Shape x = c.shape(c.in(0));
  const int64_t block = c.attrs().get_int("block_size", 0);
  if (block == 0 && c.shape(r).elements() == 1) return c.reshape(r, Shape{});
  const auto axis = tensor::normalize_axis(c.attrs().get_int("axis", 1), x.rank());
  if (!axis.ok()) {
    c.fail(axis.error());
    return kNoRef;
  }
  if (block == 0) return along_axis(c, r, *axis, x.rank());
  // Blocks need one axis more for a moment.
  if (x.rank() >= base::kMaxRank) {
    c.fail(model_error({"rank ", x.rank()}, {"rank below ", base::kMaxRank}, "blocked quantisation",
                       "reshape x"));
    return kNoRef;
  }
  // A block longer than the axis is one block; its own length would overflow products.
  return repeat_blocks(c, r, x, *axis, std::min(block, std::max<int64_t>(x[*axis], 1)));
}

Ref quantized(LowerContext& c, Ref x, Ref zero, DType to) {
  if (!holds_codes(to))
    return c.emit("Cast", {x},
                  {{"to", static_cast<int64_t>(to)}, {"saturate", c.attrs().get_int("saturate", 1)}});
  // Rounded before the zero point is added, half to even: ONNX's order, which decides ties.
  Ref y = c.emit("Round", {x});
  if (zero >= 0) y = c.add(y, c.cast(zero, c.dtype(y)));
  return c.emit("Cast", {y}, {{"to", static_cast<int64_t>(to)}, {"saturate_integers", int64_t{1}}});
}

}  // namespace walle::ops
