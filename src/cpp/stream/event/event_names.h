// Events by their names, for whoever records or matches them from outside: bindings, files of recorded
// events.
#pragma once

#include "stream/event/event.h"

namespace walle::stream {

// An event without contents. `page` names a page ("": none), for app_state events a state, which `on` then
// switches; errors name what is not declared.
Result<Event> event_by_name(const Catalog& catalog, std::string_view name, std::string_view page, int64_t ts,
                            bool on);
// The page of the event, or its state.
const std::string& page_name(const Catalog& catalog, const Event& event);
// Position of the field `name` among the contents of `event`.
Result<size_t> field_by_name(const Catalog& catalog, uint16_t event, std::string_view name);

}  // namespace walle::stream
