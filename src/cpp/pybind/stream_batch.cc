#include "pybind/stream_batch.h"

#include <pybind11/numpy.h>

namespace walle::pybind {

using namespace walle::stream;

namespace {

// The usual types first, by identity of their classes; bool before int, whose subclass it is. What is left
// may be an array, a list of floats or a NumPy scalar, which NumPy alone can tell.
Cell cell_of(py::handle value) {
  if (value.is_none()) return std::monostate();
  if (py::isinstance<py::bool_>(value)) return int64_t{value.cast<bool>()};
  if (py::isinstance<py::int_>(value)) return value.cast<int64_t>();
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  using Row = py::array_t<float, py::array::c_style | py::array::forcecast>;
  if (const auto row = Row::ensure(value); row && row.ndim() == 1)
    return Floats(row.data(), row.data() + row.size());
  PyErr_Clear();  // NumPy's reason speaks of its own types; ours names those of a batch
  const std::string type = py::str(py::type::of(value).attr("__name__"));
  throw CoreError(argument_error({"a value of type ", type},
                                 "None, int, float, bool, str or a one-dimensional array of floats", "batch",
                                 "convert it"));
}

py::object object_of(const Cell& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return py::int_(*i);
  if (const auto* d = std::get_if<double>(&cell)) return py::float_(*d);
  if (const auto* s = std::get_if<std::string>(&cell)) return py::str(*s);
  if (const auto* v = std::get_if<Floats>(&cell))
    return py::array_t<float>(static_cast<py::ssize_t>(v->size()), v->data());
  return py::none();
}

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
    for (const py::handle value : values) column.cells.push_back(cell_of(value));
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
    for (const Cell& cell : column.cells) cells.append(object_of(cell));
    columns[py::str(column.name)] = cells;
    labels[py::str(column.name)] = py::make_tuple(static_cast<int>(column.sensitivity), column.path);
  }
  return py::make_tuple(columns, labels, batch.support);
}

}  // namespace walle::pybind
