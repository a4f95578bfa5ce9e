// Rows of result tables as Python gets them: numbers, times, [(name, type, values, present)].
#pragma once

#include "pybind/cells.h"
#include "store/table_columns.h"

namespace walle::pybind {

py::tuple as_python(store::TableColumns&& rows);

}  // namespace walle::pybind
