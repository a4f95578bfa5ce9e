// Limits: what the other end of a tunnel may make a device hold, and what a device may make it hold. Sizes
// in bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walle::link {

// Of one packet that comes from the broker: acknowledgements, an epoch, an answer of the cloud phase.
inline constexpr size_t kMostPacketBytes = size_t{1} << 20;
// Of a message of records once it is inflated. An outbox holds 4 MiB unless somebody asked for more, and
// one record may be all of it.
inline constexpr size_t kMostMessageBytes = (size_t{4} << 20) + (size_t{64} << 10);
// What a message is filled up to while more waits: 32 of them in flight are 1 MB of a device's memory.
inline constexpr size_t kFullMessageBytes = size_t{32} << 10;
// Streams of one message, records of one of its streams, runs of one acknowledgement.
inline constexpr size_t kMostSections = 64;
inline constexpr size_t kMostRecords = 4096;
inline constexpr size_t kMostRuns = 4096;
// Of names: device, stream, task, feature.
inline constexpr size_t kMostTunnelNameBytes = 255;
// zlib looks back 32 KiB; what lies further is no use, and a quarter of it is half the gain on the streams
// that repeat themselves at all.
inline constexpr size_t kMostDictionaryBytes = size_t{16} << 10;

}  // namespace walle::link
