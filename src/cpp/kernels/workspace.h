// How kernels lay out buffers of floats in their workspace.
#pragma once

#include <cstdint>

#include "base/checked.h"

namespace walle::kernels {

inline constexpr int64_t kFloatBytes = sizeof(float);
// Buffers start on cache lines of their own, so that threads do not write to one line.
inline constexpr int64_t kLineFloats = 64 / kFloatBytes;
// What vector code may read or write past the end of a buffer: four of the widest vectors (16 floats).
inline constexpr int64_t kSlackFloats = 64;

inline constexpr int64_t whole_lines(int64_t floats) { return base::round_up(floats, kLineFloats); }

}  // namespace walle::kernels
