#include <cmath>

#include "base/unreached.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/integer_math.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

namespace {
using K = BinaryKind;

// One function per kind of the classes arithmetic and order (tensor/kinds/binary.inc), under its name: a kind
// without one does not compile.
template <class T>
struct Floats {
  static T add(T a, T b) { return a + b; }
  static T sub(T a, T b) { return a - b; }
  static T mul(T a, T b) { return a * b; }
  static T div(T a, T b) { return a / b; }
  // ONNX Mod with fmod = 0 is Python's %, with fmod = 1 C's. Floats should come with the latter, says the
  // specification; the former has a meaning for them too, NumPy's: the sign of the divisor.
  static T mod(T a, T b) {
    const T r = std::fmod(a, b);
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
  }
  static T fmod(T a, T b) { return std::fmod(a, b); }
  // NumPy's floor_divide: the quotient without the rest that std::fmod leaves, rounded because the division
  // itself rounds.
  static T floor_div(T a, T b) {
    if (b == 0) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T(0), a / b);
    const T below = std::floor(quotient);
    return quotient - below > T(0.5) ? below + 1 : below;
  }
  static T power(T a, T b) { return std::pow(a, b); }
  static T prelu(T a, T b) { return a < 0 ? a * b : a; }
  // A NaN in b wins because the comparison is false, one in a because of `a != a`.
  static T min(T a, T b) { return a < b || a != a ? a : b; }
  static T max(T a, T b) { return a > b || a != a ? a : b; }
};

// Integer division traps on x86 for 0 and for INT_MIN / -1; both are data that a model may hold.
template <class T>
struct Integers {
  static T add(T a, T b) { return wrap_add(a, b); }
  static T sub(T a, T b) { return wrap_sub(a, b); }
  static T mul(T a, T b) { return wrap_mul(a, b); }
  static T div(T a, T b) {
    if constexpr (std::is_same_v<T, int32_t>) {
      // In vectors of double: a quotient that is not whole is further from the next whole number than it is
      // rounded by. 0.7 ns, and 1.7 by the instruction.
      const T by = b == 0 || b == -1 ? 1 : b;
      const auto quotient = static_cast<T>(static_cast<double>(a) / static_cast<double>(by));
      return b == 0 ? 0 : b == -1 ? wrap_sub(T(0), a) : quotient;
    }
    return safe_div(a, b);
  }
  static T mod(T a, T b) { return safe_floor_mod(a, b); }
  static T fmod(T a, T b) { return safe_mod(a, b); }
  static T floor_div(T a, T b) { return safe_floor_div(a, b); }
  static T power(T a, T b) { return int_power(a, b); }
  static T prelu(T a, T b) { return a < 0 ? wrap_mul(a, b) : a; }
  static T min(T a, T b) { return a < b ? a : b; }
  static T max(T a, T b) { return a > b ? a : b; }
};

// A cube with what both of its products were rounded by (Dekker 1971), within a unit in the last place as
// std::pow, where two products alone are off by one and a half: 1.2 ns, and 26 by std::pow.
inline double cube(double v) {
  const double square = v * v, plain = square * v;
#if defined(__FMA__) || defined(__aarch64__)
  const double lost = std::fma(v, v, -square), also = std::fma(square, v, -plain);
#else
  const auto high = [](double x) {
    const double shifted = 134217729.0 * x;  // 2^27 + 1: half of the digits
    return shifted - (shifted - x);
  };
  const double a = high(v), b = v - a, c = high(square), d = square - c;
  const double lost = ((a * a - square) + 2 * a * b) + b * b;
  const double also = ((c * a - plain) + (c * b + d * a)) + d * b;
#endif
  const double better = plain + (also + lost * v);
  // What has no halves is infinite, or not a number; a zero keeps its sign. Two choices: of a condition of
  // two parts g++ 12 makes no vectors.
  const double found = better - better == 0 ? better : plain;
  return plain == 0 ? plain : found;
}

// Of one exponent, 2 or 3, for everything: by products, which round as well as std::pow (or better) and take
// a tenth of its time.
template <class T, class Functions>
bool power_by_products(const Broadcast& w, const T* x, const T* y, T* out, int64_t begin, int64_t end) {
  for (int i = 0; i < w.rank; ++i)
    if (w.stride[1][i] != 0) return false;
  if (*y == T(2)) {
    zip(w, x, y, out, begin, end, [](T a, T) { return Functions::mul(a, a); });
    return true;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (*y == 3) {
      zip(w, x, y, out, begin, end, [](double a, double) { return cube(a); });
      return true;
    }
  } else {
    if (*y == T(3)) {
      // Squares of floats are exact in double.
      using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
      using Multiply = std::conditional_t<std::is_same_v<T, float>, Floats<Wide>, Functions>;
      zip(w, x, y, out, begin, end,
          [](T a, T) { return static_cast<T>(Multiply::mul(Multiply::mul(Wide(a), Wide(a)), Wide(a))); });
      return true;
    }
  }
  return false;
}
// Of the types that models raise to powers: each takes a kilobyte.
template <class T>
constexpr bool kRaised = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                         std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;

// Calls of the C library, and divisions of integers that double does not hold.
template <class T>
constexpr bool is_scalar(K kind) {
  return kind == K::mod || kind == K::fmod || kind == K::floor_div || kind == K::power ||
         (kind == K::div && std::is_integral_v<T> && !std::is_same_v<T, int32_t>);
}

template <class T, class Functions>
void run(K kind, const Broadcast& w, const T* x, const T* y, T* out, int64_t begin, int64_t end) {
  if constexpr (kRaised<T>)
    if (kind == K::power && power_by_products<T, Functions>(w, x, y, out, begin, end)) return;
  switch (kind) {
#define WALLE_BINARY_arithmetic(kind)                                                    \
  case K::kind:                                                                          \
    if constexpr (!unsigned_does<T>(K::kind))                                            \
      return zip<is_scalar<T>(K::kind)>(w, x, y, out, begin, end,                        \
                                        [](T a, T b) { return Functions::kind(a, b); }); \
    return base::unreached();
#define WALLE_BINARY_order WALLE_BINARY_arithmetic
#define WALLE_BINARY_REST(kind) \
  case K::kind: return base::unreached();
#include "tensor/kinds/binary.inc"
  }
}
}  // namespace

void run_arithmetic(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                    int64_t begin, int64_t end) {
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Functions = std::conditional_t<std::is_floating_point_v<T>, Floats<T>, Integers<T>>;
    run<T, Functions>(kind, b, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out),
                      begin, end);
  });
}

}  // namespace walle::kernels::detail
