#include "link/tunnel/mqtt_packet.h"

#include <array>

#include "base/utf8.h"

namespace walle::link {

namespace {
// MQTT is big-endian, which base/bytes.h is not.
void put_u16(std::string& out, size_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value & 0xff);
}

void put_text(std::string& out, std::string_view text) {
  put_u16(out, text.size());
  out += text;
}

std::string packet(MqttType type, uint8_t flags, size_t size) {
  std::string out;
  out.reserve(size + 5);
  out += static_cast<char>(static_cast<unsigned>(type) << 4 | flags);
  do {
    const auto digit = static_cast<unsigned>(size & 0x7f);
    size >>= 7;
    out += static_cast<char>(digit | (size ? 0x80u : 0u));
  } while (size);
  return out;
}

class Body {
 public:
  explicit Body(std::string_view bytes) : bytes_(bytes) {}
  uint8_t u8() { return static_cast<uint8_t>(take(1).empty() ? 0 : bytes_[at_ - 1]); }
  uint16_t u16() {
    const unsigned high = u8();
    return static_cast<uint16_t>(high << 8 | u8());
  }
  std::string_view text() { return take(u16()); }
  std::string_view rest() { return take(bytes_.size() - at_); }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && at_ == bytes_.size(); }

 private:
  std::string_view take(size_t size) {
    if (!ok_ || size > bytes_.size() - at_) {
      ok_ = false;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

Error bad(Text packet, Text given) {
  return network_error(given, "MQTT 3.1.1", {packet, " of the broker"},
                       "look at what answers at this address; the connection was closed");
}

Status expect(const MqttPacket& packet, MqttType type, uint8_t flags, std::string_view name) {
  if (packet.type != type) return bad(name, "another packet");
  if (packet.flags != flags) return bad(name, {"reserved bits ", packet.flags});
  return {};
}

// Section 3.3.2.1: no wildcards; section 1.5.3: UTF-8 without U+0000.
bool is_topic(std::string_view topic) {
  return !topic.empty() && topic.find_first_of(std::string_view("#+\0", 3)) == topic.npos &&
         base::valid_utf8(topic);
}
}  // namespace

std::string mqtt_connect(const MqttConnect& connect) {
  std::string body;
  put_text(body, "MQTT");
  body += '\4';  // 3.1.1
  body += static_cast<char>(connect.clean ? 2 : 0);
  put_u16(body, connect.keepalive_s);
  put_text(body, connect.client);
  return packet(MqttType::connect, 0, body.size()) + body;
}

std::string mqtt_publish(const MqttPublish& p) {
  const size_t size = 2 + p.topic.size() + (p.qos ? 2 : 0) + p.payload.size();
  const unsigned flags = (p.duplicate ? 8u : 0u) | static_cast<unsigned>(p.qos) << 1 | (p.retain ? 1u : 0u);
  std::string out = packet(MqttType::publish, static_cast<uint8_t>(flags), size);
  put_text(out, p.topic);
  if (p.qos) put_u16(out, p.id);
  out += p.payload;
  return out;
}

std::string mqtt_puback(uint16_t id) {
  std::string out = packet(MqttType::puback, 0, 2);
  put_u16(out, id);
  return out;
}

std::string mqtt_subscribe(uint16_t id, const std::vector<MqttSubscription>& subscriptions) {
  std::string body;
  put_u16(body, id);
  for (const MqttSubscription& s : subscriptions) {
    put_text(body, s.filter);
    body += static_cast<char>(s.qos);
  }
  return packet(MqttType::subscribe, 2, body.size()) + body;
}

std::string mqtt_pingreq() { return packet(MqttType::pingreq, 0, 0); }
std::string mqtt_disconnect() { return packet(MqttType::disconnect, 0, 0); }

Result<std::optional<MqttPacket>> mqtt_split(std::string_view bytes, size_t most, size_t& used) {
  used = 0;
  if (bytes.empty()) return std::optional<MqttPacket>();
  const auto first = static_cast<uint8_t>(bytes[0]);
  const unsigned type = first >> 4;
  // 0 and 15 are reserved; nobody looks at a size before the type is one.
  if (type == 0 || type == 15) return bad("a packet", {"type ", type});
  size_t size = 0;
  for (size_t i = 1;; ++i) {
    if (i > 4) return bad("a packet", "a size of more than four bytes");
    if (i >= bytes.size()) return std::optional<MqttPacket>();
    const auto digit = static_cast<uint8_t>(bytes[i]);
    size |= static_cast<size_t>(digit & 0x7f) << (7 * (i - 1));
    if (digit & 0x80) continue;
    if (size > most) return bad("a packet", {size, " bytes, more than ", most});
    if (bytes.size() - i - 1 < size) return std::optional<MqttPacket>();
    used = i + 1 + size;
    return std::optional(MqttPacket{.type = static_cast<MqttType>(type),
                                    .flags = static_cast<uint8_t>(first & 0x0f),
                                    .body = bytes.substr(i + 1, size)});
  }
}

Result<MqttConnack> read_connack(const MqttPacket& packet) {
  WALLE_TRY(expect(packet, MqttType::connack, 0, "CONNACK"));
  Body body(packet.body);
  const uint8_t flags = body.u8();
  const uint8_t code = body.u8();
  if (!body.done() || flags > 1) return bad("CONNACK", "other than two bytes, or reserved bits");
  if (flags && code) return bad("CONNACK", "a refusal with a session");
  return MqttConnack{.session_present = flags != 0, .code = code};
}

Result<MqttPublish> read_publish(const MqttPacket& packet) {
  WALLE_TRY(expect(packet, MqttType::publish, packet.flags, "PUBLISH"));
  MqttPublish out;
  out.duplicate = packet.flags & 8;
  out.qos = packet.flags >> 1 & 3;
  out.retain = packet.flags & 1;
  if (out.qos > 1) return bad("PUBLISH", {"QoS ", out.qos, ", which nobody asked for"});
  if (out.duplicate && !out.qos) return bad("PUBLISH", "a duplicate of QoS 0");
  Body body(packet.body);
  out.topic = body.text();
  if (out.qos) out.id = body.u16();
  out.payload = body.rest();
  if (!body.ok()) return bad("PUBLISH", "fewer bytes than its topic");
  if (out.qos && !out.id) return bad("PUBLISH", "no packet identifier");
  if (!is_topic(out.topic)) return bad("PUBLISH", "a topic that is none");
  return out;
}

Result<uint16_t> read_puback(const MqttPacket& packet) {
  WALLE_TRY(expect(packet, MqttType::puback, 0, "PUBACK"));
  Body body(packet.body);
  const uint16_t id = body.u16();
  if (!body.done() || !id) return bad("PUBACK", "other than a packet identifier");
  return id;
}

Result<MqttSuback> read_suback(const MqttPacket& packet) {
  WALLE_TRY(expect(packet, MqttType::suback, 0, "SUBACK"));
  Body body(packet.body);
  MqttSuback out{.id = body.u16(), .codes = body.rest()};
  if (!body.ok() || !out.id || out.codes.empty()) return bad("SUBACK", "no identifier, or no codes");
  for (const char c : out.codes)
    if (c != 0 && c != 1 && c != 2 && static_cast<uint8_t>(c) != 0x80)
      return bad("SUBACK", {"code ", static_cast<uint8_t>(c)});
  return out;
}

Status read_empty(const MqttPacket& packet) {
  WALLE_TRY(expect(packet, MqttType::pingresp, 0, "PINGRESP"));
  if (!packet.body.empty()) return bad("PINGRESP", {packet.body.size(), " bytes"});
  return {};
}

std::string_view mqtt_connack_reason(uint8_t code) {
  static constexpr std::array<std::string_view, 6> kReasons = {
      "accepted",
      "it speaks no MQTT 3.1.1",
      "it does not take this client id",
      "it is not available",
      "bad user name or password",
      "this device may not connect",
  };
  return code < kReasons.size() ? kReasons[code] : "a reason that the standard does not know";
}

}  // namespace walle::link
