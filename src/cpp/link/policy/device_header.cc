#include "link/policy/device_header.h"

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/nearest_name.h"

namespace walle::link {

namespace {

constexpr uint8_t kFormat = 1;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr uint8_t kNoDigit = 0xff;
constexpr size_t kShownHeaderBytes = 60;  // of a text that is wrong, in a message

// Digit values by character; what is no digit has bits that none has.
constexpr std::array<uint8_t, 256> kDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return digits;
}();

Error bad_header(Text given, Text expected) {
  return argument_error(given, expected, "device header", "send what walle_device_header() gives");
}

constexpr Os kBuiltFor =
#if defined(__ANDROID__)
    Os::android;
#elif defined(__APPLE__) && TARGET_OS_IPHONE
    Os::ios;
#elif defined(__APPLE__)
    Os::macos;
#elif defined(_WIN32)
    Os::windows;
#elif defined(__linux__)
    Os::linux;
#else
    Os::unknown;
#endif

Result<Os> os_named(const std::string& name) {
  if (name.empty()) return kBuiltFor;
  const auto found = std::find(kOsNames.begin(), kOsNames.end(), name);
  if (found != kOsNames.end()) return static_cast<Os>(found - kOsNames.begin());
  const std::vector<std::string> known(kOsNames.begin(), kOsNames.end());
  return argument_error({"os '", name.substr(0, kShownHeaderBytes), "'"},
                        "linux, android, ios, macos, windows or unknown", "device profile",
                        base::did_you_mean(name, known, "leave it empty for the one this build is for"));
}

}  // namespace

std::array<uint8_t, kHeaderBytes> encode(const DeviceHeader& h) {
  std::array<uint8_t, kHeaderBytes> out{};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(out));
  out[0] = kFormat;
  out[1] = h.flags;
  out[2] = static_cast<uint8_t>(h.os);
  out[3] = h.ram_class;
  base::store_le(bytes, 4, h.app);
  base::store_le(bytes, 8, h.app_version);
  base::store_le(bytes, 12, h.os_version);
  base::store_le(bytes, 14, h.op_set);
  base::store_le(bytes, 16, h.device);
  base::store_le(bytes, 20, h.vm);
  base::store_le(bytes, 24, h.bucket);
  base::store_le(bytes, 28, h.active);
  base::store_le(bytes, 32, h.epoch);
  return out;
}

Result<DeviceHeader> decode(std::string_view given) {
  if (given.size() != kHeaderBytes) return bad_header({given.size(), " bytes"}, {kHeaderBytes, " bytes"});
  const std::span<const std::byte> bytes = std::as_bytes(std::span(given));
  const auto format = base::load_le<uint8_t>(bytes, 0);
  const auto os = base::load_le<uint8_t>(bytes, 2);
  if (format != kFormat) return bad_header({"a header of version ", format}, {"version ", kFormat});
  if (os >= kOsNames.size()) return bad_header({"operating system ", os}, {"0..", kOsNames.size() - 1});
  return DeviceHeader{.flags = base::load_le<uint8_t>(bytes, 1),
                      .os = static_cast<Os>(os),
                      .ram_class = base::load_le<uint8_t>(bytes, 3),
                      .app = base::load_le<uint32_t>(bytes, 4),
                      .app_version = base::load_le<uint32_t>(bytes, 8),
                      .os_version = base::load_le<uint16_t>(bytes, 12),
                      .op_set = base::load_le<uint16_t>(bytes, 14),
                      .device = base::load_le<uint32_t>(bytes, 16),
                      .vm = base::load_le<uint32_t>(bytes, 20),
                      .bucket = base::load_le<uint32_t>(bytes, 24),
                      .active = base::load_le<uint32_t>(bytes, 28),
                      .epoch = base::load_le<uint32_t>(bytes, 32)};
}

std::string encode_text(const DeviceHeader& header) {
  const auto bytes = encode(header);
  std::string out;
  out.reserve(kHeaderText);
  for (size_t i = 0; i < kHeaderBytes; i += 3) {
    const uint32_t word = uint32_t{bytes[i]} << 16 | uint32_t{bytes[i + 1]} << 8 | bytes[i + 2];
    for (const int shift : {18, 12, 6, 0}) out += kAlphabet[word >> shift & 63];
  }
  return out;
}

Result<DeviceHeader> decode_text(std::string_view text) {
  if (text.size() != kHeaderText)
    return bad_header({text.size(), " characters '", text.substr(0, kShownHeaderBytes), "'"},
                      {kHeaderText, " characters of base64url"});
  char bytes[kHeaderBytes];
  for (size_t i = 0, at = 0; at < kHeaderBytes; i += 4, at += 3) {
    uint32_t word = 0;
    uint8_t seen = 0;
    for (size_t k = i; k < i + 4; ++k) {
      const uint8_t digit = kDigits[static_cast<uint8_t>(text[k])];
      seen |= digit;
      word = word << 6 | digit;
    }
    if (seen > 63)
      return bad_header({"'", text, "'"}, "letters, digits, '-' and '_' alone (base64url without padding)");
    bytes[at] = static_cast<char>(word >> 16);
    bytes[at + 1] = static_cast<char>(word >> 8);
    bytes[at + 2] = static_cast<char>(word);
  }
  return decode(std::string_view(bytes, sizeof bytes));
}

uint32_t name_hash(std::string_view name) {
  if (name.empty()) return 0;
  const auto hash = static_cast<uint32_t>(base::Hasher().text(name).finish() >> 32);
  return hash ? hash : 1;  // 0 is "unknown"
}

uint64_t device_pseudonym(std::string_view device_id) {
  return base::mix(base::Hasher().text("walle device").finish(), base::Hasher().text(device_id).finish());
}

uint32_t bucket_of(std::string_view device_id) {
  return static_cast<uint32_t>(device_pseudonym(device_id) >> 32);
}

uint64_t salt_of(std::string_view salt) { return base::Hasher().text("bucket").text(salt).finish(); }

uint32_t bucket_value(uint64_t salt, uint32_t bucket) {
  return static_cast<uint32_t>(base::mix(salt, bucket) >> 32);
}

uint8_t ram_class_of(uint64_t mebibytes) {
  return static_cast<uint8_t>(std::min<uint64_t>(mebibytes / kRamStepMb, 255));
}

Result<DeviceHeader> header_of(const DeviceProfile& p) {
  if (p.device_id.empty())
    return argument_error("no device id", "the id this device enrolled with, or any that stays the same",
                          "device profile", "set device_id: cohorts are made of it");
  DeviceHeader out;
  WALLE_ASSIGN(out.os, os_named(p.os));
  WALLE_ASSIGN(out.app_version, app_version_key(p.app_version));
  WALLE_ASSIGN(out.os_version, os_version_key(p.os_version));
  out.ram_class = ram_class_of(p.ram_mb);
  out.app = name_hash(p.app);
  out.op_set = static_cast<uint16_t>(name_hash(p.op_set));
  out.device = name_hash(p.device);
  out.vm = name_hash(p.vm);
  out.bucket = bucket_of(p.device_id);
  return out;
}

}  // namespace walle::link
