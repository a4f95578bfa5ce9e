#include "container/host/record_scope.h"

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/nearest_name.h"
#include "container/host/value_codec.h"
#include "stream/event/event.h"

namespace walle::container {

namespace {

constexpr size_t kCountHead = sizeof(int64_t);

// As the field's type wants it; nullopt where it is none of it.
std::optional<vm::Value> typed(const vm::Value& value, ColumnType type) {
  switch (type) {
    case ColumnType::integer: return value.get<int64_t>() ? std::optional(value) : std::nullopt;
    case ColumnType::boolean: return value.get<bool>() ? std::optional(value) : std::nullopt;
    case ColumnType::real:
      if (const int64_t* i = value.get<int64_t>()) return vm::Value(static_cast<double>(*i));
      if (const double* d = value.get<double>(); d && std::isfinite(*d)) return value;
      return std::nullopt;
    case ColumnType::text:
      if (const std::string* s = value.get<std::string>(); s && s->size() <= stream::kMaxTextBytes)
        return value;
      return std::nullopt;
    case ColumnType::bytes:
    case ColumnType::vector: break;  // of no event
  }
  return std::nullopt;
}

Error wrong_field(const stream::EventDecl& event, const std::string& field) {
  std::vector<std::string> names;
  for (const stream::FieldDecl& f : event.fields) names.push_back(f.name);
  return argument_error({"field ", base::shown_name(field)}, {"a field of event '", event.name, "'"},
                        "walle.record", base::did_you_mean(field, names, "declare it in [events]"))
      .of_kind(base::ErrorKind::no_such_key);
}

}  // namespace

RecordScope::RecordScope(std::shared_ptr<store::StateMap> map, std::string task,
                         std::vector<stream::EventDecl> events, Limits limits, FiringState::Clock clock)
    : map_(std::move(map)),
      task_(std::move(task)),
      declared_(std::move(events)),
      limits_(limits),
      clock_(std::move(clock)) {}

Result<const stream::EventDecl*> RecordScope::find(const std::string& event) const {
  std::vector<std::string> names;
  for (const stream::EventDecl& decl : declared_) {
    if (decl.name == event) return &decl;
    names.push_back(decl.name);
  }
  return argument_error({"event ", base::shown_name(event)},
                        {"one that task '", task_, "' declares to record"}, "walle.record",
                        base::did_you_mean(event, names, "add it to [record] events"))
      .of_kind(base::ErrorKind::no_such_key);
}

// The number expires with its day.
uint64_t RecordScope::today() const {
  const std::optional<std::string> bytes = map_->get(task_);
  if (!bytes || bytes->size() < kCountHead + sizeof(uint64_t) || store::expired(*bytes, clock_())) return 0;
  return base::load_le<uint64_t>(bytes->data() + kCountHead);
}

std::string RecordScope::count_with(size_t more) const {
  base::ByteWriter out;
  out.put((clock_() / stream::kDayUs + 1) * stream::kDayUs);
  out.put(today() + uint64_t{more});
  return out.take();
}

Status RecordScope::record(const std::string& event, const vm::Map& fields) {
  WALLE_ASSIGN(const stream::EventDecl* decl, find(event));
  vm::Map out;
  for (const auto& [name, value] : fields) {
    const auto field = std::ranges::find(decl->fields, name, &stream::FieldDecl::name);
    if (field == decl->fields.end()) return wrong_field(*decl, name);
    if (value.is_none()) continue;
    std::optional<vm::Value> good = typed(value, field->type);
    if (!good)
      return argument_error({"field '", name, "' of event '", event, "' with another value"},
                            {column_type_name(field->type), ": finite, a text of at most ",
                             stream::kMaxTextBytes, " bytes"},
                            "walle.record", "convert it, or declare another type")
          .of_kind(base::ErrorKind::wrong_type);
    out.emplace_back(name, std::move(*good));
  }
  if (events_.size() >= limits_.per_firing)
    return resource_error({"event number ", limits_.per_firing + 1, " of one firing"},
                          {"at most ", limits_.per_firing}, "walle.record",
                          "record fewer, or raise [record] per_firing");
  if (today() + events_.size() >= limits_.per_day)
    return resource_error({"event number ", limits_.per_day + 1, " of one day"},
                          {"at most ", limits_.per_day, " per UTC day"}, "walle.record",
                          "look whether the task triggers itself, or raise [record] per_day");
  events_.push_back({.event = event, .ts = clock_(), .fields = *encode_value(vm::Value(std::move(out)))});
  return {};
}

}  // namespace walle::container
