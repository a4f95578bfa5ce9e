// arm64, whose baseline has NEON. Compilers make its instructions of the portable forms; what differs from
// scalar.h is that the tiles of kernels may use all 32 registers.
#pragma once

#include "kernels/simd/four_spelled.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {
constexpr int kRegisters = 32;
}
}  // namespace walle::kernels::WALLE_ISA_NS
