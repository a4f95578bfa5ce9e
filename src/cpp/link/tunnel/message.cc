#include "link/tunnel/message.h"

#include "base/bytes.h"
#include "link/tunnel/deflate.h"
#include "link/tunnel/limits.h"
#include "link/tunnel/message_format.h"

namespace walle::link {

namespace {
uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

void put_short(base::ByteWriter& out, std::string_view text) {
  out.put_varint(text.size());
  out.put_bytes(text);
}

// Records behind each other, each as what is new against the one before.
std::string pack_records(const std::vector<TunnelRecord>& records) {
  base::ByteWriter out;
  out.put_varint(records.size());
  TunnelRecord none;
  const TunnelRecord* last = &none;
  for (const TunnelRecord& r : records) {
    out.put_varint(r.seq - last->seq);
    out.put_varint(
        zigzag(static_cast<int64_t>(static_cast<uint64_t>(r.ts) - static_cast<uint64_t>(last->ts))));
    put_short(out, r.task == last->task ? std::string_view() : r.task);
    put_short(out, r.feature == last->feature ? std::string_view() : r.feature);
    put_short(out, r.bytes);
    last = &r;
  }
  return out.take();
}

}  // namespace

uint32_t dictionary_id(std::string_view dictionary) {
  const uint32_t sum = base::crc32c(0, dictionary.data(), dictionary.size());
  return sum ? sum : 1;
}

PackedMessage pack_message(const std::vector<MessageSection>& sections) {
  PackedMessage out;
  base::ByteWriter w;
  w.put_bytes(kMessageMagic);
  w.put(kMessageVersion);
  w.put_varint(sections.size());
  for (const MessageSection& s : sections) {
    const std::string records = pack_records(s.records);
    const std::optional<std::string> small = deflated(records, s.dictionary);
    const unsigned coding = !small ? kPlain : s.dictionary.empty() ? kDeflated : kWithDictionary;
    put_short(w, s.stream);
    w.put(static_cast<uint8_t>(coding | (s.remember ? kRemember : 0u)));
    if (coding == kWithDictionary) w.put(dictionary_id(s.dictionary));
    if (coding != kPlain) w.put_varint(records.size());
    put_short(w, small ? *small : records);
    out.remembered.push_back(s.remember ? dictionary_of(records) : std::string());
    for (const TunnelRecord& r : s.records) out.record_bytes += r.bytes.size();
  }
  w.put_checksum();
  out.bytes = w.take();
  return out;
}

}  // namespace walle::link
