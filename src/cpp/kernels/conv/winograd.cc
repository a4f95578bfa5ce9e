#include "kernels/conv/winograd.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/blocked/blocked.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(ChannelLanesTable, kChannelLanesF32, winograd_table)

namespace {
using base::ceil_div;
using base::round_up;

int64_t blocks_of_channels(const Winograd& w) { return ceil_div(w.shape.c, w.table->lanes); }
int64_t panel(const Winograd& w) { return 2 * w.table->lanes; }
int64_t panels(const Winograd& w) { return ceil_div(w.shape.m, panel(w)); }
// Floats, or words of two channels, that an output's sum at one position is made of.
int64_t depth(const Winograd& w) { return w.words ? w.shape.c / 2 : w.shape.c; }
int64_t panel_elements(const Winograd& w) { return winograd_positions(w.unit) * depth(w) * panel(w); }
// That a vector of channels of a transformed tile takes.
int64_t vector_elements(const Winograd& w) { return w.words ? w.table->lanes / 2 : w.table->lanes; }

// From position to position of a tile, an odd number of cache lines: transforms store and load a whole tile
// at this distance, and a power of two would put all of it into one set of the cache.
int64_t odd_lines(const Winograd& w, int64_t vectors) { return (vectors | 1) * w.table->lanes; }
int64_t input_step(const Winograd& w) {
  return odd_lines(w, ceil_div(blocks_of_channels(w) * w.block * vector_elements(w), w.table->lanes));
}
int64_t sums_step(const Winograd& w) { return odd_lines(w, 2 * w.block); }

// Rows of tiles that `count` consecutive ones of an image touch, at most.
int64_t rows_of_tiles(const Winograd& w, int64_t count) {
  return std::min((count + w.across - 2) / w.across + 1, w.down);
}

// Of one thread: pixels of a block of channels side by side, transformed inputs, sums of one panel.
int64_t strip_floats(const Winograd& w) {
  const int64_t rows = rows_of_tiles(w, w.block) * w.unit + 2;
  return whole_lines(rows * (w.across * w.unit + 2) * w.table->lanes);
}
int64_t input_floats(const Winograd& w) { return whole_lines(winograd_positions(w.unit) * input_step(w)); }
int64_t sums_floats(const Winograd& w) { return whole_lines(winograd_positions(w.unit) * sums_step(w)); }
// One row of tiles of one panel, on its way to bfloat16.
int64_t staged_floats(const Winograd& w) {
  return w.bf16_images ? whole_lines(w.unit * w.shape.ow * panel(w)) : 0;
}
int64_t thread_floats(const Winograd& w) {
  return strip_floats(w) + input_floats(w) + sums_floats(w) + staged_floats(w);
}

// Channels that are summed from zero before they are added to the others, a multiple of all lanes. What sums
// are off by is multiplied by 1.7, 5 and 21 when they are transformed back (units of 2, 4 and 6), so that
// chains are shorter than elsewhere. One chain of 256 channels was off by 6.8 times what onnxruntime's direct
// convolution is (unit 4), chains of 64, 32 and 16 by 3.7, 3.0 and 2.8 times, for 1, 2 and 5 % of the time.
// Of unit 2, 512 channels were off by 3.0 times as much, and chains of 64 by 1.2 times.
int64_t chain_of(int unit) { return unit == 2 ? 64 : 32; }

// Where channel `ch` of an image of `channels` begins, and how far its pixels lie apart.
int64_t channel_at(const Winograd& w, int64_t image, int64_t channels, int64_t ch, int64_t pixels) {
  if (!w.blocked) return (image * channels + ch) * pixels;
  return (image * blocks_of(channels) + ch / kBlock) * pixels * kBlock + ch % kBlock;
}
int64_t pixel_of(const Winograd& w) { return w.blocked ? kBlock : 1; }

// Consecutive tiles of one image, numbered within it.
struct Piece {
  int64_t image, first, count;
};

// Images, of float32 or of bfloat16.
struct Images {
  const float* x = nullptr;
  float* y = nullptr;
  const uint16_t* x16 = nullptr;
  const uint16_t* residual16 = nullptr;
  uint16_t* y16 = nullptr;
};

// One thread's share: some tiles of all images by some panels of output channels.
class Worker {
 public:
  Worker(const Winograd& w, const Images& images, const float* weights, const Epilogue& e,
         std::byte* workspace)
      : w_(w),
        images_(images),
        weights_(weights),
        epilogue_(e),
        strip_(reinterpret_cast<float*>(workspace)),
        inputs_(strip_ + strip_floats(w)),
        sums_(inputs_ + input_floats(w)),
        staged_(sums_ + sums_floats(w)) {}

  void run(int64_t t0, int64_t t1, int64_t p0, int64_t p1) {
    const int64_t blocks = ceil_div(t1 - t0, w_.block);
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t from = t0 + (t1 - t0) * i / blocks;
      const int64_t to = t0 + (t1 - t0) * (i + 1) / blocks;
      pieces(from, to, [&](const Piece& p, int64_t at) { make_inputs(p, at); });
      for (int64_t q = p0; q < p1; ++q) run_panel(q, from, to);
    }
  }

 private:
  // fn(piece, its place in the block) for every image that tiles [from, to) touch.
  template <class Fn>
  void pieces(int64_t from, int64_t to, Fn fn) const {
    const int64_t each = w_.across * w_.down;
    for (int64_t t = from; t < to;) {
      const int64_t end = std::min(to, (t / each + 1) * each);
      fn(Piece{.image = t / each, .first = t % each, .count = end - t}, t - from);
      t = end;
    }
  }

  void make_inputs(const Piece& p, int64_t at) {
    const ConvShape& s = w_.shape;
    const int64_t lanes = w_.table->lanes;
    const int64_t top = p.first / w_.across;
    const int64_t bottom = (p.first + p.count - 1) / w_.across;
    // Tiles of a single row need its columns only; those of several rows all of them.
    const int64_t left = top == bottom ? p.first % w_.across : 0;
    const int64_t right = top == bottom ? left + p.count : w_.across;
    LaneStrip strip{.plane = s.h * s.w,
                    .pixel = pixel_of(w_),
                    .h = s.h,
                    .w = s.w,
                    .row = top * w_.unit - s.pt,
                    .col = left * w_.unit - s.pl,
                    .rows = (bottom - top + 1) * w_.unit + 2,
                    .cols = (right - left) * w_.unit + 2,
                    .out = strip_};
    WinogradInput input{.strip = strip_,
                        .cols = strip.cols,
                        .first = p.first,
                        .count = p.count,
                        .across = w_.across,
                        .row = top * w_.unit,
                        .col = left * w_.unit,
                        .step = input_step(w_)};
    for (int64_t b = 0; b < blocks_of_channels(w_); ++b) {
      const int64_t from = channel_at(w_, p.image, s.c, b * lanes, s.h * s.w);
      strip.channels = std::min(lanes, s.c - b * lanes);
      if (w_.bf16_images) {
        widened_strip(strip, images_.x16 + from);
      } else {
        strip.image = images_.x + from;
        w_.table->strip(strip);
      }
      input.out = inputs_ + (b * w_.block + at) * vector_elements(w_);
      w_.words ? w_.words->winograd_input(w_.unit, input, reinterpret_cast<uint32_t*>(input.out))
               : w_.table->winograd_input(w_.unit, input);
    }
  }

  // What table->strip makes, of an image in bfloat16. No vectors of this set's are needed for it.
  void widened_strip(const LaneStrip& s, const uint16_t* image) const {
    const int64_t lanes = w_.table->lanes;
    const int64_t left = std::clamp<int64_t>(-s.col, 0, s.cols);
    const int64_t right = std::clamp<int64_t>(s.w - s.col, left, s.cols);
    for (int64_t r = 0; r < s.rows; ++r) {
      float* const out = s.out + r * s.cols * lanes;
      const int64_t from = s.row + r;
      if (from < 0 || from >= s.h) {
        std::fill_n(out, s.cols * lanes, 0.0f);
        continue;
      }
      std::fill_n(out, left * lanes, 0.0f);
      w_.bf16_images->widen(image + (from * s.w + s.col + left) * kBlock, kBlock, right - left,
                            out + left * lanes, lanes);
      std::fill_n(out + right * lanes, (s.cols - right) * lanes, 0.0f);
    }
  }

  void product(int64_t q, int64_t tiles, int64_t filters) {
    w_.table->product({.positions = winograd_positions(w_.unit),
                       .tiles = tiles,
                       .channels = w_.shape.c,
                       .filters = filters,
                       .a = inputs_,
                       .a_step = input_step(w_),
                       .a_block = w_.block * w_.table->lanes,
                       .b = weights_ + q * panel_elements(w_),
                       .c = sums_,
                       .c_step = sums_step(w_),
                       .chain = chain_of(w_.unit)});
  }

  // Tiles are pixels of a convolution of 1 x 1 at each position.
  void word_product(int64_t q, int64_t tiles, int64_t filters) {
    static constexpr float kNoBias[2 * kBlock] = {};
    static constexpr int64_t kHere = 0;
    const auto* x = reinterpret_cast<const uint32_t*>(inputs_);
    const auto* weights = reinterpret_cast<const uint32_t*>(weights_ + q * panel_elements(w_));
    const int64_t positions = winograd_positions(w_.unit);
    for (int64_t i = 0; i < positions; ++i, weights += depth(w_) * panel(w_))
      w_.words->dense({.x = x + i * input_step(w_),
                       .x_step = vector_elements(w_),
                       .x_block = w_.block * vector_elements(w_),
                       .words = depth(w_),
                       .of_block = vector_elements(w_),
                       .tap = &kHere,
                       .taps = 1,
                       .pixels = tiles,
                       .weights = weights,
                       .bias = kNoBias,
                       .narrow = filters <= w_.table->lanes,
                       .y = sums_ + i * sums_step(w_),
                       .y_step = panel(w_),
                       .y_vector = w_.table->lanes,
                       .tail = {}});
  }

  void run_panel(int64_t q, int64_t from, int64_t to) {
    const ConvShape& s = w_.shape;
    const int64_t m = q * panel(w_);
    const int64_t filters = std::min(panel(w_), s.m - m);
    w_.words ? word_product(q, to - from, filters) : product(q, to - from, filters);
    if (w_.bf16_images) return emit_bf16(m, filters, from, to);
    pieces(from, to, [&](const Piece& p, int64_t at) {
      const int64_t lanes = w_.table->lanes;
      const int64_t first = channel_at(w_, p.image, s.m, m, s.oh * s.ow);
      WinogradOutput out{.sums = sums_ + at * panel(w_),
                         .step = sums_step(w_),
                         .first = p.first,
                         .count = p.count,
                         .across = w_.across,
                         .oh = s.oh,
                         .ow = s.ow,
                         .filters = filters,
                         .out = images_.y + first,
                         .pixel = pixel_of(w_),
                         .vector = lanes < kBlock ? lanes : s.oh * s.ow * kBlock,
                         .epilogue = epilogue_};
      if (out.epilogue.row_bias) out.epilogue.row_bias += m;
      if (out.epilogue.residual) out.epilogue.residual += first;
      w_.table->winograd_output(w_.unit, out);
    });
  }

  // The panel's results, a row of tiles at a time: as float32 in a place of their own, then rounded.
  void emit_bf16(int64_t m, int64_t filters, int64_t from, int64_t to) const {
    const int64_t across = w_.across;
    pieces(from, to, [&](const Piece& p, int64_t at) {
      for (int64_t t = p.first; t < p.first + p.count;) {
        const int64_t end = std::min(p.first + p.count, (t / across + 1) * across);
        emit_row_of_tiles({p.image, t, end - t}, m, filters, sums_ + (at + t - p.first) * panel(w_));
        t = end;
      }
    });
  }

  void emit_row_of_tiles(const Piece& p, int64_t m, int64_t filters, const float* sums) const {
    const ConvShape& s = w_.shape;
    const int64_t lanes = w_.table->lanes, width = panel(w_);
    const int64_t top = p.first / w_.across * w_.unit, left = p.first % w_.across * w_.unit;
    const int64_t rows = std::min(s.oh - top, int64_t{w_.unit});
    const int64_t cols = std::min(s.ow - left, p.count * w_.unit);
    // fn(staged, its image's element) for every row and vector of channels.
    const auto each = [&](auto fn) {
      for (int64_t v = 0; v * lanes < filters; ++v)
        for (int64_t r = 0; r < rows; ++r)
          fn(staged_ + (r * s.ow + left) * width + v * lanes,
             channel_at(w_, p.image, s.m, m + v * lanes, s.oh * s.ow) + ((top + r) * s.ow + left) * kBlock);
    };
    if (images_.residual16)
      each([&](float* to, int64_t at) {
        w_.bf16_images->widen(images_.residual16 + at, kBlock, cols, to, width);
      });
    WinogradOutput out{.sums = sums,
                       .step = sums_step(w_),
                       .first = p.first % w_.across,
                       .count = p.count,
                       .across = w_.across,
                       .oh = rows,
                       .ow = s.ow,
                       .filters = filters,
                       .out = staged_,
                       .pixel = width,
                       .vector = lanes,
                       .epilogue = epilogue_};
    if (out.epilogue.row_bias) out.epilogue.row_bias += m;
    out.epilogue.residual = images_.residual16 ? staged_ : nullptr;
    w_.table->winograd_output(w_.unit, out);
    each([&](const float* from, int64_t at) {
      w_.bf16_images->narrow(from, width, cols, images_.y16 + at, kBlock);
    });
  }

  const Winograd& w_;
  const Images& images_;
  const float* weights_;
  const Epilogue& epilogue_;
  float* strip_;
  float* inputs_;
  float* sums_;
  float* staged_;
};
// What a byte from memory takes as a multiple of one from the outer cache: 3 on Zen 3, 4 on Zen 4.
constexpr double kMemoryPrice = 4;
// Tiles at once where they do not stay in the second-level cache. All 196 of 256 channels on 56 x 56 took
// three times as long as 49 of them.
constexpr int64_t kMostTiles = 56;

int64_t element_bytes(const Winograd& w) { return w.words ? kFloatBytes / 2 : kFloatBytes; }

// Bytes that pass between the second-level cache and the outer one, those of memory by their price: every
// block reads all weights, every panel all inputs of a block that are not in the second level any more.
double traffic(const Winograd& w, int64_t block) {
  const int64_t l2 = base::cpu_features().l2_bytes;
  const int64_t position_bytes = winograd_positions(w.unit) * element_bytes(w);
  const auto weights = static_cast<double>(panels(w) * panel_elements(w) * kFloatBytes);
  const auto passes = static_cast<double>(ceil_div(w.tiles(), block));
  const auto inputs = static_cast<double>(position_bytes * w.shape.c * w.tiles());
  const bool stays = position_bytes * w.shape.c * block <= l2 / 2;
  const double price = weights > static_cast<double>(base::cpu_features().outer_bytes) ? kMemoryPrice : 1;
  return passes * weights * price + (stays ? 0 : static_cast<double>(panels(w)) * inputs);
}

// Of the largest block whose inputs stay in half of the second-level cache, two register blocks at least, and
// of one that reads the weights less often, the one with less traffic. On Zen 3 (512 KB), ms, by tiles at
// once: 512 channels on 28 x 28 took 28.9 (10), 22.9 (17), 21.3 (49); 256 to 512 on 14 x 14 10.1 (8) and 7.2
// (16); 128 to 256 on 112 x 112, whose weights are 5 MB, 16.9 (14) and 20.3 (49).
int64_t best_block(const Winograd& w) {
  const int64_t l2 = base::cpu_features().l2_bytes;
  const int64_t tiles = std::max<int64_t>(w.tiles(), 1);
  const int64_t tile_bytes = std::max<int64_t>(winograd_positions(w.unit) * w.shape.c * element_bytes(w), 1);
  const auto evenly = [&](int64_t most) { return ceil_div(tiles, ceil_div(tiles, most)); };
  const int64_t least = 2 * w.table->rows;
  const int64_t near = evenly(std::max(l2 / 2 / tile_bytes, least));
  const int64_t far =
      evenly(std::max(std::min(kMostTiles, base::cpu_features().outer_bytes / 2 / tile_bytes), least));
  return far > near && traffic(w, far) < traffic(w, near) ? far : near;
}
}  // namespace

bool winograd_fits(const ConvShape& s) {
  return s.kh == 3 && s.kw == 3 && s.sh == 1 && s.sw == 1 && s.dh == 1 && s.dw == 1 && s.groups == 1 &&
         s.c >= 8;
}

bool winograd_bf16_fits(const ConvShape& s, Isa isa, const ConvBf16Table& words) {
  return winograd_fits(s) && s.c % 2 == 0 && words.lanes == winograd_table(isa).lanes;
}

float winograd_error(int unit) { return unit == 2 ? 2 : unit == 4 ? 4 : 16; }

float winograd_bf16_error(int unit) { return unit == 2 ? 2 : 5; }

Winograd make_winograd(const ConvShape& shape, int unit, Isa isa, bool blocked, const ConvBf16Table* words,
                       const BlockedBf16Table* bf16_images) {
  Winograd w{.shape = shape,
             .unit = unit,
             .blocked = blocked,
             .table = &channel_lanes_table(isa),
             .words = words,
             .bf16_images = bf16_images};
  w.across = ceil_div(shape.ow, unit);
  w.down = ceil_div(shape.oh, unit);
  w.block = best_block(w);
  return w;
}

WinogradWork winograd_work(const Winograd& w) {
  const int64_t lanes = w.table->lanes;
  const auto positions = static_cast<double>(winograd_positions(w.unit));
  const auto tiles = static_cast<double>(w.tiles());
  const auto filters = static_cast<double>(round_up(w.shape.m, lanes));
  const double blocks = tiles / static_cast<double>(w.block);
  WinogradWork work;
  work.product_flops = 2 * positions * tiles * static_cast<double>(w.shape.c) * filters;
  work.input_floats = positions * tiles * static_cast<double>(round_up(w.shape.c, lanes));
  work.output_floats = positions * tiles * filters;
  work.weight_bytes =
      blocks * positions * static_cast<double>(w.shape.c) * filters * static_cast<double>(element_bytes(w));
  return work;
}

int64_t winograd_weight_elements(const Winograd& w) { return panels(w) * panel_elements(w); }

namespace {
// [position][channel][panel] floats to [position][pair of channels][panel] words.
void pair_channels(const Winograd& w, const std::vector<float>& from, uint32_t* out) {
  const int64_t c = w.shape.c, width = panel(w);
  std::vector<uint32_t> rounded(from.size() / 2);  // a panel of 16 positions and more is whole blocks
  w.words->to_words(from.data(), kBlock, kBlock, static_cast<int64_t>(from.size()) / kBlock, rounded.data());
  const auto half = [&](int64_t i) { return rounded[i / 2] >> (i % 2 * 16) & 0xffff; };
  for (int64_t position = 0; position < winograd_positions(w.unit); ++position)
    for (int64_t channel = 0; channel < c; channel += 2)
      for (int64_t q = 0; q < width; ++q) {
        const int64_t at = (position * c + channel) * width + q;
        *out++ = half(at) | half(at + width) << 16;
      }
}
}  // namespace

void winograd_weights(const Winograd& w, const float* filters, float* out) {
  std::vector<float> plain(w.words ? winograd_positions(w.unit) * w.shape.c * panel(w) : 0);
  for (int64_t q = 0; q < panels(w); ++q, out += panel_elements(w)) {
    const int64_t m = q * panel(w);
    w.table->winograd_weights(w.unit, filters + m * w.shape.c * 9, std::min(panel(w), w.shape.m - m),
                              w.shape.c, w.words ? plain.data() : out);
    if (w.words) pair_channels(w, plain, reinterpret_cast<uint32_t*>(out));
  }
}

int64_t winograd_workspace_bytes(const Winograd& w, int threads) {
  return threads * thread_floats(w) * kFloatBytes;
}

namespace {
void run_images(const Winograd& w, const Images& images, const float* weights, const Epilogue& e, int threads,
                std::byte* workspace) {
  if (w.tiles() == 0 || w.shape.m == 0) return;
  // By tiles as long as each thread has a full register block; what is left of the threads by panels, which
  // transforms the inputs anew for every share: two hundredths of a layer with 256 channels.
  const int64_t by_tiles = std::clamp<int64_t>(w.tiles() / w.table->rows, 1, threads);
  const int64_t by_panels = std::min<int64_t>(threads / by_tiles, panels(w));
  base::parallel_for(by_tiles * by_panels, threads, [&](int64_t share) {
    const int64_t t = share % by_tiles;
    const int64_t q = share / by_tiles;
    Worker worker(w, images, weights, e, workspace + share * thread_floats(w) * kFloatBytes);
    worker.run(w.tiles() * t / by_tiles, w.tiles() * (t + 1) / by_tiles, panels(w) * q / by_panels,
               panels(w) * (q + 1) / by_panels);
  });
}
}  // namespace

void run_winograd(const Winograd& w, const float* x, const float* weights, const Epilogue& e, float* y,
                  int threads, std::byte* workspace) {
  run_images(w, {.x = x, .y = y}, weights, e, threads, workspace);
}

void run_winograd_bf16(const Winograd& w, const uint16_t* x, const float* weights, const Epilogue& e,
                       const uint16_t* residual, uint16_t* y, int threads, std::byte* workspace) {
  run_images(w, {.x16 = x, .residual16 = residual, .y16 = y}, weights, e, threads, workspace);
}

}  // namespace walle::kernels
