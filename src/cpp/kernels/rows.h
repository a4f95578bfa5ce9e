// The vector kernels that work on dense rows, by instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/norm/norm_table.h"
#include "kernels/reduce/reduce_table.h"
#include "kernels/softmax/softmax_table.h"

namespace walle::kernels {

// Together in one pair of files, because each is one line.
const SoftmaxTable& softmax_table(Isa isa);
const NormTable& norm_table(Isa isa);
const ReduceTable& reduce_table(Isa isa);

}  // namespace walle::kernels
