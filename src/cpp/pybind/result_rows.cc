#include "pybind/result_rows.h"

namespace walle::pybind {

py::tuple as_python(store::TableColumns&& rows) {
  py::list columns;
  for (store::TableColumn& c : rows.columns) {
    const py::array present = presence_of(c.cells);
    columns.append(py::make_tuple(c.decl.name, c.decl.type, values_of(std::move(c.cells)), present));
  }
  return py::make_tuple(array_over(std::move(rows.numbers)), array_over(std::move(rows.ts)), columns);
}

}  // namespace walle::pybind
