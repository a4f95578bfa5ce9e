#include "stream/event/event_names.h"

#include <algorithm>

namespace walle::stream {

namespace {

bool names_state(const Catalog& catalog, uint16_t event) {
  return catalog.events()[event].kind == EventKind::app_state;
}

Result<uint16_t> page_or_state(const Catalog& catalog, uint16_t event, std::string_view name) {
  // An app-state event has no page: its page id is the number of the state it switches, so that records need
  // no further field.
  const bool state = names_state(catalog, event);
  if (name.empty() && !state) return kNoPage;
  if (const auto found = state ? catalog.find_state(name) : catalog.find_page(name)) return *found;
  return argument_error({state ? "state '" : "page '", name, "'"}, "a declared name",
                        {"event '", catalog.events()[event].name, "'"}, "declare it first");
}

}  // namespace

Result<Event> event_by_name(const Catalog& catalog, std::string_view name, std::string_view page, int64_t ts,
                            bool on) {
  const auto id = catalog.find_event(name);
  if (!id)
    return argument_error({"event '", name, "'"}, "a declared event", "event",
                          "declare it or correct its name");
  Event event;
  event.event = *id;
  event.ts = ts;
  WALLE_ASSIGN(event.page, page_or_state(catalog, *id, page));
  if (on && names_state(catalog, *id)) event.flags |= kStateOn;
  return event;
}

const std::string& page_name(const Catalog& catalog, const Event& event) {
  return names_state(catalog, event.event) ? catalog.states()[event.page] : catalog.pages()[event.page];
}

Result<size_t> field_by_name(const Catalog& catalog, uint16_t event, std::string_view name) {
  const EventDecl& declared = catalog.events()[event];
  const auto found = std::ranges::find(declared.fields, name, &FieldDecl::name);
  if (found == declared.fields.end())
    return argument_error({"field '", name, "'"}, "a declared field", {"event '", declared.name, "'"},
                          "declare the field or correct its name");
  return found - declared.fields.begin();
}

}  // namespace walle::stream
