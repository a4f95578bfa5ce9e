#include "kernels/eltwise/broadcast.h"

namespace walle::kernels {

Broadcast make_broadcast(const Shape& out, std::span<const Shape> operands) {
  std::array<Layout, kMaxOperands> layouts;
  for (size_t k = 0; k < operands.size(); ++k) layouts[k] = Layout::dense(operands[k]);
  return make_broadcast(out, std::span<const Layout>(layouts.data(), operands.size()));
}

Broadcast make_broadcast(const Shape& out, std::span<const Layout> operands) {
  Broadcast b;
  b.operands = static_cast<int>(operands.size());
  b.elements = out.elements();
  const auto stride_of = [&](size_t k, int axis) -> int64_t {
    // Shapes align at their last axes (ONNX Broadcasting, as NumPy); an axis of 1 repeats, which is a stride
    // of 0.
    const int own = axis - (out.rank() - operands[k].rank());
    return own < 0 || operands[k].shape[own] == 1 ? 0 : operands[k].stride[own];
  };
  for (int axis = 0; axis < out.rank(); ++axis) {
    if (out[axis] == 1) continue;
    // Two neighbouring axes are one when for every operand the outer stride is the inner size times the inner
    // stride; two repeated axes qualify as well (0 = 0 * n).
    bool merges = b.rank > 0;
    for (size_t k = 0; merges && k < operands.size(); ++k)
      merges = b.stride[k][b.rank - 1] == stride_of(k, axis) * out[axis];
    const int slot = merges ? b.rank - 1 : b.rank++;
    b.size[slot] = merges ? b.size[slot] * out[axis] : out[axis];
    for (size_t k = 0; k < operands.size(); ++k) b.stride[k][slot] = stride_of(k, axis);
  }
  // A scalar still has one run of one element, so that the walkers need no case for it.
  if (b.rank == 0) {
    b.rank = 1;
    b.size[0] = 1;
  }
  return b;
}

}  // namespace walle::kernels
