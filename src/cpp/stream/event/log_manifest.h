// What a log must not forget of itself, whatever happens to its other files: which segments there are, which
// numbers may have been given out, and what is lost until somebody has acknowledged it. Kept in a twin file
// beside the segments (docs/reference/formats/log-manifest.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace walle::stream {

// Numbers are stored: new ones are added behind.
enum class LossKind : uint8_t {
  journal,          // accepted events that the journal no longer has
  damaged_segment,  // the file does not read
  missing_segment,  // the file is gone
  quota,            // removed for space before a named reader had come so far
  age,              // removed for age before a named reader had come so far
  manifest,         // the record itself was lost: what it knew of losses is not known any more
};
std::string_view loss_kind_name(LossKind kind);

// Events between two numbers that are gone.
struct Loss {
  LossKind kind = LossKind::journal;
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t events = 0;  // not more than lie between; a kill may leave only the bound known
  bool exact = true;    // false: `events` is the most that can be lost
  int64_t noticed_us = 0;
  std::string reader;  // of quota and age
  std::string cause;

  bool operator==(const Loss&) const = default;
};

// One segment file, and how many events it holds, which are fewer than its numbers where some were lost or
// erased.
struct LogSegment {
  std::string file;
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  int64_t min_ts = 0;
  int64_t max_ts = 0;
  int64_t bytes = 0;
  uint64_t rows = 0;
};

struct LogManifest {
  // Numbers up to here may have been given out. Kept ahead of the journal, so that an append writes nothing.
  uint64_t reserved = 0;
  uint64_t newest = 0;  // number given out, of a log that was closed
  bool closed = false;
  uint64_t compacted = 0;            // numbers up to here have left the journal
  uint64_t removed = 0;              // numbers up to here were removed by quota or age, not lost
  uint64_t erased = 0;               // events removed on purpose since the log began
  std::vector<LogSegment> segments;  // by number
  std::vector<Loss> losses;          // unacknowledged
  std::vector<uint64_t> erasing;     // events of an erasure that has not ended

  void add(Loss loss);
  std::string serialize() const;
  static std::optional<LogManifest> parse(std::string_view bytes);
};

// The file of segment FIRST to LAST, and what a name of one says.
std::string segment_name(uint64_t first, uint64_t last);
struct SegmentName {
  uint64_t first;
  uint64_t last;
};
std::optional<SegmentName> parse_segment_name(std::string_view name);

}  // namespace walle::stream
