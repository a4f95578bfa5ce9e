// Any architecture, in nothing but the compiler's vector extensions.
#pragma once

#include "kernels/simd/four_spelled.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {
constexpr int kRegisters = 16;
}
}  // namespace walle::kernels::WALLE_ISA_NS
