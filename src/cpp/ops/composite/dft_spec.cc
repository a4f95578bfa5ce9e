#include "ops/composite/dft_spec.h"

#include <cmath>

namespace walle::ops {

namespace {
Error wrong(Text given, Text expected) {
  return model_error(given, expected, "DFT", "check the node's inputs");
}

// Trial division: lengths stay below 2^24, so at most 4,096 steps.
int64_t largest_prime(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return n > 1 ? n : largest;
}

Result<DftSpec> make(const ir::Attributes& attrs, const Shape& x, const std::vector<int64_t>& length,
                     const std::vector<int64_t>& axis) {
  DftSpec s;
  s.inverse = attrs.get_int("inverse", 0) != 0;
  s.onesided = attrs.get_int("onesided", 0) != 0;
  if (x.rank() < 2 || (x.back() != 1 && x.back() != 2))
    return wrong({"input of shape ", x.text()}, "[..., n, 1 or 2]");
  // Half a spectrum is that of a real signal, so the forward transform takes real numbers and the inverse
  // gives them.
  if (s.onesided && x.back() != (s.inverse ? 2 : 1))
    return wrong({"onesided=1 on ", x.text()},
                 "real numbers for a forward transform, complex ones for an inverse");
  if (axis.size() > 1 || length.size() > 1) return wrong("an axis or length of several numbers", "scalars");
  // Input 2 since opset 20; the converter makes it of opset 17's attribute, whose default was 1.
  WALLE_ASSIGN(s.axis, tensor::normalize_axis(axis.empty() ? -2 : axis[0], x.rank()));
  // Half a spectrum does not say whether its signal had an even or an odd length; even is meant.
  const int64_t own = s.onesided && s.inverse ? 2 * (x[s.axis] - 1) : x[s.axis];
  s.n = length.empty() ? own : length[0];
  if (s.axis == x.rank() - 1)
    return wrong("the last axis", "an axis before the one of real and imaginary parts");
  if (s.n < 1 || s.n > kLongestDft) return wrong({"length ", s.n}, "a length from 1 to 2^24");
  // Rader's or Bluestein's algorithm would lift the limit; frames are powers of two and small multiples.
  if (largest_prime(s.n) > kLargestPrimeDft)
    return wrong({"length ", s.n}, {"no prime factor above ", kLargestPrimeDft});
  return s;
}
}  // namespace

Result<DftSpec> dft_spec(ir::InferContext& c) {
  std::vector<int64_t> length, axis;
  if (c.has(1)) {
    WALLE_ASSIGN(length, c.need_i64(1));
  }
  if (c.has(2)) {
    WALLE_ASSIGN(axis, c.need_i64(2));
  }
  return make(c.attrs(), c.shape(0), length, axis);
}

Result<DftSpec> dft_spec(LowerContext& c) {
  std::vector<int64_t> length, axis;
  if (const Tensor* t = c.constant(c.in(1))) {
    WALLE_ASSIGN(length, t->to_i64());
  }
  if (const Tensor* t = c.constant(c.in(2))) {
    WALLE_ASSIGN(axis, t->to_i64());
  }
  return make(c.attrs(), c.shape(c.in(0)), length, axis);
}

int64_t balanced_factor(int64_t n) {
  // Two factors of about equal size give the smallest tables: n1^2 + n2^2 numbers.
  for (auto f = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); f > 1; --f)
    if (n % f == 0) return f;
  return 1;
}

}  // namespace walle::ops
