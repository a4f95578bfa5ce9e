// What a form of the convolution in bfloat16 exports. Plain data and function pointers: shared by files of
// different flags.
//
// Images are float32, in blocks of 16 channels (kernels/blocked/blocked_table.h) or in rows, or bfloat16 in
// blocks; results are either in blocks. What a band of outputs reads is first rounded to words of two
// neighbouring channels, in blocks again: padding then holds zeros, and tiles meet no edge.
#pragma once

#include <cstdint>

#include "kernels/blocked/blocked_table.h"
#include "kernels/conv/channel_lanes_table.h"

namespace walle::kernels {

inline constexpr int64_t kBlockWords = kBlock / 2;

// Pixels side by side, one panel of output channels. Strides of `x` in words, of the result in floats.
struct ConvBf16Task {
  const uint32_t* x = nullptr;
  int64_t x_step = 0, x_block = 0;  // from pixel to pixel, from block to block of input channels
  int64_t words = 0, of_block = 0;  // of a pixel: of all input channels, and in one block
  const int64_t* tap = nullptr;     // offset of each tap
  int64_t taps = 0;
  int64_t pixels = 0;
  const uint32_t* weights = nullptr;  // [tap][word][panel]
  const uint32_t* next = nullptr;     // weights of the task after this, to be fetched meanwhile; null: none
  const float* bias = nullptr;        // [panel]
  bool narrow = false;                // the panel holds one vector, its second one is not looked at
  float* y = nullptr;
  int64_t y_step = 0, y_vector = 0;  // from pixel to pixel, from a panel's first vector to its second
  BlockedTail tail;                  // residual already where y is
  uint16_t* y16 = nullptr;           // the result in bfloat16, in the place of y
  const uint16_t* residual16 = nullptr;
};

struct ConvBf16Table {
  int lanes = 0, rows = 0;
  bool apart = false;  // of each vector of weights the first numbers of all words, then the second ones
  void (*dense)(const ConvBf16Task& task);
  // Pixels of one block, `step` floats apart, to kBlockWords each; lanes from `channels` on become zero.
  void (*to_words)(const float* from, int64_t step, int64_t channels, int64_t pixels, uint32_t* out);
  // The same of channels that lie `plane` apart; `words` of a pixel are written.
  void (*rows_to_words)(const float* from, int64_t plane, int64_t step, int64_t channels, int64_t pixels,
                        int64_t words, uint32_t* out);
  // Null of float16. Tiles to words, half as many as lanes of each vector; in.step counts words. Units of 2
  // and 4.
  void (*winograd_input)(int unit, const WinogradInput& in, uint32_t* out);
};

}  // namespace walle::kernels
