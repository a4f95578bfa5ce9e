// MatMulNBits: A [..., K] times the transpose of weights [N, K] that are codes of 2, 4 or 8 bits, quantised
// in blocks along K. Backends claim it whole (backends/cpu/matmul_n_bits.cc) and keep the weights packed.
//
// Inputs: A; codes as bytes, [N, blocks, bytes of a block], the lowest bits first; a scale for each block,
// [N, blocks]; optional zero points, packed as the codes are along the blocks of a row, or floats, one for
// each block (none: the middle of the codes); an optional bias [N]. The last block may reach beyond K.
// Attribute accuracy_level: 4 allows a backend to quantise A to int8 by blocks.
#include "base/checked.h"
#include "ops/lower.h"
#include "ops/rules/cost.h"
#include "ops/rules/n_bits.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
enum Input { kA, kCodes, kScales, kZeros, kBias };

Status wrong_size(const ir::InferContext& c, int input, std::string_view role, int64_t expected) {
  return model_error({role, " of shape ", c.shape(input).text()}, {expected, " elements"},
                     {"input ", input, " of MatMulNBits"}, "check K, N, bits and block_size");
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const NBits w, n_bits_of(c.attrs()));
  if (!tensor::is_float(c.dtype(kA)) || c.rank(kA) == 0 || c.shape(kA).dim(c.rank(kA) - 1) != w.k)
    return model_error({dtype_name(c.dtype(kA)), c.shape(kA).text()}, {"floats whose rows have ", w.k},
                       "input 0 of MatMulNBits", "check K");
  if (c.dtype(kCodes) != DType::uint8 || c.shape(kCodes).elements() != w.n * w.row_bytes())
    return wrong_size(c, kCodes, dtype_name(c.dtype(kCodes)), w.n * w.row_bytes());
  if (!tensor::is_float(c.dtype(kScales)) || c.shape(kScales).elements() != w.n * w.blocks())
    return wrong_size(c, kScales, dtype_name(c.dtype(kScales)), w.n * w.blocks());
  if (c.has(kZeros)) {
    const bool codes = c.dtype(kZeros) == DType::uint8;
    const int64_t count = codes ? w.n * w.zeros_row_bytes() : w.n * w.blocks();
    if ((!codes && !tensor::is_float(c.dtype(kZeros))) || c.shape(kZeros).elements() != count)
      return wrong_size(c, kZeros, dtype_name(c.dtype(kZeros)), count);
  }
  if (c.has(kBias) && (c.dtype(kBias) != c.dtype(kA) || c.shape(kBias).elements() != w.n))
    return wrong_size(c, kBias, dtype_name(c.dtype(kBias)), w.n);
  Shape out = c.shape(kA);
  out.set(out.rank() - 1, w.n);
  c.output(0, c.dtype(kA), out);
  return {};
}

// uint8 with its codes as a new last axis, the lowest bits first.
Ref unpacked(LowerContext& c, Ref packed, int bits) {
  const Ref mask = c.scalar(DType::uint8, (1 << bits) - 1);
  Shape one = c.shape(packed);
  one.push_back(1);
  std::vector<Ref> codes;
  for (int low = 0; low < 8; low += bits) {
    const Ref shifted = low == 0 ? packed
                                 : c.emit("BitShift", {packed, c.scalar(DType::uint8, low)},
                                          {{"direction", std::string("RIGHT")}});
    codes.push_back(c.reshape(c.emit("BitwiseAnd", {shifted, mask}), one));
  }
  return c.emit("Concat", codes, {{"axis", int64_t{-1}}});
}

// Columns [0, count) of a matrix whose rows have `row` elements.
Ref first_columns(LowerContext& c, Ref r, int64_t rows, int64_t row, int64_t count) {
  const Ref matrix = c.reshape(r, Shape{rows, row});
  if (row == count) return matrix;
  const int64_t stride[] = {row, 1};
  return strided_view(c, matrix, Shape{rows, count}, stride);
}

// Of float32, [N, blocks, 1]; or one for all.
Ref zero_points(LowerContext& c, const NBits& w) {
  if (!c.has(kZeros)) return c.scalar(DType::float32, 1 << (w.bits - 1));
  Ref zeros = c.in(kZeros);
  if (c.dtype(zeros) == DType::uint8)
    zeros = first_columns(c, unpacked(c, zeros, w.bits), w.n, w.zeros_row_bytes() * (8 / w.bits), w.blocks());
  return c.reshape(c.cast(zeros, DType::float32), Shape{w.n, w.blocks(), 1});
}

Status lower(LowerContext& c) {
  WALLE_ASSIGN(const NBits w, n_bits_of(c.attrs()));
  const DType dtype = c.dtype(c.in(kA));
  if (dtype != DType::float32) {  // products of 16-bit floats are made in float32 everywhere
    const Ref a = c.cast(c.in(kA), DType::float32);
    const Ref bias = c.has(kBias) ? c.cast(c.in(kBias), DType::float32) : kNoRef;
    c.result(0, c.cast(c.emit("MatMulNBits", {a, c.in(kCodes), c.in(kScales), c.in(kZeros), bias}, c.attrs()),
                       dtype));
    return {};
  }
  const Ref bytes = c.reshape(c.in(kCodes), Shape{w.n, w.blocks(), w.block_bytes()});
  const Ref codes = c.reshape(unpacked(c, bytes, w.bits), Shape{w.n, w.blocks(), w.block});
  const Ref scales = c.reshape(c.cast(c.in(kScales), DType::float32), Shape{w.n, w.blocks(), 1});
  const Ref scaled = c.mul(c.sub(c.cast(codes, DType::float32), zero_points(c, w)), scales);
  const Ref weights = first_columns(c, scaled, w.n, w.blocks() * w.block, w.k);
  const Ref product = c.emit("MatMul", {c.in(kA), c.transpose(weights, {1, 0})});
  c.result(0, c.has(kBias) ? c.add(product, c.reshape(c.in(kBias), Shape{w.n})) : product);
  return {};
}

ir::Cost cost(const ir::Attributes& attributes, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const auto k = static_cast<double>(attributes.get_int("K", 0));
  return {2 * static_cast<double>(out[0].shape.elements()) * k, bytes_of(in, out)};
}
}  // namespace

extern const ir::OpDef kMatMulNBitsOp{.name = "MatMulNBits",
                                      .op_class = ir::OpClass::composite,
                                      .inputs = {3, 5},
                                      .infer = infer,
                                      .lower = lower,
                                      .cost = cost,
                                      .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
