// Convolution whose products are of bfloat16 and whose sums are float32: dense in one group or in groups of
// whole vectors. Reads float32 in rows or in blocks of 16 channels, or bfloat16 in such blocks; writes either
// in blocks, and adds a residual of what it writes.
//
// Both operands are rounded half to even, so a product is off by 8e-3 of itself at most; denormal numbers
// count as zero. A NaN or an infinity stays within the outputs whose windows meet it. Depthwise windows are
// no part of it: they wait for memory, and float32 is as fast.
//
// Immutable after make_conv_bf16; run_conv_bf16 may be called from any thread with a workspace of its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/blocked/blocked.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_bf16/conv_bf16_table.h"
#include "kernels/variants.h"

namespace walle::kernels {

// The best form within what may be used; null: there is none, and no other way to it either.
const Variant<ConvBf16Table>* conv_bf16_form(base::Capabilities usable);
// The same by tiles of 16 pixels; null where there are none.
const Variant<ConvBf16Table>* conv_bf16_amx_form(base::Capabilities usable);
// Of the two the one for this shape: by tiles where each pixel fills a row of one.
const Variant<ConvBf16Table>* conv_bf16_form_for(base::Capabilities usable, const ConvShape& shape);
// The same of products of float16, whose sums are chains of it.
const Variant<ConvBf16Table>* conv_fp16_form(base::Capabilities usable);

bool conv_bf16_fits(const ConvShape& shape);

enum class ConvBf16Image : uint8_t { rows, blocks, bf16_blocks };

struct ConvBf16 {
  ConvShape shape;  // where one row of pixels is as good, the image as such a row
  const ConvBf16Table* table = nullptr;
  ConvBf16Image image = ConvBf16Image::blocks;
  bool in_place = false;     // tiles read the image itself
  bool flat = false;         // that row
  bool by_panels = false;    // threads share output channels and not pixels
  int64_t row = 1, col = 1;  // steps between rows and columns of the image that are copied
  int64_t words = 0;         // of a pixel: of the input channels that an output is made of
  int64_t of_block = 0;      // and of one block
  int64_t blocks = 0;        // that hold them
  int64_t row_words = 0;     // of a row of a block, with its padding
  int64_t outputs = 0;       // channels of a panel, of one group
  int64_t band = 0;          // output rows (flat: pixels) that one pass over the weights makes
  std::vector<int64_t> tap;

  int64_t panel() const { return 2 * table->lanes; }
  int64_t panels() const { return base::ceil_div(blocks_of(shape.m) * kBlock, outputs); }
  int64_t panel_words() const { return panel() * shape.taps() * words; }
  int64_t all_blocks() const { return blocks * shape.groups; }
};

ConvBf16 make_conv_bf16(const ConvShape& shape, const ConvBf16Table& table, ConvBf16Image image);

// What a run does, for the search: arithmetic with the lanes that hold nothing, and register tiles.
struct ConvBf16Work {
  double flops = 0;
  double tiles = 0;
  double rounded = 0;  // floats that become words, words that are copied by half
};
ConvBf16Work conv_bf16_work(const ConvBf16& conv);

// Weights [m, c / groups, kh, kw] and bias [m], null for none, in the kernel's order: words, then biases.
int64_t conv_bf16_packed_words(const ConvBf16& conv);
void pack_conv_bf16(const ConvBf16& conv, const float* weights, const float* bias, uint32_t* out);

// An image of float32, or one of bfloat16 where the convolution was made for that; a result of either. A
// residual has the result's layout, shape and dtype.
struct ConvBf16Run {
  const float* x = nullptr;
  const uint16_t* x16 = nullptr;
  const uint32_t* packed = nullptr;
  BlockedTail tail;
  float* y = nullptr;
  uint16_t* y16 = nullptr;
  const uint16_t* residual16 = nullptr;
};

// `workspace` holds conv_bf16_workspace_bytes, 64-byte aligned.
int64_t conv_bf16_workspace_bytes(const ConvBf16& conv, int threads);
void run_conv_bf16(const ConvBf16& conv, const ConvBf16Run& run, int threads, std::byte* workspace);

}  // namespace walle::kernels
