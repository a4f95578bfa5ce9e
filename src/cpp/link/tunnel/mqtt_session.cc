#include "link/tunnel/mqtt_session.h"

#include <algorithm>
#include <limits>

#include "link/tunnel/limits.h"

namespace walle::link {

namespace {
// Of SUBSCRIBE, which is said once a connection; what is published takes the others.
constexpr uint16_t kSubscribeId = 0xffff;
// Behind so many bytes that were taken, the rest is moved to the front.
constexpr size_t kMoveAfter = 16384;

void drop_front(std::string& text, size_t& used) {
  if (used < text.size() && used < kMoveAfter) return;
  text.erase(0, used);
  used = 0;
}
}  // namespace

void MqttSession::begin(int64_t now) {
  end();
  begun_ = true;
  began_ = last_sent_ = now;
  out_ = mqtt_connect({.client = options_.client,
                       .keepalive_s = static_cast<uint16_t>(options_.keepalive_s),
                       .clean = false});
  out_ += mqtt_subscribe(kSubscribeId, options_.subscriptions);
}

void MqttSession::end() {
  in_.clear();
  out_.clear();
  read_ = sent_ = 0;
  begun_ = accepted_ = false;
  ping_sent_ = heard_ = 0;
  untaken_ = 0;
}

void MqttSession::publish(std::string_view topic, std::string_view payload, uint16_t id) {
  out_ += mqtt_publish({.topic = topic, .payload = payload, .qos = 1, .id = id});
  ++untaken_;
}

void MqttSession::add(std::string_view bytes, int64_t now) {
  heard_ = now;
  drop_front(in_, read_);
  in_ += bytes;
}

Result<MqttEvent> MqttSession::next() {
  for (;;) {
    size_t used = 0;
    WALLE_ASSIGN(const std::optional<MqttPacket> packet,
                 mqtt_split(std::string_view(in_).substr(read_), kMostPacketBytes, used));
    if (!packet) return MqttEvent{};
    read_ += used;
    WALLE_ASSIGN(MqttEvent event, take(*packet));
    if (event.kind != MqttEvent::Kind::none) return event;
  }
}

Result<MqttEvent> MqttSession::take(const MqttPacket& packet) {
  MqttEvent event;
  if (!accepted_ && packet.type != MqttType::connack)
    return network_error({"packet type ", static_cast<int>(packet.type), " first"}, "CONNACK",
                         "the broker's answer", "look at what answers at this address");
  switch (packet.type) {
    case MqttType::connack: {
      WALLE_ASSIGN(const MqttConnack connack, read_connack(packet));
      if (accepted_)
        return network_error("a second CONNACK", "one", "the broker's answer",
                             "look at what answers at this address");
      if (connack.code)
        return network_error({"the broker refused: ", mqtt_connack_reason(connack.code)}, "CONNACK 0",
                             {"device '", options_.client, "'"},
                             "look whether this device is enrolled and its certificate is valid")
            .of_kind(base::ErrorKind::not_permitted);
      accepted_ = true;
      event.kind = MqttEvent::Kind::accepted;
      return event;
    }
    case MqttType::publish: {
      WALLE_ASSIGN(event.publish, read_publish(packet));
      if (event.publish.qos) out_ += mqtt_puback(event.publish.id);
      event.kind = MqttEvent::Kind::message;
      return event;
    }
    case MqttType::puback: {
      WALLE_ASSIGN(event.id, read_puback(packet));
      if (untaken_ > 0) --untaken_;
      event.kind = MqttEvent::Kind::taken;
      return event;
    }
    case MqttType::suback: {
      WALLE_ASSIGN(const MqttSuback suback, read_suback(packet));
      if (suback.id != kSubscribeId || suback.codes.size() != options_.subscriptions.size())
        return network_error("SUBACK of another SUBSCRIBE", "as many codes as topics", "the broker's answer",
                             "look at what answers at this address");
      // Without its topics a device would send for ever and hear of nothing.
      if (suback.codes.find('\x80') != std::string_view::npos)
        return network_error("the broker refused a subscription", "the topics of this device",
                             {"device '", options_.client, "'"}, "look at the broker's access rules")
            .of_kind(base::ErrorKind::not_permitted);
      event.kind = MqttEvent::Kind::subscribed;
      return event;
    }
    case MqttType::pingresp:
      WALLE_TRY(read_empty(packet));
      ping_sent_ = 0;
      return event;
    // What only a client says. The number comes from the network: it may be none of all these.
    case MqttType::connect:
    case MqttType::subscribe:
    case MqttType::pingreq:
    case MqttType::disconnect: break;
  }
  return network_error({"packet type ", static_cast<int>(packet.type)}, "what a broker sends",
                       "the connection", "look at what answers at this address");
}

Error MqttSession::overdue(Text packet, int64_t waited) const {
  return network_error({"no answer within ", waited / 1'000'000, " s"}, packet, "the broker",
                       "look at the network; the device connects anew by itself")
      .of_kind(base::ErrorKind::timed_out);
}

// A connection that died in silence is found by what was published on it, long before the next PINGREQ. Twice
// the time: what a socket has taken is not on the wire yet.
int64_t MqttSession::taken_by() const { return std::max(last_sent_, heard_) + 2 * options_.answer_us; }

Status MqttSession::keep_alive(int64_t now) {
  if (!begun_ || now < deadline()) return {};
  if (!accepted_) return overdue("CONNACK", now - began_);
  if (ping_sent_ && now >= ping_sent_ + options_.answer_us) return overdue("PINGRESP", now - ping_sent_);
  if (untaken_ && now >= taken_by()) return overdue("PUBACK", now - last_sent_);
  out_ += mqtt_pingreq();
  ping_sent_ = last_sent_ = now;
  return {};
}

int64_t MqttSession::deadline() const {
  if (!begun_) return std::numeric_limits<int64_t>::max();
  if (!accepted_) return began_ + options_.answer_us;
  const int64_t quiet =
      ping_sent_ ? ping_sent_ + options_.answer_us : last_sent_ + options_.keepalive_s * int64_t{1'000'000};
  return untaken_ ? std::min(quiet, taken_by()) : quiet;
}

void MqttSession::sent(size_t bytes, int64_t now) {
  sent_ += bytes;
  drop_front(out_, sent_);
  // Of the standard, section 3.1.2.10: the client says something within the time; what it hears does not
  // count.
  if (!ping_sent_) last_sent_ = now;
}

void MqttSession::finish() {
  if (begun_) out_ += mqtt_disconnect();
}

}  // namespace walle::link
