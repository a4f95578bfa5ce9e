// _core.device.Device: result tables as NumPy arrays, which take over the columns' memory.
#include <pybind11/numpy.h>

#include "pybind/device.h"

namespace walle::pybind {

using container::Device;
using store::CellType;
using store::ReadColumn;
using store::TableColumns;

namespace {

// An array over the vector's memory. Bytes that are 0 or 1 may be booleans.
template <class Element, class T>
py::array_t<Element> array_over(std::vector<T> values) {
  static_assert(sizeof(Element) == sizeof(T));
  auto* kept = new std::vector<T>(std::move(values));
  const py::capsule owner(kept, [](void* memory) { delete static_cast<std::vector<T>*>(memory); });
  return py::array_t<Element>(static_cast<py::ssize_t>(kept->size()),
                              reinterpret_cast<const Element*>(kept->data()), owner);
}

py::array_t<bool> booleans(const std::vector<int64_t>& values) {
  return array_over<bool>(std::vector<uint8_t>(values.begin(), values.end()));
}

// None where there is nothing.
py::list texts(const ReadColumn& column) {
  py::list out(column.texts.size());
  for (size_t i = 0; i < column.texts.size(); ++i) {
    const std::string& text = column.texts[i];
    if (column.present[i] == 0)
      out[i] = py::none();
    else if (column.decl.type == CellType::bytes)
      out[i] = py::bytes(text);
    else
      out[i] = py::str(text.data(), text.size());
  }
  return out;
}

py::object values_of(ReadColumn& column) {
  switch (column.decl.type) {
    case CellType::i64: return array_over<int64_t>(std::move(column.ints));
    case CellType::f64: return array_over<double>(std::move(column.floats));
    case CellType::boolean: return booleans(column.ints);
    case CellType::text:
    case CellType::bytes: return texts(column);
  }
  return py::none();
}

// numbers, times, [(name, type, values, present)]
py::tuple as_python(TableColumns read) {
  py::list columns;
  for (ReadColumn& column : read.columns) {
    const std::string_view type = store::cell_type_name(column.decl.type);
    py::object values = values_of(column);
    columns.append(py::make_tuple(column.decl.name, py::str(type.data(), type.size()), std::move(values),
                                  array_over<bool>(std::move(column.present))));
  }
  return py::make_tuple(array_over<uint64_t>(std::move(read.numbers)),
                        array_over<int64_t>(std::move(read.ts)), std::move(columns));
}

py::tuple read_table(const Device& self, const std::string& task, const std::string& table, uint64_t from,
                     std::optional<uint64_t> limit, const std::vector<std::string>& columns) {
  return as_python(
      unwrap(unlocked([&] { return self.read(task, table, from, limit.value_or(UINT64_MAX), columns); })));
}

py::tuple last(const Device& self, const std::string& task, const std::string& table, uint64_t count) {
  return as_python(unwrap(unlocked([&] { return self.last(task, table, count); })));
}

// rows, first, last, removed, bytes, {column: type}
py::tuple table_info(const Device& self, const std::string& task, const std::string& table) {
  const store::TableInfo info = unwrap(unlocked([&] { return self.info(task, table); }));
  py::dict columns;
  for (const store::ColumnDecl& column : info.decl.columns) {
    const std::string_view type = store::cell_type_name(column.type);
    columns[py::str(column.name)] = py::str(type.data(), type.size());
  }
  return py::make_tuple(info.rows, info.first, info.last, info.removed, info.bytes, columns);
}

std::vector<std::string> tables(const Device& self, const std::string& task) {
  return unwrap(unlocked([&] { return self.tables(task); }));
}

}  // namespace

void bind_device_results(DeviceClass& device) {
  device
      .def("read", read_table, py::arg("task"), py::arg("table"), py::arg("start"), py::arg("limit"),
           py::arg("columns"), "Numbers, times, [(name, type, values, present)].")
      .def("last", last, py::arg("task"), py::arg("table"), py::arg("count"))
      .def("tables", tables, py::arg("task"))
      .def("table_info", table_info, py::arg("task"), py::arg("table"),
           "Rows, number of the first and of the last, removed rows, bytes, {column: type}.");
}

}  // namespace walle::pybind
