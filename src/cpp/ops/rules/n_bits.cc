#include "ops/rules/n_bits.h"

#include <algorithm>

#include "base/limits.h"

namespace walle::ops {

namespace {
// Of either side and of a block, so that no product of two sizes and 8 bits overflows.
constexpr int64_t kMaxSide = int64_t{1} << 28;
}  // namespace

Result<NBits> n_bits_of(const ir::Attributes& attributes) {
  NBits w{.k = attributes.get_int("K", 0),
          .n = attributes.get_int("N", 0),
          .bits = static_cast<int>(attributes.get_int("bits", 4)),
          .block = attributes.get_int("block_size", 0)};
  const auto size = [](int64_t side) { return side > 0 && side <= kMaxSide; };
  if (!size(w.k) || !size(w.n) || !size(w.block))
    return model_error({"K=", w.k, ", N=", w.n, ", block_size=", w.block}, {"sizes from 1 to ", kMaxSide},
                       "MatMulNBits", "correct the attributes");
  if (w.bits != 2 && w.bits != 4 && w.bits != 8)
    return model_error({"bits=", w.bits}, "2, 4 or 8", "MatMulNBits", "quantise to 2, 4 or 8 bits");
  if (w.block * w.bits % 8 != 0)
    return model_error({"block_size=", w.block, " of ", w.bits, " bits"}, "blocks of whole bytes",
                       "MatMulNBits", "choose another block_size");
  return w;
}

}  // namespace walle::ops
