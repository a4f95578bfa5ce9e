#include "stream/event/event_segment.h"

#include <algorithm>

namespace walle::stream {

namespace {
enum HeadColumn : size_t { kSeq, kTs, kEvent, kPage, kSession, kInstance, kFlags };
constexpr std::array<const char*, kHeadColumns> kHeadNames = {"seq",     "ts",       "event", "page",
                                                              "session", "instance", "flags"};

// Of the events whose flags say that they have one, in order.
constexpr const char* kOwnTime = "own";

std::string column_name(char kind, size_t event, size_t field) {
  // "p3.1": whether field 1 of event 3 is there, "v3.1": its values where it is. By number, since names may
  // be long and the catalogue knows them.
  return kind + std::to_string(event) + "." + std::to_string(field);
}

store::ColumnType column_type(FieldType t) {
  return t == FieldType::f64    ? store::ColumnType::floats
         : t == FieldType::text ? store::ColumnType::texts
                                : store::ColumnType::ints;
}

// Booleans go with the integers, as 0 and 1: zlib makes next to nothing of them.
void add_value(store::SegmentColumn& column, const Value& v) {
  if (v.type == FieldType::f64)
    column.floats.push_back(v.d);
  else if (v.type == FieldType::text)
    column.texts.emplace_back(v.text);
  else
    column.ints.push_back(v.i);
}

Value value_at(const store::SegmentColumn& column, size_t at, FieldType type) {
  switch (type) {
    case FieldType::i64: return Value::of(column.ints[at]);
    case FieldType::f64: return Value::of(column.floats[at]);
    case FieldType::boolean: return Value::of(column.ints[at] != 0);
    case FieldType::text: return Value::of(std::string_view(column.texts[at]));
  }
  return {};
}
}  // namespace

void EventSegmentBuilder::add(const Event& e) {
  if (rows_++ == 0) first_seq_ = e.seq;
  last_seq_ = e.seq;
  head_[kSeq].push_back(static_cast<int64_t>(e.seq));
  head_[kTs].push_back(e.ts);
  head_[kEvent].push_back(e.event);
  head_[kPage].push_back(e.page);
  head_[kSession].push_back(static_cast<int64_t>(e.session));
  head_[kInstance].push_back(static_cast<int64_t>(e.page_instance));
  head_[kFlags].push_back(e.flags);
  if (e.flags & kHasOwnTime) own_.push_back(e.own_ts);
  add_contents(e);
}

void EventSegmentBuilder::add_contents(const Event& e) {
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
    // Contents may be shorter than the declaration: the rest is absent.
    const Value v = i < e.contents.size() ? e.contents[i] : Value();
    fields[i].present.ints.push_back(v.present);
    if (v.present) add_value(fields[i].values, v);
  }
}

store::Segment EventSegmentBuilder::finish() {
  store::Segment s;
  s.first_seq = first_seq_;
  s.rows = rows_;
  if (rows_ > 0) {
    // Times never go back, so the ends are the extremes.
    s.min_ts = head_[kTs].front();
    s.max_ts = head_[kTs].back();
  }
  const auto take = [&](std::string name, store::SegmentColumn& column) {
    column.name = std::move(name);
    s.columns.push_back(std::move(column));
  };
  for (size_t i = 0; i < kHeadColumns; ++i) {
    store::SegmentColumn column;
    column.ints = std::move(head_[i]);
    take(kHeadNames[i], column);
  }
  if (!own_.empty()) {
    store::SegmentColumn column;
    column.ints = std::move(own_);
    take(kOwnTime, column);
  }
  for (size_t e = 0; e < fields_.size(); ++e)
    for (size_t f = 0; f < fields_[e].size(); ++f) {
      auto& [present, values] = fields_[e][f];
      // A column of ones says nothing; its absence says "always there", which is the usual case.
      const bool all =
          std::all_of(present.ints.begin(), present.ints.end(), [](int64_t p) { return p != 0; });
      if (!all) take(column_name('p', e, f), present);
      take(column_name('v', e, f), values);
    }
  return s;
}

namespace {
// One event after another out of a segment's columns. Contents borrow from it and from the reader.
class RowReader {
 public:
  RowReader(store::SegmentReader& segment, const Catalog& catalog) : segment_(segment), catalog_(catalog) {}

  Status find_columns() {
    for (size_t i = 0; i < kHeadColumns; ++i) {
      WALLE_ASSIGN(head_[i], segment_.find(kHeadNames[i]));
      if (!head_[i] || head_[i]->ints.size() != segment_.rows())
        return damaged({"without its column '", kHeadNames[i], "'"});
    }
    WALLE_ASSIGN(own_, segment_.find(kOwnTime));
    fields_.resize(catalog_.events().size());
    return {};
  }

  // The first row whose event has this number or a higher one; rows before it are not read. Numbers grow.
  size_t first_row(uint64_t from) {
    const std::vector<int64_t>& seqs = head_[kSeq]->ints;
    const auto at = std::ranges::partition_point(seqs, [&](int64_t s) { return std::cmp_less(s, from); });
    const auto row = static_cast<size_t>(at - seqs.begin());
    own_row_ = static_cast<size_t>(std::count_if(head_[kFlags]->ints.begin(),
                                                 head_[kFlags]->ints.begin() + static_cast<ptrdiff_t>(row),
                                                 [](int64_t flags) { return flags & kHasOwnTime; }));
    return row;
  }

  // Rows in order, each once.
  Result<Event> read(size_t row) {
    const int64_t event = head_[kEvent]->ints[row];
    const int64_t page = head_[kPage]->ints[row];
    // Numbers of a segment are checked against the catalogue one by one: its checksum says it is as written,
    // not by whom.
    if (event < 0 || std::cmp_greater_equal(event, fields_.size())) return damaged("with unknown event ids");
    Event e;
    e.event = static_cast<uint16_t>(event);
    if (page < 0 || std::cmp_greater_equal(page, catalog_.page_count(e.event)))
      return damaged("with unknown page or state ids");
    e.page = static_cast<uint16_t>(page);
    e.seq = static_cast<uint64_t>(head_[kSeq]->ints[row]);
    e.ts = head_[kTs]->ints[row];
    e.session = static_cast<uint64_t>(head_[kSession]->ints[row]);
    e.page_instance = static_cast<uint64_t>(head_[kInstance]->ints[row]);
    e.flags = static_cast<uint8_t>(head_[kFlags]->ints[row]);
    e.own_ts = e.ts;
    if (e.flags & kHasOwnTime) {
      if (!own_ || own_row_ >= own_->ints.size()) return damaged("with fewer own times than its flags say");
      e.own_ts = own_->ints[own_row_++];
    }
    WALLE_TRY(find_fields(e.event, row));
    WALLE_TRY(read_contents(e.event));
    e.contents = values_;
    return e;
  }

 private:
  struct Cursor {  // of one field: the next row of its event, the next value that is there
    const store::SegmentColumn* present = nullptr;
    const store::SegmentColumn* values = nullptr;
    size_t row = 0, value = 0;
  };

  // When the first event of a kind is read, at `row`: its columns, and where they stand there.
  Status find_fields(uint16_t event, size_t row) {
    if (fields_[event]) return {};
    std::vector<Cursor>& found = fields_[event].emplace();
    const auto events = head_[kEvent]->ints.begin();
    const auto before =
        static_cast<size_t>(std::count(events, events + static_cast<ptrdiff_t>(row), int64_t{event}));
    for (size_t f = 0; f < catalog_.events()[event].fields.size(); ++f) {
      Cursor c{.row = before, .value = before};
      WALLE_ASSIGN(c.present, segment_.find(column_name('p', event, f)));
      WALLE_ASSIGN(c.values, segment_.find(column_name('v', event, f)));
      if (c.present) {
        const std::vector<int64_t>& there = c.present->ints;
        const size_t rows = std::min(before, there.size());
        c.value = rows - static_cast<size_t>(
                             std::count(there.begin(), there.begin() + static_cast<ptrdiff_t>(rows), 0));
      }
      found.push_back(c);
    }
    return {};
  }

  Status read_contents(uint16_t event) {
    std::vector<Cursor>& fields = *fields_[event];
    values_.assign(fields.size(), Value());
    for (size_t f = 0; f < fields.size(); ++f) {
      Cursor& c = fields[f];
      // Declared after the segment was written: absent in all its rows.
      if (!c.values) continue;
      if (c.present && (c.row >= c.present->ints.size() || !c.present->ints[c.row++])) continue;
      if (c.value >= c.values->size()) return damaged("with fewer values than rows");
      const FieldType type = catalog_.events()[event].fields[f].type;
      // The catalogue may be another one's; its types decide what the column must be.
      if (c.values->type != column_type(type)) return damaged("with values of another type");
      values_[f] = value_at(*c.values, c.value++, type);
    }
    return {};
  }

  Error damaged(Text what) const {
    return model_error({"a segment ", what}, "events of this catalogue",
                       {"segment of seq ", segment_.first_seq()},
                       "open the log with the catalogue it was written with");
  }

  store::SegmentReader& segment_;
  const Catalog& catalog_;
  std::array<const store::SegmentColumn*, kHeadColumns> head_{};
  const store::SegmentColumn* own_ = nullptr;
  size_t own_row_ = 0;
  // By event, by position; none of those of which no event was read.
  std::vector<std::optional<std::vector<Cursor>>> fields_;
  std::vector<Value> values_;
};
}  // namespace

Status read_event_segment(store::SegmentReader& s, const Catalog& catalog, uint64_t from,
                          const std::function<bool(const Event&)>& visit) {
  RowReader rows(s, catalog);
  WALLE_TRY(rows.find_columns());
  for (size_t i = rows.first_row(from); i < s.rows(); ++i) {
    WALLE_ASSIGN(const Event e, rows.read(i));
    if (!visit(e)) break;
  }
  return {};
}

}  // namespace walle::stream
