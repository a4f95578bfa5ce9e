// Which words a band of outputs needs, and weights in the order in which tiles read them.
#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "kernels/amx_forms.h"
#include "kernels/bfdot_forms.h"
#include "kernels/conv_bf16/conv_bf16.h"
#include "kernels/conv_bf16/conv_bf16_band.h"

namespace walle::kernels {

WALLE_BFDOT_FORM(ConvBf16Table, kConvBf16, conv_bf16_form)
WALLE_AMX_FORM(amx_bf16, avx512_bf16, ConvBf16Table, kConvBf16Amx, conv_bf16_amx_form)
WALLE_FP16_FORM(ConvBf16Table, kConvBf16, conv_fp16_form)

const Variant<ConvBf16Table>* conv_bf16_form_for(base::Capabilities usable, const ConvShape& s) {
  const bool fills = s.groups > 0 && s.c / s.groups % kBlock == 0;
  const auto* const tiles = fills ? conv_bf16_amx_form(usable) : nullptr;
  return tiles ? tiles : conv_bf16_form(usable);
}

namespace {
using base::ceil_div;

// Words of one pass over the weights: a quarter of the smallest second-level cache in use.
constexpr int64_t kBandWords = 64 * 1024;

// What one row of outputs meets, padding included, is copied: a file that dilates a window far beyond its
// image must not decide how much memory that is.
bool copies_little(const ConvShape& s) {
  constexpr int64_t kSlackPixels = 1 << 16;
  return met(1, s.sh, s.kh, s.dh) * met(s.ow, s.sw, s.kw, s.dw) <= 4 * s.h * s.w + kSlackPixels;
}

bool is_flat(const ConvShape& s) {
  return s.taps() == 1 && s.sh == 1 && s.sw == 1 && s.pt == 0 && s.pl == 0 && s.oh == s.h && s.ow == s.w;
}

void set_band(ConvBf16& c) {
  const ConvShape& s = c.shape;
  const int64_t most_of = c.flat ? std::max<int64_t>(s.ow, 1) : std::max<int64_t>(s.oh, 1);
  int64_t most = 0;
  if (c.flat) {
    most = std::max<int64_t>(kBandWords / (c.all_blocks() * c.of_block), 2 * c.table->rows);
  } else {
    const int64_t row = std::max<int64_t>(c.all_blocks() * c.row_words, 1);
    most = (kBandWords / row - (s.kh - 1) * s.dh) / (s.sh / c.row);
  }
  c.band = ceil_div(most_of, ceil_div(most_of, std::clamp<int64_t>(most, 1, most_of)));
}

// Where in a row of a panel number `second` of the word of channel q lies, in halves of words.
int64_t half_of_panel(const ConvBf16Table& table, int64_t q, int64_t second) {
  if (!table.apart) return 2 * q + second;
  return (2 * (q / table.lanes) + second) * table.lanes + q % table.lanes;
}
}  // namespace

bool conv_bf16_fits(const ConvShape& s) {
  if (s.c < 1 || s.m < 1 || s.taps() < 1 || !copies_little(s)) return false;
  return s.groups == 1 || (s.c / s.groups % kBlock == 0 && s.m / s.groups % kBlock == 0);
}

ConvBf16 make_conv_bf16(const ConvShape& shape, const ConvBf16Table& table, ConvBf16Image image) {
  ConvBf16 c{.shape = shape, .table = &table, .image = image, .tap = {}};
  ConvShape& s = c.shape;
  c.flat = is_flat(s);
  if (c.flat) {
    s.w = s.ow = s.h * s.w;
    s.h = s.oh = 1;
  }
  // A window of one row, or column, passes over those between its steps.
  c.row = s.kh == 1 ? s.sh : 1;
  c.col = s.kw == 1 ? s.sw : 1;
  const int64_t inputs = s.c / s.groups;
  c.blocks = blocks_of(inputs);
  c.words = ceil_div(inputs, int64_t{2});
  // Of rows with few channels no word is made of nothing.
  c.of_block = image == ConvBf16Image::rows ? std::min(c.words, kBlockWords) : kBlockWords;
  c.row_words = met(s.ow, s.sw / c.col, s.kw, s.dw) * c.of_block;
  c.outputs = s.groups == 1 || s.m / s.groups % c.panel() == 0 ? c.panel() : table.lanes;
  // The lane behind an odd last channel may hold NaN, which no weight of zero takes away.
  c.in_place = image == ConvBf16Image::bf16_blocks && c.flat && inputs % 2 == 0;
  set_band(c);
  for (int64_t i = 0; i < s.kh; ++i)
    for (int64_t j = 0; j < s.kw; ++j) c.tap.push_back(i * s.dh * c.row_words + j * s.dw * c.of_block);
  c.by_panels = s.m * s.taps() > s.n * s.h * s.w;
  return c;
}

ConvBf16Work conv_bf16_work(const ConvBf16& c) {
  const ConvShape& s = c.shape;
  const auto pixels = static_cast<double>(s.n * s.oh * s.ow);
  const auto each = static_cast<double>(s.taps() * c.words * 2);
  const int64_t bands = ceil_div(c.flat ? s.ow : s.oh, c.band);
  const int64_t rows = c.flat ? s.ow : bands * band_rows(c) * c.row_words / c.of_block;
  const double share = c.in_place ? 0 : c.image == ConvBf16Image::bf16_blocks ? 0.5 : 1;
  return {.flops = 2 * pixels * static_cast<double>(blocks_of(s.m) * kBlock) * each,
          .tiles = static_cast<double>(s.n * c.panels() * s.oh * ceil_div(s.ow, int64_t{c.table->rows})),
          .rounded = share * static_cast<double>(s.n * rows * c.all_blocks() * c.of_block * 2)};
}

int64_t conv_bf16_packed_words(const ConvBf16& c) { return c.panels() * (c.panel_words() + c.panel()); }

void pack_conv_bf16(const ConvBf16& c, const float* weights, const float* bias, uint32_t* out) {
  const ConvShape& s = c.shape;
  const int64_t inputs = s.c / s.groups, taps = s.taps(), panel = c.panel();
  const int64_t each = inputs * taps, whole = each / kBlock;
  std::fill_n(out, conv_bf16_packed_words(c), 0u);
  uint32_t* const biases = out + c.panels() * c.panel_words();
  std::vector<uint32_t> rounded((whole + 1) * kBlockWords);
  for (int64_t m = 0; m < s.m; ++m, weights += each) {
    c.table->to_words(weights, kBlock, kBlock, whole, rounded.data());
    c.table->to_words(weights + whole * kBlock, kBlock, each % kBlock, 1,
                      rounded.data() + whole * kBlockWords);
    const int64_t p = m / c.outputs, q = m % c.outputs;
    uint32_t* const to = out + p * c.panel_words();
    for (int64_t channel = 0; channel < inputs; ++channel)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t i = channel * taps + tap;
        const uint32_t number = rounded[i / 2] >> (i % 2 * 16) & 0xffff;
        const int64_t half = half_of_panel(*c.table, q, channel % 2);
        to[(tap * c.words + channel / 2) * panel + half / 2] |= number << (half % 2 * 16);
      }
    if (bias) biases[p * panel + q] = std::bit_cast<uint32_t>(bias[m]);
  }
}

}  // namespace walle::kernels
