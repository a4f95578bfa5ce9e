// DecisionTable: a plan's releases in the form that deciding reads: which segments hold for a header is one
// AND of bit rows.
//
// Per field the ends of all segments' spans cut its values into intervals; each interval has a row with one
// bit for each segment whose condition holds there. A header picks a row per field by binary search, and the
// AND of the rows is the segments that hold, in the plan's order ("Parallel Bit Vector", Lakshman and
// Stiliadis, 1998, there for packets). 300 segments are 5 words a row; evaluated one after another they would
// be 2,400 comparisons.
//
// What a digest adds up is laid out the same way. Most tasks have one segment, of a full release, and ask
// about no bucket: whether its bit is set is all there is to decide. For these the sums of every four
// neighbours lie ready, so that 300 tasks are 75 additions instead of a walk over the bits that are set.
// Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "link/policy/device_header.h"
#include "link/policy/plan_data.h"

namespace walle::link {

inline constexpr size_t kSegmentWords = kMostSegments / 64;

class DecisionTable {
 public:
  struct Segment {
    uint32_t release = 0;
    uint32_t task = 0;                            // counted from 0 in the plan's order
    uint32_t buckets_begin = 0, buckets_end = 0;  // conditions on buckets, which no row knows
  };
  struct Bucket {
    uint64_t salt = 0;
    std::vector<PlanSpan> spans;
  };
  struct Release {
    uint64_t content = 0;  // what its package adds to a digest
    uint64_t control = 0;  // what being its control adds
    uint64_t salt = 0;     // of its ramp
    bool gray = false;
  };

  // A resource error where the rows would take more than kMostRowWords. Precondition: `plan` is verified.
  static Result<DecisionTable> build(const PlanData& plan);

  // Sets the bits of the segments that hold; returns how many words they are. decision_match.cc, where speed
  // counts; the rest is done once per plan.
  size_t match(const DeviceHeader& header, std::array<uint64_t, kSegmentWords>& bits) const;
  bool in_buckets(const Segment& segment, uint32_t bucket) const;
  // Takes the bits out of word `at` that decide by themselves; returns what their packages add to a digest.
  uint64_t take_plain(size_t at, uint64_t& bits) const;
  const Segment& segment(size_t at) const { return segments_[at]; }
  const Release& release(size_t at) const { return releases_[at]; }

 private:
  struct Field {
    HeaderField field = HeaderField::app;
    std::vector<uint32_t> starts;  // of the intervals, ascending, the first 0
    std::vector<uint64_t> rows;    // words_ for each
  };

  static constexpr size_t kNibbles = 16;  // in a word, and values of one

  void add_release(const PlanRelease& release);
  Status add_field(HeaderField field, size_t& left);
  void add_sums();

  std::vector<Segment> segments_;
  std::vector<const PlanSegment*> sources_;  // while it is built; nullptr: everybody
  std::vector<Bucket> buckets_;
  std::vector<Release> releases_;
  std::vector<Field> fields_;    // those any segment asks about
  std::vector<uint64_t> plain_;  // bits of segments that decide by themselves
  std::vector<uint64_t> sums_;   // per word, nibble and value of the nibble
  size_t words_ = 0;
};

// All rows of a plan: 8 MB. 300 tasks that tell apart 100 versions take 32 KB.
inline constexpr size_t kMostRowWords = size_t{1} << 20;

uint32_t header_value(const DeviceHeader& header, HeaderField field);

}  // namespace walle::link
