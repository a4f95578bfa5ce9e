// MQTT packets: those of MQTT 3.1.1 (OASIS standard, 29 October 2014) that a device says and hears. QoS 0
// and 1; no will, no password: the certificate says who it is.
//
// Decoders are handed what anybody may have sent: reserved bits, sizes and identifiers are checked as the
// standard asks, and what breaks it ends the connection. They borrow from the bytes given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::link {

enum class MqttType : uint8_t {
  connect = 1,
  connack = 2,
  publish = 3,
  puback = 4,
  subscribe = 8,
  suback = 9,
  pingreq = 12,
  pingresp = 13,
  disconnect = 14,
};

struct MqttConnect {
  std::string client;
  uint16_t keepalive_s = 0;
  bool clean = false;
};

struct MqttPublish {
  std::string_view topic, payload;
  uint8_t qos = 0;
  bool duplicate = false, retain = false;
  uint16_t id = 0;  // with qos 1
};

struct MqttSubscription {
  std::string filter;
  uint8_t qos = 0;
};

// A packet without what its type and sizes say: one of mqtt_split().
struct MqttPacket {
  MqttType type = MqttType::pingresp;
  uint8_t flags = 0;
  std::string_view body;
};

std::string mqtt_connect(const MqttConnect& connect);
// Precondition: topic of at most 65,535 bytes; id > 0 with qos 1.
std::string mqtt_publish(const MqttPublish& publish);
std::string mqtt_puback(uint16_t id);
std::string mqtt_subscribe(uint16_t id, const std::vector<MqttSubscription>& subscriptions);
std::string mqtt_pingreq();
std::string mqtt_disconnect();

// The first packet of `bytes`, whose size is then in `used`; nothing where more bytes are needed. An error
// where they can become none, or one of more than `most` bytes.
Result<std::optional<MqttPacket>> mqtt_split(std::string_view bytes, size_t most, size_t& used);

struct MqttConnack {
  bool session_present = false;
  uint8_t code = 0;  // 0: accepted
};
Result<MqttConnack> read_connack(const MqttPacket& packet);
Result<MqttPublish> read_publish(const MqttPacket& packet);
Result<uint16_t> read_puback(const MqttPacket& packet);
struct MqttSuback {
  uint16_t id = 0;
  std::string_view codes;  // 0, 1, 2 or 0x80 each
};
Result<MqttSuback> read_suback(const MqttPacket& packet);
// PINGRESP has nothing in it.
Status read_empty(const MqttPacket& packet);

// Why a broker says no.
std::string_view mqtt_connack_reason(uint8_t code);

}  // namespace walle::link
