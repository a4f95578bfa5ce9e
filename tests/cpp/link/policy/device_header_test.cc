#include "link/policy/device_header.h"

#include <gtest/gtest.h>

#include <random>

#include "seed.h"

namespace walle::link {
namespace {

DeviceHeader random_header(std::mt19937_64& rng) {
  return {.flags = static_cast<uint8_t>(rng()),
          .os = static_cast<Os>(rng() % kOsNames.size()),
          .ram_class = static_cast<uint8_t>(rng()),
          .app = static_cast<uint32_t>(rng()),
          .app_version = static_cast<uint32_t>(rng()),
          .os_version = static_cast<uint16_t>(rng()),
          .op_set = static_cast<uint16_t>(rng()),
          .device = static_cast<uint32_t>(rng()),
          .vm = static_cast<uint32_t>(rng()),
          .bucket = static_cast<uint32_t>(rng()),
          .active = static_cast<uint32_t>(rng()),
          .epoch = static_cast<uint32_t>(rng())};
}

TEST(DeviceHeader, ComesBackFromBytesAndText) {
  std::mt19937_64 rng(test_seed());
  for (int i = 0; i < 1000; ++i) {
    const DeviceHeader header = random_header(rng);
    const auto bytes = encode(header);
    const auto read = decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, header);
    const std::string text = encode_text(header);
    ASSERT_EQ(text.size(), kHeaderText);
    EXPECT_EQ(*decode_text(text), header);
  }
}

TEST(DeviceHeader, LiesAsItsPageSays) {
  const DeviceHeader header{.flags = 2,
                            .os = Os::android,
                            .ram_class = 64,
                            .app = 0x04030201,
                            .app_version = 0x14131211,
                            .os_version = 0x2221,
                            .op_set = 0x3231,
                            .device = 0x44434241,
                            .vm = 0x54535251,
                            .bucket = 0x64636261,
                            .active = 0x74737271,
                            .epoch = 0x84838281};
  const auto bytes = encode(header);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()),
            std::string("\x01\x02\x02\x40\x01\x02\x03\x04\x11\x12\x13\x14\x21\x22\x31\x32"
                        "\x41\x42\x43\x44\x51\x52\x53\x54\x61\x62\x63\x64\x71\x72\x73\x74\x81\x82\x83\x84"));
}

TEST(DeviceHeader, RefusesWhatItIsNot) {
  const std::string good = encode_text(DeviceHeader{});
  const auto message = [](const std::string& text) { return decode_text(text).error().message(); };
  EXPECT_NE(message("").find("0 characters"), std::string::npos);
  EXPECT_NE(message(good + "A").find("49 characters"), std::string::npos);
  EXPECT_NE(message(good.substr(1)).find("47 characters"), std::string::npos);
  for (size_t at = 0; at < good.size(); ++at)
    for (const char wrong : {'+', '/', '=', ' ', '\0', '\x80', '\xff'}) {
      std::string text = good;
      text[at] = wrong;
      EXPECT_NE(message(text).find("base64url"), std::string::npos) << at << " " << int{wrong};
    }
  std::string text = good;
  text[0] = 'B';  // version 5
  EXPECT_NE(message(text).find("a header of version 5"), std::string::npos);
  std::string bytes(kHeaderBytes, '\0');
  bytes[0] = 1;
  bytes[2] = static_cast<char>(kOsNames.size());
  EXPECT_NE(decode(bytes).error().message().find("operating system 6"), std::string::npos);
  EXPECT_FALSE(decode(bytes.substr(1)).ok());
}

TEST(DeviceHeader, AppVersionsOrderAsSemverSays) {
  const std::vector<std::string> ascending = {
      "",    "0.0.1-a", "0.0.1",      "0.1", "1",       "1.0.1-rc.1", "1.0.1",  "1.0.10",
      "1.2", "1.10",    "2.0.0-beta", "2",   "10.30.4", "2046",       "2047.1", "9999.2"};
  for (size_t i = 1; i < ascending.size(); ++i)
    EXPECT_LT(*app_version_key(ascending[i - 1]), *app_version_key(ascending[i])) << ascending[i];
  const auto same = [](const char* a, const char* b) {
    EXPECT_EQ(*app_version_key(a), *app_version_key(b)) << a;
  };
  same("1", "1.0.0");
  same("1.2.3+build.7", "1.2.3");
  same("1.2.3-a", "1.2.3-b");
  same("120.0.6099.43", "120.0.6099");
  same("1.0.1023", "1.0.99999999999999999999");
}

TEST(DeviceHeader, RefusesVersionsThatAreNone) {
  for (const char* bad : {"v1", "1.", ".1", "1..2", "one", "1.2-", "-", "1 2", "1.2.3.4.5.6.7.8.9", "+1"})
    EXPECT_FALSE(app_version_key(bad).ok()) << bad;
  EXPECT_FALSE(app_version_key(std::string(65, '1')).ok());
  EXPECT_TRUE(app_version_key(std::string(64, '1')).ok());
  EXPECT_EQ(*os_version_key("17.4.1"), 17 << 8 | 4);
  EXPECT_EQ(*os_version_key("300.999"), 0xffff);
  EXPECT_FALSE(os_version_key("sid").ok());
}

TEST(DeviceHeader, MemoryIsRoundedDown) {
  EXPECT_EQ(ram_class_of(127), 0);
  EXPECT_EQ(ram_class_of(128), 1);
  EXPECT_EQ(ram_class_of(32'639), 254);
  EXPECT_EQ(ram_class_of(32'640), 255);
  EXPECT_EQ(ram_class_of(~uint64_t{0}), 255);
}

TEST(DeviceHeader, ProfilesSayWhatIsWrong) {
  DeviceProfile profile{.app = "com.example.shop", .app_version = "2.1", .os = "andriod", .device_id = "d"};
  EXPECT_NE(header_of(profile).error().message().find("did you mean 'android'?"), std::string::npos);
  profile.os = "android";
  EXPECT_EQ(header_of(profile)->os, Os::android);
  EXPECT_EQ(header_of(profile)->device, 0u);
  profile.app_version = "new";
  EXPECT_NE(header_of(profile).error().message().find("app_version 'new'"), std::string::npos);
  profile.app_version = "1";
  profile.device_id = "";
  EXPECT_NE(header_of(profile).error().message().find("no device id"), std::string::npos);
}

}  // namespace
}  // namespace walle::link
