// What is asked of a table for every header: compiled for speed in a room that is compiled for size
// (cmake/part_link.cmake).
#include <algorithm>

#include "link/policy/decision_table.h"

namespace walle::link {

namespace {

bool within(const std::vector<PlanSpan>& spans, uint32_t value) {
  const auto next = std::upper_bound(spans.begin(), spans.end(), value,
                                     [](uint32_t v, const PlanSpan& s) { return v < s.low; });
  return next != spans.begin() && value <= (next - 1)->high;
}

}  // namespace

uint32_t header_value(const DeviceHeader& h, HeaderField field) {
  switch (field) {
    case HeaderField::app: return h.app;
    case HeaderField::app_version: return h.app_version;
    case HeaderField::os: return static_cast<uint32_t>(h.os);
    case HeaderField::os_version: return h.os_version;
    case HeaderField::device: return h.device;
    case HeaderField::ram_mb: return h.ram_class;
    case HeaderField::op_set: return h.op_set;
    case HeaderField::vm: return h.vm;
  }
  return 0;
}

size_t DecisionTable::match(const DeviceHeader& header, std::array<uint64_t, kSegmentWords>& bits) const {
  for (size_t w = 0; w < words_; ++w) bits[w] = ~uint64_t{0};
  if (segments_.size() % 64) bits[words_ - 1] = (uint64_t{1} << segments_.size() % 64) - 1;
  for (const Field& field : fields_) {
    const uint32_t value = header_value(header, field.field);
    // The last start that is not above the value; starts[0] is 0. Without branches: the values are anybody's.
    const uint32_t* at = field.starts.data();
    for (size_t n = field.starts.size(); n > 1;) {
      const size_t half = n / 2;
      at += at[half] <= value ? half : 0;
      n -= half;
    }
    const uint64_t* row = field.rows.data() + static_cast<size_t>(at - field.starts.data()) * words_;
    for (size_t w = 0; w < words_; ++w) bits[w] &= row[w];
  }
  return words_;
}

uint64_t DecisionTable::take_plain(size_t at, uint64_t& bits) const {
  uint64_t plain = bits & plain_[at];
  bits ^= plain;
  const uint64_t* sums = sums_.data() + at * kNibbles * kNibbles;
  uint64_t sum = 0;
  for (; plain; plain >>= 4, sums += kNibbles) sum += sums[plain % kNibbles];
  return sum;
}

bool DecisionTable::in_buckets(const Segment& segment, uint32_t bucket) const {
  for (uint32_t b = segment.buckets_begin; b < segment.buckets_end; ++b)
    if (!within(buckets_[b].spans, bucket_value(buckets_[b].salt, bucket))) return false;
  return true;
}

}  // namespace walle::link
