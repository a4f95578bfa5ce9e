// SegmentManifest: which segment files there are and what is lost of them, as the record says that their
// owner keeps in a mirrored file (docs/reference/formats/segment-manifest.md). A log and every result table
// have one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/env.h"

namespace walle::store {

// Numbers are stored: new ones are added behind.
enum class LossKind : uint8_t {
  journal,          // what was accepted and the journal no longer has
  damaged_segment,  // the file does not read
  missing_segment,  // the file is gone
  quota,            // removed for space before a named reader had come so far
  age,              // removed for age before a named reader had come so far
  manifest,         // the record itself was lost: what it knew of losses is not known any more
};
std::string_view loss_kind_name(LossKind kind);

// What is gone between two numbers.
struct Loss {
  LossKind kind = LossKind::journal;
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t count = 0;  // not more than lie between; a kill may leave only the bound known
  bool exact = true;   // false: `count` is the most that can be lost
  int64_t noticed_us = 0;
  std::string owner;  // the table; of quota and age the reader
  std::string cause;

  bool operator==(const Loss&) const = default;
};
// Joins what is news of a loss that is there, and everything where there are too many already.
void add_loss(std::vector<Loss>& losses, Loss loss);
// "3 rows between 7 and 9 are lost: the file ... is gone"; `what` are rows or events.
std::string loss_text(const Loss& loss, std::string_view what);
void put_losses(base::ByteWriter& out, const std::vector<Loss>& losses);
std::vector<Loss> get_losses(base::ByteReader& in);

// One file. It holds fewer rows than numbers where some were lost or erased.
struct SegmentEntry {
  uint64_t first = 0, last = 0;
  uint64_t rows = 0;
  int64_t min_ts = 0, max_ts = 0;
  int64_t bytes = 0;
};
void put_segments(base::ByteWriter& out, const std::vector<SegmentEntry>& segments);
// In the order of their numbers, none of which two have.
std::vector<SegmentEntry> get_segments(base::ByteReader& in);

// FIRST-LAST and the ending, 16 hexadecimal digits each: names then sort as their numbers do.
struct SegmentName {
  uint64_t first = 0, last = 0;
};
std::string segment_name(uint64_t first, uint64_t last, std::string_view ending);
// Of that spelling alone: capital digits read the same and name another file.
std::optional<SegmentName> parse_segment_name(std::string_view name, std::string_view ending);
inline constexpr size_t kSegmentNameBytes = 16 + 1 + 16;  // without the ending

inline constexpr std::string_view kAside = ".damaged";
// Kept under another name, not deleted: somebody may want to look.
Status set_aside(Env& env, const std::string& path);

}  // namespace walle::store
