#include "pybind/stream_batch.h"

#include "stream/operators/batch_rows.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

void check_rows(const std::string& what, size_t have, size_t rows, const char* next) {
  if (have == rows) return;
  throw CoreError(argument_error({what, " of ", have, " rows"}, {rows, " rows as in 'ts'"}, "batch", next));
}

}  // namespace

Column column_of(const std::string& name, const Labels& labels) {
  // What nobody has labelled counts as personal: forgetting a label must not let data leave.
  Column column{.name = name, .sensitivity = Sensitivity::personal, .cells = {}};
  if (const auto label = labels.find(name); label != labels.end()) {
    column.sensitivity = enum_of(label->second.first, Sensitivity::secret, "sensitivity");
    column.path = label->second.second;
  }
  return column;
}

Batch batch_of(const py::dict& columns, const Labels& labels) {
  Batch batch;
  if (columns.empty()) return batch;
  batch.ts = columns["ts"].cast<std::vector<int64_t>>();
  for (const auto& [key, values] : columns) {
    const auto name = key.cast<std::string>();
    if (name == "ts") continue;  // the time of the rows, not a column that operators compute with
    Column column = column_of(name, labels);
    for (const py::handle value : values) {
      py::object held;
      unwrap(add_cell(column, cell_of(value, {"column '", name, "' of a batch"}, held), "batch"));
    }
    check_rows("column '" + name + "'", column.cells.size(), batch.rows(),
               "give every column one value per row");
    batch.columns.push_back(std::move(column));
  }
  return batch;
}

py::tuple columns_of(const Batch& batch) {
  py::dict columns;
  py::dict labels;
  columns["ts"] = batch.ts;
  for (const Column& column : batch.columns) {
    py::list cells;
    for (size_t row = 0; row < column.cells.size(); ++row) cells.append(object_of(column.cells[row]));
    columns[py::str(column.name)] = cells;
    labels[py::str(column.name)] = py::make_tuple(static_cast<int>(column.sensitivity), column.path);
  }
  return py::make_tuple(columns, labels, batch.support);
}

}  // namespace walle::pybind
