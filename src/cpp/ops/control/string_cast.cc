// Cast to and from strings, which are rows of bytes here and so no case of Cast:
//   StringToNumber(strings), attribute dtype; StringFromNumber(numbers)
// Numbers are written as onnxruntime writes them: up to 8 digits of float32 and narrower, 17 of float64.
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/read_number.h"
#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/words.h"

namespace walle::ops {

namespace {
Error not_a_number(std::string_view word) {
  return model_error({"the string '", word.substr(0, 64), "'"}, "a number", "Cast", "check the input");
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  // read_number refuses a plus sign, which ONNX allows.
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return s;
}

// read_number reads what ONNX allows (1000, 1e3, inf, nan, in any case) and knows no locale.
template <class T>
Result<T> parsed(const std::string& word) {
  const std::string_view s = trimmed(word);
  T value{};
  const auto [end, error] = read_number(s.data(), s.data() + s.size(), value);
  if (error == std::errc() && end == s.data() + s.size()) return value;
  return not_a_number(word);
}

// Integers also written as 3.0 or 1e3; what lies outside the dtype is an error and not another number.
template <class T>
Result<T> parsed_integer(const std::string& word) {
  if (auto exact = parsed<T>(word); exact.ok()) return exact;
  WALLE_ASSIGN(const double value, parsed<double>(word));
  const double least = static_cast<double>(std::numeric_limits<T>::min());
  // One past the largest, a power of two and so exact in double.
  const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(value >= least && value < beyond)) return not_a_number(word);
  return static_cast<T>(value);
}

template <class T>
Result<T> number(const std::string& word) {
  // Any number but 0 is true; "true" is no number.
  if constexpr (std::is_same_v<T, bool>) {
    // Strings of numbers only: "true" is none in ONNX Cast.
    WALLE_ASSIGN(const double value, parsed<double>(word));
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return parsed_integer<T>(word);
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return parsed<T>(word);
  } else {
    WALLE_ASSIGN(const float value, parsed<float>(word));
    return T(value);
  }
}

Status run_to_number(ControlContext& c) {
  WALLE_ASSIGN(const Words words, words_of(c.in(0).tensor(), "input"));
  const auto dtype = static_cast<DType>(c.attrs().get_int("dtype", 0));
  Tensor out;
  Status status = model_error({"dtype ", dtype_name(dtype)}, "a numeric or boolean dtype", "Cast",
                              "cast to another dtype");
  tensor::visit_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = [&]() -> Status {
      WALLE_ASSIGN(out, Tensor::allocate(dtype, words.shape));
      auto to = out.as_mutable<T>().begin();
      for (const std::string& word : words.items) {
        WALLE_ASSIGN(*to++, number<T>(word));
      }
      return {};
    }();
  });
  WALLE_TRY(status);
  c.output(0, std::move(out));
  return {};
}

// With the fewest digits that give the number back, or with so many.
std::string written(double value, std::optional<int> digits) {
  // ONNX's spellings: NaN, INF and -INF.
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  std::array<char, 40> text{};
  // to_chars knows no locale, unlike printf, and this form writes what %.*g does.
  constexpr auto kForm = std::chars_format::general;
  const auto end = digits ? std::to_chars(text.begin(), text.end(), value, kForm, *digits).ptr
                          : std::to_chars(text.begin(), text.end(), value, kForm).ptr;
  return {text.begin(), end};
}

template <class T>
std::string text_of(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "1" : "0";
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(value);
  else if constexpr (std::is_same_v<T, double>)
    return written(value, std::nullopt);
  else
    return written(static_cast<float>(value), 8);
}

Status run_from_number(ControlContext& c) {
  const Tensor* x = c.in(0).tensor();
  if (!x) return model_error("no tensor", "a tensor", "Cast", "connect the input");
  Words out{x->shape(), {}};
  const bool known = tensor::visit_all(x->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T& value : x->as<T>()) out.items.push_back(text_of(value));
  });
  if (!known)
    return model_error({"values of ", dtype_name(x->dtype())}, "a numeric or boolean dtype", "Cast",
                       "cast to float32 first");
  WALLE_ASSIGN(Tensor result, tensor_of(out));
  c.output(0, std::move(result));
  return {};
}

constexpr std::array kRows{
    ir::OpDef{.name = "StringToNumber", .op_class = ir::OpClass::control, .control = run_to_number},
    ir::OpDef{.name = "StringFromNumber", .op_class = ir::OpClass::control, .control = run_from_number}};
}  // namespace

extern const std::span<const ir::OpDef> kStringCastOps = kRows;

}  // namespace walle::ops
