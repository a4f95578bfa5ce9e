#include "stream/event/event_segment.h"

#include <algorithm>

namespace walle::stream {

using tensor::Column;

namespace {
enum HeadColumn : size_t { kSeq, kTs, kEvent, kPage, kSession, kInstance, kFlags };
constexpr std::array<const char*, kHeadColumns> kHeadNames = {"seq",     "ts",       "event", "page",
                                                              "session", "instance", "flags"};

// Of the events whose flags say that they have one, in order.
constexpr const char* kOwnTime = "own";

// "v3.1": field 1 of event 3. By number, since names may be long and the catalogue knows them.
std::string column_name(size_t event, size_t field) {
  return "v" + std::to_string(event) + "." + std::to_string(field);
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
  const size_t before = fields.empty() ? 0 : fields[0].size();
  while (fields.size() < decl.size()) {  // declared since the segment began
    Column& column = fields.emplace_back(decl[fields.size()].type);
    for (size_t row = 0; row < before; ++row) column.push_absent();
  }
  for (size_t i = 0; i < decl.size(); ++i) {
    // Contents may be shorter than the declaration: the rest is absent. The log has compared the types.
    const bool held = fields[i].push_back(i < e.contents.size() ? e.contents[i] : Value());
    if (!held) fields[i].push_absent();
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
  const auto take = [&](std::string name, Column&& column) {
    s.columns.push_back({.name = std::move(name), .cells = std::move(column)});
  };
  for (size_t i = 0; i < kHeadColumns; ++i) take(kHeadNames[i], Column(std::move(head_[i])));
  if (!own_.empty()) take(kOwnTime, Column(std::move(own_)));
  for (size_t e = 0; e < fields_.size(); ++e)
    for (size_t f = 0; f < fields_[e].size(); ++f) take(column_name(e, f), std::move(fields_[e][f]));
  return s;
}

namespace {
// One event after another out of a segment's columns. Contents borrow from it and from the reader.
class RowReader {
 public:
  RowReader(store::SegmentReader& segment, const Catalog& catalog) : segment_(segment), catalog_(catalog) {}

  Status find_columns() {
    for (size_t i = 0; i < kHeadColumns; ++i) {
      WALLE_ASSIGN(head_[i], integers(kHeadNames[i]));
      if (!head_[i] || head_[i]->size() != segment_.rows())
        return damaged({"without its column '", kHeadNames[i], "'"});
    }
    WALLE_ASSIGN(own_, integers(kOwnTime));
    fields_.resize(catalog_.events().size());
    return {};
  }

  // The first row whose event has this number or a higher one; rows before it are not read. Numbers grow.
  size_t first_row(uint64_t from) {
    const Integers& seqs = *head_[kSeq];
    const auto at = std::ranges::partition_point(seqs, [&](int64_t s) { return std::cmp_less(s, from); });
    const auto row = static_cast<size_t>(at - seqs.begin());
    const auto flags = head_[kFlags]->begin();
    own_row_ = static_cast<size_t>(
        std::count_if(flags, flags + static_cast<ptrdiff_t>(row), [](int64_t f) { return f & kHasOwnTime; }));
    return row;
  }

  // Rows in order, each once.
  Result<Event> read(size_t row) {
    const int64_t event = (*head_[kEvent])[row];
    const int64_t page = (*head_[kPage])[row];
    // Numbers of a segment are checked against the catalogue one by one: its checksum says it is as written,
    // not by whom.
    if (event < 0 || std::cmp_greater_equal(event, fields_.size())) return damaged("with unknown event ids");
    Event e;
    e.event = static_cast<uint16_t>(event);
    if (page < 0 || std::cmp_greater_equal(page, catalog_.page_count(e.event)))
      return damaged("with unknown page or state ids");
    e.page = static_cast<uint16_t>(page);
    e.seq = static_cast<uint64_t>((*head_[kSeq])[row]);
    e.ts = (*head_[kTs])[row];
    e.session = static_cast<uint64_t>((*head_[kSession])[row]);
    e.page_instance = static_cast<uint64_t>((*head_[kInstance])[row]);
    e.flags = static_cast<uint8_t>((*head_[kFlags])[row]);
    e.own_ts = e.ts;
    if (e.flags & kHasOwnTime) {
      if (!own_ || own_row_ >= own_->size()) return damaged("with fewer own times than its flags say");
      e.own_ts = (*own_)[own_row_++];
    }
    WALLE_TRY(find_fields(e.event, row));
    WALLE_TRY(read_contents(e.event));
    e.contents = values_;
    return e;
  }

 private:
  using Integers = Column::Integers;
  struct Cursor {  // of one field: the next row of its event
    const Column* column = nullptr;
    size_t row = 0;
  };

  // nullptr where there is no such column of an integer in every row.
  Result<const Integers*> integers(std::string_view name) {
    WALLE_ASSIGN(const Column* column, segment_.find(name));
    return column && column->type() == ColumnType::integer && column->whole() ? &column->integers() : nullptr;
  }

  // When the first event of a kind is read, at `row`: its columns, and where they stand there.
  Status find_fields(uint16_t event, size_t row) {
    if (fields_[event]) return {};
    std::vector<Cursor>& found = fields_[event].emplace();
    const auto events = head_[kEvent]->begin();
    const auto before =
        static_cast<size_t>(std::count(events, events + static_cast<ptrdiff_t>(row), int64_t{event}));
    const std::vector<FieldDecl>& fields = catalog_.events()[event].fields;
    for (size_t f = 0; f < fields.size(); ++f) {
      WALLE_ASSIGN(const Column* column, segment_.find(column_name(event, f)));
      // The catalogue may be another one's; its types decide what the column must be.
      if (column && column->type() != fields[f].type) return damaged("with values of another type");
      found.push_back({.column = column, .row = before});
    }
    return {};
  }

  Status read_contents(uint16_t event) {
    std::vector<Cursor>& fields = *fields_[event];
    values_.assign(fields.size(), Value());
    for (size_t f = 0; f < fields.size(); ++f) {
      Cursor& c = fields[f];
      // Declared after the segment was written: absent in all its rows.
      if (!c.column) continue;
      if (c.row >= c.column->size()) return damaged("with fewer values than rows");
      values_[f] = (*c.column)[c.row++];
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
  std::array<const Integers*, kHeadColumns> head_{};
  const Integers* own_ = nullptr;
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
