// Reads a message of records, as a sink does: no device ever gets one. message.cc writes it.
#include <algorithm>

#include "base/bytes.h"
#include "link/tunnel/deflate.h"
#include "link/tunnel/limits.h"
#include "link/tunnel/message.h"
#include "link/tunnel/message_format.h"

namespace walle::link {

namespace {
// Of a section in a message, and of a record in a section: what a count is checked against.
constexpr size_t kLeastSection = 5;
constexpr size_t kLeastRecord = 5;

int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

std::string_view short_text(base::ByteReader& in, size_t most) {
  const uint64_t size = in.varint();
  in.check(size <= most);
  return in.bytes(in.ok() ? size : 0);
}

bool read_records(std::string_view bytes, std::vector<TunnelRecord>& out) {
  base::ByteReader in(bytes);
  const uint64_t count = in.varint_count(kLeastRecord);
  if (!in.ok() || count == 0 || count > kMostRecords) return false;
  out.reserve(count);
  TunnelRecord last;
  for (uint64_t i = 0; i < count; ++i) {
    TunnelRecord r;
    const uint64_t step = in.varint();
    r.seq = last.seq + step;
    r.ts =
        static_cast<int64_t>(static_cast<uint64_t>(last.ts) + static_cast<uint64_t>(unzigzag(in.varint())));
    r.task = short_text(in, kMostTunnelNameBytes);
    r.feature = short_text(in, kMostTunnelNameBytes);
    r.bytes = short_text(in, kMostMessageBytes);
    if (!in.ok() || step == 0 || r.seq < last.seq) return false;
    if (r.task.empty()) r.task = last.task;
    if (r.feature.empty()) r.feature = last.feature;
    last.seq = r.seq;
    last.ts = r.ts;
    last.task = r.task;
    last.feature = r.feature;
    out.push_back(std::move(r));
  }
  return in.done();
}

Error damaged_message(Text what) {
  return model_error({"damaged bytes: ", what}, "a message of the tunnel, version 1", "message",
                     "look at who sent it: its bytes are no message of records");
}
}  // namespace

Result<std::vector<ReadSection>> read_message(std::string_view bytes, const DictionaryOf& dictionary) {
  // The checksum first: behind it, what does not fit was made so.
  base::ByteReader whole(bytes);
  if (bytes.size() < sizeof(uint32_t)) return damaged_message("no checksum");
  whole.bytes(bytes.size() - sizeof(uint32_t));
  if (!whole.checksum()) return damaged_message("the checksum differs");
  base::ByteReader in(bytes.substr(0, bytes.size() - sizeof(uint32_t)));
  if (!in.expect(kMessageMagic)) return damaged_message("no magic number");
  if (const auto version = in.get<uint8_t>(); version != kMessageVersion)
    return damaged_message({"version ", version});
  const uint64_t count = in.varint_count(kLeastSection);
  if (!in.ok() || count == 0 || count > kMostSections) return damaged_message("the number of streams");
  std::vector<ReadSection> out(count);
  size_t total = 0;
  for (ReadSection& s : out) {
    s.stream = short_text(in, kMostTunnelNameBytes);
    const auto flags = in.get<uint8_t>();
    const unsigned coding = flags & ~unsigned{kRemember};
    const uint32_t id = coding == kWithDictionary ? in.get<uint32_t>() : 0;
    const uint64_t raw = coding == kPlain ? 0 : in.varint();
    const std::string_view body = short_text(in, kMostMessageBytes);
    if (!in.ok() || s.stream.empty() || coding > kWithDictionary) return damaged_message("a stream's head");
    // Of all sections together, so that 64 of them are no more memory than one.
    total += std::max<uint64_t>(raw, body.size());
    if (raw > kMostMessageBytes || total > kMostMessageBytes)
      return damaged_message("more bytes than a message has");
    std::optional<std::string> words = std::string();
    if (coding == kWithDictionary) words = dictionary(s.stream, id);
    if (!words) {
      s.unknown = id;
      continue;
    }
    std::optional<std::string> opened;
    if (coding != kPlain) {
      opened = inflated(body, *words, raw);
      if (!opened) return damaged_message("what was deflated");
    }
    const std::string_view records = opened ? std::string_view(*opened) : body;
    if (!read_records(records, s.records)) return damaged_message("the records of a stream");
    if (flags & kRemember) s.remember = dictionary_of(records);
  }
  if (!in.done()) return damaged_message("bytes left over");
  return out;
}

}  // namespace walle::link
