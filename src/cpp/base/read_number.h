// Numbers from text, by the rules of std::from_chars: no locale (a trigger must not read differently on a
// German phone), no blanks or plus sign in front, and the end of what was read told. The C++ library of
// clang before 20 has it for integers alone, and that is the one of Android, iOS and portable wheels.
#pragma once

#include <charconv>
#include <concepts>

namespace walle {

template <std::integral T>
std::from_chars_result read_number(const char* first, const char* last, T& value) {
  return std::from_chars(first, last, value);
}
std::from_chars_result read_number(const char* first, const char* last, double& value);
std::from_chars_result read_number(const char* first, const char* last, float& value);

// What they do where the library has no from_chars of its own: the C library's strtod in the locale "C" on
// what that grammar takes. Everywhere, so that tests compare the two.
std::from_chars_result read_number_by_strtod(const char* first, const char* last, double& value);
std::from_chars_result read_number_by_strtod(const char* first, const char* last, float& value);

}  // namespace walle
