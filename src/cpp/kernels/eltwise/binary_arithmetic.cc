#include <cmath>

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/integer_math.h"
#include "kernels/eltwise/zip.h"

namespace walle::kernels::detail {

namespace {
using K = BinaryKind;

// NumPy's remainder: the sign of the divisor.
template <class T>
T floor_mod(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

// NumPy's floor_divide: the quotient without the rest that std::fmod leaves, rounded because the division
// itself rounds.
template <class T>
T floor_div(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T below = std::floor(quotient);
  return quotient - below > T(0.5) ? below + 1 : below;
}

template <class T>
void run_float(K kind, const Broadcast& w, const T* x, const T* y, T* out, int64_t begin, int64_t end) {
  switch (kind) {
    case K::add: return zip(w, x, y, out, begin, end, [](T a, T b) { return a + b; });
    case K::sub: return zip(w, x, y, out, begin, end, [](T a, T b) { return a - b; });
    case K::mul: return zip(w, x, y, out, begin, end, [](T a, T b) { return a * b; });
    case K::div: return zip(w, x, y, out, begin, end, [](T a, T b) { return a / b; });
    // ONNX Mod with fmod = 0 is Python's %, with fmod = 1 C's. Floats should come with the latter, says the
    // specification; the former has a meaning for them too, NumPy's.
    case K::mod: return zip(w, x, y, out, begin, end, [](T a, T b) { return floor_mod(a, b); });
    case K::fmod: return zip(w, x, y, out, begin, end, [](T a, T b) { return std::fmod(a, b); });
    case K::floor_div: return zip(w, x, y, out, begin, end, [](T a, T b) { return floor_div(a, b); });
    case K::power: return zip(w, x, y, out, begin, end, [](T a, T b) { return std::pow(a, b); });
    // A NaN in b wins because the comparison is false, one in a because of `a != a`.
    case K::min: return zip(w, x, y, out, begin, end, [](T a, T b) { return a < b || a != a ? a : b; });
    case K::max: return zip(w, x, y, out, begin, end, [](T a, T b) { return a > b || a != a ? a : b; });
    default: return zip(w, x, y, out, begin, end, [](T a, T b) { return a < 0 ? a * b : a; });  // prelu
  }
}

template <class T>
void run_integer(K kind, const Broadcast& w, const T* x, const T* y, T* out, int64_t begin, int64_t end) {
  switch (kind) {
    case K::add: return zip(w, x, y, out, begin, end, wrap_add<T>);
    case K::sub: return zip(w, x, y, out, begin, end, wrap_sub<T>);
    case K::mul: return zip(w, x, y, out, begin, end, wrap_mul<T>);
    // Integer division traps on x86 for 0 and for INT_MIN / -1; both are data that a model may hold.
    case K::div: return zip(w, x, y, out, begin, end, safe_div<T>);
    case K::mod: return zip(w, x, y, out, begin, end, safe_floor_mod<T>);
    case K::fmod: return zip(w, x, y, out, begin, end, safe_mod<T>);
    case K::floor_div: return zip(w, x, y, out, begin, end, safe_floor_div<T>);
    case K::power: return zip(w, x, y, out, begin, end, int_power<T>);
    case K::min: return zip(w, x, y, out, begin, end, [](T a, T b) { return a < b ? a : b; });
    case K::max: return zip(w, x, y, out, begin, end, [](T a, T b) { return a > b ? a : b; });
    default:
      return zip(w, x, y, out, begin, end, [](T a, T b) { return a < 0 ? wrap_mul(a, b) : a; });  // prelu
  }
}
}  // namespace

void run_arithmetic(BinaryKind kind, DType dtype, const Broadcast& b, const void* x, const void* y, void* out,
                    int64_t begin, int64_t end) {
  tensor::visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>)
      run_float(kind, b, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out), begin,
                end);
    else
      run_integer(kind, b, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out), begin,
                  end);
  });
}

}  // namespace walle::kernels::detail
