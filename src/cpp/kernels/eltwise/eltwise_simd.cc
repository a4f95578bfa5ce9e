// Element-wise f32 functions on dense runs.
#include "kernels/eltwise/eltwise_table.h"
#include "kernels/simd_activation.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
template <class Fn>
// The whole rest goes through the same instructions as full vectors, so that a value does not depend on its
// place in the row.
inline void map(const float* x, float* y, int64_t n, Fn fn) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, fn(load(x + i)));
  if (i < n) store_n(y + i, fn(load_n(x + i, n - i)), n - i);
}

template <Activation A>
void run_activation(const float* x, float* y, int64_t n, float alpha, float beta) {
  map(x, y, n, [=](vf v) { return activate<A>(v, alpha, beta); });
}
void run_exp(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return exp(v); });
}
void run_erf(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return erf(v); });
}
void run_sqrt(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return square_root(v); });
}
void run_abs(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return abs(v); });
}
void run_neg(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return -v; });
}
// A division: the approximate reciprocal instructions give 12 to 14 bits, and their Newton steps as many
// operations as a division takes.
void run_reciprocal(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return 1.0f / v; });
}

void run_log(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return log(v); });
}
void run_softplus(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return softplus(v); });
}
void run_softsign(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return v / (1.0f + abs(v)); });
}
void run_floor(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return floor(v); });
}
void run_ceil(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return ceil(v); });
}
void run_round(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return round_to_even(v); });
}
// Zeros and NaN are their own signs.
void run_sign(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return abs(v) > 0.0f ? copy_sign(splat(1.0f), v) : v; });
}
void run_sin(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return sin(v); });
}
void run_cos(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return cos(v); });
}
void run_asin(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return asin(v); });
}
void run_acos(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return acos(v); });
}
void run_atan(const float* x, float* y, int64_t n, float, float) {
  map(x, y, n, [](vf v) { return atan(v); });
}
void run_celu(const float* x, float* y, int64_t n, float alpha, float) {
  map(x, y, n, [=](vf v) { return exponential_below(v, v / alpha, alpha, v); });
}
void run_selu(const float* x, float* y, int64_t n, float alpha, float gamma) {
  map(x, y, n, [=](vf v) { return gamma * exponential_below(v, v, alpha, v); });
}
void run_shrink(const float* x, float* y, int64_t n, float lambda, float bias) {
  map(x, y, n, [=](vf v) { return v < -lambda ? v + bias : v > lambda ? v - bias : splat(0.0f); });
}
void run_thresholded_relu(const float* x, float* y, int64_t n, float alpha, float) {
  map(x, y, n, [=](vf v) { return v > alpha ? v : splat(0.0f); });
}

#if defined(WALLE_ISA_AVX512) || defined(WALLE_ISA_AVX2)
#define WALLE_HAS_HALF 1
void to_half(const float* x, uint16_t* y, int64_t n) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), kNearest));
  for (; i < n; ++i) y[i] = static_cast<uint16_t>(_cvtss_sh(x[i], kNearest));
}
void from_half(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  for (; i < n; ++i) y[i] = _cvtsh_ss(x[i]);
}
#endif

bool to_int32(const float* x, int32_t* y, int64_t n) {
  vi beyond{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const vf v = load(x + i);
    beyond |= ~(abs(v) < 2147483648.0f);  // of NaN, too
    const vi whole = to_int_truncated(v);
    memcpy(y + i, &whole, sizeof whole);
  }
  if (any(beyond)) return false;
  for (; i < n; ++i) {
    if (!(__builtin_fabsf(x[i]) < 2147483648.0f)) return false;
    y[i] = static_cast<int32_t>(x[i]);
  }
  return true;
}

// Min and Max of the tables are ONNX's: NaN wins from either side.
enum class Op { add, sub, mul, div, min, max, prelu };

template <Op O>
inline vf combine(vf a, vf b) {
  if constexpr (O == Op::add) return a + b;
  if constexpr (O == Op::sub) return a - b;
  if constexpr (O == Op::mul) return a * b;
  if constexpr (O == Op::div) return a / b;
  // min and max give their second operand when either is NaN; a NaN in the first is put back.
  if constexpr (O == Op::min) return a == a ? min_keep_nan(a, b) : a;
  if constexpr (O == Op::max) return a == a ? max_keep_nan(a, b) : a;
  // Without a branch: signs are as good as random, and a wrong guess costs more than 16 elements here.
  if constexpr (O == Op::prelu) return a < 0.0f ? a * b : a;
}

// Strides of 0 repeat one element: the three forms that occur, each with its repeated operand in a register.
template <Op O>
void run_binary(const float* x, int64_t xs, const float* y, int64_t ys, float* out, int64_t n) {
  int64_t i = 0;
  if (xs && ys) {
    for (; i + kLanes <= n; i += kLanes) store(out + i, combine<O>(load(x + i), load(y + i)));
    if (i < n) store_n(out + i, combine<O>(load_n(x + i, n - i), load_n(y + i, n - i)), n - i);
  } else if (xs) {
    const vf b = splat(*y);
    for (; i + kLanes <= n; i += kLanes) store(out + i, combine<O>(load(x + i), b));
    if (i < n) store_n(out + i, combine<O>(load_n(x + i, n - i), b), n - i);
  } else {
    const vf a = splat(*x);
    for (; i + kLanes <= n; i += kLanes) store(out + i, combine<O>(a, ys ? load(y + i) : splat(*y)));
    if (i < n) store_n(out + i, combine<O>(a, ys ? load_n(y + i, n - i) : splat(*y)), n - i);
  }
}
}  // namespace

extern const EltwiseTable kEltwiseF32;
const EltwiseTable kEltwiseF32 = {
    .activation =
        {
#define WALLE_ACTIVATION(kind, name) run_activation<Activation::kind>,
#include "tensor/kinds/activation.inc"
        },
    .exp = run_exp,
    .erf = run_erf,
    .sqrt = run_sqrt,
    .abs = run_abs,
    .neg = run_neg,
    .reciprocal = run_reciprocal,
    .log = run_log,
    .softplus = run_softplus,
    .softsign = run_softsign,
    .floor = run_floor,
    .ceil = run_ceil,
    .round = run_round,
    .sign = run_sign,
    .sin = run_sin,
    .cos = run_cos,
    .asin = run_asin,
    .acos = run_acos,
    .atan = run_atan,
    .celu = run_celu,
    .selu = run_selu,
    .shrink = run_shrink,
    .thresholded_relu = run_thresholded_relu,
#if defined(WALLE_HAS_HALF)
    .to_half = to_half,
    .from_half = from_half,
#endif
    .to_int32 = to_int32,
    .add = run_binary<Op::add>,
    .sub = run_binary<Op::sub>,
    .mul = run_binary<Op::mul>,
    .div = run_binary<Op::div>,
    .min = run_binary<Op::min>,
    .max = run_binary<Op::max>,
    .prelu = run_binary<Op::prelu>,
};

}  // namespace walle::kernels::WALLE_ISA_NS
