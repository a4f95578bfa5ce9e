// A mask that is a constant, as a band of keys: a comparison says then what a matrix in memory would.
#pragma once

#include <optional>

#include "ops/rules/attention.h"

namespace walle::ops {

// `mask` as operand kBias or kMore (float32: 0 where a key is seen) or kKeep (bool). nullopt: it differs from
// head to head, holds other numbers, or is no band; or it hides keys by a finite number, and is not `alone`
// or hides all keys of a query, which is then the mean of some values.
std::optional<KeyBand> band_of_mask(const Tensor& mask, const AttentionSpec& spec,
                                    AttentionSpec::Operand operand, bool alone);

}  // namespace walle::ops
