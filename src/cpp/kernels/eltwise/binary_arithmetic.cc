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
  static T div(T a, T b) { return safe_div(a, b); }
  static T mod(T a, T b) { return safe_floor_mod(a, b); }
  static T fmod(T a, T b) { return safe_mod(a, b); }
  static T floor_div(T a, T b) { return safe_floor_div(a, b); }
  static T power(T a, T b) { return int_power(a, b); }
  static T prelu(T a, T b) { return a < 0 ? wrap_mul(a, b) : a; }
  static T min(T a, T b) { return a < b ? a : b; }
  static T max(T a, T b) { return a > b ? a : b; }
};

template <class T, class Functions>
void run(K kind, const Broadcast& w, const T* x, const T* y, T* out, int64_t begin, int64_t end) {
  switch (kind) {
#define WALLE_BINARY_arithmetic(kind) \
  case K::kind: return zip(w, x, y, out, begin, end, [](T a, T b) { return Functions::kind(a, b); });
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
