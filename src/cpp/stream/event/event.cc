#include "stream/event/event.h"

#include <cmath>

namespace walle::stream {

namespace {
constexpr size_t kFixedBytes = 30;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : from_(from) {}
  template <class T>
  bool get(T& value) {
    if (from_.size() < sizeof value) return false;
    std::memcpy(&value, from_.data(), sizeof value);
    from_ = from_.subspan(sizeof value);
    return true;
  }
  bool bytes(size_t size, std::string_view& text) {
    if (from_.size() < size) return false;
    text = {reinterpret_cast<const char*>(from_.data()), size};
    from_ = from_.subspan(size);
    return true;
  }
  bool done() const { return from_.empty(); }

 private:
  std::span<const std::byte> from_;
};

Error damaged(std::string_view what) {
  return model_error("a record with " + std::string(what), "an event record of this catalogue",
                     "event record", "open the log with the catalogue it was written with");
}
}  // namespace

size_t record_size(const Event& event) {
  size_t size = kFixedBytes;
  for (const Value& v : event.contents)
    if (v.present) size += 2 + (v.type == FieldType::text ? 4 + v.text.size() : 8);
  return size;
}

size_t checked_record_size(const EventDecl& decl, std::span<const Value> contents) {
  size_t size = kFixedBytes;
  bool good = contents.size() <= decl.fields.size();
  for (size_t i = 0; good && i < contents.size(); ++i) {
    const Value& v = contents[i];
    if (!v.present) continue;
    good = v.type == decl.fields[i].type;
    if (v.type == FieldType::text)
      good &= v.text.size() <= kMaxTextBytes, size += 6 + v.text.size();
    else
      good &= v.type != FieldType::f64 || std::isfinite(v.d), size += 10;
  }
  return good ? size : 0;
}

Result<Event> read_record(std::span<const std::byte> bytes, const Catalog& catalog,
                          std::vector<Value>& values) {
  Reader r(bytes);
  Event e;
  uint8_t n = 0;
  if (!(r.get(e.event) && r.get(e.page) && r.get(e.flags) && r.get(n) && r.get(e.ts) && r.get(e.session) &&
        r.get(e.page_instance)))
    return damaged("a cut head");
  if (e.event >= catalog.events().size()) return damaged("unknown event id " + std::to_string(e.event));
  if (e.page >= catalog.page_count(e.event))
    return damaged("unknown page or state id " + std::to_string(e.page));
  const auto& fields = catalog.events()[e.event].fields;
  values.assign(fields.size(), Value());
  for (uint8_t k = 0; k < n; ++k) {
    uint8_t at = 0, type = 0;
    if (!r.get(at) || !r.get(type)) return damaged("cut contents");
    if (at >= fields.size() || type != static_cast<uint8_t>(fields[at].type))
      return damaged("contents its event does not declare");
    Value& v = values[at];
    v.present = true, v.type = static_cast<FieldType>(type);
    uint32_t size = 0;
    const bool ok = v.type == FieldType::text ? r.get(size) && r.bytes(size, v.text) : r.get(v.i);
    if (!ok) return damaged("cut contents");
    if (v.type == FieldType::boolean) v = Value::of(v.i != 0);
  }
  if (!r.done()) return damaged("bytes behind its contents");
  e.contents = values;
  return e;
}

Status check_contents(const Catalog& catalog, uint16_t event, std::span<const Value> contents) {
  const EventDecl& decl = catalog.events()[event];
  const auto where = [&] { return "event '" + decl.name + "'"; };  // made only for an error: it costs 30 ns
  if (contents.size() > decl.fields.size())
    return argument_error(std::to_string(contents.size()) + " contents",
                          std::to_string(decl.fields.size()) + " declared fields", where(),
                          "declare the further fields first");
  for (size_t i = 0; i < contents.size(); ++i) {
    const Value& v = contents[i];
    if (!v.present) continue;
    const FieldDecl& f = decl.fields[i];
    if (v.type != f.type)
      return argument_error(
          "a value of type " + std::string(field_type_name(v.type)) + " for field '" + f.name + "'",
          std::string(field_type_name(f.type)), where(), "convert the value or declare another field");
    if (v.type == FieldType::text && v.text.size() > kMaxTextBytes)
      return argument_error("a text of " + std::to_string(v.text.size()) + " bytes in field '" + f.name + "'",
                            "at most " + std::to_string(kMaxTextBytes) + " bytes", where(),
                            "store it elsewhere and record its name");
    if (v.type == FieldType::f64 && !std::isfinite(v.d))
      return argument_error("a value that is not finite in field '" + f.name + "'", "a finite number",
                            where(), "leave the field out");
  }
  return {};
}

}  // namespace walle::stream
