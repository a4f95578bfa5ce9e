// What channel_lanes_simd.cc exports per instruction set. Plain data and function pointers: shared by files
// of different flags.
//
// Channels lie in lanes: a vector is one pixel, or one position of a tile, of `lanes` channels. Transforms
// are then additions of whole vectors whatever the unit, and the product broadcasts tiles and spreads output
// channels, whose number fills lanes where a small map's tiles would not.
#pragma once

#include "kernels/activation.h"

namespace walle::kernels {

// Of Winograd's filtering: the unit is the outputs along a tile's side, 2, 4 or 6; a tile then has (unit +
// 2)^2 positions.
inline constexpr int winograd_side(int unit) { return unit + 2; }
inline constexpr int winograd_positions(int unit) { return winograd_side(unit) * winograd_side(unit); }

// A window of one block of channels: channels side by side, zeros outside the image and behind the last one,
// where they do not lie side by side already.
struct LaneStrip {
  const float* image = nullptr;  // first channel
  int64_t plane = 0;             // elements from channel to channel
  int64_t pixel = 1;             // from pixel to pixel; more than 1: all channels of a pixel lie side by side
  int64_t channels = 0;          // 1 to lanes
  int64_t h = 0, w = 0;          // of the image
  int64_t row = 0, col = 0;      // of the window's first pixel; may lie outside the image
  int64_t rows = 0, cols = 0;    // of the window
  float* out = nullptr;          // [rows][cols][lanes]
};

// Consecutive tiles of one image, from number `first` on in rows of `across`; their inputs in a strip.
struct WinogradInput {
  const float* strip = nullptr;
  int64_t cols = 0;  // of the strip
  int64_t first = 0, count = 0, across = 0;
  int64_t row = 0, col = 0;  // of the strip in units of output pixels: where tile (0, 0) would start
  float* out = nullptr;      // of the first tile: [position][..][tile][lanes]
  int64_t step = 0;          // elements from position to position
};

// Of every position, tiles x channels times channels x filters.
struct LaneProduct {
  int64_t positions = 0, tiles = 0, channels = 0;
  int64_t filters = 0;       // 1 to 2 * lanes
  const float* a = nullptr;  // [position][block of channels][tile][lanes]
  int64_t a_step = 0;        // from position to position
  int64_t a_block = 0;       // from block to block
  const float* b = nullptr;  // [position][channel][2 * lanes]
  float* c = nullptr;        // [position][tile][2 * lanes]
  int64_t c_step = 0;
  int64_t chain = 0;  // channels that are summed from zero before they are added: a multiple of lanes
};

// One row of outputs over copied rows of the input.
struct LaneWindows {
  const float* rows = nullptr;
  const int64_t* offset = nullptr;  // of each element of the first window
  int64_t depth = 0;
  int64_t step = 1;          // 1 or 2: elements from window to window
  int64_t pixels = 0;        // at least `rows` of the table
  int64_t filters = 0;       // 1 to 2 * lanes
  const float* b = nullptr;  // [depth][2 * lanes]
  float* c = nullptr;        // [pixel][2 * lanes]
};

// Tiles of one image back to rows of pixels, `filters` channels of the result.
struct WinogradOutput {
  const float* sums = nullptr;  // of the first tile
  int64_t step = 0;             // from position to position
  int64_t first = 0, count = 0, across = 0;
  int64_t oh = 0, ow = 0;
  int64_t filters = 0;   // 1 to 2 * lanes
  float* out = nullptr;  // the image's first of these channels
  int64_t pixel = 1;     // elements from pixel to pixel; more than 1: channels lie side by side
  int64_t vector = 0;    // then, from the first `lanes` channels to the others
  Epilogue epilogue;     // row_bias and residual already at this channel
};

// Consecutive pixels back to rows.
struct LaneOutput {
  float* sums = nullptr;  // [pixel][2 * lanes]; scratch
  int64_t pixels = 0;
  int64_t filters = 0;  // 1 to 2 * lanes
  float* out = nullptr;
  int64_t plane = 0;  // elements from channel to channel
  Epilogue epilogue;  // row_bias and residual already at this channel and pixel
};

struct ChannelLanesTable {
  int lanes = 0;
  int rows = 0;  // pixels, or tiles, of one register block
  void (*strip)(const LaneStrip& strip);
  void (*product)(const LaneProduct& product);
  void (*windows)(const LaneWindows& windows);
  // Filters [count][channels] to [channel][2 * lanes], zeros behind the last filter.
  void (*weights)(const float* filters, int64_t count, int64_t channels, float* out);
  void (*pixels)(const LaneOutput& output);
  // Filters [count][channels][3][3] to [position][channel][2 * lanes].
  void (*winograd_weights)(int unit, const float* filters, int64_t count, int64_t channels, float* out);
  void (*winograd_input)(int unit, const WinogradInput& input);
  void (*winograd_output)(int unit, const WinogradOutput& output);
};

}  // namespace walle::kernels
