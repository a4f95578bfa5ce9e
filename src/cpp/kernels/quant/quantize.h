// Floats to the integers of few bits that quantised values are, and back, by scales and zero points per
// tensor, per index of an axis or per block along it.
#pragma once

#include "kernels/isa.h"
#include "kernels/quant/quantize_table.h"
#include "tensor/dtype.h"

namespace walle::kernels {

const QuantTable& quant_table(Isa isa);

// Whether `dtype` is an integer of 2 to 16 bits.
bool is_code(DType dtype);
QuantCodes quant_codes(DType dtype);  // of one that is, or of int32

// Where scales belong: element [o, a, i] of outer x axis x inner has scale a, or with blocks scale
// [o, a / block, i] of outer x ceil(axis / block) x inner. One scale for all: 1 x 1 x elements.
struct QuantAxes {
  int64_t outer = 1, axis = 1, inner = 1;
  int64_t block = 0;

  int64_t elements() const { return outer * axis * inner; }
  int64_t scales() const;
};

// to[0, n) = the zero points as floats.
void read_zero_points(DType dtype, const void* from, int64_t n, float* to);

// y = round(x / scale) + zero, halves to even, saturated; NaN gives the lowest code. `zeros` as many as
// scales, or nullptr. Precondition: is_code(to).
void run_quantize(const QuantTable& table, DType to, const QuantAxes& axes, const float* x,
                  const float* scales, const float* zeros, void* y, int threads);

// y = (x - zero) * scale. Precondition: is_code(from), or int32.
void run_dequantize(const QuantTable& table, DType from, const QuantAxes& axes, const void* x,
                    const float* scales, const float* zeros, float* y, int threads);

}  // namespace walle::kernels
