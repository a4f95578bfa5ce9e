// FiringEvent: the `event` that a task's function gets: a dict made of a firing, of what its scope kept
// apart, and of the first and the last event of its match (docs/reference/firing.md), in the boundary's own
// terms. Its memory is kept from firing to firing, so that a hot task's event allocates nothing.
//
// event, page and fields are the last event's: None and nothing where it is no longer in the log. `key` is
// the hash as a signed number. Used by one thread at a time.
#pragma once

#include "container/device/event_value.h"
#include "stream/processor/processor.h"

namespace walle::container {

class FiringEvent {
 public:
  FiringEvent();
  FiringEvent(const FiringEvent&) = delete;
  FiringEvent& operator=(const FiringEvent&) = delete;

  // Reads the events from the log; an error is one of reading it. `firing` is located (Processor::locate).
  Status fill(const stream::TaskFiring& firing, stream::Processor& processor);
  // Until the next fill().
  const wvm_value& value() const { return value_; }

 private:
  void add(std::string_view key, wvm_value value);
  void put_firing(const stream::TaskFiring& firing);
  Status read(uint64_t seq, stream::Processor& processor, EventValue& found);
  void put_scope(const stream::TaskFiring& firing, const stream::Catalog& catalog, const EventValue& first);

  std::vector<wvm_value> items_;  // keys and values of the dict
  std::vector<wvm_value> scope_;  // of the dict in it
  std::string names_;             // of fields in it; never grows while in use
  EventValue first_, last_;
  wvm_value value_{};
};

}  // namespace walle::container
