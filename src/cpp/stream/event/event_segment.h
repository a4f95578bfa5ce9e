// Event segment: a run of events as segment columns and back (docs/reference/formats/segment.md).
#pragma once

#include <array>
#include <functional>

#include "store/segment.h"
#include "stream/event/event.h"

namespace walle::stream {

inline constexpr size_t kHeadColumns = 7;  // what every event has; the others are its contents

// One thread; made for one segment and used up by finish().
class EventSegmentBuilder {
 public:
  explicit EventSegmentBuilder(const Catalog& catalog) : catalog_(catalog) {}
  void add(const Event& event);  // consecutive sequence numbers; false steps are the caller's
  size_t rows() const { return rows_; }
  uint64_t first_seq() const { return first_seq_; }  // 0 while there is no row
  uint64_t last_seq() const { return last_seq_; }
  store::Segment finish();

 private:
  void add_contents(const Event& event);

  const Catalog& catalog_;
  size_t rows_ = 0;
  uint64_t first_seq_ = 0, last_seq_ = 0;
  std::array<std::vector<int64_t>, kHeadColumns> head_;
  std::vector<int64_t> own_;                         // times of those events whose own time is another one
  std::vector<std::vector<tensor::Column>> fields_;  // by event, by position: a row per such event
};

// Events with numbers >= `from`, until `visit` returns false. Of their contents only the columns of those
// kinds are unpacked that are visited.
Status read_event_segment(store::SegmentReader& segment, const Catalog& catalog, uint64_t from,
                          const std::function<bool(const Event&)>& visit);

}  // namespace walle::stream
