// FiringEvent: the `event` that a task's function gets: a dict made of a firing and the event that completed
// it, in the boundary's own terms. Its memory is kept from firing to firing, so that a hot task's event
// allocates nothing.
//
//   {trigger, number, key, seq, ts, start_ts, session, page_instance, coalesced, event, page, fields: {...}}
//
// event and page are None, and fields is empty, where event `seq` is no longer in the log. `key` is the hash
// as a signed number. Used by one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stream/processor/processor.h"
#include "vm/abi.h"

namespace walle::container {

class FiringEvent {
 public:
  FiringEvent();
  FiringEvent(const FiringEvent&) = delete;
  FiringEvent& operator=(const FiringEvent&) = delete;

  // Reads the event from the log; an error is one of reading it.
  Status fill(const stream::TaskFiring& firing, stream::Processor& processor);
  // Until the next fill().
  const wvm_value& value() const { return value_; }

 private:
  void add(std::string_view key, wvm_value value);
  void put_firing(const stream::TaskFiring& firing);
  void put_event(const stream::Event& event, const stream::Catalog& catalog);
  wvm_value text(std::string_view text);

  std::vector<wvm_value> items_;   // keys and values of the dict
  std::vector<wvm_value> fields_;  // of the dict in it
  std::string texts_;              // what both point to that is not a literal; never grows while in use
  wvm_value value_{};
};

}  // namespace walle::container
