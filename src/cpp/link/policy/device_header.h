// DeviceHeader: 36 bytes that say what a device is and what it carried out last. It rides on any request as
// `X-Walle: <48 characters of base64url>`; from it and a plan alone follows what the device should run
// (link/policy/decide.h). docs/reference/formats/device-header.md.
//
// Names travel as hashes: a header says which app it comes from to who knows the app, and nothing to others.
// What is unknown is 0. Values, no state.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::link {

inline constexpr size_t kHeaderBytes = 36;
inline constexpr size_t kHeaderText = 48;  // base64url of it, which needs no padding
inline constexpr std::string_view kHeaderName = "X-Walle";
inline constexpr std::string_view kReplyName = "X-Walle-Up";  // with the plan's epoch, decimal

// Flag: of the decision whose digest is `active` something does not run here - it failed, or there was no
// place for it.
inline constexpr uint8_t kPartly = 1;

enum class Os : uint8_t { unknown, linux, android, ios, macos, windows };
inline constexpr std::array<std::string_view, 6> kOsNames = {"unknown", "linux", "android",
                                                             "ios",     "macos", "windows"};

enum class HeaderField : uint8_t {
#define WALLE_HEADER_FIELD(name, most) name,
#include "link/policy/header_field.inc"
#undef WALLE_HEADER_FIELD
};
inline constexpr size_t kHeaderFields = 8;

struct DeviceHeader {
  uint8_t flags = 0;  // kPartly; readers pass over those they do not know
  Os os = Os::unknown;
  uint8_t ram_class = 0;     // ram_class_of()
  uint32_t app = 0;          // name_hash()
  uint32_t app_version = 0;  // app_version_key()
  uint16_t os_version = 0;   // os_version_key()
  uint16_t op_set = 0;       // name_hash() of the op set's id, its lower half
  uint32_t device = 0;       // name_hash() of the model: "Pixel 8"
  uint32_t vm = 0;           // name_hash() of the VM's id
  uint32_t bucket = 0;       // bucket_of(); it puts the device into cohorts
  uint32_t active = 0;       // Decision::digest of what the device carried out last; 0: nothing yet
  uint32_t epoch = 0;        // of the newest plan it has gone by, lower half

  friend bool operator==(const DeviceHeader&, const DeviceHeader&) = default;
};

std::array<uint8_t, kHeaderBytes> encode(const DeviceHeader& header);
// An argument error for another size, format version or OS; nothing else can be wrong with it.
Result<DeviceHeader> decode(std::string_view bytes);
// The header's text and back. Exactly 48 characters of base64url.
std::string encode_text(const DeviceHeader& header);
Result<DeviceHeader> decode_text(std::string_view text);

// 32 bits of the name's hash; 0 for the empty name alone.
uint32_t name_hash(std::string_view name);
// The pseudonym of a device in reports, and its upper half.
uint64_t device_pseudonym(std::string_view device_id);
uint32_t bucket_of(std::string_view device_id);
// A policy's `bucket("salt")`: where the device lies among all, in 2^-32. Different salts, independent
// places.
uint64_t salt_of(std::string_view salt);
uint32_t bucket_value(uint64_t salt, uint32_t bucket);
// In steps of 128 MiB, rounded down; the last one is "at least 32,640 MiB".
uint8_t ram_class_of(uint64_t mebibytes);
inline constexpr uint64_t kRamStepMb = 128;

// "10.30.4" as a number that orders as versions do: 11 bits major, 10 minor, 10 patch, and a last one that
// pre-releases ("2.0.0-beta") lack, so that all of a version's come right before it. A part that is missing
// is 0, one that is too large counts as the largest; a fourth part and "+build" count nothing. 0 is no
// version: "".
Result<uint32_t> app_version_key(std::string_view version);
// "17.4" as 8 bits major, 8 minor; further parts count nothing.
Result<uint16_t> os_version_key(std::string_view version);

// What a program knows of itself and its device, in words.
struct DeviceProfile {
  std::string app;
  std::string app_version;
  std::string os;  // of kOsNames; empty: the one this build is for
  std::string os_version;
  std::string device;
  std::string op_set;
  std::string vm;
  std::string device_id;
  uint64_t ram_mb = 0;
};

// The header of a device that has carried out nothing yet. An argument error names the field that is wrong.
Result<DeviceHeader> header_of(const DeviceProfile& profile);

}  // namespace walle::link
