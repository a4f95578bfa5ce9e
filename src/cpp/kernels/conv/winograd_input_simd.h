// Tiles of an image transformed for Winograd's filtering, to elements of any kind: of float32 products
// (channel_lanes_simd.cc) or of those in bfloat16 (kernels/conv_bf16).
#pragma once

#include "kernels/conv/channel_lanes_table.h"
#include "kernels/conv/winograd_points_simd.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

// `Width`: elements that a vector of channels becomes, which put(to, vector) stores; in.step counts them too.
template <int N, int Width, class Element, class Put>
inline void input_tiles(const WinogradInput& in, Element* out, Put put) {
  constexpr int kSide = 2 * N + 2;
  const int64_t pitch = in.cols * kLanes;
  for (int64_t q = 0; q < in.count; ++q) {
    const int64_t p = in.first + q;
    const float* from =
        in.strip + (p / in.across * 2 * N - in.row) * pitch + (p % in.across * 2 * N - in.col) * kLanes;
    vf half[kSide][kSide];
    for (int j = 0; j < kSide; ++j) {
      vf d[kSide], v[kSide];
#pragma GCC unroll 8
      for (int i = 0; i < kSide; ++i) d[i] = load(from + i * pitch + j * kLanes);
      forward<N>(d, v);
#pragma GCC unroll 8
      for (int i = 0; i < kSide; ++i) half[i][j] = v[i];
    }
    Element* to = out + q * Width;
    for (int i = 0; i < kSide; ++i) {
      vf v[kSide];
      forward<N>(half[i], v);
#pragma GCC unroll 8
      for (int j = 0; j < kSide; ++j) put(to + j * in.step, v[j]);
      to += kSide * in.step;
    }
  }
}

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
