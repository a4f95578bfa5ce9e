// Any bytes as what a broker sends and as a message of records, as they are and behind a checksum made right:
// readers stay within bounds, what they take they can write again, and a connection goes on or ends.
#include "base/bytes.h"
#include "base/fault_env.h"
#include "link/tunnel/ack_message.h"
#include "link/tunnel/answer_message.h"
#include "link/tunnel/epoch_message.h"
#include "link/tunnel/message.h"
#include "link/tunnel/mqtt_packet.h"
#include "link/tunnel/mqtt_session.h"

using namespace walle::link;
namespace base = walle::base;

namespace {
void converse(std::string_view bytes) {
  MqttSession session({.client = "d", .subscriptions = {{"w/d/ack", 0}}});
  session.begin(1);
  // In pieces, whose size the first byte says.
  const size_t step = bytes.empty() ? 1 : 1 + static_cast<uint8_t>(bytes[0]) % 64;
  for (size_t at = 0; at < bytes.size(); at += step) {
    session.add(bytes.substr(at, step), 2);
    for (;;) {
      const auto event = session.next();
      if (!event.ok()) return;
      if (event->kind == MqttEvent::Kind::none) break;
      if (event->kind == MqttEvent::Kind::message && event->publish.topic.empty()) __builtin_trap();
    }
  }
}

void read(std::string_view bytes) {
  const auto message = read_message(bytes, [](std::string_view, uint32_t id) -> std::optional<std::string> {
    if (id % 2) return std::nullopt;
    return std::string(id % 1000, 'w');
  });
  if (message.ok()) {
    std::vector<MessageSection> again;
    for (const ReadSection& s : *message)
      if (!s.unknown) again.push_back({.stream = s.stream, .records = s.records, .dictionary = {}});
    const auto packed = pack_message(again);
    if (!again.empty() && !read_message(packed.bytes, {}).ok()) __builtin_trap();
  }
  const auto ack = read_ack(bytes);
  if (ack.ok() && !read_ack(pack_ack(*ack)).ok()) __builtin_trap();
  (void)read_epoch(bytes);
  const auto answer = read_answer(bytes);
  if (answer.ok()) {
    const auto again = pack_answer(*answer);
    if (!again.ok() || !read_answer(*again).ok()) __builtin_trap();
  }
  const auto marks = read_marks(bytes);
  if (marks.ok() && !read_marks(pack_marks(*marks)).ok()) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  converse(bytes);
  // Behind an acceptance, which no mutation finds again and again.
  converse(std::string("\x20\x02\x00\x00", 4) + std::string(bytes));
  read(bytes);
  base::ByteWriter right;
  right.put_bytes(bytes);
  right.put_checksum();
  read(right.written());
  return 0;
}
