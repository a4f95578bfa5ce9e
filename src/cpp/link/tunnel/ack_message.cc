#include "link/tunnel/ack_message.h"

#include "base/bytes.h"
#include "link/tunnel/limits.h"

namespace walle::link {

namespace {
constexpr std::string_view kMagic = "WTA";
constexpr uint8_t kAckVersion = 1;
constexpr size_t kLeastEntry = 7;
constexpr size_t kLeastRun = 2;

Error damaged() {
  return network_error("damaged bytes", "an acknowledgement of the tunnel, version 1", "acknowledgement",
                       "look at who writes to this device's topics");
}
}  // namespace

std::string pack_ack(const std::vector<AckEntry>& entries) {
  base::ByteWriter out;
  out.put_bytes(kMagic);
  out.put(kAckVersion);
  out.put_varint(entries.size());
  for (const AckEntry& e : entries) {
    out.put_varint(e.stream.size());
    out.put_bytes(e.stream);
    out.put(static_cast<uint8_t>(e.status));
    out.put(e.dictionary);
    out.put_varint(e.runs.size());
    uint64_t at = 0;
    for (const SeqRun& run : e.runs) {
      out.put_varint(run.first - at);
      out.put_varint(run.count);
      at = run.first + run.count;
    }
  }
  out.put_checksum();
  return out.take();
}

Result<std::vector<AckEntry>> read_ack(std::string_view bytes) {
  base::ByteReader whole(bytes);
  if (bytes.size() < sizeof(uint32_t)) return damaged();
  whole.bytes(bytes.size() - sizeof(uint32_t));
  if (!whole.checksum()) return damaged();
  base::ByteReader in(bytes.substr(0, bytes.size() - sizeof(uint32_t)));
  if (!in.expect(kMagic) || in.get<uint8_t>() != kAckVersion) return damaged();
  std::vector<AckEntry> out;
  const uint64_t count = in.varint_count(kLeastEntry);
  if (!in.ok() || count > kMostSections) return damaged();
  for (uint64_t i = 0; i < count; ++i) {
    AckEntry e;
    const uint64_t size = in.varint();
    if (size > kMostTunnelNameBytes) return damaged();
    e.stream = in.bytes(size);
    e.status = in.checked(AckStatus::stored, AckStatus::unknown_dictionary);
    e.dictionary = in.get<uint32_t>();
    const uint64_t runs = in.varint_count(kLeastRun);
    if (!in.ok() || e.stream.empty() || runs > kMostRuns) return damaged();
    uint64_t at = 0;
    for (uint64_t k = 0; k < runs; ++k) {
      SeqRun run;
      const uint64_t step = in.varint();
      run.count = in.varint();
      if (__builtin_add_overflow(at, step, &run.first) || __builtin_add_overflow(run.first, run.count, &at) ||
          run.first == 0 || run.count == 0)
        return damaged();
      e.runs.push_back(run);
    }
    if (!in.ok()) return damaged();
    out.push_back(std::move(e));
  }
  if (!in.done()) return damaged();
  return out;
}

}  // namespace walle::link
