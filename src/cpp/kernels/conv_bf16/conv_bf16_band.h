// What a band of outputs of the convolution in bfloat16 reads. Only the files of conv_bf16 include this.
#pragma once

#include "kernels/conv_bf16/conv_bf16.h"

namespace walle::kernels {

// Rows, or columns, that some outputs meet.
inline int64_t met(int64_t outputs, int64_t stride, int64_t taps, int64_t dilation) {
  return outputs < 1 ? 0 : (outputs - 1) * stride + (taps - 1) * dilation + 1;
}

// Rows of words of a band of so many rows of outputs.
inline int64_t rows_met(const ConvBf16& c, int64_t outputs) {
  return met(outputs, c.shape.sh / c.row, c.shape.kh, c.shape.dh);
}
inline int64_t band_rows(const ConvBf16& c) { return c.flat ? 1 : rows_met(c, c.band); }

// Words of one block of a band.
inline int64_t band_words(const ConvBf16& c) {
  return c.flat ? c.band * c.of_block : band_rows(c) * c.row_words;
}

}  // namespace walle::kernels
