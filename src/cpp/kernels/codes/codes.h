// Element-wise functions, maxima and sums of 8-bit codes, over rows or over blocks of 16 channels; and the
// way between the two.
//
// Stateless: every function may be called from any thread.
#pragma once

#include "kernels/blocked/blocked.h"
#include "kernels/codes/codes_table.h"
#include "kernels/isa.h"

namespace walle::kernels {

const CodesTable& codes_table(Isa isa);

void codes_to_blocked(const BlockedShape& shape, const uint8_t* rows, uint8_t* out, int threads);
void codes_from_blocked(const BlockedShape& shape, const uint8_t* blocked, uint8_t* out, int threads);

// Of [n, c]: every image's blocks.
void codes_max_pool(const CodesTable& table, const BlockedShape& image, const WindowShape& shape,
                    bool is_signed, const uint8_t* x, uint8_t* y, int threads);

// Of a channel's pixels, and over blocks or rows: codes of the sum less `zero` for each, times a factor.
struct CodesMean {
  bool is_signed = false;
  int32_t zero = 0;
  float factor = 0;
  float low = 0, high = 0;  // of the rounded mean
  int32_t y_zero = 0;
};
void codes_mean(const CodesTable& table, const BlockedShape& shape, const CodesMean& op, const uint8_t* x,
                uint8_t* y, int threads);
void codes_mean_of_rows(const BlockedShape& shape, const CodesMean& op, const uint8_t* x, uint8_t* y,
                        int threads);

}  // namespace walle::kernels
