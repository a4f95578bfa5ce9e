// Winograd's minimal filtering for 3 x 3 windows (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016): transforms between pixels and tile positions, and the product at each position.
//
// A unit of 2N outputs takes the points 0, +-p_1 .. +-p_N and infinity. Rows of a pair of points share their
// even and odd parts, so one transform of every unit is written once over N.
#include "kernels/conv/winograd_table.h"
#include "kernels/simd_activation.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

constexpr int kNr = 2 * kLanes;
// As in gemm_simd.cc: accumulators, two vectors of B and one broadcast fill the registers.
#if defined(WALLE_ISA_AVX512)
constexpr int kMr = 14;
#elif defined(WALLE_ISA_NEON)
constexpr int kMr = 12;
#else
constexpr int kMr = 6;
#endif

// The points decide how much rounding grows. Errors against float64 as a multiple of a direct float32 sum's,
// root of the mean square over 64 to 256 channels: 0.6 for +-1; 1.9 to 2.3 for +-sqrt(1/2), +-sqrt(2), and
// 3.6 to 5.2 for the usual +-1, +-2; 7 to 10 for +-1/2, +-1, +-2, the best of 400 triples tried.
template <int N>
struct Points;
template <>
struct Points<1> {
  static constexpr double kSquare[] = {1};
  static constexpr double kPoint[] = {1};
};
template <>
struct Points<2> {
  static constexpr double kSquare[] = {0.5, 2};
  static constexpr double kPoint[] = {0.70710678118654752440, 1.41421356237309504880};
};
template <>
struct Points<3> {
  static constexpr double kSquare[] = {0.25, 1, 4};
  static constexpr double kPoint[] = {0.5, 1, 2};
};

// Coefficients of products over the squares y_j = p_j^2, lowest power first; the highest is 1.
template <int N>
struct Polynomials {
  double all[N + 1] = {};    // of the product of (y - y_j)
  double but[N][N] = {};     // of that without factor i
  double slope[N + 1] = {};  // of x * all(x^2), its derivative at 0 and at every p_i

  constexpr Polynomials() {
    const double* y = Points<N>::kSquare;
    multiply(all, y, -1);
    for (int i = 0; i < N; ++i) multiply(but[i], y, i);
    slope[0] = all[0];
    // x (x^2 - y_i) but_i(x^2) at its root p_i: only the factor's own derivative is left.
    for (int i = 0; i < N; ++i) {
      double at = 1;
      for (int j = 0; j < N; ++j)
        if (j != i) at *= y[i] - y[j];
      slope[i + 1] = 2 * y[i] * at;
    }
  }

 private:
  static constexpr void multiply(double* c, const double* y, int skip) {
    c[0] = 1;
    int degree = 0;
    for (int j = 0; j < N; ++j) {
      if (j == skip) continue;
      for (int k = ++degree; k > 0; --k) c[k] = c[k - 1] - y[j] * (k < degree ? c[k] : 0);
      c[0] *= -y[j];
    }
  }
};

// v = B^T d, in the order 0, p_1, -p_1, .., infinity.
template <int N>
inline __attribute__((always_inline)) void forward(const vf (&d)[2 * N + 2], vf (&v)[2 * N + 2]) {
  constexpr Polynomials<N> c;
  vf zero = d[2 * N];
  vf far = d[2 * N + 1];
#pragma GCC unroll 3
  for (int k = N - 1; k >= 0; --k) {
    zero += static_cast<float>(c.all[k]) * d[2 * k];
    far += static_cast<float>(c.all[k]) * d[2 * k + 1];
  }
  v[0] = zero;
  v[2 * N + 1] = far;
#pragma GCC unroll 3
  for (int i = 0; i < N; ++i) {
    vf even = d[2 * N];
    vf odd = d[2 * N - 1];
#pragma GCC unroll 2
    for (int k = N - 2; k >= 0; --k) {
      even += static_cast<float>(c.but[i][k]) * d[2 * k + 2];
      odd += static_cast<float>(c.but[i][k]) * d[2 * k + 1];
    }
    v[2 * i + 1] = even + static_cast<float>(Points<N>::kPoint[i]) * odd;
    v[2 * i + 2] = even - static_cast<float>(Points<N>::kPoint[i]) * odd;
  }
}

// Powers p_i^k of the points: a row per output.
template <int N>
struct Powers {
  float at[2 * N][N] = {};
  constexpr Powers() {
    for (int i = 0; i < N; ++i) {
      double power = 1;
      for (int k = 0; k < 2 * N; ++k, power *= Points<N>::kPoint[i]) at[k][i] = static_cast<float>(power);
    }
  }
};

// y = A^T m.
template <int N>
inline __attribute__((always_inline)) void inverse(const vf (&m)[2 * N + 2], vf (&y)[2 * N]) {
  constexpr Powers<N> power;
  vf even[N], odd[N];
#pragma GCC unroll 3
  for (int i = 0; i < N; ++i) {
    even[i] = m[2 * i + 1] + m[2 * i + 2];
    odd[i] = m[2 * i + 1] - m[2 * i + 2];
  }
  y[0] = m[0];
#pragma GCC unroll 3
  for (int i = 0; i < N; ++i) y[0] += even[i];
#pragma GCC unroll 6
  for (int k = 1; k < 2 * N; ++k) {
    vf sum = k == 2 * N - 1 ? m[2 * N + 1] : vf{};
#pragma GCC unroll 3
    for (int i = 0; i < N; ++i) {
      const vf part = k % 2 ? odd[i] : even[i];
      sum = i == 0 && k < 2 * N - 1 ? part * power.at[k][i] : sum + part * power.at[k][i];
    }
    y[k] = sum;
  }
}

// U = G g G^T in double, of kNr filters at once, rounded once.
template <int N>
void one_channel(const double (&g)[9][kNr], float* out, int64_t step) {
  constexpr Polynomials<N> c;
  constexpr int kSide = 2 * N + 2;
  double rows[kSide][3] = {};
  rows[0][0] = 1 / c.slope[0];
  rows[kSide - 1][2] = 1;
  for (int i = 0; i < N; ++i)
    for (int s = 0; s < 2; ++s) {
      const double p = s ? -Points<N>::kPoint[i] : Points<N>::kPoint[i];
      double* row = rows[2 * i + 1 + s];
      row[0] = 1 / c.slope[i + 1];
      row[1] = p / c.slope[i + 1];
      row[2] = Points<N>::kSquare[i] / c.slope[i + 1];
    }
  for (int i = 0; i < kSide; ++i) {
    double half[3][kNr];
    for (int j = 0; j < 3; ++j)
      for (int q = 0; q < kNr; ++q)
        half[j][q] = rows[i][0] * g[j][q] + rows[i][1] * g[3 + j][q] + rows[i][2] * g[6 + j][q];
    for (int t = 0; t < kSide; ++t) {
      float* to = out + (i * kSide + t) * step;
      for (int q = 0; q < kNr; ++q)
        to[q] =
            static_cast<float>(rows[t][0] * half[0][q] + rows[t][1] * half[1][q] + rows[t][2] * half[2][q]);
    }
  }
}

void weights(int unit, const float* filters, int64_t count, int64_t channels, float* out) {
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

// One row of a strip: pixels [from, to) of the image, at most `channels` channels, to [pixel][lane]. Blocks
// of four by four: 128-bit vectors exist in every set.
void spread_row(const float* row, int64_t plane, int64_t channels, int64_t pixels, float* out) {
  int64_t ch = 0;
  for (; ch + 4 <= channels; ch += 4) {
    const float* r = row + ch * plane;
    float* o = out + ch;
    int64_t x = 0;
    for (; x + 4 <= pixels; x += 4) {
      vf4 a = *reinterpret_cast<const vf4_any*>(r + x);
      vf4 b = *reinterpret_cast<const vf4_any*>(r + plane + x);
      vf4 c = *reinterpret_cast<const vf4_any*>(r + 2 * plane + x);
      vf4 d = *reinterpret_cast<const vf4_any*>(r + 3 * plane + x);
      transpose4(a, b, c, d);
      *reinterpret_cast<vf4_any*>(o + x * kLanes) = a;
      *reinterpret_cast<vf4_any*>(o + (x + 1) * kLanes) = b;
      *reinterpret_cast<vf4_any*>(o + (x + 2) * kLanes) = c;
      *reinterpret_cast<vf4_any*>(o + (x + 3) * kLanes) = d;
    }
    for (; x < pixels; ++x)
      for (int q = 0; q < 4; ++q) o[x * kLanes + q] = r[q * plane + x];
  }
  for (; ch < channels; ++ch)
    for (int64_t x = 0; x < pixels; ++x) out[x * kLanes + ch] = row[ch * plane + x];
  // Lanes without a channel are transformed with the others; rubbish there could be subnormal and slow.
  for (; ch < kLanes; ++ch)
    for (int64_t x = 0; x < pixels; ++x) out[x * kLanes + ch] = 0;
}

inline void clear(float* out, int64_t pixels) {
  for (int64_t x = 0; x < pixels; ++x) store(out + x * kLanes, vf{});
}

void strip(const WinogradStrip& s) {
  const int64_t left = min64(max64(-s.col, 0), s.cols);
  const int64_t right = max64(min64(s.w - s.col, s.cols), left);
  for (int64_t r = 0; r < s.rows; ++r) {
    float* out = s.out + r * s.cols * kLanes;
    const int64_t from = s.row + r;
    if (from < 0 || from >= s.h) {
      clear(out, s.cols);
      continue;
    }
    clear(out, left);
    spread_row(s.image + from * s.w + s.col + left, s.plane, s.channels, right - left, out + left * kLanes);
    clear(out + right * kLanes, s.cols - right);
  }
}

template <int N>
void input_tiles(const WinogradInput& in) {
  constexpr int kSide = 2 * N + 2;
  const int64_t pitch = in.cols * kLanes;
  for (int64_t q = 0; q < in.count; ++q) {
    const int64_t p = in.first + q;
    const float* from =
        in.strip + (p / in.across * 2 * N - in.row) * pitch + (p % in.across * 2 * N - in.col) * kLanes;
    vf half[kSide][kSide];
    for (int j = 0; j < kSide; ++j) {
      vf d[kSide], v[kSide];
#pragma GCC unroll 8
      for (int i = 0; i < kSide; ++i) d[i] = load(from + i * pitch + j * kLanes);
      forward<N>(d, v);
#pragma GCC unroll 8
      for (int i = 0; i < kSide; ++i) half[i][j] = v[i];
    }
    float* to = in.out + q * kLanes;
    for (int i = 0; i < kSide; ++i) {
      vf v[kSide];
      forward<N>(half[i], v);
#pragma GCC unroll 8
      for (int j = 0; j < kSide; ++j) store(to + j * in.step, v[j]);
      to += kSide * in.step;
    }
  }
}

void input(int unit, const WinogradInput& in) {
  if (unit == 2) input_tiles<1>(in);
  if (unit == 4) input_tiles<2>(in);
  if (unit == 6) input_tiles<3>(in);
}

template <int M, int V>
void tile(const float* a, int64_t a_block, const float* b, int64_t channels, float* c) {
  vf acc[M][V] = {};
  for (int64_t block = 0; block < channels; block += kLanes) {
    const float* __restrict p = a;
    const int64_t n = min64(kLanes, channels - block);
#pragma GCC unroll 2
    for (int64_t l = 0; l < n; ++l) {
      vf bv[V];
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) bv[v] = load(b + v * kLanes);
#pragma GCC unroll 14
      for (int i = 0; i < M; ++i) {
        const vf av = splat(p[i * kLanes]);
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) acc[i][v] += av * bv[v];
      }
      ++p;
      b += kNr;
    }
    a += a_block;
  }
#pragma GCC unroll 14
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) store(c + i * kNr + v * kLanes, acc[i][v]);
}

using Tile = void (*)(const float*, int64_t, const float*, int64_t, float*);

template <int V>
Tile tile_for(int64_t rows) {
  static constexpr Tile tiles[] = {
      tile<1, V>,  tile<2, V>,  tile<3, V>, tile<4, V>,  tile<5, V>,  tile<6, V>,
#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_NEON)
      tile<7, V>,  tile<8, V>,  tile<9, V>, tile<10, V>, tile<11, V>, tile<12, V>,
#if defined(WALLE_ISA_AVX512)
      tile<13, V>, tile<14, V>,
#endif
#endif
  };
  static_assert(sizeof tiles / sizeof tiles[0] == static_cast<unsigned long>(kMr));
  return tiles[rows - 1];
}

void product(const WinogradProduct& p) {
  const bool narrow = p.filters <= kLanes;
  // Equal register blocks: 16 tiles as 8 + 8 keep the multiply-adds busy, 14 + 2 would wait for latency.
  const int64_t blocks = (p.tiles + kMr - 1) / kMr;
  for (int64_t t = 0; t < p.positions; ++t)
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t from = p.tiles * i / blocks;
      const int64_t rows = p.tiles * (i + 1) / blocks - from;
      (narrow ? tile_for<1>(rows) : tile_for<2>(rows))(p.a + t * p.a_step + from * kLanes, p.a_block,
                                                       p.b + t * p.channels * kNr, p.channels,
                                                       p.c + t * p.c_step + from * kNr);
    }
}

// Where pixels of some channels go; at most `pixels` of a group of four exist.
struct Corner {
  float* out;
  const float* residual;  // or null
  int64_t plane;
  int64_t pixels, channels;
  bool bounded;
  float low, high;
};

template <int kPixels>
inline void emit(vf4 x, int64_t ch, const Corner& c) {
  const int64_t n = kPixels > 0 ? kPixels : c.pixels;
  float* to = c.out + ch * c.plane;
  if (c.residual) {
    const float* r = c.residual + ch * c.plane;
    vf4 shortcut = {};
    memcpy(&shortcut, r, n * sizeof(float));
    x += shortcut;
    if (c.bounded) {
      x = x < c.low ? vf4{c.low, c.low, c.low, c.low} : x;
      x = x > c.high ? vf4{c.high, c.high, c.high, c.high} : x;
    }
  }
  memcpy(to, &x, n * sizeof(float));
}

// Pixels [pixel][lane], from `col` on, to rows of channels. kPixels: how many there are; 0: Corner says so.
template <int kUnit, int kPixels>
inline void emit_pixels(const vf (&row)[kUnit], int col, const Corner& c) {
  const float* lanes = reinterpret_cast<const float*>(row) + col * kLanes;
  // A group of fewer than four pixels repeats its last one, which is not stored.
  const int last = kUnit - col < 4 ? kUnit - col - 1 : 3;
  for (int64_t ch = 0; ch < c.channels; ch += 4) {
    vf4 x0 = *reinterpret_cast<const vf4_any*>(lanes + ch);
    vf4 x1 = *reinterpret_cast<const vf4_any*>(lanes + kLanes + ch);
    vf4 x2 = *reinterpret_cast<const vf4_any*>(lanes + (last < 2 ? last : 2) * kLanes + ch);
    vf4 x3 = *reinterpret_cast<const vf4_any*>(lanes + last * kLanes + ch);
    transpose4(x0, x1, x2, x3);
    emit<kPixels>(x0, ch, c);
    if (ch + 1 < c.channels) emit<kPixels>(x1, ch + 1, c);
    if (ch + 2 < c.channels) emit<kPixels>(x2, ch + 2, c);
    if (ch + 3 < c.channels) emit<kPixels>(x3, ch + 3, c);
  }
}

template <int kUnit>
inline void emit_row(const vf (&row)[kUnit], int col, const Corner& c) {
  if (c.pixels == 4) return emit_pixels<kUnit, 4>(row, col, c);
  if (c.pixels == 2) return emit_pixels<kUnit, 2>(row, col, c);
  emit_pixels<kUnit, 0>(row, col, c);
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
    // A residual is added in rows of pixels and comes before the activation.
    if (bounded && !e.residual) {
#pragma GCC unroll 6
      for (int j = 0; j < kUnit; ++j) y[j] = clamp(y[j], e.alpha, e.beta);
    } else if (e.activation != Activation::none && !e.residual) {
      activate_block(reinterpret_cast<float*>(y), 0, 1, kUnit * kLanes, e.activation, e.alpha, e.beta);
    }
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
    if (e.residual && e.activation > Activation::clamp)
      activate_block(o.out + at, plane, channels, cols, e.activation, e.alpha, e.beta);
  }
}

template <int N>
void output_tiles(const WinogradOutput& o) {
  for (int64_t channel = 0; channel < o.filters; channel += kLanes) {
    const float* from = o.epilogue.row_bias;
    const vf bias = from ? load_n(from + channel, min64(o.filters - channel, kLanes)) : vf{};
    for (int64_t q = 0; q < o.count; ++q) {
      const int64_t p = o.first + q;
      output_tile<N>(o, o.sums + q * kNr + channel, p / o.across, p % o.across, channel, bias);
    }
  }
}

void output(int unit, const WinogradOutput& o) {
  if (unit == 2) output_tiles<1>(o);
  if (unit == 4) output_tiles<2>(o);
  if (unit == 6) output_tiles<3>(o);
}
}  // namespace

extern const WinogradTable kWinogradF32;
const WinogradTable kWinogradF32 = {.lanes = kLanes,
                                    .rows = kMr,
                                    .weights = weights,
                                    .strip = strip,
                                    .input = input,
                                    .product = product,
                                    .output = output};

}  // namespace walle::kernels::WALLE_ISA_NS
