// LogManifest: what a log must not forget of itself, whatever happens to its other files: which segments
// there are, which numbers may have been given out, and what is lost until somebody has acknowledged it. Kept
// in a mirrored file beside the segments (docs/reference/formats/log-manifest.md).
#pragma once

#include <optional>

#include "store/segment_manifest.h"

namespace walle::stream {

using store::Loss;
using store::LossKind;

struct LogManifest {
  // Numbers up to here may have been given out. Kept ahead of the journal, so that an append writes nothing.
  uint64_t reserved = 0;
  uint64_t newest = 0;  // number given out, of a log that was closed
  bool closed = false;
  uint64_t compacted = 0;                     // numbers up to here have left the journal
  uint64_t removed = 0;                       // numbers up to here were removed by quota or age, not lost
  uint64_t erased = 0;                        // events removed on purpose since the log began
  std::vector<store::SegmentEntry> segments;  // by number
  std::vector<Loss> losses;                   // unacknowledged
  std::vector<uint64_t> erasing;              // events of an erasure that has not ended

  void add(Loss loss) { store::add_loss(losses, std::move(loss)); }
  std::string serialize() const;
  static std::optional<LogManifest> parse(std::string_view bytes);
};

inline constexpr std::string_view kLogSegmentEnding = ".wseg";
inline std::string file_of(const store::SegmentEntry& s) {
  return store::segment_name(s.first, s.last, kLogSegmentEnding);
}
inline std::optional<store::SegmentName> parse_segment_name(std::string_view name) {
  return store::parse_segment_name(name, kLogSegmentEnding);
}

}  // namespace walle::stream
