// How the weights of a MatMulNBits lie, by its attributes.
#pragma once

#include "base/checked.h"
#include "ir/attributes.h"

namespace walle::ops {

struct NBits {
  int64_t k = 0, n = 0;
  int bits = 4;
  int64_t block = 0;  // codes

  int64_t blocks() const { return base::ceil_div(k, block); }
  int64_t block_bytes() const { return base::ceil_div(block * bits, int64_t{8}); }
  int64_t row_bytes() const { return blocks() * block_bytes(); }
  int64_t zeros_row_bytes() const { return base::ceil_div(blocks() * bits, int64_t{8}); }
};

// A model error for sizes that no weights have.
Result<NBits> n_bits_of(const ir::Attributes& attributes);

}  // namespace walle::ops
