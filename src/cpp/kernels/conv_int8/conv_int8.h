// Convolution of 8-bit codes, exact in int32, to codes or to the sums: dense in one group or in groups of
// whole panels, and depthwise. Reads blocks of 16 channels or rows, writes blocks (conv_int8_table.h).
//
// A sum is that of (x - x_zero) * w over the window, plus a bias; the zero point may be known at run time
// alone. By quads, sum of x * w begins at bias - x_zero * sum of w; by pairs, zero points are taken off
// first.
//
// Immutable after make_conv_int8; run_conv_int8 may be called from any thread with a workspace of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/blocked/blocked.h"
#include "kernels/conv/conv.h"
#include "kernels/conv_int8/conv_int8_table.h"
#include "kernels/variants.h"

namespace walle::kernels {

// Of each set, and of what stands beside them; the best one last.
std::span<const Variant<ConvInt8Table>> conv_int8_forms();
// By tiles of 16 pixels; nullptr where there are none.
const Variant<ConvInt8Table>* conv_int8_amx_form(base::Capabilities usable);

// Whether some form runs it.
bool conv_int8_fits(const ConvShape& shape);
// The best form within what may be used. Quads hold weights of eight bits; those without their zero points
// may have nine, and taps of depthwise windows that do not lie side by side are read one by one.
const Variant<ConvInt8Table>& conv_int8_form(base::Capabilities usable, const ConvShape& shape,
                                             bool nine_bits);

struct ConvInt8 {
  ConvShape shape;  // where one row of pixels is as good, the image as such a row
  const ConvInt8Table* table = nullptr;
  bool x_signed = false;
  bool from_rows = false;  // x is [n, c, h, w] as tensors have it
  bool depthwise = false;
  bool flat = false;         // that row
  bool winograd = false;     // by tiles of 2 x 2 outputs
  bool copied = false;       // rows become words before they are read
  bool by_panels = false;    // threads share output channels and not pixels
  int64_t blocks = 0;        // of input channels that an output is made of
  int64_t words = 0;         // of a pixel in each of them
  int64_t together = 1;      // that lie side by side in a copied pixel
  int64_t copied_words = 0;  // the same before words of taps side by side are made of them
  int64_t row_words = 0;     // of a row in a block, with its padding where it is copied
  int64_t band = 0;          // output rows (flat: pixels) that one pass over the weights makes
  std::vector<int64_t> tap;

  int64_t panel() const { return depthwise ? kBlock : 2 * table->lanes; }
  int64_t panels() const { return base::ceil_div(blocks_of(shape.m) * kBlock, panel()); }
  int64_t outputs() const { return panels() * panel(); }
  // Words of weights: of an output of a depthwise window, and of all outputs.
  int64_t depthwise_words() const { return shape.kh * base::ceil_div(shape.kw, int64_t{table->step}); }
  // Of tiles of 2 x 2 outputs: 16 points in the place of nine taps, and as many tiles at once as let points,
  // weights and products of a panel lie in a second-level cache.
  int64_t points() const { return winograd ? 16 : shape.taps(); }
  int64_t tiles_at_once() const { return std::clamp<int64_t>(768 / blocks, 24, 64); }
  int64_t weight_words() const {
    return outputs() * (depthwise ? depthwise_words() : points() * blocks * words);
  }
  // What codes and their zero point get, to have the sign that quads are of.
  int32_t turned() const { return x_signed == table->is_signed ? 0 : x_signed ? 128 : -128; }
  int64_t pixel_words() const { return words * together; }
  int64_t all_blocks() const { return blocks * (depthwise ? blocks_of(shape.c) : shape.groups); }
};

ConvInt8 make_conv_int8(const ConvShape& shape, const ConvInt8Table& table, bool x_signed, bool from_rows);

// Multiplications with those of lanes that hold nothing, times two; for the search.
double conv_int8_flops(const ConvInt8& conv);

// Weights [m, c / groups, kh, kw] with zero points: one, or one per output channel.
struct ConvInt8Weights {
  const uint8_t* codes = nullptr;
  bool is_signed = false;
  std::span<const int32_t> zeros;
};
// Whether all of them less their zero points are of eight bits.
bool fits_eight_bits(const ConvInt8Weights& weights, int64_t m, int64_t each);

// In the kernels' order, in 32-bit words; behind them, per output: the sum of its weights, bias, factor.
int64_t conv_int8_packed_words(const ConvInt8& conv);
void pack_conv_int8(const ConvInt8& conv, const ConvInt8Weights& weights, std::span<const int32_t> bias,
                    std::span<const float> factors, uint32_t* out);

struct ConvInt8Run {
  const uint8_t* x = nullptr;
  int32_t x_zero = 0;
  const uint32_t* packed = nullptr;
  CodesEnd end;  // but for its factors
  uint8_t* y = nullptr;
  int32_t* sums = nullptr;  // in place of y: what no factor was given for
};

// `workspace` holds conv_int8_workspace_bytes, 64-byte aligned.
int64_t conv_int8_workspace_bytes(const ConvInt8& conv, int threads);
void run_conv_int8(const ConvInt8& conv, const ConvInt8Run& run, int threads, std::byte* workspace);

}  // namespace walle::kernels
