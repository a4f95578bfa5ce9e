#include "kernels/conv_int8/conv_int8.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/amx_forms.h"
#include "kernels/blocked/blocked_columns.h"
#include "kernels/parallel.h"
#include "kernels/vnni_forms.h"

namespace walle::kernels {

WALLE_MMLA_FORMS(ConvInt8Table, kConvInt8, conv_int8_forms)
WALLE_AMX_FORM(amx_int8, avx512_vnni, ConvInt8Table, kConvInt8Amx, conv_int8_amx_form)

namespace {
using base::ceil_div;

constexpr int64_t kWordBytes = sizeof(uint32_t);
constexpr int64_t kTile = 2;  // outputs of a tile's side
// Inputs of one pass over the weights: a quarter of the smallest second-level cache in use.
constexpr int64_t kBandWords = 32 * 1024;
// Words of taps are made of what lies behind the last pixel too, and the last tile of windows is read whole.
int64_t slack_words(const ConvInt8& c) {
  return 16 + (c.depthwise ? kDepthwiseInt8Pixels * c.shape.sw * c.words : 0);
}

bool is_depthwise(const ConvShape& s) { return s.depthwise() && s.m == s.c; }

bool padded(const ConvShape& s) {
  return s.pt > 0 || s.pl > 0 || (s.oh - 1) * s.sh + (s.kh - 1) * s.dh >= s.h ||
         (s.ow - 1) * s.sw + (s.kw - 1) * s.dw >= s.w;
}

// Input rows, or columns, that some outputs meet.
int64_t met(int64_t outputs, int64_t stride, int64_t taps, int64_t dilation) {
  return (outputs - 1) * stride + (taps - 1) * dilation + 1;
}

// Outputs of whole tiles.
int64_t tiled(const ConvInt8& c, int64_t outputs) {
  return c.winograd ? base::round_up(outputs, kTile) : outputs;
}

int64_t rows_met(const ConvInt8& c, int64_t outputs) {
  return met(tiled(c, outputs), c.shape.sh, c.shape.kh, c.shape.dh);
}
int64_t band_rows(const ConvInt8& c) { return c.flat ? 1 : rows_met(c, c.band); }

// Of a share's points, and of the products of a panel at them.
int64_t point_words(const ConvInt8& c) {
  return c.winograd ? c.points() * c.tiles_at_once() * c.blocks * c.words : 0;
}
int64_t product_words(const ConvInt8& c) {
  return c.winograd ? c.points() * c.tiles_at_once() * c.panel() : 0;
}

// Of one block of a band, or of those that lie together.
int64_t band_words(const ConvInt8& c) {
  return c.flat ? c.band * c.pixel_words() : band_rows(c) * c.row_words;
}

int64_t scratch_words(const ConvInt8& c) {
  if (!c.copied) return 0;
  const int64_t copied = (c.depthwise ? 1 : c.all_blocks() / c.together) * band_words(c) + slack_words(c);
  return base::round_up(copied, int64_t{16}) + point_words(c) + product_words(c);
}

// What one row of outputs meets, padding included, is copied: a file that dilates a window far beyond its
// image must not decide how much memory that is.
bool copies_little(const ConvShape& s) {
  constexpr int64_t kSlackPixels = 1 << 16;
  return met(1, s.sh, s.kh, s.dh) * met(s.ow, s.sw, s.kw, s.dw) <= 4 * s.h * s.w + kSlackPixels;
}

void set_band(ConvInt8& c) {
  const ConvShape& s = c.shape;
  const int64_t blocks = c.depthwise ? 1 : c.all_blocks() / c.together;
  if (c.flat) {
    const int64_t most = std::max<int64_t>(kBandWords / (blocks * c.pixel_words()), 2 * c.table->rows);
    c.band = ceil_div(s.ow, ceil_div(s.ow, most));
    return;
  }
  const int64_t row = std::max<int64_t>(blocks * c.row_words, 1);
  const int64_t rows = kBandWords / row - (s.kh - 1) * s.dh;
  const int64_t most = std::clamp<int64_t>(rows / s.sh, 1, std::max<int64_t>(s.oh, 1));
  c.band = tiled(c, ceil_div(s.oh, ceil_div(s.oh, most)));
}

double dense_flops(const ConvInt8& c) {
  const ConvShape& s = c.shape;
  return 2.0 * static_cast<double>(s.n * s.oh * s.ow * c.outputs()) *
         static_cast<double>(s.taps() * c.blocks * c.words * c.table->step);
}

// With what the transforms take: about 20 cycles of a block of a tile's image, 35 of a vector of its outputs.
double winograd_flops(const ConvInt8& c) {
  const ConvShape& s = c.shape;
  constexpr double kImage = 1300, kOutput = 280;
  const auto blocks = static_cast<double>(c.blocks), outputs = static_cast<double>(c.outputs());
  const double products = 2.0 * 16 * kBlock * blocks * outputs;
  return static_cast<double>(s.n * ceil_div(s.oh, kTile) * ceil_div(s.ow, kTile)) *
         (products + kImage * blocks + kOutput * outputs);
}

// Four times a sum of nine products of nine bits of each channel must be an int32.
bool winograd_pays(const ConvInt8& c) {
  constexpr int64_t kMostChannels = 896;
  const ConvShape& s = c.shape;
  const bool fits = c.table->step == 2 && s.groups == 1 && s.kh == 3 && s.kw == 3 && s.sh == 1 && s.sw == 1 &&
                    s.dh == 1 && s.dw == 1 && c.words == kBlock / 2 && s.c <= kMostChannels;
  return fits && winograd_flops(c) < 0.85 * dense_flops(c);
}
}  // namespace

bool conv_int8_fits(const ConvShape& s) {
  if (s.c < 1 || s.m < 1 || s.taps() < 1 || !copies_little(s)) return false;
  return s.groups == 1 || is_depthwise(s) ||
         (s.c / s.groups % kBlock == 0 && s.m / s.groups % (2 * kBlock) == 0);
}

const Variant<ConvInt8Table>& conv_int8_form(base::Capabilities usable, const ConvShape& s, bool nine_bits) {
  const bool pairs = nine_bits || (is_depthwise(s) && s.dw > 1 && s.kw > 1);
  // By tiles where each pixel fills a part of its row.
  const bool fills = s.groups > 0 && !is_depthwise(s) && s.c / s.groups % kBlock == 0;
  if (const auto* tiles = fills && !pairs ? conv_int8_amx_form(usable) : nullptr) return *tiles;
  const auto forms = conv_int8_forms();
  size_t best = 0;
  for (size_t i = 1; i < forms.size(); ++i)
    if (usable.has(forms[i].needs) && !(pairs && forms[i].table->step == 4)) best = i;
  return forms[best];
}

ConvInt8 make_conv_int8(const ConvShape& shape, const ConvInt8Table& table, bool x_signed, bool from_rows) {
  ConvInt8 c{.shape = shape, .table = &table, .x_signed = x_signed, .from_rows = from_rows, .tap = {}};
  ConvShape& s = c.shape;
  const int64_t step = table.step;
  if (s.ow == 1) s.sw = 1;  // of any size in a file, and nowhere to step to
  c.depthwise = is_depthwise(s);
  const int64_t inputs = c.depthwise ? kBlock : s.c / s.groups;
  c.blocks = blocks_of(inputs);
  // Of rows with few channels no word is made of nothing.
  c.copied_words = from_rows && !c.depthwise && inputs < kBlock
                       ? base::round_up(ceil_div(inputs, step), int64_t{table.words})
                       : kBlock / step;
  c.words = c.depthwise ? kBlock : c.copied_words;
  // A row of a tile is then whole: four times as many products a step, for a copy of what each panel reads.
  c.together = !c.depthwise && !from_rows && c.blocks % table.together == 0 ? table.together : 1;
  c.copied = c.depthwise || from_rows || step == 2 || c.turned() != 0 || padded(s) || c.together > 1;
  c.flat =
      !c.depthwise && s.taps() == 1 && s.sh == 1 && s.sw == 1 && !padded(s) && s.oh == s.h && s.ow == s.w;
  if (c.flat) {
    s.w = s.ow = s.h * s.w;
    s.h = s.oh = 1;
  }
  c.winograd = winograd_pays(c);
  const int64_t width = c.copied && !c.flat ? met(tiled(c, s.ow), s.sw, s.kw, s.dw) : s.w;
  // Every second word of all rows is one of each row.
  c.row_words = (c.depthwise && s.sw == 2 ? base::round_up(width, int64_t{2}) : width) * c.pixel_words();
  set_band(c);
  for (int64_t i = 0; i < s.kh; ++i)
    for (int64_t j = 0; j < s.kw; ++j) c.tap.push_back(i * s.dh * c.row_words + j * s.dw * c.pixel_words());
  c.by_panels = s.m * s.taps() > s.n * s.h * s.w;
  return c;
}

double conv_int8_flops(const ConvInt8& c) {
  if (!c.depthwise) return c.winograd ? winograd_flops(c) : dense_flops(c);
  const ConvShape& s = c.shape;
  return 2.0 * static_cast<double>(s.n * s.oh * s.ow * c.outputs()) *
         static_cast<double>(c.depthwise_words() * c.table->step);
}

namespace {
// A share of the work: what it reads and where it writes.
class Share {
 public:
  Share(const ConvInt8& c, const ConvInt8Run& r, const int32_t* start, uint32_t* scratch)
      : c_(c), r_(r), start_(start), scratch_(scratch) {
    factors_ = reinterpret_cast<const float*>(r.packed + c.weight_words() + 2 * c.outputs());
  }

  // Outputs [mine) of image n: rows, or pixels of a flat one.
  void dense(int64_t n, Steps mine, Steps panels) {
    for (int64_t at = mine.first; at < mine.last; at += c_.band) {
      const Steps band{at, std::min(at + c_.band, mine.last)};
      const Input in = input_of(n, band);
      if (c_.winograd) {
        tiles(n, in, band, panels);
        continue;
      }
      for (int64_t p = panels.first; p < panels.last; ++p) {
        if (c_.flat) {
          pixels(n, p, in.words, in.block, band.first, band.count());
          continue;
        }
        for (int64_t row = band.first; row < band.last; ++row)
          pixels(n, p, in.words + (row - band.first) * c_.shape.sh * c_.row_words, in.block,
                 row * c_.shape.ow, c_.shape.ow);
      }
    }
  }

  // Rows of one block of image n.
  void depthwise(int64_t n, int64_t block, Steps rows) {
    const ConvShape& s = c_.shape;
    for (int64_t at = rows.first; at < rows.last; at += c_.band) {
      const Steps band{at, std::min(at + c_.band, rows.last)};
      copy_block(n, block, band, scratch_);
      const int64_t to = ((n * blocks_of(s.m) + block) * s.oh + band.first) * s.ow * kBlock;
      c_.table->depthwise({.x = scratch_,
                           .x_step = s.sw * c_.words,
                           .x_row = s.dh * c_.row_words,
                           .kh = s.kh,
                           .words = c_.depthwise_words() / s.kh,
                           .x_word = c_.table->step * s.dw * c_.words,
                           .rows = band.count(),
                           .x_next = s.sh * c_.row_words,
                           .pixels = s.ow,
                           .weights = r_.packed + block * c_.depthwise_words() * kBlock,
                           .start = start_ + block * kBlock,
                           .y = r_.y ? r_.y + to : nullptr,
                           .sums = r_.sums ? r_.sums + to : nullptr,
                           .end = end_of(block * kBlock, to)});
    }
  }

 private:
  struct Input {
    const uint32_t* words = nullptr;  // of the first block, where tap 0 meets the band's first output
    int64_t block = 0;                // words from block to block
  };

  // Rows `band` of image n by tiles.
  void tiles(int64_t n, const Input& in, Steps band, Steps panels) {
    const ConvShape& s = c_.shape;
    uint32_t* const points = scratch_ + scratch_words(c_) - point_words(c_) - product_words(c_);
    WinogradInt8Task t{.x = in.words,
                       .x_row = c_.row_words,
                       .x_block = in.block,
                       .blocks = c_.blocks,
                       .across = ceil_div(s.ow, kTile),
                       .points = points,
                       .products = reinterpret_cast<int32_t*>(points + point_words(c_)),
                       .rows = band.count(),
                       .columns = s.ow,
                       .y_vector = y_vector()};
    const int64_t all = ceil_div(band.count(), kTile) * t.across;
    const int64_t passes = ceil_div(all, c_.tiles_at_once());
    for (int64_t pass = 0; pass < passes; ++pass) {
      t.first = all * pass / passes;
      t.tiles = all * (pass + 1) / passes - t.first;
      c_.table->image_to_points(t);
      for (int64_t p = panels.first; p < panels.last; ++p) {
        const int64_t output = p * c_.panel();
        const int64_t to = start_of(n, output, band.first * s.ow);
        t.weights = r_.packed + output * c_.points() * c_.blocks * c_.words;
        t.start = start_ + output;
        t.narrow = narrow(output);
        t.y = r_.y ? r_.y + to : nullptr;
        t.sums = r_.sums ? r_.sums + to : nullptr;
        t.end = end_of(output, to);
        c_.table->winograd_panel(t);
      }
    }
  }

  // Where pixel `first` of an output channel lies, whether its panel holds one vector, and its second one.
  int64_t start_of(int64_t n, int64_t output, int64_t first) const {
    const int64_t block = n * blocks_of(c_.shape.m) + output / kBlock;
    return (block * c_.shape.oh * c_.shape.ow + first) * kBlock + output % kBlock;
  }
  bool narrow(int64_t output) const { return output + c_.table->lanes >= blocks_of(c_.shape.m) * kBlock; }
  int64_t y_vector() const {
    return c_.table->lanes == kBlock ? c_.shape.oh * c_.shape.ow * kBlock : c_.table->lanes;
  }

  CodesEnd end_of(int64_t output, int64_t at) const {
    CodesEnd e = r_.end;
    e.factor = factors_ + output;
    if (e.residual) e.residual += at;
    return e;
  }

  Input input_of(int64_t n, Steps band) {
    const ConvShape& s = c_.shape;
    if (!c_.copied) {
      const int64_t block = s.h * c_.row_words;
      const auto* image = reinterpret_cast<const uint32_t*>(r_.x) + n * c_.all_blocks() * block;
      return {image + (c_.flat ? band.first * c_.words : band.first * s.sh * c_.row_words), block};
    }
    for (int64_t b = 0; b < c_.all_blocks(); ++b)
      copy_block(n, b, band, scratch_ + b / c_.together * band_words(c_) + b % c_.together * c_.words);
    return {scratch_, band_words(c_)};
  }

  void copy_block(int64_t n, int64_t block, Steps band, uint32_t* to) {
    const ConvShape& s = c_.shape;
    if (c_.flat) return to_words(n, block, band.first, band.count(), to);
    const int64_t first = band.first * s.sh - s.pt;
    const int64_t rows = rows_met(c_, band.count());
    const int64_t width = c_.row_words / c_.pixel_words();
    const int64_t left = std::min(s.pl, width);
    const int64_t inside = std::clamp<int64_t>(width - left, 0, s.w);
    const int64_t words = c_.copied_words * c_.together;
    // Words of taps side by side are made of all rows at once, which lie at the end of their place.
    uint32_t* const copied = to + rows * width * (c_.pixel_words() - words);
    uint32_t* pixels = copied;
    for (int64_t row = first; row < first + rows; ++row, pixels += width * words) {
      if (row < 0 || row >= s.h) {
        fill(pixels, width);
        continue;
      }
      fill(pixels, left);
      to_words(n, block, row * s.w, inside, pixels + left * words);
      fill(pixels + (left + inside) * words, width - left - inside);
    }
    // Of windows two pixels apart every other word is not looked at.
    if (c_.depthwise) c_.table->taps_to_words(copied, rows * width, s.sw == 2 ? 2 : 1, s.dw, to);
  }

  // Pixels of the zero point.
  void fill(uint32_t* to, int64_t pixels) const {
    uint32_t word = 0;
    if (c_.table->step == 4)
      word = static_cast<uint32_t>(static_cast<uint8_t>(r_.x_zero + c_.turned())) * 0x01010101u;
    if (c_.together == 1)
      std::fill_n(to, pixels * c_.copied_words, word);
    else
      for (int64_t p = 0; p < pixels; ++p) std::fill_n(to + p * c_.pixel_words(), c_.copied_words, word);
  }

  void to_words(int64_t n, int64_t block, int64_t pixel, int64_t pixels, uint32_t* to) const {
    const ConvShape& s = c_.shape;
    const int64_t plane = s.h * s.w;
    if (!c_.from_rows) {
      const uint8_t* from = r_.x + ((n * blocks_of(s.c) + block) * plane + pixel) * kBlock;
      if (c_.together == 1) return c_.table->to_words(from, pixels * kBlock, c_.x_signed, r_.x_zero, to);
      return to_pixels(from, pixels, to);
    }
    const uint8_t* from = r_.x + (n * s.c + block * kBlock) * plane + pixel;
    c_.table->rows_to_words(from, plane, std::min(kBlock, s.c - block * kBlock), pixels, c_.x_signed,
                            r_.x_zero, c_.copied_words, to);
  }

  // The words of one block of those that lie together; quads, as they are in blocks of all pixels.
  void to_pixels(const uint8_t* from, int64_t pixels, uint32_t* to) const {
    typedef uint64_t quads __attribute__((vector_size(kBlock), aligned(1), may_alias));
    const uint64_t flip = c_.turned() != 0 ? 0x8080808080808080 : 0;
    for (int64_t p = 0; p < pixels; ++p, from += kBlock, to += c_.pixel_words())
      *reinterpret_cast<quads*>(to) = *reinterpret_cast<const quads*>(from) ^ flip;
  }

  void pixels(int64_t n, int64_t p, const uint32_t* x, int64_t x_block, int64_t first, int64_t count) const {
    const ConvShape& s = c_.shape;
    const int64_t output = p * c_.panel();
    const int64_t to = start_of(n, output, first);
    const int64_t group = output / (s.m / s.groups);
    const int64_t blocks = c_.blocks / c_.together;
    c_.table->dense({.x = x + (s.groups > 1 ? group * blocks * x_block : 0),
                     .x_step = s.sw * c_.pixel_words(),
                     .x_block = x_block,
                     .blocks = blocks,
                     .words = c_.pixel_words(),
                     .tap = c_.tap.data(),
                     .taps = s.taps(),
                     .pixels = count,
                     .weights = r_.packed + p * c_.panel() * s.taps() * c_.blocks * c_.words,
                     .start = start_ + output,
                     .narrow = narrow(output),
                     .y = r_.y ? r_.y + to : nullptr,
                     .sums = r_.sums ? r_.sums + to : nullptr,
                     .y_vector = y_vector(),
                     .end = end_of(output, to)});
  }

  const ConvInt8& c_;
  const ConvInt8Run& r_;
  const int32_t* start_;
  uint32_t* scratch_;
  const float* factors_ = nullptr;
};

Steps share_of(int64_t n, int64_t share, int64_t shares) {
  return {n * share / shares, n * (share + 1) / shares};
}
}  // namespace

int64_t conv_int8_workspace_bytes(const ConvInt8& c, int threads) {
  return (base::round_up(c.outputs(), int64_t{16}) + threads * scratch_words(c)) * kWordBytes;
}

void run_conv_int8(const ConvInt8& c, const ConvInt8Run& r, int threads, std::byte* workspace) {
  const ConvShape& s = c.shape;
  if (s.n * s.m * s.oh * s.ow == 0) return;
  auto* const start = reinterpret_cast<uint32_t*>(workspace);
  uint32_t* const scratch = start + base::round_up(c.outputs(), int64_t{16});
  const uint32_t* const sums = r.packed + c.weight_words();
  const auto zero = static_cast<uint32_t>(c.table->step == 2 ? 0 : r.x_zero + c.turned());
  for (int64_t i = 0; i < c.outputs(); ++i) start[i] = sums[c.outputs() + i] - zero * sums[i];
  const auto share_at = [&](int64_t share) {
    return Share(c, r, reinterpret_cast<const int32_t*>(start), scratch + share * scratch_words(c));
  };
  if (c.depthwise) {
    const int64_t rows = s.n * blocks_of(s.m) * s.oh;
    const int64_t shares = std::min<int64_t>(threads, rows);
    base::parallel_for(shares, threads, [&](int64_t share) {
      const Steps mine = share_of(rows, share, shares);
      for (int64_t row = mine.first; row < mine.last;) {
        const int64_t image_block = row / s.oh, at = row % s.oh;
        const int64_t count = std::min(mine.last - row, s.oh - at);
        share_at(share).depthwise(image_block / blocks_of(s.m), image_block % blocks_of(s.m),
                                  {at, at + count});
        row += count;
      }
    });
    return;
  }
  const int64_t outputs = c.flat ? s.ow : s.oh;
  const int64_t units = c.flat ? ceil_div(s.ow, int64_t{c.table->rows}) : s.oh;
  const bool even = unevenness(c.panels(), threads) <= kUnevenAtMost * unevenness(units, threads);
  const int64_t by_panels = c.by_panels && even ? std::min<int64_t>(threads, c.panels()) : 1;
  const int64_t by_units = std::clamp<int64_t>(units, 1, threads / by_panels);
  base::parallel_for(by_panels * by_units, threads, [&](int64_t share) {
    const Steps panels = share_of(c.panels(), share % by_panels, by_panels);
    const Steps mine = share_of(outputs, share / by_panels, by_units);
    for (int64_t n = 0; n < s.n; ++n) share_at(share).dense(n, mine, panels);
  });
}

}  // namespace walle::kernels
