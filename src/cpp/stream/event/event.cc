#include "stream/event/event.h"

#include <cmath>

#include "base/bytes.h"

namespace walle::stream {

namespace {
// event, page, flags, number of contents, ts, session, page instance; the own time comes behind
constexpr size_t kHeadBytes = 2 + 2 + 1 + 1 + 8 + 8 + 8;
constexpr size_t kFieldBytes = 2;  // position and type in front of a content's value
constexpr size_t kNumberBytes = kFieldBytes + 8;
constexpr size_t kTextBytes = kFieldBytes + 4;  // and the text

Error damaged(Text what) {
  return model_error({"a record with ", what}, "an event record of this catalogue", "event record",
                     "open the log with the catalogue it was written with");
}
}  // namespace

size_t record_size(const Event& event) {
  size_t size = kHeadBytes + (event.flags & kHasOwnTime ? kOwnTimeBytes : 0);
  for (const Value& v : event.contents)
    if (v.present) size += v.type == ColumnType::text ? kTextBytes + v.text.size() : kNumberBytes;
  return size;
}

// One pass for checking and measuring, which append() does for every event; check_contents(), which builds
// the message, runs only when this one says 0.
size_t checked_record_size(const EventDecl& decl, std::span<const Value> contents) {
  size_t size = kHeadBytes;
  bool good = contents.size() <= decl.fields.size();
  for (size_t i = 0; good && i < contents.size(); ++i) {
    const Value& v = contents[i];
    if (!v.present) continue;
    good = v.type == decl.fields[i].type;
    if (v.type == ColumnType::text) {
      good &= v.text.size() <= kMaxTextBytes;
      size += kTextBytes + v.text.size();
    } else {
      // NaN has no order, and windows and predicates compare; a sensor without a value leaves the field out.
      good &= v.type != ColumnType::real || std::isfinite(v.d);
      size += kNumberBytes;
    }
  }
  return good ? size : 0;
}

namespace {
// One content of a record into its place among `values`; what is wrong with it, or nothing.
std::string_view read_content(base::ByteReader& r, const std::vector<FieldDecl>& fields,
                              std::vector<Value>& values) {
  const auto at = r.get<uint8_t>();
  const auto type = r.get<uint8_t>();
  if (!r.ok()) return "cut contents";
  // The type is stored although the catalogue has it: a log that is opened with another catalogue then fails
  // here and not as wrong numbers.
  if (at >= fields.size() || type != static_cast<uint8_t>(fields[at].type))
    return "contents its event does not declare";
  switch (fields[at].type) {
    case ColumnType::integer: values[at] = Value::of(r.get<int64_t>()); break;
    case ColumnType::real: values[at] = Value::of(r.get<double>()); break;
    // Eight bytes, as all numbers: one width needs no alignment rules, and the journal is compacted soon.
    case ColumnType::boolean: values[at] = Value::of(r.get<int64_t>() != 0); break;
    case ColumnType::text: values[at] = Value::of(r.text()); break;
    case ColumnType::bytes:
    case ColumnType::vector: return "contents that no event has";
  }
  return r.ok() ? "" : "cut contents";
}
}  // namespace

Result<Event> read_record(std::span<const std::byte> bytes, const Catalog& catalog,
                          std::vector<Value>& values) {
  base::ByteReader r(bytes);
  Event e;
  e.event = r.get<uint16_t>();
  e.page = r.get<uint16_t>();
  e.flags = r.get<uint8_t>();
  const auto contents = r.get<uint8_t>();
  e.ts = r.get<int64_t>();
  e.session = r.get<uint64_t>();
  e.page_instance = r.get<uint64_t>();
  e.own_ts = e.flags & kHasOwnTime ? r.get<int64_t>() : e.ts;
  if (!r.ok()) return damaged("a cut head");
  if (e.event >= catalog.events().size()) return damaged({"unknown event id ", e.event});
  if (e.page >= catalog.page_count(e.event)) return damaged({"unknown page or state id ", e.page});
  const auto& fields = catalog.events()[e.event].fields;
  // Fields declared since the event was written are absent from it.
  values.assign(fields.size(), Value());
  for (uint8_t k = 0; k < contents; ++k)
    if (const auto wrong = read_content(r, fields, values); !wrong.empty()) return damaged(wrong);
  // The frame's checksum has passed, so this is no damage but another catalogue or a bug: better refused than
  // half read.
  if (!r.done()) return damaged("bytes behind its contents");
  e.contents = values;
  return e;
}

Status check_contents(const Catalog& catalog, uint16_t event, std::span<const Value> contents) {
  const EventDecl& decl = catalog.events()[event];
  const auto where = [&] { return "event '" + decl.name + "'"; };  // made only for an error: it costs 30 ns
  if (contents.size() > decl.fields.size())
    return argument_error({contents.size(), " contents"}, {decl.fields.size(), " declared fields"}, where(),
                          "declare the further fields first");
  for (size_t i = 0; i < contents.size(); ++i) {
    const Value& v = contents[i];
    if (!v.present) continue;
    const FieldDecl& f = decl.fields[i];
    if (v.type != f.type)
      return argument_error({"a value of type ", column_type_name(v.type), " for field '", f.name, "'"},
                            column_type_name(f.type), where(), "convert the value or declare another field");
    if (v.type == ColumnType::text && v.text.size() > kMaxTextBytes)
      return argument_error({"a text of ", v.text.size(), " bytes in field '", f.name, "'"},
                            {"at most ", kMaxTextBytes, " bytes"}, where(),
                            "store it elsewhere and record its name");
    if (v.type == ColumnType::real && !std::isfinite(v.d))
      return argument_error({"a value that is not finite in field '", f.name, "'"}, "a finite number",
                            where(), "leave the field out");
  }
  return {};
}

}  // namespace walle::stream
