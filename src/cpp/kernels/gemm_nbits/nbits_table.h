// What a form of the product with packed weights exports. Plain data and function pointers: shared by files
// of different flags.
//
// Weights lie in panels of nr columns of B (rows of the model's matrix). A block of a panel is `words` times
// nr words of 32 bits; word (d, j) holds codes of column j, and its byte i holds, from the lowest bits on,
// the codes of steps i, i + 4, i + 8 ... of the granule: of 4-bit codes k0 ... k7 the byte 0 is k0 | k4 << 4.
// A mask then leaves four codes of four following steps in their bytes, which is what vpdpbusd multiplies,
// and a float needs no step more than with the codes in order.
//
// A code becomes a float without a conversion: set into the mantissa of 2^(23 - low bit) it is what the
// number is more by. Zero points come in there: what is subtracted is that power plus the zero point.
#pragma once

#include <cstdint>

#include "kernels/variants.h"

namespace walle::kernels {

// One panel from some block on. A scale for each column of each block; at most one of the zero points: codes,
// or floats; none of both: the middle of the codes.
struct NBitsPanel {
  const uint32_t* codes = nullptr;
  const float* scales = nullptr;
  const uint8_t* zero_codes = nullptr;
  const float* zeros = nullptr;
};

// Steps [from, to) of one block of a panel as floats: step l of the block at out + l * nr.
struct NBitsDecoded {
  int bits = 4;
  int64_t from = 0, to = 0;
  NBitsPanel b{};
  float* out = nullptr;
};

// Rows of A as int8, block by block: a row is one line of codes, or kDigits lines, the digits of 32 bits to
// the base of 256 from -128 to 127, the lowest first. Each line has a sum of codes for each block, and the
// first one of a row has the scale.
inline constexpr int kDigits = 4;
struct NBitsCodes {
  const int8_t* a = nullptr;
  int64_t a_row = 0;  // bytes from line to line
  const float* scales = nullptr;
  const int32_t* sums = nullptr;
  int64_t blocks_row = 0;  // scales and sums of a line
};

struct NBitsBlock {
  int bits = 4;         // or 8
  bool digits = false;  // kDigits lines of A make a row
  int64_t rows = 0, words = 0, blocks = 0, cols = 0;
  NBitsCodes a{};
  NBitsPanel b{};
  const float* bias = nullptr;  // only when first; may be null
  bool first = true;            // C starts from the bias instead of its present value
  float* c = nullptr;
  int64_t c_row = 0;
};

// A block of A and where its codes go.
struct NBitsLine {
  const float* x = nullptr;
  int64_t count = 0;
  int8_t* out = nullptr;
  int64_t out_row = 0;
  float* scale = nullptr;
  int32_t* sums = nullptr;
  int64_t sums_row = 0;
};

// What every instruction set has.
struct NBitsTable {
  int nr = 0;
  void (*decode)(const NBitsDecoded& block);
  // To one line by the largest magnitude, which becomes 127; false where an element is not finite.
  bool (*quantise)(const NBitsLine& line);
  // To digits, by a power of two: a float32 is then what it was, unless it is 64 times smaller than the
  // largest or more; what is left of that is off by a 2^30th of the largest at most. False where an element
  // is not finite, or all are next to nothing.
  bool (*split)(const NBitsLine& line);
};

// What stands beside the sets: products of codes, exact in int32 within a block.
struct NBitsDotTable {
  int nr = 0;
  // Rows of A up to which digits take less time than decoding the weights: of 4096 x 4096 in 4 bits each row
  // takes 0.46 ms by digits with avx512_vnni and 0.97 with avx2; decoded, 1, 4 and 8 rows take 2.3, 3.0 and
  // 4.2 ms, and 3.0, 3.7 and 6 (one thread of a busy Zen 4).
  int few_rows = 0;
  void (*block)(const NBitsBlock& block);
};

}  // namespace walle::kernels
