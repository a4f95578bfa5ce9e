// A log's events as rows whose labels are the catalogue's, as they were for each event.
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

Result<Batch> empty_rows(const Catalog& catalog, const std::vector<std::string>& fields,
                         std::vector<uint16_t>& ids) {
  Batch out;
  for (const char* name : {"event", "page", "session", "page_instance"})
    out.columns.push_back({.name = name});
  for (const std::string& name : fields) {
    const auto id = catalog.find_field(name);
    if (!id || out.find(name))
      return argument_error("field '" + name + "'", "distinct fields that events of the catalogue declare",
                            "rows of a log", "correct the name");
    ids.push_back(*id);
    out.columns.push_back({.name = name, .sensitivity = declared_label(catalog, *id)});
  }
  return out;
}
}  // namespace

Result<TracedBatch> TracedBatch::of_log(EventLog& log, const std::vector<std::string>& fields, uint64_t from,
                                        int64_t limit) {
  const Catalog& catalog = log.catalog();
  std::vector<uint16_t> ids;
  WALLE_ASSIGN(Batch out, empty_rows(catalog, fields, ids));
  RowTime time;
  WALLE_TRY(log.read(from, [&](const Event& e) {
    if (limit >= 0 && std::cmp_greater_equal(out.rows(), limit)) return false;
    out.ts.push_back(time.of(e));
    out.columns[0].cells.emplace_back(catalog.events()[e.event].name);
    out.columns[1].cells.emplace_back(page_name(catalog, e));
    out.columns[2].cells.emplace_back(static_cast<int64_t>(e.session));
    out.columns[3].cells.emplace_back(static_cast<int64_t>(e.page_instance));
    for (size_t i = 0; i < ids.size(); ++i) {
      Column& column = out.columns[kHead + i];
      column.cells.push_back(cell_of(e.field(catalog, ids[i])));
      // Of the event itself: a label that was lowered later stays what it was for this one.
      if (const FieldDecl* declared = catalog.field(e.event, ids[i]))
        column.sensitivity = std::max(column.sensitivity, declared->label_at(e.seq));
    }
    return true;
  }));
  return TracedBatch(std::move(out), Origin::log);
}

}  // namespace walle::stream
