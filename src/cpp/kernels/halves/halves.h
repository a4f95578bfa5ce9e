// float16 and bfloat16 as float32, and as the right operand of a product that kernels/gemm computes.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/halves/halves_table.h"

namespace walle::kernels {

const HalvesTable& halves_table(Isa isa);
inline const HalfForm& half_form(Isa isa, bool bfloat) {
  return bfloat ? halves_table(isa).bfloat16 : halves_table(isa).float16;
}

// k x n with columns side by side, at any address.
struct HalfMatrix {
  const GemmTable* gemm = nullptr;  // of the same set
  const HalfForm* form = nullptr;
  const uint16_t* data = nullptr;
  int64_t row_stride = 0;
};

// Such a B as Gemm::panels; the matrix outlives it. `streamed`: B is large beside the few rows of A.
PanelSource half_panels(const HalfMatrix& matrix, bool streamed);

}  // namespace walle::kernels
