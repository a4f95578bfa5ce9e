// MqttSession: MQTT of one connection as a state machine over bytes: what comes in becomes events, what is
// to go out waits in outgoing(). No socket, no clock of its own.
//
// CONNECT, SUBSCRIBE and what is published leave together, before the broker has answered (section 3.1.4 of
// the standard allows it): a new connection costs one round trip less. A refusal ends the connection; what
// was published stays unacknowledged.
//
// Not synchronised. The views of an event live until the next call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link/tunnel/mqtt_packet.h"

namespace walle::link {

struct MqttEvent {
  enum class Kind : uint8_t { none, accepted, message, taken, subscribed } kind = Kind::none;
  MqttPublish publish;  // of a message
  uint16_t id = 0;      // taken: what the broker has; proves nothing about the sink
};

struct MqttSessionOptions {
  std::string client;
  int keepalive_s = 120;
  int64_t answer_us = 15'000'000;  // for CONNACK and PINGRESP; twice that for PUBACK
  std::vector<MqttSubscription> subscriptions;
};

class MqttSession {
 public:
  explicit MqttSession(MqttSessionOptions options) : options_(std::move(options)) {}

  // A new connection stands.
  void begin(int64_t now);
  // No connection: everything of it is forgotten.
  void end();
  void publish(std::string_view topic, std::string_view payload, uint16_t id);

  // Bytes came.
  void add(std::string_view bytes, int64_t now);
  // The next event; kind none: nothing more until bytes come. An error ends the connection.
  Result<MqttEvent> next();
  // Says a PINGREQ when it is due; an error where an answer is overdue.
  Status keep_alive(int64_t now);
  // When keep_alive() has something to do next.
  int64_t deadline() const;

  std::string_view outgoing() const { return std::string_view(out_).substr(sent_); }
  void sent(size_t bytes, int64_t now);
  bool accepted() const { return accepted_; }
  // Says goodbye: DISCONNECT waits in outgoing().
  void finish();

 private:
  Result<MqttEvent> take(const MqttPacket& packet);
  Error overdue(Text packet, int64_t waited) const;
  int64_t taken_by() const;

  MqttSessionOptions options_;
  std::string in_, out_;
  size_t read_ = 0, sent_ = 0;  // of them
  bool begun_ = false, accepted_ = false;
  size_t untaken_ = 0;                             // published, without PUBACK
  int64_t began_ = 0, last_sent_ = 0, heard_ = 0;  // steady us
  int64_t ping_sent_ = 0;                          // 0: none waits for its answer
};

}  // namespace walle::link
