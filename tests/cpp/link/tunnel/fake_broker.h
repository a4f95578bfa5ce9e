// A broker with a sink behind it, in memory, as the Socket of a tunnel: it can be cut at any byte, refuse,
// stay silent, lose, double and reorder acknowledgements, and send what it likes.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "link/tunnel/ack_message.h"
#include "link/tunnel/message.h"
#include "link/tunnel/mqtt_packet.h"
#include "link/tunnel/socket.h"

namespace walle::link {

class FakeBroker : public Socket {
 public:
  // -- faults
  bool refuses_connections = false;
  uint8_t connack = 0;
  bool sink_runs = true;        // else records are taken by the broker and lost
  bool silent = false;          // nothing is answered
  int64_t cut_after_sent = -1;  // bytes of the client, over all connections; -1: never
  int64_t cut_after_received = -1;
  double doubles = 0, reorders = 0, loses = 0;  // of acknowledgements
  bool forgets_dictionaries = false;
  bool refuses_records = false;
  size_t takes = SIZE_MAX;  // bytes of one send()
  std::string retained_epoch;
  std::mt19937 random{1};

  // -- what came
  std::map<std::pair<std::string, uint64_t>, std::string> stored;
  std::string seen;  // every byte of the client
  uint64_t messages = 0, duplicates = 0, damaged = 0, opened = 0, pings = 0, goodbyes = 0,
           with_dictionary = 0;
  std::vector<std::string> packets;  // PUBLISH payloads
  std::vector<std::string> marks;    // of answers

  void say(std::string_view packet) { out_ += packet; }
  void publish(const std::string& topic, std::string_view payload, uint8_t qos = 0, uint16_t id = 7) {
    say(mqtt_publish({.topic = topic, .payload = payload, .qos = qos, .id = id}));
  }
  void cut() { connected_ = false; }
  bool connected() const { return connected_; }
  bool speaks() const { return !out_.empty(); }
  // Acknowledgements that are held back come now.
  void release() {
    for (const std::string& ack : held_) publish(ack_topic_, ack);
    held_.clear();
  }
  bool holds = false;
  size_t held() const { return held_.size(); }

  // -- Socket
  Status open(int64_t) override {
    close();
    ++opened;
    if (refuses_connections) return failed("refused");
    connected_ = true;
    return {};
  }
  void close() override {
    connected_ = false;
    in_.clear();
    out_.clear();
  }
  Result<size_t> send(std::string_view bytes) override {
    if (!connected_) return failed("cut");
    bytes = bytes.substr(0, takes);
    if (cut_after_sent >= 0) {
      bytes = bytes.substr(0, static_cast<size_t>(cut_after_sent));
      cut_after_sent -= static_cast<int64_t>(bytes.size());
    }
    seen += bytes;
    in_ += bytes;
    answer();
    if (cut_after_sent == 0) {
      cut_after_sent = -1;
      cut();
    }
    return bytes.size();
  }
  Result<size_t> receive(std::span<char> to) override {
    if (out_.empty() && !connected_) return failed("cut");
    size_t size = std::min(to.size(), out_.size());
    if (cut_after_received >= 0) size = std::min(size, static_cast<size_t>(cut_after_received));
    std::copy_n(out_.begin(), size, to.begin());
    out_.erase(0, size);
    if (cut_after_received >= 0 && (cut_after_received -= static_cast<int64_t>(size)) == 0) {
      cut_after_received = -1;
      cut();
      out_.clear();
      if (size == 0) return failed("cut");
    }
    return size;
  }
  void wait(int64_t, bool) override {}
  void wake() override {}
  void interrupt() override {}

 private:
  static Error failed(const char* why) { return network_error(why, "a connection", "fake broker", "go on"); }

  void answer() {
    size_t used = 0;
    while (!silent) {
      const auto packet = mqtt_split(in_, size_t{64} << 20, used);
      if (!packet.ok() || !*packet) return;
      const std::string body((*packet)->body);
      const MqttPacket whole{.type = (*packet)->type, .flags = (*packet)->flags, .body = body};
      in_.erase(0, used);
      answer(whole);
    }
  }
  void answer(const MqttPacket& packet) {
    switch (packet.type) {
      case MqttType::connect: say(std::string("\x20\x02\x00", 3) + static_cast<char>(connack)); return;
      case MqttType::subscribe: subscribe(packet.body); return;
      case MqttType::pingreq:
        ++pings;
        say(std::string("\xd0\x00", 2));
        return;
      case MqttType::disconnect: ++goodbyes; return;
      case MqttType::publish: {
        const MqttPublish p = *read_publish(packet);
        say(mqtt_puback(p.id));
        if (p.topic.ends_with("/got")) {
          marks.emplace_back(p.payload);
          return;
        }
        packets.emplace_back(p.payload);
        if (sink_runs) sink(p);
        return;
      }
      default: return;
    }
  }
  void subscribe(std::string_view body) {
    std::string codes;
    for (size_t at = 2; at + 2 <= body.size();) {
      const size_t size = static_cast<uint8_t>(body[at]) << 8 | static_cast<uint8_t>(body[at + 1]);
      codes += body[at + 2 + size];
      at += 3 + size;
    }
    say(std::string("\x90", 1) + static_cast<char>(2 + codes.size()) + std::string(body.substr(0, 2)) +
        codes);
    if (!retained_epoch.empty()) publish("w/epoch", retained_epoch, 1, 1);
  }
  void sink(const MqttPublish& p) {
    ++messages;
    ack_topic_ = std::string(p.topic.substr(0, p.topic.size() - 2)) + "ack";
    if (forgets_dictionaries) dictionaries_.clear();
    const auto sections = read_message(p.payload, [&](std::string_view stream, uint32_t id) {
      const auto found = dictionaries_.find({std::string(stream), id});
      if (found != dictionaries_.end()) ++with_dictionary;
      return found == dictionaries_.end() ? std::nullopt : std::optional(found->second);
    });
    if (!sections.ok()) {
      ++damaged;
      return;
    }
    std::vector<AckEntry> entries;
    for (const ReadSection& s : *sections) {
      AckEntry e{.stream = s.stream, .runs = {}};
      if (s.unknown) {
        e.status = AckStatus::unknown_dictionary;
        e.dictionary = s.unknown;
      } else if (refuses_records) {
        e.status = AckStatus::refused;
      } else if (!s.remember.empty()) {
        e.dictionary = dictionary_id(s.remember);
        dictionaries_[{s.stream, e.dictionary}] = s.remember;
      }
      for (const TunnelRecord& r : s.records) {
        if (!refuses_records && !stored.try_emplace({s.stream, r.seq}, r.bytes).second) ++duplicates;
        e.runs.push_back({r.seq, 1});
      }
      entries.push_back(std::move(e));
    }
    acknowledge(pack_ack(entries));
  }
  void acknowledge(const std::string& ack) {
    const auto happens = [&](double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; };
    if (happens(loses)) return;
    if (holds || happens(reorders)) {
      held_.push_back(ack);
      return;
    }
    publish(ack_topic_, ack);
    if (happens(doubles)) publish(ack_topic_, ack);
    if (!holds && reorders > 0) release();
  }

  bool connected_ = false;
  std::string in_, out_, ack_topic_;
  std::vector<std::string> held_;
  std::map<std::pair<std::string, uint32_t>, std::string> dictionaries_;
};

}  // namespace walle::link
