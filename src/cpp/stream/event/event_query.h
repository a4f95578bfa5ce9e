// EventQuery: which events of a log somebody wants, in words that the log can answer without reading all of
// itself: segments outside are not opened, the journal is entered near the first one, and reading ends behind
// the last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "stream/event/event.h"

namespace walle::stream {

// Events for which everything holds. All bounds are inclusive.
struct EventQuery {
  uint64_t from = 0, to = UINT64_MAX;              // numbers
  int64_t from_ts = INT64_MIN, to_ts = INT64_MAX;  // us, of Event::ts
  std::optional<uint64_t> session = {};            // the session that began with this event
  std::optional<uint64_t> page_instance = {};      // the page instance entered with this event

  // What a trigger's match lies between: from the time of its first event to the event that completed it.
  static EventQuery match(int64_t start_ts, uint64_t seq) {
    return {.to = seq, .from_ts = start_ts, .session = {}, .page_instance = {}};
  }
  // Up to event `to`, and with it: later events of an open session or page are not part of what fired.
  static EventQuery of_session(uint64_t session, uint64_t to = UINT64_MAX) {
    return {.to = to, .session = session, .page_instance = {}};
  }
  static EventQuery of_page(uint64_t instance, uint64_t to = UINT64_MAX) {
    return {.to = to, .session = {}, .page_instance = instance};
  }

  // No event before this number is wanted: sessions and page instances are named by their first event's.
  uint64_t first() const { return std::max({from, session.value_or(0), page_instance.value_or(0)}); }
};

// Asked of events in their order, from query.first() on.
class QueryReader {
 public:
  enum class Verdict : uint8_t { skip, take, stop };  // stop: nor any behind it
  QueryReader(const EventQuery& query, const Catalog& catalog) : query_(query), catalog_(catalog) {}
  Verdict of(const Event& event);

 private:
  bool behind_page(const Event& event);

  const EventQuery& query_;
  const Catalog& catalog_;
  uint64_t page_session_ = 0;  // in which the page instance was entered; 0: not known yet
  bool left_ = false;          // the page instance
};

}  // namespace walle::stream
