#include "container/device/firing_event.h"

#include <functional>

#include "base/names.h"

namespace walle::container {

namespace {

wvm_value integer(uint64_t value) {
  return {.kind = WVM_INT, .size = 0, .as = {.integer = static_cast<int64_t>(value)}};
}

wvm_value none() { return {.kind = WVM_NONE, .size = 0, .as = {}}; }

wvm_value borrowed(std::string_view text) {
  return {.kind = WVM_STR, .size = text.size(), .as = {.text = text.data()}};
}

wvm_value map_of(std::vector<wvm_value>& items) {
  return {.kind = WVM_MAP, .size = items.size() / 2, .as = {.items = items.data()}};
}

// Names and texts of an event: what has to be copied, because the log may go on.
size_t text_bytes(const stream::Event& event, const stream::Catalog& catalog) {
  const stream::EventDecl& decl = catalog.events()[event.event];
  size_t bytes = decl.name.size() + base::name_rule(base::NameKind::trigger).most;
  for (size_t i = 0; i < event.contents.size(); ++i) {
    if (event.contents[i].present) bytes += decl.fields[i].name.size() + event.contents[i].text.size();
  }
  return bytes;
}

}  // namespace

FiringEvent::FiringEvent() {
  items_.reserve(24);
  fields_.reserve(2 * stream::kMaxFields);
}

void FiringEvent::add(std::string_view key, wvm_value value) {
  items_.push_back(borrowed(key));
  items_.push_back(value);
}

// Precondition: there is room, so that what was given before stays where it is.
wvm_value FiringEvent::text(std::string_view text) {
  const size_t at = texts_.size();
  texts_ += text;
  return {.kind = WVM_STR, .size = text.size(), .as = {.text = texts_.data() + at}};
}

void FiringEvent::put_firing(const stream::TaskFiring& firing) {
  add("trigger", borrowed(firing.trigger_name));
  add("number", integer(firing.number));
  add("key", integer(firing.key));
  add("seq", integer(firing.seq));
  add("ts", integer(static_cast<uint64_t>(firing.ts)));
  add("start_ts", integer(static_cast<uint64_t>(firing.start_ts)));
  add("session", integer(firing.session));
  add("page_instance", integer(firing.page_instance));
  add("coalesced", integer(firing.coalesced));
}

void FiringEvent::put_event(const stream::Event& event, const stream::Catalog& catalog) {
  const stream::EventDecl& decl = catalog.events()[event.event];
  const bool is_state = decl.kind == stream::EventKind::app_state;
  const std::string& page = is_state ? catalog.states()[event.page] : catalog.pages()[event.page];
  texts_.reserve(text_bytes(event, catalog) + page.size());
  for (size_t i = 0; i < event.contents.size(); ++i) {
    const stream::Value& v = event.contents[i];
    if (!v.present) continue;
    fields_.push_back(text(decl.fields[i].name));
    switch (v.type) {
      case ColumnType::integer: fields_.push_back(integer(static_cast<uint64_t>(v.i))); break;
      case ColumnType::real: fields_.push_back({.kind = WVM_FLOAT, .size = 0, .as = {.real = v.d}}); break;
      case ColumnType::boolean:
        fields_.push_back({.kind = WVM_BOOL, .size = 0, .as = {.integer = v.i}});
        break;
      case ColumnType::text:
      case ColumnType::bytes:  // of no event
      case ColumnType::vector: fields_.push_back(text(v.text)); break;
    }
  }
  add("event", text(decl.name));
  add("page", text(page));
}

Status FiringEvent::fill(const stream::TaskFiring& firing, stream::Processor& processor) {
  items_.clear();
  fields_.clear();
  texts_.clear();
  put_firing(firing);
  bool found = false;
  if (firing.seq != 0) {
    const auto visit = [&](const stream::Event& event) {
      found = event.seq == firing.seq;
      // The catalogue grows under the log's lock, which is held here.
      if (found) put_event(event, processor.catalog());
      return false;
    };
    WALLE_TRY(processor.log().read(firing.seq, std::ref(visit)));
  }
  if (!found) {
    add("event", none());
    add("page", none());
  }
  add("fields", map_of(fields_));
  value_ = map_of(items_);
  return {};
}

}  // namespace walle::container
