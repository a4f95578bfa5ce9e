// Versions as numbers that order as they do.
#include <algorithm>
#include <optional>

#include "link/policy/device_header.h"

namespace walle::link {

namespace {

constexpr size_t kMostParts = 8;  // 120.0.6099.43 has four
constexpr size_t kMostVersionBytes = 64;

struct Parts {
  uint32_t part[3] = {};  // at most 2^31
  bool pre_release = false;
};

// "1.2.3-beta.1+build": numbers between dots, then what semver puts behind them.
std::optional<Parts> split(std::string_view text) {
  Parts out;
  if (text.size() > kMostVersionBytes) return std::nullopt;
  text = text.substr(0, text.find('+'));
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    out.pre_release = true;
    if (dash + 1 == text.size()) return std::nullopt;
    text = text.substr(0, dash);
  }
  for (size_t n = 0; n < kMostParts; ++n) {
    const std::string_view digits = text.substr(0, text.find('.'));
    if (digits.empty()) return std::nullopt;
    uint64_t value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(c - '0'), uint64_t{1} << 31);
    }
    if (n < 3) out.part[n] = static_cast<uint32_t>(value);
    if (digits.size() == text.size()) return out;
    text.remove_prefix(digits.size() + 1);
  }
  return std::nullopt;
}

Error no_version(std::string_view given, Text field) {
  return argument_error({field, " '", given.substr(0, kMostVersionBytes), "'"},
                        "numbers between dots, as 10.30.4, and no more than 64 characters", "device profile",
                        "write the version without its name");
}

}  // namespace

Result<uint32_t> app_version_key(std::string_view version) {
  if (version.empty()) return uint32_t{0};
  const auto parts = split(version);
  if (!parts) return no_version(version, "app_version");
  const uint32_t key = std::min(parts->part[0], 2047u) << 21 | std::min(parts->part[1], 1023u) << 11 |
                       std::min(parts->part[2], 1023u) << 1;
  return key | (parts->pre_release ? 0u : 1u);
}

Result<uint16_t> os_version_key(std::string_view version) {
  if (version.empty()) return uint16_t{0};
  const auto parts = split(version);
  if (!parts) return no_version(version, "os_version");
  return static_cast<uint16_t>(std::min(parts->part[0], 255u) << 8 | std::min(parts->part[1], 255u));
}

}  // namespace walle::link
