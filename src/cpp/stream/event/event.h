// Event: one event as every part of the stream room sees it, and its record form in the journal
// (docs/reference/formats/event.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stream/event/catalog.h"

namespace walle::stream {

// Operators and timers add and subtract times and durations: neither may lie further from 0, so that no such
// sum overflows (36,558 years).
inline constexpr int64_t kMaxTimeUs = int64_t{1} << 60;
inline constexpr int64_t kSecondUs = 1'000'000;
inline constexpr int64_t kMinuteUs = 60 * kSecondUs;
inline constexpr int64_t kHourUs = 60 * kMinuteUs;
inline constexpr int64_t kDayUs = 24 * kHourUs;

using Value = Cell;  // a content of an event

// Bits are stored in logs: new ones are added behind, none is reused.
enum EventFlags : uint8_t {
  kTimeRepaired = 1,  // older than the newest event, whose time it has
  kPageUnpaired = 2,
  kPageClosedInner = 4,
  kStateOn = 8,
  kTimeShifted = 16,  // the clock was set back: time runs ahead of it
  kTimeLate = 32,     // with kTimeRepaired: older than the device's clock, too
};
// Where its own time is not its time, a record has both.
inline constexpr uint8_t kHasOwnTime = kTimeRepaired | kTimeShifted;

// The first second of 2000, below which times are seconds or milliseconds: as microseconds they would lie
// in the 1970s, before any device that runs this.
inline constexpr int64_t kLeastTimeUs = 946'684'800 * kSecondUs;

struct Event {
  uint64_t seq = 0;
  int64_t ts = 0;              // us since 1970, never less than the previous event's
  int64_t own_ts = 0;          // what the device's clock said; filled by the log
  uint64_t session = 0;        // seq of the session's first event
  uint64_t page_instance = 0;  // seq of the page's enter event, 0 outside any
  uint16_t event = 0;
  uint16_t page = kNoPage;
  uint8_t flags = 0;
  std::span<const Value> contents;  // by field position of the event's declaration; may be shorter

  // The content at a field's position; nullptr where there is none, as for position -1.
  const Value* content(int position) const {
    if (position < 0 || std::cmp_greater_equal(position, contents.size())) return nullptr;
    const Value& v = contents[position];
    return v.present ? &v : nullptr;
  }
  const Value* field(const Catalog& catalog, uint16_t id) const {
    return content(catalog.field_position(event, id));
  }
};

// Of an event as it is placed: with its own time where it has one apart.
size_t record_size(const Event& event);
inline constexpr size_t kOwnTimeBytes = 8;
// The same for an event that is as declared; 0 for one that is not (check_contents says what is wrong).
size_t checked_record_size(const EventDecl& decl, std::span<const Value> contents);
// record_size(event) bytes; `w` is a base::Crc32cWriter. The numbers in front of the contents take as few
// words as they can.
template <class Writer>
void put_record(const Event& event, Writer& w) {
  uint8_t n = 0;
  // Absent contents take no bytes; events declare many fields and fill few.
  for (const Value& v : event.contents) n += v.present;
  w.put(event.event | uint32_t{event.page} << 16);
  w.put(static_cast<uint16_t>(event.flags | n << 8));
  w.put(event.ts);
  w.put(event.session);
  w.put(event.page_instance);
  if (event.flags & kHasOwnTime) [[unlikely]]
    w.put(event.own_ts);
  for (size_t i = 0; i < event.contents.size(); ++i) {
    const Value& v = event.contents[i];
    if (!v.present) continue;
    w.put(static_cast<uint16_t>(i | static_cast<size_t>(v.type) << 8));
    if (v.type != ColumnType::text) {
      w.put(v.i);
      continue;
    }
    w.put(static_cast<uint32_t>(v.text.size()));
    w.copy(v.text.data(), v.text.size());
  }
}

// Decodes what put_record wrote. `values` is the storage of the contents; texts borrow from `bytes`.
Result<Event> read_record(std::span<const std::byte> bytes, const Catalog& catalog,
                          std::vector<Value>& values);

// The contents against the declaration: known positions, right types, texts within the limit, finite numbers.
Status check_contents(const Catalog& catalog, uint16_t event, std::span<const Value> contents);

}  // namespace walle::stream
