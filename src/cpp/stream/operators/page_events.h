// PageEvents: the events of one page instance out of the log, kept together with what their contents borrow.
#pragma once

#include <deque>

#include "stream/event/event_log.h"
#include "stream/operators/ipv.h"

namespace walle::stream {

class PageEvents {
 public:
  // From the page's enter event to its exit, or to the end of its session; none where the log has no such
  // instance.
  static Result<PageEvents> read(EventLog& log, uint64_t instance);

  PageEvents(PageEvents&&) = default;
  PageEvents& operator=(PageEvents&&) = default;
  PageEvents(const PageEvents&) = delete;  // a copy's events would borrow from the original
  PageEvents& operator=(const PageEvents&) = delete;

  std::span<const Event> events() const { return events_; }

 private:
  PageEvents() = default;
  void keep(const Event& event);

  std::vector<Event> events_;
  std::vector<Value> contents_;  // of all events, in their order: a vector for each would be an allocation
  // A deque: growing leaves the elements, which contents_ points to, where they are.
  std::deque<std::string> texts_;
};

// The fields of the built-in events that the feature uses, where the catalogue declares them.
IpvFields ipv_fields(const Catalog& catalog);

}  // namespace walle::stream
