// EventValue: one recorded event as a dict of a task's: {seq, ts, event, page, session, page_instance,
// fields: {...}}, in the boundary's own terms. Its memory is kept from event to event, so that a hot task's
// events allocate nothing. Used by one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stream/event/event.h"
#include "vm/abi.h"

namespace walle::container {

wvm_value integer_value(uint64_t value);
wvm_value none_value();
wvm_value borrowed_text(std::string_view text);
wvm_value map_value(std::vector<wvm_value>& items);

class EventValue {
 public:
  EventValue();
  EventValue(const EventValue&) = delete;
  EventValue& operator=(const EventValue&) = delete;

  // Copies what it needs: the log may go on.
  void fill(const stream::Event& event, const stream::Catalog& catalog);
  void clear();
  bool filled() const { return !items_.empty(); }
  // Until the next fill(); None while there is no event.
  wvm_value value() { return filled() ? map_value(items_) : none_value(); }
  wvm_value name() const { return filled() ? name_ : none_value(); }
  wvm_value page() const { return filled() ? page_ : none_value(); }
  wvm_value fields() { return map_value(fields_); }
  // None for a field that the event lacks.
  wvm_value field(std::string_view name) const;

 private:
  wvm_value text(std::string_view text);
  void put_fields(const stream::Event& event, const stream::EventDecl& decl);

  std::vector<wvm_value> items_;   // keys and values of the dict
  std::vector<wvm_value> fields_;  // of the dict in it
  std::string texts_;              // what both point to that is no literal; never grows while in use
  wvm_value name_{}, page_{};
};

}  // namespace walle::container
