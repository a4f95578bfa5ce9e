#include "container/device/task_events.h"

#include <functional>

#include "base/log.h"
#include "container/host/value_codec.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::container {

namespace {

// The value as the field's type wants it; absent where it is none, which walle.record has refused.
stream::Value content_of(const vm::Value& value, ColumnType type) {
  if (const int64_t* i = value.get<int64_t>(); i && type == ColumnType::integer) return stream::Value::of(*i);
  if (const int64_t* i = value.get<int64_t>(); i && type == ColumnType::real)
    return stream::Value::of(static_cast<double>(*i));
  if (const double* d = value.get<double>(); d && type == ColumnType::real) return stream::Value::of(*d);
  if (const bool* b = value.get<bool>(); b && type == ColumnType::boolean) return stream::Value::of(*b);
  if (const std::string* s = value.get<std::string>(); s && type == ColumnType::text)
    return stream::Value::of(std::string_view(*s));
  return {};
}

int field_at(const stream::EventDecl& decl, std::string_view name) {
  for (size_t i = 0; i < decl.fields.size(); ++i)
    if (decl.fields[i].name == name) return static_cast<int>(i);
  return -1;
}

}  // namespace

// Of an event's name, while nobody changes the catalogue.
Result<TaskEvents::Known> TaskEvents::find(const std::string& name) {
  Known out;
  stream::EventLog& log = processor_.log();
  const auto look = [&](const stream::Catalog& catalog) {
    const std::optional<uint16_t> id = catalog.find_event(name);
    if (id) out = {.there = true, .id = *id, .decl = catalog.events()[*id]};
    return Status();
  };
  WALLE_TRY(log.read({.from = log.last_seq() + 1, .to = 0, .session = {}, .page_instance = {}},
                     std::ref(look), [](const stream::Event&) { return false; }));
  return out;
}

Status TaskEvents::append(const PendingEvent& pending) {
  WALLE_ASSIGN(const Known known, find(pending.event.event));
  const std::optional<vm::Value> fields = decode_value(pending.event.fields);
  const vm::Map* map = fields ? fields->get<vm::Map>() : nullptr;
  if (!known.there || map == nullptr) {
    base::log(base::LogLevel::error,
              "event '" + pending.event.event + "' of a task: the device no longer declares it");
    return {};
  }
  const stream::EventDecl& decl = known.decl;
  std::vector<stream::Value> contents(decl.fields.size());
  for (const auto& [name, value] : *map)
    if (const int at = field_at(decl, name); at >= 0)
      contents[static_cast<size_t>(at)] = content_of(value, decl.fields[static_cast<size_t>(at)].type);
  if (const int at = field_at(decl, kRecordField); at >= 0)
    contents[static_cast<size_t>(at)] = stream::Value::of(pending.id);
  stream::Event event;
  event.event = known.id;
  event.ts = pending.event.ts;
  event.contents = contents;
  const Result<stream::Event> recorded = processor_.record(event);
  if (recorded.ok() || recorded.error().group() != base::ErrorGroup::argument) return recorded.status();
  // It would never be taken: what is wrong with it has been refused to the task, unless a file was altered.
  base::log(base::LogLevel::error, "event '" + decl.name + "' of a task: " + recorded.error().message());
  return {};
}

Result<int64_t> TaskEvents::newest_id(uint64_t after) {
  int64_t newest = 0;
  const stream::Catalog& catalog = processor_.catalog();
  const std::optional<uint16_t> field = catalog.find_field(kRecordField);
  if (!field) return newest;
  WALLE_TRY(processor_.log().read(after + 1, [&](const stream::Event& event) {
    if (const stream::Value* id = event.field(catalog, *field)) newest = std::max(newest, id->i);
    return true;
  }));
  return newest;
}

stream::EventDecl timer_event() {
  using stream::Sensitivity;
  stream::EventDecl out{.name = kTimerEvent, .kind = stream::EventKind::custom, .fields = {}};
  for (const char* field : {"task", "name", "key", "payload"})
    out.fields.push_back({.name = field, .type = ColumnType::text, .sensitivity = Sensitivity::personal});
  out.fields.push_back({.name = kRecordField, .type = ColumnType::integer, .sensitivity = Sensitivity::open});
  return out;
}

Result<stream::TriggerText> timer_trigger(const std::string& task, const std::string& timer) {
  WALLE_ASSIGN(const stream::TriggerSpec spec,
               stream::parse_trigger(std::string(kTimerEvent) + "[task == \"" + task + "\" and name == \"" +
                                     timer + "\"]"));
  return stream::TriggerText{.name = timer, .text = stream::format_trigger(spec)};
}

}  // namespace walle::container
