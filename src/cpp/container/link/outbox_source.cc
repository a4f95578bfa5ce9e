#include "container/link/outbox_source.h"

namespace walle::container {

Result<std::vector<link::SourceStream>> OutboxSource::streams() {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core("tunnel"));
  std::vector<link::SourceStream> out;
  for (stream::OutboxStream& s : core->commits().outbox().streams())
    out.push_back({.name = std::move(s.name), .acknowledged = s.acknowledged, .waiting = s.waiting});
  return out;
}

Result<std::vector<link::TunnelRecord>> OutboxSource::read(const std::string& stream, uint64_t from,
                                                           size_t limit) {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core("tunnel"));
  WALLE_ASSIGN(std::vector<stream::OutboxRecord> records, core->commits().read_outbox(stream, from, limit));
  std::vector<link::TunnelRecord> out;
  out.reserve(records.size());
  for (stream::OutboxRecord& r : records)
    out.push_back({.seq = r.seq,
                   .ts = r.ts,
                   .task = std::move(r.task),
                   .feature = std::move(r.feature),
                   .bytes = std::move(r.bytes)});
  return out;
}

Status OutboxSource::acknowledge(const std::string& stream, uint64_t seq) {
  WALLE_ASSIGN(const std::shared_ptr<DeviceCore> core, device_.core("tunnel"));
  return core->commits().acknowledge(stream, seq);
}

}  // namespace walle::container
