// OutboxSource: a device's outbox as what its tunnel sends: records are on the disk before they are read, and
// leave it when the sink has them.
//
// The device is held for the length of a call: a closed one gives its folder back, and the calls behind that
// are errors. One thread, the tunnel's.
#pragma once

#include "container/device/device.h"
#include "link/tunnel/record_source.h"

namespace walle::container {

class OutboxSource final : public link::RecordSource {
 public:
  // The device outlives it.
  explicit OutboxSource(const Device& device) : device_(device) {}

  Result<std::vector<link::SourceStream>> streams() override;
  Result<std::vector<link::TunnelRecord>> read(const std::string& stream, uint64_t from,
                                               size_t limit) override;
  Status acknowledge(const std::string& stream, uint64_t seq) override;

 private:
  const Device& device_;
};

}  // namespace walle::container
