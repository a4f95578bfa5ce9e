// The transforms of Winograd's minimal filtering for windows of 3 x 3 (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016), made from their points.
//
// A unit of 2N outputs takes the points 0, +-p_1 .. +-p_N and infinity. Rows of a pair of points share their
// even and odd parts, so one transform of every unit is written once over N.
#pragma once

#include "kernels/simd_tiles.h"

namespace walle::kernels::WALLE_ISA_NS {
namespace {

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

}  // namespace
}  // namespace walle::kernels::WALLE_ISA_NS
