// A log's events as rows whose labels are the catalogue's, as they were for each event.
#include "base/nearest_name.h"
#include "stream/event/event_names.h"
#include "stream/event/row_time.h"
#include "stream/operators/batch_rows.h"
#include "stream/operators/traced_batch.h"

namespace walle::stream {

namespace {
constexpr size_t kHead = 4;  // event, page, session, page_instance: in front of the named contents
// Most questions are for the events of one page or one visit. 20 rows with one field take 2.9 us, and 3.4
// where columns grow from one row.
constexpr size_t kFirstRows = 32;

// A field that no event read has shows nothing, and is still labelled as it is declared.
Sensitivity declared_label(const Catalog& catalog, uint16_t field) {
  Sensitivity highest = Sensitivity::open;
  for (const EventDecl& e : catalog.events())
    for (const FieldDecl& f : e.fields)
      if (f.id == field) highest = std::max(highest, f.sensitivity);
  return highest;
}

Error unknown_field(const Catalog& catalog, std::string_view name) {
  return argument_error({"field '", name, "'"}, "a field that events of the catalogue declare",
                        "rows of a log",
                        base::did_you_mean(name, catalog.field_names(), "declare it, or correct the name"))
      .of_kind(base::ErrorKind::no_such_key);
}

Result<Batch> empty_rows(const Catalog& catalog, const std::vector<std::string>& fields,
                         std::vector<uint16_t>& ids) {
  Batch out;
  out.columns.reserve(kHead + fields.size());
  for (const char* name : {"event", "page", "session", "page_instance"})
    out.columns.push_back({.name = name});
  for (const std::string& name : fields) {
    const auto id = catalog.find_field(name);
    if (!id) return unknown_field(catalog, name);
    if (out.find(name))
      return argument_error({"field '", name, "' twice, or the name of a column that all rows have"},
                            "distinct fields that events of the catalogue declare", "rows of a log",
                            "correct the name");
    ids.push_back(*id);
    out.columns.push_back({.name = name, .sensitivity = declared_label(catalog, *id)});
  }
  return out;
}

// Fills a batch event by event, up to `text_bytes` of text: of all that a row holds only its texts have no
// bound of their own.
class LogRows {
 public:
  explicit LogRows(size_t text_bytes) : text_bytes_(text_bytes), text_left_(text_bytes) {}

  Status begin(const Catalog& catalog, const std::vector<std::string>& fields) {
    catalog_ = &catalog;
    WALLE_ASSIGN(rows_, empty_rows(catalog, fields, ids_));
    return {};
  }

  // An error where texts are too many, or two events have values of one name that no column holds.
  Status add(const Event& e) {
    if (rows_.rows() == 0) rows_.reserve(kFirstRows);
    rows_.ts.push_back(time_.of(e));
    put(rows_.columns[0], Cell::of(std::string_view(catalog_->events()[e.event].name)));
    put(rows_.columns[1], Cell::of(std::string_view(page_name(*catalog_, e))));
    put(rows_.columns[2], Cell::of(static_cast<int64_t>(e.session)));
    put(rows_.columns[3], Cell::of(static_cast<int64_t>(e.page_instance)));
    for (size_t i = 0; i < ids_.size(); ++i) {
      Column& column = rows_.columns[kHead + i];
      const Value* value = e.field(*catalog_, ids_[i]);
      if (value && value->type == ColumnType::text) {
        if (value->text.size() > text_left_) return too_much_text();
        text_left_ -= value->text.size();
      }
      WALLE_TRY(add_cell(column, value ? *value : Cell(), "rows of a log"));
      // Of the event itself: a label that was lowered later stays what it was for this one.
      if (const FieldDecl* declared = catalog_->field(e.event, ids_[i]))
        column.sensitivity = std::max(column.sensitivity, declared->label_at(e.seq));
    }
    return {};
  }

  size_t count() const { return rows_.rows(); }
  Batch take() { return std::move(rows_); }

 private:
  Error too_much_text() const {
    return resource_error({"events with more than ", text_bytes_, " bytes of text"},
                          "at most so many at once", "rows of a log",
                          "ask for less of the log, or fewer fields");
  }

  const Catalog* catalog_ = nullptr;
  std::vector<uint16_t> ids_;
  Batch rows_;
  RowTime time_;
  size_t text_bytes_, text_left_;
};
}  // namespace

Result<TracedBatch> TracedBatch::of_log(EventLog& log, const std::vector<std::string>& fields,
                                        const EventQuery& query, int64_t limit, size_t text_bytes,
                                        std::vector<uint64_t>* numbers) {
  LogRows rows(text_bytes);
  Status added;
  const auto begin = [&](const Catalog& catalog) { return rows.begin(catalog, fields); };
  WALLE_TRY(log.read(query, begin, [&](const Event& e) {
    if (limit >= 0 && std::cmp_greater_equal(rows.count(), limit)) return false;
    added = rows.add(e);
    if (numbers != nullptr) numbers->push_back(e.seq);
    return added.ok();
  }));
  WALLE_TRY(added);
  return TracedBatch(rows.take(), Origin::log);
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
