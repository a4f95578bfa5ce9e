// f32 convolution with 3 x 3 windows and stride 1 by Winograd's minimal filtering: with unit u, (u + 2)^2
// products stand for 9 u^2, that is 2.25, 4 and 5.06 times less arithmetic for u = 2, 4 and 6.
//
// Immutable after make_winograd; run_winograd may be called from any thread with a workspace of its own.
#pragma once

#include "kernels/blocked_bf16/blocked_bf16_table.h"
#include "kernels/conv/channel_lanes.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_bf16/conv_bf16_table.h"

namespace walle::kernels {

inline constexpr int kWinogradUnits[] = {2, 4, 6};
inline constexpr int kWinogradBf16Units[] = {2, 4};

// 3 x 3, no stride, dilation or groups, any padding; eight channels at least, because with fewer the direct
// sum is so short that transforms both take longer and round more.
bool winograd_fits(const ConvShape& shape);
// With products in bfloat16: whole words of two channels, because in blocks another lane behind an odd last
// one may hold NaN, and with as many lanes as the set that transforms: builds of few sets lack the form's
// own.
bool winograd_bf16_fits(const ConvShape& shape, Isa isa, const ConvBf16Table& words);

// Bound of the error against float64, as a multiple of what direct sums of sums of 144 terms in float32 are
// off by (roots of the mean square): 2, 4 and 16 for units of 2, 4 and 6. Measured for 8 to 500 channels, of
// both signs and behind a ReLU, by tests/cpp/kernels/sums_test.cc.
float winograd_error(int unit);
// The same of products in bfloat16, units of 2 and 4, as a multiple of what direct ones are off by: rounded
// after the transform, inputs of both signs lose 4.4 and 13.8 dB, those behind a ReLU 2.7 and 12.9.
float winograd_bf16_error(int unit);

struct Winograd {
  ConvShape shape;
  int unit = 0;
  bool blocked =
      false;  // image, result and residual lie in blocks of channels (kernels/blocked), not in rows
  const ChannelLanesTable* table = nullptr;
  const ConvBf16Table* words = nullptr;           // products in bfloat16, of as many lanes
  const BlockedBf16Table* bf16_images = nullptr;  // then, of images in bfloat16, in blocks
  int64_t across = 0, down = 0;                   // tiles of an image
  int64_t block = 0;                              // tiles transformed at once

  int64_t tiles() const { return shape.n * across * down; }
};

Winograd make_winograd(const ConvShape& shape, int unit, Isa isa, bool blocked = false,
                       const ConvBf16Table* words = nullptr, const BlockedBf16Table* bf16_images = nullptr);

// What a run does, for the search. Lanes that hold nothing and rows of a register block that are missing
// count as the work they are.
struct WinogradWork {
  double product_flops = 0;
  double input_floats = 0;   // of tile positions made
  double output_floats = 0;  // of tile positions read
  double weight_bytes = 0;   // read once for every block of tiles
};
WinogradWork winograd_work(const Winograd& w);

// Filters [m, c, 3, 3] transformed; elements of four bytes.
int64_t winograd_weight_elements(const Winograd& w);
void winograd_weights(const Winograd& w, const float* filters, float* out);

int64_t winograd_workspace_bytes(const Winograd& w, int threads);

// `weights` as winograd_weights makes them. The residual has the output's shape; the bias is
// epilogue.row_bias.
void run_winograd(const Winograd& w, const float* x, const float* weights, const Epilogue& epilogue, float* y,
                  int threads, std::byte* workspace);
// The same of images in bfloat16; epilogue.residual is not looked at.
void run_winograd_bf16(const Winograd& w, const uint16_t* x, const float* weights, const Epilogue& epilogue,
                       const uint16_t* residual, uint16_t* y, int threads, std::byte* workspace);

}  // namespace walle::kernels
