// What writing and reading a message of the tunnel have in common (docs/reference/formats/tunnel.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "link/tunnel/limits.h"

namespace walle::link {

inline constexpr std::string_view kMessageMagic = "WTM";
inline constexpr uint8_t kMessageVersion = 1;
enum MessageCoding : uint8_t { kPlain = 0, kDeflated = 1, kWithDictionary = 2 };
inline constexpr uint8_t kRemember = 0x80;

// Of a section's records, what later ones of its stream are deflated against.
inline std::string dictionary_of(std::string_view records) {
  return std::string(records.substr(records.size() - std::min(records.size(), kMostDictionaryBytes)));
}

}  // namespace walle::link
