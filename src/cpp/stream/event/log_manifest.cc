#include "stream/event/log_manifest.h"

#include "store/journal_frame.h"

namespace walle::stream {

namespace {
constexpr uint8_t kLogManifestVersion = 2;  // 1 had an order of its own for segments and losses
}  // namespace

std::string LogManifest::serialize() const {
  base::ByteWriter out;
  out.put(kLogManifestVersion);
  out.put(static_cast<uint8_t>(closed));
  for (const uint64_t number : {reserved, newest, compacted, removed, erased}) out.put(number);
  store::put_segments(out, segments);
  store::put_losses(out, losses);
  out.put_count(erasing.size());
  uint64_t previous = 0;
  for (const uint64_t seq : erasing) {
    out.put_varint(seq - previous);
    previous = seq;
  }
  return out.take();
}

std::optional<LogManifest> LogManifest::parse(std::string_view bytes) {
  base::ByteReader in(bytes);
  LogManifest m;
  in.checked(kLogManifestVersion, kLogManifestVersion);
  m.closed = in.flag();
  for (uint64_t* number : {&m.reserved, &m.newest, &m.compacted})
    *number = in.checked<uint64_t>(0, store::kMaxSeq - 1);
  for (uint64_t* number : {&m.removed, &m.erased}) *number = in.get<uint64_t>();
  m.segments = store::get_segments(in);
  m.losses = store::get_losses(in);
  uint64_t previous = 0;
  for (uint32_t n = in.count(1); n > 0; --n) m.erasing.push_back(previous += in.varint());
  if (!in.done()) return std::nullopt;
  return m;
}

}  // namespace walle::stream
