// Conv by Winograd's minimal filtering: float32, windows of 3 x 3 without stride over constant weights, which
// are transformed once per model.
#pragma once

#include "backends/cpu/cpu_op.h"
#include "kernels/conv/winograd.h"

namespace walle::backends::cpu {

// Predicted speed of one thread in products of register tiles, half of what AVX-512 was measured at. The
// relation to kTransformGigafloats decides where Winograd is chosen.
inline constexpr double kProductGflops = 70;

// Nothing where the shape does not fit.
std::optional<Candidate> winograd_candidate(const NodeView& node, const kernels::ConvShape& shape, int unit,
                                            kernels::Isa isa, int threads, int choice);

Result<std::unique_ptr<Kernel>> winograd_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                                int unit, const kernels::Epilogue& e,
                                                PrepareContext& context);

}  // namespace walle::backends::cpu
