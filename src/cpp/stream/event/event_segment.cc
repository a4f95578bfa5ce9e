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

Result<EventSegmentReader> EventSegmentReader::make(store::SegmentReader& segment, const Catalog& catalog) {
  EventSegmentReader out(segment, catalog);
  WALLE_TRY(out.find_columns());
  WALLE_TRY(out.count_rows());
  return out;
}

// nullptr where there is no such column of an integer in every row.
Result<const Column::Integers*> EventSegmentReader::integers(std::string_view name) {
  WALLE_ASSIGN(const Column* column, segment_->find(name));
  return column && column->type() == ColumnType::integer && column->whole() ? &column->integers() : nullptr;
}

Status EventSegmentReader::find_columns() {
  for (size_t i = 0; i < kHeadColumns; ++i) {
    WALLE_ASSIGN(head_[i], integers(kHeadNames[i]));
    if (!head_[i] || head_[i]->size() != segment_->rows())
      return damaged({"without its column '", kHeadNames[i], "'"});
  }
  WALLE_ASSIGN(own_, integers(kOwnTime));
  fields_.resize(catalog_->events().size());
  return {};
}

// Numbers of a segment are checked against the catalogue one by one: its checksum says it is as written, not
// by whom.
Status EventSegmentReader::count_rows() {
  const Integers& events = *head_[kEvent];
  std::vector<uint32_t> counts(fields_.size());
  of_kind_.resize(events.size());
  uint32_t own = 0;
  if (own_) of_own_.resize(events.size());
  for (size_t row = 0; row < events.size(); ++row) {
    if (events[row] < 0 || std::cmp_greater_equal(events[row], counts.size()))
      return damaged("with unknown event ids");
    of_kind_[row] = counts[static_cast<size_t>(events[row])]++;
    if (!((*head_[kFlags])[row] & kHasOwnTime)) continue;
    if (!own_ || own >= own_->size()) return damaged("with fewer own times than its flags say");
    of_own_[row] = own++;
  }
  return {};
}

// When the first event of a kind is read: its columns.
Status EventSegmentReader::find_fields(uint16_t event) {
  if (fields_[event]) return {};
  std::vector<const Column*> found;
  const std::vector<FieldDecl>& fields = catalog_->events()[event].fields;
  for (size_t f = 0; f < fields.size(); ++f) {
    WALLE_ASSIGN(const Column* column, segment_->find(column_name(event, f)));
    // The catalogue may be another one's; its types decide what the column must be.
    if (column && column->type() != fields[f].type) return damaged("with values of another type");
    found.push_back(column);
  }
  fields_[event] = std::move(found);
  return {};
}

Result<Event> EventSegmentReader::event_at(size_t row) {
  Event e;
  e.event = static_cast<uint16_t>((*head_[kEvent])[row]);
  const int64_t page = (*head_[kPage])[row];
  if (page < 0 || std::cmp_greater_equal(page, catalog_->page_count(e.event)))
    return damaged("with unknown page or state ids");
  e.page = static_cast<uint16_t>(page);
  e.seq = static_cast<uint64_t>((*head_[kSeq])[row]);
  e.ts = (*head_[kTs])[row];
  e.session = static_cast<uint64_t>((*head_[kSession])[row]);
  e.page_instance = static_cast<uint64_t>((*head_[kInstance])[row]);
  e.flags = static_cast<uint8_t>((*head_[kFlags])[row]);
  e.own_ts = e.flags & kHasOwnTime ? (*own_)[of_own_[row]] : e.ts;
  WALLE_TRY(find_fields(e.event));
  const std::vector<const Column*>& fields = *fields_[e.event];
  values_.assign(fields.size(), Value());
  for (size_t f = 0; f < fields.size(); ++f) {
    if (!fields[f]) continue;
    if (of_kind_[row] >= fields[f]->size()) return damaged("with fewer values than rows");
    values_[f] = (*fields[f])[of_kind_[row]];
  }
  e.contents = values_;
  return e;
}

Error EventSegmentReader::damaged(Text what) const {
  return model_error({"a segment ", what}, "events of this catalogue",
                     {"segment of seq ", segment_->first_seq()},
                     "open the log with the catalogue it was written with");
}

// Neither numbers nor times go back.
Status EventSegmentReader::read(uint64_t from, int64_t from_ts,
                                const std::function<bool(const Event&)>& visit) {
  const Integers& seqs = *head_[kSeq];
  const Integers& times = *head_[kTs];
  const auto number = std::ranges::partition_point(seqs, [&](int64_t s) { return std::cmp_less(s, from); });
  const auto time = std::ranges::partition_point(times, [&](int64_t ts) { return ts < from_ts; });
  auto row = static_cast<size_t>(std::max(number - seqs.begin(), time - times.begin()));
  for (; row < seqs.size(); ++row) {
    WALLE_ASSIGN(const Event e, event_at(row));
    if (!visit(e)) break;
  }
  return {};
}

Result<std::unique_ptr<LoadedSegment>> LoadedSegment::make(std::string bytes, const Catalog& catalog) {
  auto out = std::make_unique<LoadedSegment>();
  out->bytes = std::move(bytes);
  WALLE_ASSIGN(out->packed, store::SegmentReader::open(out->bytes));
  // All of it: no event of a segment that was damaged since is visited.
  WALLE_TRY(out->packed->check());
  WALLE_ASSIGN(out->events, EventSegmentReader::make(*out->packed, catalog));
  return out;
}

}  // namespace walle::stream
