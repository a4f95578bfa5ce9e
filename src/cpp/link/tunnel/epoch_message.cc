#include "link/tunnel/epoch_message.h"

#include "base/bytes.h"

namespace walle::link {

std::string pack_epoch(const EpochMessage& message) {
  base::ByteWriter out;
  out.put(message.epoch);
  out.put(message.jitter_s);
  return out.take();
}

std::optional<EpochMessage> read_epoch(std::string_view bytes) {
  base::ByteReader in(bytes);
  EpochMessage out;
  out.epoch = in.get<uint64_t>();
  out.jitter_s = in.get<uint16_t>();
  if (!in.done()) return std::nullopt;
  return out;
}

}  // namespace walle::link
