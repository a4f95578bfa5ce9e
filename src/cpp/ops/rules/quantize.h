// What the quantising operators share: ranges, the shape of scales, rounding with saturation.
#pragma once

#include "ops/lower.h"

namespace walle::ops {

// Whether this is an integer dtype of 2, 4, 8 or 16 bits.
bool holds_codes(DType dtype);

// Inputs x, scale, optional zero point: scale of one element, one per element of attribute `axis`, or one per
// block of `block_size` along it; the zero point has the scale's shape.
Status check_quantization(ir::InferContext& c);

// Attributes that bound 8-bit codes of `dtype`: each one of them, the lower one first.
Status check_code_bounds(const ir::InferContext& c, DType dtype, const char* low, const char* high);
// Codes between the bounds that attributes give, where they do.
Ref bounded_codes(LowerContext& c, Ref codes, const char* low, const char* high);

// A scale or zero point as an operand that broadcasts to input 0.
Ref quantization_operand(LowerContext& c, Ref r);

// round(x) + zero, saturated, as `to` (float8: converted without rounding to integers, attribute `saturate`).
Ref quantized(LowerContext& c, Ref x, Ref zero, DType to);

}  // namespace walle::ops
