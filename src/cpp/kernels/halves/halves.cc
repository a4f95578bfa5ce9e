#include "kernels/halves/halves.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(HalvesTable, kHalves, halves_table)

namespace {
// By bytes: the elements may lie at odd addresses.
const uint16_t* element(const HalfMatrix& m, int64_t row, int64_t column) {
  const auto* bytes = reinterpret_cast<const std::byte*>(m.data);
  return reinterpret_cast<const uint16_t*>(bytes + 2 * (row * m.row_stride + column));
}

void fill(const void* object, int64_t k0, int64_t k, int64_t j0, int64_t cols, float* out) {
  const auto& m = *static_cast<const HalfMatrix*>(object);
  m.form->fill(element(m, k0, j0), m.row_stride, k, cols, out);
}

void row(const void* object, int64_t j0, const GemmBlock& block) {
  const auto& m = *static_cast<const HalfMatrix*>(object);
  GemmBlock here = block;
  here.b_row = m.row_stride;
  m.form->row(here, element(m, 0, j0));
  if (block.epilogue.activation == Activation::none) return;
  // What is there is the bias of a product of no depth.
  here.k = 0;
  here.epilogue.col_bias = here.c;
  here.epilogue.row_bias = here.epilogue.residual = nullptr;
  m.gemm->row(here);
}
}  // namespace

PanelSource half_panels(const HalfMatrix& matrix, bool streamed) {
  return {.fill = fill, .object = &matrix, .together = true, .streamed = streamed, .row = row};
}

}  // namespace walle::kernels
