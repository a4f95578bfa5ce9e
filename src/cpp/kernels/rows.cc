#include "kernels/rows.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(SoftmaxTable, kSoftmaxF32, softmax_table)
WALLE_PICK_PER_ISA(NormTable, kNormF32, norm_table)
WALLE_PICK_PER_ISA(ReduceTable, kReduceF32, reduce_table)

}  // namespace walle::kernels
