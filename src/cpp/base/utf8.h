// Whether bytes are UTF-8 text: names from files reach messages, Python strings and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace walle::base {

// Bytes of the code point that begins at `at`; 0 where none does. Strict: no overlong forms, no surrogates,
// nothing above U+10FFFF. Precondition: at < text.size().
inline size_t code_point_bytes(std::string_view text, size_t at) {
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length of the sequence
  const auto lead = static_cast<uint8_t>(text[at]);
  size_t length = lead < 0x80 ? 1 : 0;  // 0: no first byte of a sequence
  if (lead >> 5 == 0b110) length = 2;
  if (lead >> 4 == 0b1110) length = 3;
  if (lead >> 3 == 0b11110) length = 4;
  if (length == 0 || length > text.size() - at) return 0;
  // The first byte of n gives 7 - n bits, each further one six behind its 10.
  uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t k = 1; k < length; ++k) {
    const auto next = static_cast<uint8_t>(text[at + k]);
    if (next >> 6 != 0b10) return 0;
    code = code << 6 | (next & 0x3Fu);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kSmallest[length] || code > 0x10FFFF || surrogate ? 0 : length;
}

inline bool valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    // Most names are ASCII, and rooms that are optimised for size call code_point_bytes() for each byte.
    const size_t length = static_cast<uint8_t>(text[i]) < 0x80 ? 1 : code_point_bytes(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

// The text with U+FFFD for every byte that belongs to no code point.
inline std::string repaired_utf8(std::string text) {
  if (valid_utf8(text)) return text;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = code_point_bytes(text, i);
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else
      out.append(text, i, length);
    i += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace walle::base
