// Whether bytes are UTF-8 text: names from files reach messages, Python strings and JSON.
#pragma once

#include <cstdint>
#include <string_view>

namespace walle::base {

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool valid_utf8(std::string_view text) {
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length of the sequence
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    size_t length = lead < 0x80 ? 1 : 0;  // 0: no first byte of a sequence
    if (lead >> 5 == 0b110) length = 2;
    if (lead >> 4 == 0b1110) length = 3;
    if (lead >> 3 == 0b11110) length = 4;
    if (length == 0 || length > text.size() - i) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    i += length;
  }
  return true;
}

}  // namespace walle::base
