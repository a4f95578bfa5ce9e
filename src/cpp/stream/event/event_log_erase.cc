// Removing events for good. Which ones is found first and written down by their numbers - never by what is in
// them - then the journal is emptied into segments, the segments are rewritten, and released frames are
// overwritten. A crash anywhere in it leaves the numbers in the manifest, and the next open goes on.
#include <algorithm>

#include "stream/event/event_log.h"

namespace walle::stream {

namespace {
bool same(const Value& a, const Value& b) {
  if (!a.present || !b.present || a.type != b.type) return false;
  if (a.type == ColumnType::text) return a.text == b.text;
  return a.type == ColumnType::real ? a.d == b.d : a.i == b.i;
}

// An int names a float where one is declared, as everywhere in Python.
bool same_or_as_float(const Value& there, const Value& asked) {
  const bool number = asked.type == ColumnType::integer && there.type == ColumnType::real;
  return same(there, number ? Value::of(static_cast<double>(asked.i)) : asked);
}

bool matches(const EraseRule& rule, const Catalog& catalog, const Event& e) {
  if (rule.event && e.event != *rule.event) return false;
  // The page of an app-state event is a state.
  const bool on_page = catalog.events()[e.event].kind != EventKind::app_state;
  if (rule.page && (!on_page || e.page != *rule.page)) return false;
  if (!rule.field) return true;
  const Value* v = e.field(catalog, *rule.field);
  return v && (!rule.value || same_or_as_float(*v, *rule.value));
}

Error unknown(Text what, Text name) {
  return argument_error({what, " '", name, "'"}, "a declared one", "erase()",
                        "correct its name; what was never declared was never recorded");
}
}  // namespace

Result<EraseRule> erase_rule(const Catalog& catalog, const std::optional<std::string>& event,
                             const std::optional<std::string>& page,
                             const std::optional<std::string>& field) {
  EraseRule out;
  if (event && !(out.event = catalog.find_event(*event))) return unknown("event", *event);
  if (page && !(out.page = catalog.find_page(*page))) return unknown("page", *page);
  if (field && !(out.field = catalog.find_field(*field))) return unknown("field", *field);
  return out;
}

Result<uint64_t> EventLog::erase(const EraseRule& rule) {
  WALLE_TRY(check_writable("erase()"));
  if (rule.value && !rule.field)
    return argument_error("a value without its field", "the field that holds it", "erase()",
                          "name the field");
  if (!rule.event && !rule.page && !rule.field)
    return argument_error("an erasure of nothing in particular", "an event, a page or a field", "erase()",
                          "say what is to be removed; to remove everything, remove the log's folder");
  const std::lock_guard lock(files_);
  WALLE_TRY(compact_all());
  std::vector<uint64_t> found;
  uint64_t next = 0;
  WALLE_TRY(read_segments({}, next, [&](const Event& e) {
    if (matches(rule, catalog_, e)) found.push_back(e.seq);
    return true;
  }));
  const uint64_t before = manifest_.erased;
  manifest_.erasing = std::move(found);
  WALLE_TRY(store_manifest());
  WALLE_TRY(finish_erasing());
  return manifest_.erased - before;
}

// Where a segment was rewritten and the manifest was not, the same numbers are looked for again and not
// found.
Status EventLog::finish_erasing() {
  report_.erased = manifest_.erased;
  tell_gone();
  if (manifest_.erasing.empty()) return {};
  const uint64_t events = manifest_.erasing.size();
  loaded_ = {};
  for (store::SegmentEntry& segment : manifest_.segments) WALLE_TRY(erase_in(segment));
  // Released frames read until they are overwritten, and what was set aside cannot be searched.
  WALLE_TRY(journal_->clear_released());
  WALLE_ASSIGN(const auto files, env_.list_files(dir_));
  for (const std::string& file : files)
    if (file.ends_with(".wseg.damaged")) WALLE_TRY(env_.remove_file(dir_ + "/" + file));
  manifest_.erasing.clear();
  manifest_.erased += events;
  report_.erased = manifest_.erased;
  return store_manifest();
}

Status EventLog::erase_in(store::SegmentEntry& segment) {
  const auto begin = std::ranges::lower_bound(manifest_.erasing, segment.first);
  if (begin == manifest_.erasing.end() || *begin > segment.last) return {};
  const std::string path = dir_ + "/" + file_of(segment);
  WALLE_ASSIGN(const std::string bytes, env_.read_file(path));
  WALLE_ASSIGN(store::SegmentReader old, store::SegmentReader::open(bytes));
  WALLE_ASSIGN(EventSegmentReader events, EventSegmentReader::make(old, catalog_));
  EventSegmentBuilder builder(catalog_);
  WALLE_TRY(events.read(0, INT64_MIN, [&](const Event& e) {
    if (!std::ranges::binary_search(manifest_.erasing, e.seq)) builder.add(e);
    return true;
  }));
  store::Segment next = builder.finish();
  // One without events stays, as the place of their numbers and with their times: what comes behind it is not
  // earlier.
  if (next.rows == 0) next.first_seq = segment.first;
  next.min_ts = old.min_ts();
  next.max_ts = old.max_ts();
  const std::string made = store::encode_segment(next);
  WALLE_TRY(env_.replace_file(path, made));
  segment.rows = next.rows;
  segment.bytes = static_cast<int64_t>(made.size());
  return {};
}

}  // namespace walle::stream
