// Convolutions with channels in lanes: Winograd's transforms, the product at each position, and what lies
// between them and rows of pixels.
#include "kernels/conv/lane_product_simd.h"
#include "kernels/conv/winograd_input_simd.h"
#include "kernels/simd_activation.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
void spread_weights(const float* filters, int64_t count, int64_t channels, float* out) {
  for (int64_t ch = 0; ch < channels; ++ch)
    for (int64_t q = 0; q < kNr; ++q) out[ch * kNr + q] = q < count ? filters[q * channels + ch] : 0;
}

void winograd_weights(int unit, const float* filters, int64_t count, int64_t channels, float* out) {
  for (int64_t ch = 0; ch < channels; ++ch) {
    double g[9][kNr] = {};
    for (int64_t q = 0; q < count; ++q)
      for (int t = 0; t < 9; ++t) g[t][q] = filters[(q * channels + ch) * 9 + t];
    float* to = out + ch * kNr;
    if (unit == 2) one_channel<1>(g, to, channels * kNr);
    if (unit == 4) one_channel<2>(g, to, channels * kNr);
    if (unit == 6) one_channel<3>(g, to, channels * kNr);
  }
}

void input(int unit, const WinogradInput& in) {
  const auto put = [](float* to, vf x) { store(to, x); };
  if (unit == 2) input_tiles<1, kLanes>(in, in.out, put);
  if (unit == 4) input_tiles<2, kLanes>(in, in.out, put);
  if (unit == 6) input_tiles<3, kLanes>(in, in.out, put);
}

// Bounds, while channels are in lanes. A residual is added in rows of pixels and comes before them. Functions
// are for whoever has more than a few vectors: see activate_tiles().
template <int P>
inline void bound(vf (&y)[P], const Epilogue& e) {
  if (e.residual || e.activation != Activation::clamp) return;
#pragma GCC unroll 6
  for (int j = 0; j < P; ++j) y[j] = clamp(y[j], e.alpha, e.beta);
}

// A row of pixels whose channels stay side by side.
template <int P>
inline void emit_blocks(vf (&y)[P], int64_t pixels, const Epilogue& e, int64_t pixel, float* out,
                        const float* residual) {
  Epilogue tail = e;
  tail.residual = nullptr;
  for (int j = 0; residual && j < pixels; ++j) y[j] += load(residual + j * pixel);
  bound(y, tail);
  for (int j = 0; j < pixels; ++j) store(out + j * pixel, y[j]);
}

// One tile of one vector of channels, [channel] being the first.
template <int N>
void output_tile(const WinogradOutput& o, const float* sums, int64_t ty, int64_t tx, int64_t channel,
                 vf bias) {
  constexpr int kSide = 2 * N + 2;
  constexpr int kUnit = 2 * N;
  const Epilogue& e = o.epilogue;
  vf half[kUnit][kSide];
  for (int j = 0; j < kSide; ++j) {
    vf m[kSide], y[kUnit];
#pragma GCC unroll 8
    for (int i = 0; i < kSide; ++i) m[i] = load(sums + (i * kSide + j) * o.step);
    inverse<N>(m, y);
#pragma GCC unroll 6
    for (int i = 0; i < kUnit; ++i) half[i][j] = y[i];
  }
  const int64_t plane = o.oh * o.ow;
  const int64_t channels = min64(o.filters - channel, kLanes);
  const int64_t rows = min64(o.oh - ty * kUnit, kUnit);
  const int64_t cols = min64(o.ow - tx * kUnit, kUnit);
  const bool bounded = e.activation == Activation::clamp;
  for (int64_t r = 0; r < rows; ++r) {
    vf y[kUnit];
    inverse<N>(half[r], y);
#pragma GCC unroll 6
    for (int j = 0; j < kUnit; ++j) y[j] += bias;
    if (o.pixel > 1) {
      const int64_t first = (channel ? o.vector : 0) + ((ty * kUnit + r) * o.ow + tx * kUnit) * o.pixel;
      emit_blocks(y, cols, e, o.pixel, o.out + first, e.residual ? e.residual + first : nullptr);
      continue;
    }
    bound(y, e);
    const int64_t at = channel * plane + (ty * kUnit + r) * o.ow + tx * kUnit;
#pragma GCC unroll 2
    for (int col = 0; col < kUnit; col += 4) {
      if (col >= cols) break;
      emit_row<kUnit>(y, col,
                      {.out = o.out + at + col,
                       .residual = e.residual ? e.residual + at + col : nullptr,
                       .plane = plane,
                       .pixels = min64(cols - col, 4),
                       .channels = channels,
                       .bounded = bounded,
                       .low = e.alpha,
                       .high = e.beta});
    }
  }
}

// The outputs of tiles [first, last) of one row of tiles, of one vector of channels. Called for each row of a
// tile, a hard swish took three times as long as the transform (12 ns a vector for 0.7).
void activate_tiles(const WinogradOutput& o, int unit, int64_t first, int64_t last, int64_t channel) {
  const Epilogue& e = o.epilogue;
  const int64_t row = first / o.across * unit;
  const int64_t rows = min64(o.oh - row, unit);
  const int64_t col = first % o.across * unit;
  const int64_t cols = min64(o.ow, ((last - 1) % o.across + 1) * unit) - col;
  const int64_t from = row * o.ow + col;
  const bool whole = cols == o.ow;  // rows follow each other
  const auto activate = [&](float* y, int64_t ld, int64_t lines, int64_t floats) {
    activate_block(y, ld, lines, floats, e.activation, e.alpha, e.beta);
  };
  if (o.pixel == 1) {
    const int64_t plane = o.oh * o.ow;
    const int64_t channels = min64(o.filters - channel, kLanes);
    float* y = o.out + channel * plane + from;
    if (whole) return activate(y, plane, channels, rows * cols);
    for (int64_t r = 0; r < rows; ++r) activate(y + r * o.ow, plane, channels, cols);
    return;
  }
  float* y = o.out + (channel ? o.vector : 0) + from * o.pixel;
  if (o.pixel == kLanes) return activate(y, o.ow * o.pixel, rows, cols * o.pixel);
  for (int64_t r = 0; r < rows; ++r) activate(y + r * o.ow * o.pixel, o.pixel, cols, kLanes);
}

template <int N>
void output_tiles(const WinogradOutput& o) {
  for (int64_t channel = 0; channel < o.filters; channel += kLanes) {
    const float* from = o.epilogue.row_bias;
    const vf bias = from ? load_n(from + channel, min64(o.filters - channel, kLanes)) : vf{};
    int64_t done = o.first;  // outputs before this tile are complete
    for (int64_t q = 0; q < o.count; ++q) {
      const int64_t p = o.first + q;
      output_tile<N>(o, o.sums + q * kNr + channel, p / o.across, p % o.across, channel, bias);
      if ((p + 1) % o.across && q + 1 < o.count) continue;
      if (o.epilogue.activation > Activation::clamp) activate_tiles(o, 2 * N, done, p + 1, channel);
      done = p + 1;
    }
  }
}

void output(int unit, const WinogradOutput& o) {
  if (unit == 2) output_tiles<1>(o);
  if (unit == 4) output_tiles<2>(o);
  if (unit == 6) output_tiles<3>(o);
}

#if defined(WALLE_ISA_AVX512)
// As many pixels as channels, of which `n` exist.
inline void square_of_pixels(const LaneOutput& o, int64_t channel, int64_t p, int64_t n, vf bias) {
  const Epilogue& e = o.epilogue;
  const vf low = splat(e.activation == Activation::clamp ? e.alpha : -__builtin_inff());
  const vf high = splat(e.activation == Activation::clamp ? e.beta : __builtin_inff());
  vf y[16];
#pragma GCC unroll 16
  for (int q = 0; q < 16; ++q) y[q] = load(o.sums + (p + min64(q, n - 1)) * kNr + channel) + bias;
  transpose16(y);
  const int64_t channels = min64(o.filters - channel, kLanes);
  const int64_t plane = o.plane;
  const float* from = e.residual ? e.residual + channel * plane + p : nullptr;
  float* to = o.out + channel * plane + p;
#pragma GCC unroll 16
  for (int q = 0; q < 16; ++q) {
    if (q >= channels) break;
    vf x = y[q];
    if (from) x += load_n(from + q * plane, n);
    store_n(to + q * plane, min_keep_nan(high, max_keep_nan(low, x)), n);
  }
}
#endif

// Sums [pixel][2 * lanes] back to rows, four pixels at a time.
void four_pixels(const LaneOutput& o, int64_t channel, int64_t p, vf bias) {
  const Epilogue& e = o.epilogue;
  const int64_t channels = min64(o.filters - channel, kLanes);
  const int64_t n = min64(o.pixels - p, 4);
  vf y[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) y[q] = load(o.sums + (p + min64(q, n - 1)) * kNr + channel) + bias;
  bound(y, e);
  const int64_t at = channel * o.plane + p;
  emit_row<4>(y, 0,
              {.out = o.out + at,
               .residual = e.residual ? e.residual + at : nullptr,
               .plane = o.plane,
               .pixels = n,
               .channels = channels,
               .bounded = e.activation == Activation::clamp,
               .low = e.alpha,
               .high = e.beta});
}

void pixels(const LaneOutput& given) {
  LaneOutput o = given;
  Epilogue& e = o.epilogue;
  const bool curved = e.activation > Activation::clamp;
  // All pixels at once: called for four of them at a time a hard swish took as long as the product (27 x 32).
  if (curved && !e.residual) {
    for (int64_t p = 0; e.row_bias && p < o.pixels; ++p)
      for (int64_t q = 0; q < o.filters; ++q) o.sums[p * kNr + q] += e.row_bias[q];
    activate_block(o.sums, kNr, o.pixels, o.filters, e.activation, e.alpha, e.beta);
    e.row_bias = nullptr;
    e.activation = Activation::none;
  }
  for (int64_t channel = 0; channel < o.filters; channel += kLanes) {
    const int64_t channels = min64(o.filters - channel, kLanes);
    const vf bias = e.row_bias ? load_n(e.row_bias + channel, channels) : vf{};
    int64_t p = 0;
#if defined(WALLE_ISA_AVX512)
    for (; o.pixels - p > 8; p += kLanes) square_of_pixels(o, channel, p, min64(o.pixels - p, kLanes), bias);
#endif
    for (; p < o.pixels; p += 4) four_pixels(o, channel, p, bias);
    if (curved && e.residual)
      activate_block(o.out + channel * o.plane, o.plane, channels, o.pixels, e.activation, e.alpha, e.beta);
  }
}
}  // namespace

extern const ChannelLanesTable kChannelLanesF32;
const ChannelLanesTable kChannelLanesF32 = {.lanes = kLanes,
                                            .rows = kMr,
                                            .strip = strip,
                                            .product = product,
                                            .windows = windows,
                                            .weights = spread_weights,
                                            .pixels = pixels,
                                            .winograd_weights = winograd_weights,
                                            .winograd_input = input,
                                            .winograd_output = output};

}  // namespace walle::kernels::WALLE_ISA_NS
