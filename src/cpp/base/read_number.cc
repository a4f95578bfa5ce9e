#include "base/read_number.h"

#include <algorithm>
#include <cctype>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace walle {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

const char* behind_digits(const char* at, const char* last) {
  return std::find_if_not(at, last, [](char c) { return digit(c); });
}

bool begins(const char* at, const char* last, std::string_view word) {
  return static_cast<size_t>(last - at) >= word.size() &&
         std::equal(word.begin(), word.end(), at,
                    [](char w, char c) { return w == std::tolower(static_cast<unsigned char>(c)); });
}

// "inf", "infinity", "nan" and "nan(letters)", in any case; `at` where there is none.
const char* behind_word(const char* at, const char* last) {
  if (begins(at, last, "infinity")) return at + 8;
  if (begins(at, last, "inf")) return at + 3;
  if (!begins(at, last, "nan")) return at;
  const char* inside = at + 3;
  if (inside == last || *inside != '(') return inside;
  const char* end = std::find_if_not(
      inside + 1, last, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  return end < last && *end == ')' ? end + 1 : inside;
}

// Digits with a point among them and an exponent that has digits; `at` where there is no digit.
const char* behind_decimal(const char* at, const char* last) {
  const char* end = behind_digits(at, last);
  bool any = end > at;
  if (end < last && *end == '.') {
    const char* fraction = behind_digits(end + 1, last);
    any = any || fraction > end + 1;
    end = fraction;
  }
  if (!any) return at;
  if (end < last && (*end == 'e' || *end == 'E')) {
    const char* exponent = end + 1;
    if (exponent < last && (*exponent == '+' || *exponent == '-')) ++exponent;
    if (const char* behind = behind_digits(exponent, last); behind > exponent) end = behind;
  }
  return end;
}

// A number that text says and the type cannot hold comes back as infinity or as zero.
bool is_zero(const char* at, const char* last) {
  return std::none_of(at, std::find_if(at, last, [](char c) { return c == 'e' || c == 'E'; }),
                      [](char c) { return c >= '1' && c <= '9'; });
}

#if !defined(__ANDROID__) && !defined(_WIN32)
locale_t plain_locale() {
  static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
  return made;
}
double converted(const char* text, double /*of*/) { return strtod_l(text, nullptr, plain_locale()); }
float converted(const char* text, float /*of*/) { return strtof_l(text, nullptr, plain_locale()); }
#else
// Android's C library writes a point in every locale.
double converted(const char* text, double /*of*/) { return std::strtod(text, nullptr); }
float converted(const char* text, float /*of*/) { return std::strtof(text, nullptr); }
#endif

template <class T>
std::from_chars_result by_strtod(const char* first, const char* last, T& value) {
  const char* at = first < last && *first == '-' ? first + 1 : first;
  const char* const word = behind_word(at, last);
  const char* const end = word > at ? word : behind_decimal(at, last);
  if (end == at) return {first, std::errc::invalid_argument};
  const T read = converted(std::string(first, end).c_str(), T{});
  const bool lost = word == at && (std::isinf(read) || (read == 0 && !is_zero(at, end)));
  if (lost) return {end, std::errc::result_out_of_range};
  value = read;
  return {end, std::errc()};
}

template <class T>
std::from_chars_result read_real(const char* first, const char* last, T& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, value);
#else
  return by_strtod(first, last, value);
#endif
}

}  // namespace

std::from_chars_result read_number(const char* first, const char* last, double& value) {
  return read_real(first, last, value);
}
std::from_chars_result read_number(const char* first, const char* last, float& value) {
  return read_real(first, last, value);
}
std::from_chars_result read_number_by_strtod(const char* first, const char* last, double& value) {
  return by_strtod(first, last, value);
}
std::from_chars_result read_number_by_strtod(const char* first, const char* last, float& value) {
  return by_strtod(first, last, value);
}

}  // namespace walle
