// ConvTranspose as ordinary convolutions, one per group of phases, after "Is the deconvolution layer the same
// as a convolutional layer?" (Shi et al., 2016).
//
// Along an axis of stride s, result o and tap j meet input i where o + pad = s * i + j. Results of one phase,
// r = (o + pad) mod s, therefore meet the taps r, r + s, r + 2s ... alone: with q = (o + pad) div s they are
// the stride-1 convolution  sum over t of x[q - t] * w[r + s * t].  All phases read the same windows of x, so
// those with equally many taps are output channels of one convolution: one of prod(s) * M channels where the
// strides divide the kernel (4 x 4 with stride 2), at most two per axis otherwise. One raster then
// interleaves them; it writes every element once and adds nothing up.
//
// Changed from the paper: phases of unequal taps are not padded with zeros (a 3 x 3 kernel with stride 2 has
// phases of 4, 2, 2 and 1 taps; padded, 16 instead of 9 are multiplied).
#pragma once

#include <optional>
#include <vector>

#include "ops/lower.h"
#include "ops/rules/window.h"

namespace walle::ops {

struct TransposedOperands {
  Ref x = kNoRef;        // [N, C, ...]
  Ref weights = kNoRef;  // [C, M / group, ...]
  Ref bias = kNoRef;     // [M] or none
  int64_t group = 1;
};

// What the phases of one convolution have in common, per axis.
struct PhaseAxis {
  int64_t first = 0, count = 1;        // phases
  int64_t taps = 1;                    // of each
  int64_t start = 0;                   // q of the convolution's first result
  int64_t pad_begin = 0, pad_end = 0;  // of the convolution
};
using PhaseGroup = std::vector<PhaseAxis>;

// Every result belongs to exactly one phase of one group. nullopt where the window has no such form: phases
// without taps (a stride beyond the kernel), results that no tap reaches, a dilation together with a stride,
// an empty input, or more than three spatial axes.
std::optional<std::vector<PhaseGroup>> phase_groups(const Window& window, const Shape& x);

Ref by_phases(LowerContext& c, const Window& window, const TransposedOperands& o,
              const std::vector<PhaseGroup>& groups);

}  // namespace walle::ops
