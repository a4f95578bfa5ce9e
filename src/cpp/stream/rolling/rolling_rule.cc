#include "stream/rolling/rolling_rule.h"

#include <bit>
#include <cmath>

#include "base/nearest_name.h"

namespace walle::stream {

namespace {

// Fields have one type each, so that equal bytes are equal values, and texts bring their size.
void put_part(std::string& key, const Value& v) {
  if (v.type == ColumnType::text) {
    const auto size = static_cast<uint32_t>(v.text.size());
    key.append(reinterpret_cast<const char*>(&size), sizeof size);
    key.append(v.text);
    return;
  }
  // + 0.0: both zeros are one key.
  const uint64_t bits =
      v.type == ColumnType::real ? std::bit_cast<uint64_t>(v.d + 0.0) : std::bit_cast<uint64_t>(v.i);
  key.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

}  // namespace

Result<RollingRule::KeyField> RollingRule::field(const Catalog& catalog, const std::string& name,
                                                 bool number) const {
  const EventDecl& event = catalog.events()[event_];
  std::vector<std::string> names;
  for (size_t i = 0; i < event.fields.size(); ++i) {
    const FieldDecl& declared = event.fields[i];
    names.push_back(declared.name);
    if (declared.name != name) continue;
    if (number && declared.type != ColumnType::integer && declared.type != ColumnType::real)
      return argument_error({"value '", name, "' of type ", column_type_name(declared.type)},
                            "a field of numbers", {"feature '", spec_.name, "'"},
                            "name an int or a float of the event");
    return KeyField{.name = name, .position = static_cast<int>(i), .type = declared.type};
  }
  return argument_error({"field '", name, "' of event '", event.name, "'"}, "a field that it declares",
                        {"feature '", spec_.name, "'"},
                        base::did_you_mean(name, names, "declare it in [events]"));
}

Result<RollingRule> RollingRule::make(RollingSpec spec, const Catalog& catalog) {
  WALLE_TRY(check_rolling(spec));
  RollingRule out;
  out.spec_ = std::move(spec);
  WALLE_ASSIGN(const Atom atom, rolling_event(out.spec_.event));
  const std::optional<uint16_t> event = catalog.find_event(atom.event);
  const std::optional<uint16_t> page = catalog.find_page(atom.page);
  const bool paged = atom.page != "*";
  if (!event || (paged && !page))
    return argument_error({event ? "page '" : "event '", event ? atom.page : atom.event, "'"},
                          "a declared one", {"feature '", out.spec_.name, "'"}, "declare it in task.toml");
  out.event_ = *event;
  if (paged) out.page_ = *page;
  out.predicate_ = atom.predicate;
  if (Status means = out.predicate_.resolve(catalog, out.event_); !means.ok())
    return std::move(means.take_error().within({"feature '", out.spec_.name, "'"}));
  for (const std::string& name : out.spec_.by) {
    WALLE_ASSIGN(KeyField part, out.field(catalog, name, false));
    out.key_.push_back(std::move(part));
  }
  if (out.spec_.value.empty()) return out;
  WALLE_ASSIGN(const KeyField value, out.field(catalog, out.spec_.value, true));
  out.value_ = value.position;
  out.whole_ = value.type == ColumnType::integer;
  return out;
}

bool RollingRule::take(const Event& e, const Catalog& catalog, std::string& key, uint64_t& bits) const {
  if (e.event != event_ || (page_ != kAny && e.page != page_)) return false;
  bits = 0;
  if (value_ >= 0) {
    const Value* v = e.content(value_);
    if (v == nullptr) return false;
    bits = whole_ ? std::bit_cast<uint64_t>(v->i) : std::bit_cast<uint64_t>(v->d);
  }
  key.clear();
  for (const KeyField& part : key_) {
    const Value* v = e.content(part.position);
    if (v == nullptr) return false;
    put_part(key, *v);
  }
  return predicate_.empty() || predicate_.evaluate(e, catalog);
}

Result<std::string> RollingRule::key_of(std::span<const Value> parts) const {
  std::string key;
  for (size_t i = 0; i < key_.size() && i < parts.size(); ++i) {
    const ColumnType type = key_[i].type;
    Value part = parts[i];
    if (type == ColumnType::real && part.is(ColumnType::integer))
      part = Value::of(static_cast<double>(part.i));
    if (!part.is(type))
      return argument_error({"a key whose part ", i + 1, " is no ", column_type_name(type)},
                            {"the type of field '", key_[i].name, "'"}, {"feature '", spec_.name, "'"},
                            "pass keys as the events have them")
          .of_kind(base::ErrorKind::wrong_type);
    put_part(key, part);
  }
  if (parts.size() == key_.size()) return key;
  return argument_error({"a key of ", parts.size(), " parts"},
                        {"one of ", key_.size(), ", as `by` has fields"}, {"feature '", spec_.name, "'"},
                        "pass a tuple or a list for several fields");
}

}  // namespace walle::stream
