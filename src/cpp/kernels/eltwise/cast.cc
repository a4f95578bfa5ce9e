#include "kernels/eltwise/cast.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "base/copy.h"
#include "base/unreached.h"

namespace walle::kernels {

namespace {
using tensor::BFloat16;
using tensor::Float8Format;
using tensor::Half;

template <class T>
constexpr bool kSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Out of range is undefined in C++, and ONNX leaves it to the implementation: here what 64 bits hold keeps
// its low bits, as in C and NumPy, and what they do not - infinity, 1e30 - is the largest or least number of
// the dtype, on every architecture alike. NaN is 0. docs/reference/where-runtimes-differ.md
template <class T, class F>
T float_to_integer(F v) {
  using Wide = std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>;
  // 2^63 and 2^64 are exact in float; the largest integers are not.
  constexpr F kTop = std::is_same_v<Wide, uint64_t> ? F(18446744073709551616.0) : F(9223372036854775808.0);
  // What is usual by two comparisons: 1.4 ns of a float64 otherwise, and 0.7 so.
  constexpr F kBottom = std::is_same_v<Wide, uint64_t> ? F(-1) : -kTop;
  if (v > kBottom && v < kTop) return static_cast<T>(static_cast<Wide>(v));
  if (!(v == v)) return 0;
  if (v >= kTop) return std::numeric_limits<T>::max();
  // Negative numbers wrap through int64: NumPy gives 2^64 - 1 for -1.0.
  if constexpr (std::is_same_v<Wide, uint64_t>) {
    if (v <= F(-1)) return v <= F(-9223372036854775808.0) ? T(0) : static_cast<T>(static_cast<int64_t>(v));
  } else {
    if (v < -kTop) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(static_cast<Wide>(v));
}

template <class To, class From>
To convert(From v) {
  // 16-bit floats go through float32 in both directions: it holds every value of theirs, so nothing is
  // rounded twice but a double, whose error is below half a unit of the 16-bit result in all but ties.
  if constexpr (kSmallFloat<From>) {
    return convert<To>(static_cast<float>(v));
  } else if constexpr (kSmallFloat<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_integer<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

template <class From, class To>
void convert_all(const From* from, To* to, int64_t n) {
  if constexpr (std::is_same_v<From, bool>) {
    // As bytes: g++ 12 makes no vectors of bools; nor of floats from what is compared but by way of int32.
    using Whole = std::conditional_t<std::is_integral_v<To>, uint8_t, int32_t>;
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(static_cast<Whole>(bytes[i] != 0));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
  }
}

struct Float8 {
  DType dtype;
  Float8Format format;
};
constexpr Float8 kFloat8s[] = {
    {DType::float8e4m3fn, tensor::kFloat8E4M3FN},
    {DType::float8e4m3fnuz, tensor::kFloat8E4M3FNUZ},
    {DType::float8e5m2, tensor::kFloat8E5M2},
    {DType::float8e5m2fnuz, tensor::kFloat8E5M2FNUZ},
};
static_assert(std::ranges::count(tensor::kDTypes, tensor::DTypeClass::float8, &tensor::DTypeFacts::group) ==
              std::ssize(kFloat8s));

const Float8Format& float8_format(DType dtype) {
  const Float8* found = std::ranges::find(kFloat8s, dtype, &Float8::dtype);
  return (found != std::end(kFloat8s) ? found : base::unreached(&kFloat8s[0]))->format;
}

constexpr int64_t kBlock = 256;  // what is only stored goes through a block on the stack

float float_of(DType dtype, uint8_t code) {
  if (dtype == DType::float8e8m0) return tensor::power_to_float(code);
  if (dtype == DType::float4e2m1) return tensor::float4_to_float(code);
  return tensor::float8_to_float(code, float8_format(dtype));
}

// The integer that a code of `bits` bits means.
int64_t integer_of(DType dtype, uint8_t code) {
  const int bits = tensor::dtype_bits(dtype);
  const int value = code & ((1 << bits) - 1);
  return tensor::has_signed_code(dtype) && value >> (bits - 1) ? value - (1 << bits) : value;
}

void cast_from_stored(DType from_dtype, const uint8_t* from, DType to_dtype, std::byte* to, int64_t n,
                      bool saturate, tensor::PowerRounding rounding) {
  // Through int64 or float32, by blocks: six storage formats times twelve dtypes would otherwise be as many
  // loops, for a conversion that runs once when a model is loaded.
  const bool whole = tensor::is_tiny_integer(from_dtype);
  std::array<float, kBlock> floats;
  std::array<int64_t, kBlock> integers;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    for (int64_t i = 0; i < m; ++i) {
      if (whole)
        integers[i] = integer_of(from_dtype, from[at + i]);
      else
        floats[i] = float_of(from_dtype, from[at + i]);
    }
    const void* block = whole ? static_cast<const void*>(integers.data()) : floats.data();
    run_cast(whole ? DType::int64 : DType::float32, block, to_dtype, to + at * tensor::dtype_size(to_dtype),
             m, saturate, rounding);
  }
}

uint8_t code_of(DType dtype, float value, bool saturate, tensor::PowerRounding rounding) {
  if (dtype == DType::float8e8m0) return tensor::float_to_power(value, rounding, saturate);
  if (dtype == DType::float4e2m1) return tensor::float_to_float4(value);
  return tensor::float_to_float8(value, float8_format(dtype), saturate);
}

void cast_to_stored(DType from_dtype, const std::byte* from, DType to_dtype, uint8_t* to, int64_t n,
                    bool saturate, tensor::PowerRounding rounding) {
  const bool whole = tensor::is_tiny_integer(to_dtype);
  // Codes of fewer than 8 bits lie in the low bits of a byte each; the high ones are zero for whoever packs
  // them.
  const auto mask = static_cast<uint8_t>((1 << tensor::dtype_bits(to_dtype)) - 1);
  std::array<float, kBlock> floats;
  std::array<int64_t, kBlock> integers;
  void* block = whole ? static_cast<void*>(integers.data()) : floats.data();
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    run_cast(from_dtype, from + at * tensor::dtype_size(from_dtype), whole ? DType::int64 : DType::float32,
             block, m, saturate);
    for (int64_t i = 0; i < m; ++i) {
      to[at + i] =
          whole ? static_cast<uint8_t>(integers[i] & mask) : code_of(to_dtype, floats[i], saturate, rounding);
    }
  }
}
}  // namespace

void run_cast(DType from_dtype, const void* from, DType to_dtype, void* to, int64_t n, bool saturate,
              tensor::PowerRounding rounding) {
  if (n <= 0) return;
  // Bits are copied, also those of NaN, which a conversion to itself may make quiet.
  if (from_dtype == to_dtype) {
    base::copy_bytes(to, from, n * tensor::dtype_size(to_dtype));
    return;
  }
  if (tensor::is_storage_only(from_dtype))
    return cast_from_stored(from_dtype, static_cast<const uint8_t*>(from), to_dtype,
                            static_cast<std::byte*>(to), n, saturate, rounding);
  if (tensor::is_storage_only(to_dtype))
    return cast_to_stored(from_dtype, static_cast<const std::byte*>(from), to_dtype,
                          static_cast<uint8_t*>(to), n, saturate, rounding);
  tensor::visit_all(from_dtype, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    tensor::visit_all(to_dtype, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      convert_all(static_cast<const From*>(from), static_cast<To*>(to), n);
    });
  });
}

}  // namespace walle::kernels
