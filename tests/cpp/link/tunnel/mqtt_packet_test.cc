#include "link/tunnel/mqtt_packet.h"

#include <gtest/gtest.h>

#include <random>

#include "seed.h"

namespace walle::link {
namespace {

MqttPacket split(std::string_view bytes) {
  size_t used = 0;
  const auto packet = mqtt_split(bytes, 1 << 20, used);
  EXPECT_TRUE(packet.ok() && packet->has_value());
  EXPECT_EQ(used, bytes.size());
  return **packet;
}

// Bytes as section 3 of the standard has them.
TEST(MqttPacket, WritesWhatTheStandardSays) {
  EXPECT_EQ(mqtt_connect({.client = "d1", .keepalive_s = 60, .clean = true}),
            std::string("\x10\x0e\x00\x04MQTT\x04\x02\x00\x3c\x00\x02"
                        "d1",
                        16));
  EXPECT_EQ(mqtt_publish({.topic = "a/b", .payload = "xy", .qos = 1, .id = 10}),
            std::string("\x32\x09\x00\x03"
                        "a/b\x00\x0axy",
                        11));
  EXPECT_EQ(mqtt_subscribe(1, {{"a", 1}}), std::string("\x82\x06\x00\x01\x00\x01"
                                                       "a\x01",
                                                       8));
  EXPECT_EQ(mqtt_puback(0x0102), "\x40\x02\x01\x02");
  EXPECT_EQ(mqtt_pingreq(), std::string("\xc0\x00", 2));
  EXPECT_EQ(mqtt_disconnect(), std::string("\xe0\x00", 2));
}

TEST(MqttPacket, SizesTakeOneToFourBytes) {
  for (const size_t size : {0, 1, 100, 127, 128, 16'383, 16'384, 300'000}) {
    const std::string payload(size, 'p');
    const std::string packet = mqtt_publish({.topic = "t", .payload = payload});
    EXPECT_EQ(read_publish(split(packet))->payload, payload);
    size_t used = 1;
    for (size_t cut = 0; cut < std::min<size_t>(packet.size(), 300); ++cut) {
      const auto part = mqtt_split(std::string_view(packet).substr(0, cut), 1 << 20, used);
      ASSERT_TRUE(part.ok());
      EXPECT_FALSE(part->has_value()) << cut << " bytes of " << packet.size();
      EXPECT_EQ(used, 0u);
    }
  }
}

TEST(MqttPacket, ABoundIsInclusiveAndCountsTheBody) {
  const std::string packet = mqtt_publish({.topic = "t", .payload = std::string(97, 'p')});  // 100 bytes
  size_t used = 0;
  EXPECT_TRUE(mqtt_split(packet, 100, used).ok());
  EXPECT_FALSE(mqtt_split(packet, 99, used).ok());
  // Refused by its size alone, before the bytes are there.
  EXPECT_FALSE(mqtt_split(std::string("\x30\xff\xff\xff\x7f", 5), 1 << 20, used).ok());
  EXPECT_FALSE(mqtt_split(std::string("\x30\xff\xff\xff\xff", 5), SIZE_MAX, used).ok()) << "a fifth byte";
}

TEST(MqttPacket, RefusesWhatTheStandardForbids) {
  size_t used = 0;
  EXPECT_FALSE(mqtt_split(std::string("\x00\x00", 2), 100, used).ok()) << "type 0";
  EXPECT_FALSE(mqtt_split(std::string("\xf0\x00", 2), 100, used).ok()) << "type 15";
  using T = MqttType;
  const auto body = [](T type, uint8_t flags, std::string_view text) {
    return MqttPacket{.type = type, .flags = flags, .body = text};
  };
  using namespace std::string_view_literals;
  EXPECT_TRUE(read_connack(body(T::connack, 0, "\1\0"sv)).ok());
  EXPECT_FALSE(read_connack(body(T::connack, 1, "\0\0"sv)).ok());
  EXPECT_FALSE(read_connack(body(T::connack, 0, "\2\0"sv)).ok()) << "reserved bits";
  EXPECT_FALSE(read_connack(body(T::connack, 0, "\1\5"sv)).ok()) << "a refusal with a session";
  EXPECT_FALSE(read_connack(body(T::connack, 0, "\0"sv)).ok());
  EXPECT_FALSE(read_connack(body(T::connack, 0, "\0\0\0"sv)).ok());
  EXPECT_TRUE(read_publish(body(T::publish, 2, "\0\1t\0\1x"sv)).ok());
  EXPECT_FALSE(read_publish(body(T::publish, 2, "\0\1t\0\0x"sv)).ok()) << "identifier 0";
  EXPECT_FALSE(read_publish(body(T::publish, 4, "\0\1t\0\1x"sv)).ok()) << "QoS 2";
  EXPECT_FALSE(read_publish(body(T::publish, 6, "\0\1t\0\1x"sv)).ok()) << "QoS 3";
  EXPECT_FALSE(read_publish(body(T::publish, 8, "\0\1tx"sv)).ok()) << "a duplicate of QoS 0";
  EXPECT_FALSE(read_publish(body(T::publish, 0, "\0\5t"sv)).ok()) << "a topic beyond the packet";
  EXPECT_FALSE(read_publish(body(T::publish, 0, "\0\0x"sv)).ok()) << "no topic";
  EXPECT_FALSE(read_publish(body(T::publish, 0, "\0\1#x"sv)).ok()) << "a wildcard";
  EXPECT_FALSE(read_publish(body(T::publish, 0, "\0\1\0x"sv)).ok()) << "U+0000";
  EXPECT_FALSE(read_publish(body(T::publish, 0, "\0\1\xff"sv)).ok()) << "not UTF-8";
  EXPECT_FALSE(read_puback(body(T::puback, 0, "\0\0"sv)).ok());
  EXPECT_FALSE(read_puback(body(T::puback, 2, "\0\1"sv)).ok());
  EXPECT_FALSE(read_puback(body(T::puback, 0, "\0\1\0"sv)).ok());
  EXPECT_TRUE(read_suback(body(T::suback, 0, "\0\1\0\1\x80"sv)).ok());
  EXPECT_FALSE(read_suback(body(T::suback, 0, "\0\1"sv)).ok()) << "no codes";
  EXPECT_FALSE(read_suback(body(T::suback, 0, "\0\1\3"sv)).ok());
  EXPECT_FALSE(read_empty(body(T::pingresp, 0, "x"sv)).ok());
}

TEST(MqttPacket, AnyBytesAreReadWithinBounds) {
  std::mt19937 random(test_seed());
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (bytes.size() > 1 && random() % 2) bytes[1] = static_cast<char>(bytes.size() - 2);
    size_t used = 0;
    const auto packet = mqtt_split(bytes, 64, used);
    if (!packet.ok() || !*packet) continue;
    ASSERT_LE(used, bytes.size());
    (void)read_publish(**packet);
    (void)read_connack(**packet);
    (void)read_suback(**packet);
    (void)read_puback(**packet);
  }
}

}  // namespace
}  // namespace walle::link
