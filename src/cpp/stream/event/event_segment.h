// A run of events as segment columns and back.
#pragma once

#include <functional>

#include "store/segment.h"
#include "stream/event/event.h"

namespace walle::stream {

class EventSegmentBuilder {
 public:
  explicit EventSegmentBuilder(const Catalog& catalog) : catalog_(catalog) {}
  void add(const Event& event);  // consecutive sequence numbers; false steps are the caller's
  size_t rows() const { return seqs_.size(); }
  uint64_t first_seq() const { return seqs_.empty() ? 0 : static_cast<uint64_t>(seqs_.front()); }
  uint64_t last_seq() const { return seqs_.empty() ? 0 : static_cast<uint64_t>(seqs_.back()); }
  store::Segment finish();

 private:
  struct Field {
    store::SegmentColumn present, values;
  };
  const Catalog& catalog_;
  std::vector<int64_t> seqs_, ts_, event_, page_, session_, instance_, flags_;
  std::vector<std::vector<Field>> fields_;  // by event, by position
};

Status read_event_segment(const store::Segment& segment, const Catalog& catalog,
                          const std::function<bool(const Event&)>& visit);

}  // namespace walle::stream
