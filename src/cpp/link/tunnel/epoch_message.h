// EpochMessage: what a broker keeps for all devices on the topic w/epoch: the number of the newest policies,
// and within how many seconds a device picks a moment to ask for them (docs/reference/formats/tunnel.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walle::link {

struct EpochMessage {
  uint64_t epoch = 0;
  uint16_t jitter_s = 0;  // 0: at once
};

std::string pack_epoch(const EpochMessage& message);
// Nothing for bytes that pack_epoch() did not write.
std::optional<EpochMessage> read_epoch(std::string_view bytes);

}  // namespace walle::link
