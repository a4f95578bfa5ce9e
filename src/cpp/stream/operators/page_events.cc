#include "stream/operators/page_events.h"

namespace walle::stream {

void PageEvents::keep(const Event& event) {
  // What read() hands out borrows from the log's buffers, which the next event overwrites.
  for (Value value : event.contents) {
    if (value.present && value.type == ColumnType::text) value.text = texts_.emplace_back(value.text);
    contents_.push_back(value);
  }
  events_.push_back(event);
}

Result<PageEvents> PageEvents::read(EventLog& log, uint64_t instance) {
  PageEvents page;
  WALLE_TRY(log.read(EventQuery::of_page(instance), nullptr, [&](const Event& event) {
    page.keep(event);
    return true;
  }));
  // Only now, since growing moves them.
  const Value* at = page.contents_.data();
  for (Event& event : page.events_) {
    event.contents = {at, event.contents.size()};
    at += event.contents.size();
  }
  return page;
}

IpvFields ipv_fields(const Catalog& catalog) {
  const auto position = [&](EventKind kind, std::string_view field) {
    const auto id = catalog.find_field(field);
    return id ? catalog.field_position(static_cast<uint16_t>(kind), *id) : -1;
  };
  return {.scroll_depth = position(EventKind::page_scroll, "depth"),
          .exposure_item = position(EventKind::exposure, "item"),
          .click_item = position(EventKind::click, "item")};
}

}  // namespace walle::stream
