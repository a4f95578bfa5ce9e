// Event segment: a run of events as segment columns and back (docs/reference/formats/segment.md).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

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

// A segment's events by number and time, in any order: columns are unpacked when the first event of their
// kind is read, and stay. Contents borrow from it. One thread.
class EventSegmentReader {
 public:
  // Borrows the segment and the catalogue.
  static Result<EventSegmentReader> make(store::SegmentReader& segment, const Catalog& catalog);

  // The events with numbers from `from` and times from `from_ts` on, until `visit` returns false.
  Status read(uint64_t from, int64_t from_ts, const std::function<bool(const Event&)>& visit);

 private:
  using Integers = tensor::Column::Integers;

  EventSegmentReader(store::SegmentReader& segment, const Catalog& catalog)
      : segment_(&segment), catalog_(&catalog) {}
  Result<const Integers*> integers(std::string_view name);
  Status find_columns();
  Status count_rows();
  Status find_fields(uint16_t event);
  Result<Event> event_at(size_t row);
  Error damaged(Text what) const;

  store::SegmentReader* segment_;
  const Catalog* catalog_;
  std::array<const Integers*, kHeadColumns> head_{};
  const Integers* own_ = nullptr;
  // By row: which of its kind the event is, and which of those with a time of their own.
  std::vector<uint32_t> of_kind_, of_own_;
  // By event, by position; none of those of which no event was read. nullptr: declared since.
  std::vector<std::optional<std::vector<const tensor::Column*>>> fields_;
  std::vector<Value> values_;
};

// The same with what it borrows, whole: its checksums were compared.
struct LoadedSegment {
  static Result<std::unique_ptr<LoadedSegment>> make(std::string bytes, const Catalog& catalog);

  std::string bytes;
  std::optional<store::SegmentReader> packed;
  std::optional<EventSegmentReader> events;
};

}  // namespace walle::stream
