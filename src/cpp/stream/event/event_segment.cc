#include "stream/event/event_segment.h"

#include <algorithm>

namespace walle::stream {

namespace {
std::string column_name(char kind, size_t event, size_t field) {
  return kind + std::to_string(event) + "." + std::to_string(field);
}

store::ColumnType column_type(FieldType t) {
  return t == FieldType::f64    ? store::ColumnType::floats
         : t == FieldType::text ? store::ColumnType::texts
                                : store::ColumnType::ints;
}
}  // namespace

void EventSegmentBuilder::add(const Event& e) {
  seqs_.push_back(static_cast<int64_t>(e.seq)), ts_.push_back(e.ts), event_.push_back(e.event),
      page_.push_back(e.page);
  session_.push_back(static_cast<int64_t>(e.session)),
      instance_.push_back(static_cast<int64_t>(e.page_instance)), flags_.push_back(e.flags);
  if (fields_.size() <= e.event) fields_.resize(e.event + 1u);
  auto& fields = fields_[e.event];
  const auto& decl = catalog_.events()[e.event].fields;
  const size_t before = fields.empty() ? 0 : fields[0].present.ints.size();
  while (fields.size() < decl.size()) {  // declared since the segment began
    fields.emplace_back();
    fields.back().present.ints.assign(before, 0);
    fields.back().values.type = column_type(decl[fields.size() - 1].type);
  }
  for (size_t i = 0; i < decl.size(); ++i) {
    const Value v = i < e.contents.size() ? e.contents[i] : Value();
    fields[i].present.ints.push_back(v.present);
    if (!v.present) continue;
    auto& values = fields[i].values;
    if (v.type == FieldType::f64)
      values.floats.push_back(v.d);
    else if (v.type == FieldType::text)
      values.texts.emplace_back(v.text);
    else
      values.ints.push_back(v.i);
  }
}

store::Segment EventSegmentBuilder::finish() {
  store::Segment s;
  s.first_seq = first_seq(), s.rows = rows();
  if (!ts_.empty()) s.min_ts = ts_.front(), s.max_ts = ts_.back();
  const auto ints = [&](const char* name, std::vector<int64_t>& v) {
    store::SegmentColumn c;
    c.name = name, c.ints = std::move(v);
    s.columns.push_back(std::move(c));
  };
  ints("seq", seqs_), ints("ts", ts_), ints("event", event_), ints("page", page_), ints("session", session_),
      ints("instance", instance_);
  ints("flags", flags_);
  for (size_t e = 0; e < fields_.size(); ++e)
    for (size_t f = 0; f < fields_[e].size(); ++f) {
      Field& field = fields_[e][f];
      const bool all =
          std::all_of(field.present.ints.begin(), field.present.ints.end(), [](int64_t p) { return p != 0; });
      field.present.name = column_name('p', e, f), field.values.name = column_name('v', e, f);
      if (!all) s.columns.push_back(std::move(field.present));
      s.columns.push_back(std::move(field.values));
    }
  return s;
}

Status read_event_segment(const store::Segment& s, const Catalog& catalog,
                          const std::function<bool(const Event&)>& visit) {
  const auto damaged = [&](std::string_view what) {
    return model_error("a segment " + std::string(what), "events of this catalogue",
                       "segment of seq " + std::to_string(s.first_seq),
                       "open the log with the catalogue it was written with");
  };
  const store::SegmentColumn* fixed[7];
  constexpr const char* names[7] = {"seq", "ts", "event", "page", "session", "instance", "flags"};
  for (int i = 0; i < 7; ++i) {
    fixed[i] = s.find(names[i]);
    if (!fixed[i] || fixed[i]->ints.size() != s.rows)
      return damaged("without its column '" + std::string(names[i]) + "'");
  }
  struct Cursor {
    const store::SegmentColumn *present, *values;
    size_t row = 0, value = 0;
  };
  std::vector<std::vector<Cursor>> fields(catalog.events().size());
  for (size_t e = 0; e < fields.size(); ++e)
    for (size_t f = 0; f < catalog.events()[e].fields.size(); ++f)
      fields[e].push_back({s.find(column_name('p', e, f)), s.find(column_name('v', e, f))});
  std::vector<Value> values;
  for (size_t i = 0; i < s.rows; ++i) {
    Event e;
    e.seq = static_cast<uint64_t>(fixed[0]->ints[i]), e.ts = fixed[1]->ints[i];
    const int64_t id = fixed[2]->ints[i], page = fixed[3]->ints[i];
    if (id < 0 || static_cast<size_t>(id) >= fields.size()) return damaged("with unknown event ids");
    e.event = static_cast<uint16_t>(id);
    if (page < 0 || static_cast<size_t>(page) >= catalog.page_count(e.event))
      return damaged("with unknown page or state ids");
    e.page = static_cast<uint16_t>(page), e.flags = static_cast<uint8_t>(fixed[6]->ints[i]);
    e.session = static_cast<uint64_t>(fixed[4]->ints[i]),
    e.page_instance = static_cast<uint64_t>(fixed[5]->ints[i]);
    values.assign(fields[e.event].size(), Value());
    for (size_t f = 0; f < values.size(); ++f) {
      Cursor& c = fields[e.event][f];
      if (!c.values) continue;
      if (c.present && (c.row >= c.present->ints.size() || !c.present->ints[c.row++])) continue;
      if (c.value >= c.values->size()) return damaged("with fewer values than rows");
      const FieldType type = catalog.events()[e.event].fields[f].type;
      if (c.values->type != column_type(type)) return damaged("with values of another type");
      if (type == FieldType::f64)
        values[f] = Value::of(c.values->floats[c.value]);
      else if (type == FieldType::text)
        values[f] = Value::of(std::string_view(c.values->texts[c.value]));
      else if (type == FieldType::boolean)
        values[f] = Value::of(c.values->ints[c.value] != 0);
      else
        values[f] = Value::of(c.values->ints[c.value]);
      ++c.value;
    }
    e.contents = values;
    if (!visit(e)) break;
  }
  return {};
}

}  // namespace walle::stream
