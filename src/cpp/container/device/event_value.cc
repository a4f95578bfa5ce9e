#include "container/device/event_value.h"

#include "container/host/pending_event.h"

namespace walle::container {

wvm_value integer_value(uint64_t value) {
  return {.kind = WVM_INT, .size = 0, .as = {.integer = static_cast<int64_t>(value)}};
}

wvm_value none_value() { return {.kind = WVM_NONE, .size = 0, .as = {}}; }

wvm_value borrowed_text(std::string_view text) {
  return {.kind = WVM_STR, .size = text.size(), .as = {.text = text.data()}};
}

wvm_value map_value(std::vector<wvm_value>& items) {
  return {.kind = WVM_MAP, .size = items.size() / 2, .as = {.items = items.data()}};
}

EventValue::EventValue() {
  items_.reserve(14);  // seven keys with their values
  fields_.reserve(2 * stream::kMaxFields);
}

void EventValue::clear() {
  items_.clear();
  fields_.clear();
  texts_.clear();
}

// Precondition: there is room, so that what was given before stays where it is.
wvm_value EventValue::text(std::string_view text) {
  const size_t at = texts_.size();
  texts_ += text;
  return borrowed_text(std::string_view(texts_).substr(at));
}

void EventValue::put_fields(const stream::Event& event, const stream::EventDecl& decl) {
  for (size_t i = 0; i < event.contents.size(); ++i) {
    const stream::Value& v = event.contents[i];
    if (!v.present || decl.fields[i].name == kRecordField) continue;
    fields_.push_back(text(decl.fields[i].name));
    switch (v.type) {
      case ColumnType::integer: fields_.push_back(integer_value(static_cast<uint64_t>(v.i))); break;
      case ColumnType::real: fields_.push_back({.kind = WVM_FLOAT, .size = 0, .as = {.real = v.d}}); break;
      case ColumnType::boolean:
        fields_.push_back({.kind = WVM_BOOL, .size = 0, .as = {.integer = v.i}});
        break;
      case ColumnType::text:
      case ColumnType::bytes:  // of no event
      case ColumnType::vector: fields_.push_back(text(v.text)); break;
    }
  }
}

void EventValue::fill(const stream::Event& event, const stream::Catalog& catalog) {
  clear();
  const stream::EventDecl& decl = catalog.events()[event.event];
  const bool is_state = decl.kind == stream::EventKind::app_state;
  const std::string& page = is_state ? catalog.states()[event.page] : catalog.pages()[event.page];
  size_t bytes = decl.name.size() + page.size();
  for (size_t i = 0; i < event.contents.size(); ++i) {
    if (event.contents[i].present) bytes += decl.fields[i].name.size() + event.contents[i].text.size();
  }
  texts_.reserve(bytes);
  put_fields(event, decl);
  name_ = text(decl.name);
  page_ = text(page);
  const auto add = [this](std::string_view key, wvm_value value) {
    items_.push_back(borrowed_text(key));
    items_.push_back(value);
  };
  add("seq", integer_value(event.seq));
  add("ts", integer_value(static_cast<uint64_t>(event.ts)));
  add("event", name_);
  add("page", page_);
  add("session", integer_value(event.session));
  add("page_instance", integer_value(event.page_instance));
  add("fields", fields());
}

wvm_value EventValue::field(std::string_view name) const {
  for (size_t i = 0; i < fields_.size(); i += 2)
    if (std::string_view(fields_[i].as.text, fields_[i].size) == name) return fields_[i + 1];
  return none_value();
}

}  // namespace walle::container
