// A log's events as rows whose labels are the catalogue's, as they were for each event.
#include "base/nearest_name.h"
#include "stream/event/event_names.h"
#include "stream/event/row_time.h"
#include "stream/operators/traced_batch.h"

namespace walle::stream {

namespace {
constexpr size_t kHead = 4;  // event, page, session, page_instance: in front of the named contents

Cell cell_of(const Value* v) {
  if (!v) return {};
  switch (v->type) {
    case FieldType::i64:
    case FieldType::boolean: return v->i;
    case FieldType::f64: return v->d;
    case FieldType::text: return std::string(v->text);
  }
  return {};
}

// A field that no event read has shows nothing, and is still labelled as it is declared.
Sensitivity declared_label(const Catalog& catalog, uint16_t field) {
  Sensitivity highest = Sensitivity::open;
  for (const EventDecl& e : catalog.events())
    for (const FieldDecl& f : e.fields)
      if (f.id == field) highest = std::max(highest, f.sensitivity);
  return highest;
}

Error unknown_field(const Catalog& catalog, const std::string& name) {
  const std::string_view near = base::nearest_name(name, catalog.field_names());
  return argument_error(
             "field '" + name + "'", "a field that events of the catalogue declare", "rows of a log",
             near.empty() ? "declare it, or correct the name" : "did you mean '" + std::string(near) + "'?")
      .of_kind(base::ErrorKind::no_such_key);
}

Result<Batch> empty_rows(const Catalog& catalog, const std::vector<std::string>& fields,
                         std::vector<uint16_t>& ids) {
  Batch out;
  for (const char* name : {"event", "page", "session", "page_instance"})
    out.columns.push_back({.name = name});
  for (const std::string& name : fields) {
    const auto id = catalog.find_field(name);
    if (!id) return unknown_field(catalog, name);
    if (out.find(name))
      return argument_error("field '" + name + "' twice, or the name of a column that all rows have",
                            "distinct fields that events of the catalogue declare", "rows of a log",
                            "correct the name");
    ids.push_back(*id);
    out.columns.push_back({.name = name, .sensitivity = declared_label(catalog, *id)});
  }
  return out;
}
}  // namespace

Result<TracedBatch> TracedBatch::of_log(EventLog& log, const std::vector<std::string>& fields,
                                        const EventQuery& query, int64_t limit) {
  std::vector<uint16_t> ids;
  Batch out;
  RowTime time;
  const Catalog* catalog = nullptr;
  const auto begin = [&](const Catalog& now) -> Status {
    catalog = &now;
    WALLE_ASSIGN(out, empty_rows(now, fields, ids));
    return {};
  };
  WALLE_TRY(log.read(query, begin, [&](const Event& e) {
    if (limit >= 0 && std::cmp_greater_equal(out.rows(), limit)) return false;
    out.ts.push_back(time.of(e));
    out.columns[0].cells.emplace_back(catalog->events()[e.event].name);
    out.columns[1].cells.emplace_back(page_name(*catalog, e));
    out.columns[2].cells.emplace_back(static_cast<int64_t>(e.session));
    out.columns[3].cells.emplace_back(static_cast<int64_t>(e.page_instance));
    for (size_t i = 0; i < ids.size(); ++i) {
      Column& column = out.columns[kHead + i];
      column.cells.push_back(cell_of(e.field(*catalog, ids[i])));
      // Of the event itself: a label that was lowered later stays what it was for this one.
      if (const FieldDecl* declared = catalog->field(e.event, ids[i]))
        column.sensitivity = std::max(column.sensitivity, declared->label_at(e.seq));
    }
    return true;
  }));
  return TracedBatch(std::move(out), Origin::log);
}

Result<TracedBatch::LabelsByName> TracedBatch::labels_of_log(const Catalog& catalog,
                                                             const std::vector<std::string>& fields) {
  std::vector<uint16_t> ids;
  WALLE_ASSIGN(const Batch rows, empty_rows(catalog, fields, ids));
  LabelsByName out;
  for (const Column& c : rows.columns) out[c.name] = c.sensitivity;
  return out;
}

}  // namespace walle::stream
