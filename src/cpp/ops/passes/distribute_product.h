// A product over values that stand side by side multiplies what is expanded, or stands there twice, once.
//
// concat(a, b, a - b, a * b) W is a (W1 + W3) + b (W2 - W3) + (a * b) W4, and where a is one row for many of
// the others, its product is as small as it is: models that compare a candidate with a history are built like
// that (Zhou et al., "Deep Interest Network", 2018), and most of their time goes into this product.
//
// Rounding is that of another order of the same sum. Differences go into the weights only where the operands
// stand there themselves and the weights grow to at most kGrowth times theirs (root of the mean square):
// a W1 + b W2 rounds by what |a| and |b| are as it is.
#pragma once

#include "ops/program.h"

namespace walle::ops {

inline constexpr double kGrowth = 3;

// float32, constant weights of rank 2; where it saves kSavedColumns of the depth at least.
inline constexpr int64_t kSavedColumns = 64;
Status distribute_products(Program& program);

}  // namespace walle::ops
