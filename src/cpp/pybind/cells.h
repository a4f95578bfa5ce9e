// Cells and columns of tables as Python has them: None, bool, int, float, str, bytes, a float32 array;
// columns of numbers as NumPy arrays over the column's own memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "pybind/errors.h"
#include "tensor/table.h"

namespace walle::pybind {

namespace py = pybind11;

// Borrows from the value, or from `held`, which is what the value had to be converted to. NumPy's scalars are
// what they stand for. `where` appears in messages.
Cell cell_of(const py::handle& value, Text where, py::object& held);
py::object object_of(const Cell& cell);

// Numbers become an array over the column's memory, 0 where a value is absent; anything else a list, with
// None.
py::object values_of(tensor::Column&& column);
// bool, one per row.
py::array presence_of(const tensor::Column& column);

// The vector becomes the array's memory.
template <class T>
py::array array_over(std::vector<T>&& values, const py::dtype& dtype = py::dtype::of<T>()) {
  auto* const owned = new std::vector<T>(std::move(values));
  const py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array(dtype, {owned->size()}, {sizeof(T)}, owned->data(), owner);
}

}  // namespace walle::pybind

namespace pybind11::detail {

// A column's type is its word in Python: walle_rt.ColumnType is a str.
template <>
struct type_caster<walle::ColumnType> {
  PYBIND11_TYPE_CASTER(walle::ColumnType, const_name("str"));

  bool load(handle from, bool) {
    if (!isinstance<str>(from)) return false;
    const auto word = from.cast<std::string>();
    const std::optional<walle::ColumnType> type = walle::tensor::column_type(word);
    if (!type)
      throw walle::pybind::CoreError(walle::argument_error({"type '", word, "'"},
                                                           "int, float, bool, text, bytes or vector",
                                                           "a column's type", "correct the type"));
    value = *type;
    return true;
  }
  static handle cast(walle::ColumnType type, return_value_policy, handle) {
    const std::string_view word = walle::column_type_name(type);
    return str(word.data(), word.size()).release();
  }
};

}  // namespace pybind11::detail
