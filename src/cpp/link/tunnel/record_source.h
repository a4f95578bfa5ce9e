// RecordSource: the seam to what waits to leave the device: numbered records in streams. On a device that is
// its outbox (container/link/outbox_source.h); a test has one in memory.
//
// Called by the tunnel's thread alone. A source takes no lock while it waits for anything but its own disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace walle::link {

struct TunnelRecord {
  uint64_t seq = 0;  // ascending in its stream, never given twice; numbers may be missing
  int64_t ts = 0;    // us, of the send
  std::string task, feature;
  std::string bytes;
};

struct SourceStream {
  std::string name;
  uint64_t acknowledged = 0;  // up to here
  uint64_t waiting = 0;       // records
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual Result<std::vector<SourceStream>> streams() = 0;
  // Records with seq >= from that wait, oldest first, at most `limit`. Durable before they are returned.
  virtual Result<std::vector<TunnelRecord>> read(const std::string& stream, uint64_t from, size_t limit) = 0;
  // Records up to `seq` have arrived, or can never be taken.
  virtual Status acknowledge(const std::string& stream, uint64_t seq) = 0;
};

}  // namespace walle::link
