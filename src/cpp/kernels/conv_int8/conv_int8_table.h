// What a form of the convolution of codes exports. Plain data and function pointers: shared by files of
// different flags.
//
// An image of codes lies in blocks of 16 channels, as float32 ones do (kernels/blocked/blocked_table.h): the
// bytes of a pixel's block are four quads, so that a form by quads reads an image as it lies whose codes have
// the sign that its products take. Where there is padding, codes have the other one, or words are pairs, rows
// are first copied to words: padding then holds the zero point, and tiles meet no edge.
#pragma once

#include <cstdint>

#include "kernels/blocked/blocked_table.h"

namespace walle::kernels {

// From sums to codes: low <= round(sum * factor) <= high, plus zero. Rounded half to even. The bounds are
// whole and within 2^15.
struct CodesEnd {
  const float* factor = nullptr;  // of each output channel, [panel]
  float low = 0, high = 0;
  int32_t zero = 0;
  // Null, or codes laid out as the result, added to it before it is rounded again:
  // low <= round(rounded * own + (residual - residual_zero) * other) <= high, plus joint_zero.
  const uint8_t* residual = nullptr;
  bool residual_signed = false;
  float residual_zero = 0, own = 0, other = 0;
  float joint_low = 0, joint_high = 0;
  int32_t joint_zero = 0;
};

// Pixels side by side, one panel of output channels. Strides of `x` in words, of the result in elements.
struct ConvInt8Task {
  const uint32_t* x = nullptr;
  int64_t x_step = 0, x_block = 0;  // from pixel to pixel, from block to block of input channels
  int64_t blocks = 0, words = 0;    // blocks of input channels; words of a pixel in each
  const int64_t* tap = nullptr;     // offset of each tap
  int64_t taps = 0;
  int64_t pixels = 0;
  const uint32_t* weights = nullptr;  // [tap][block][word][panel]; of eights [tap][block][eight][panel][2]
  const int32_t* start = nullptr;     // what sums begin with, [panel]
  bool narrow = false;                // the panel holds one vector, its second one is not looked at
  uint8_t* y = nullptr;               // codes, or where `sums` is set nothing
  int32_t* sums = nullptr;
  int64_t y_vector = 0;  // from a panel's first vector to its second
  CodesEnd end;
};

// Rows of one block of channels. `x`: 16 words a pixel, of the taps that begin there
// (taps_to_words).
constexpr int kDepthwiseInt8Pixels = 8;  // of a tile: `x` is read as if there were a multiple of them
struct DepthwiseInt8Task {
  const uint32_t* x = nullptr;
  int64_t x_step = 0, x_row = 0;      // words, from output to output and from row to row of a window
  int64_t kh = 0, words = 0;          // rows of a window, words of each
  int64_t x_word = 0;                 // from the word of some taps to that of the next ones
  int64_t rows = 0, x_next = 0;       // of outputs; words from what one row meets to what the next one does
  int64_t pixels = 0;                 // of a row
  const uint32_t* weights = nullptr;  // [row][ceil(kw / step)][16] of four taps, or of two
  const int32_t* start = nullptr;     // [16]
  uint8_t* y = nullptr;
  int32_t* sums = nullptr;
  CodesEnd end;
};

// Tiles of 2 x 2 outputs of a band of rows, in the order of rows; one panel of output channels.
struct WinogradInt8Task {
  const uint32_t* x = nullptr;     // the band's int16, 16 of a pixel
  int64_t x_row = 0, x_block = 0;  // words from row to row, from block to block
  int64_t blocks = 0;
  int64_t first = 0, tiles = 0, across = 0;  // number of the first tile, how many, and tiles of a row
  uint32_t* points = nullptr;                // [16][tile][block][8] words: what image_to_points makes
  int32_t* products = nullptr;               // scratch, [16][tile][panel]
  const uint32_t* weights = nullptr;         // [point][block][word][panel]
  const int32_t* start = nullptr;
  bool narrow = false;
  int64_t rows = 0, columns = 0;  // the band's outputs
  uint8_t* y = nullptr;           // of the band's first
  int32_t* sums = nullptr;
  int64_t y_vector = 0;
  CodesEnd end;
};

struct ConvInt8Table {
  int lanes = 0, rows = 0;
  int step = 0;            // channels of one word: 4, or 2
  int words = 1;           // that dense multiplies together: 2 of eights (simd/eights.h)
  int together = 1;        // blocks of a pixel that lie side by side where rows are copied: 4 of tiles
  bool is_signed = false;  // quads are of signed codes, and those of unsigned ones lose 128
  void (*dense)(const ConvInt8Task& task);
  void (*depthwise)(const DepthwiseInt8Task& task);
  // `count` codes, whole pixels of 16, to quads (those of the other sign changed) or pairs (zero taken off).
  void (*to_words)(const uint8_t* from, int64_t count, bool is_signed, int32_t zero, uint32_t* out);
  // Words of taps side by side, 16 of a pixel: of it and those `apart` behind it, as many as a word holds, or
  // nothing where there is none; of every `every`th of `pixels`. `from` holds what to_words makes, and may be
  // the end of `out`. Quads: apart is 1.
  void (*taps_to_words)(const uint32_t* from, int64_t pixels, int64_t every, int64_t apart, uint32_t* out);
  // Winograd's filtering by pairs (winograd_int8_simd.h); null of quads.
  void (*image_to_points)(const WinogradInt8Task& task);
  void (*winograd_panel)(const WinogradInt8Task& task);
  // The same as to_words of `pixels` whose channels lie `plane` apart; lanes behind `channels` become zero.
  // `words` of a pixel are written.
  void (*rows_to_words)(const uint8_t* from, int64_t plane, int64_t channels, int64_t pixels, bool is_signed,
                        int32_t zero, int64_t words, uint32_t* out);
};

}  // namespace walle::kernels
