// Acknowledgement: what the sink says of the records of a device, on its topic w/<device>/ack:
// docs/reference/formats/tunnel.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::link {

enum class AckStatus : uint8_t {
  stored = 0,              // they are durable, now or since an earlier time
  refused = 1,             // they can never be taken, however often they come
  unknown_dictionary = 2,  // a section could not be inflated; no runs
};

struct SeqRun {
  uint64_t first = 0, count = 0;
};

struct AckEntry {
  std::string stream;
  AckStatus status = AckStatus::stored;
  uint32_t dictionary = 0;   // stored: what is remembered from here on; unknown: which one; 0: none
  std::vector<SeqRun> runs;  // ascending, apart
};

std::string pack_ack(const std::vector<AckEntry>& entries);
Result<std::vector<AckEntry>> read_ack(std::string_view bytes);

}  // namespace walle::link
