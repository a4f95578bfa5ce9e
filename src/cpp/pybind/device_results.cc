// _core.device.Device: result tables.
#include "pybind/device.h"
#include "pybind/result_rows.h"

namespace walle::pybind {

using container::Device;

namespace {

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
  for (const store::ColumnDecl& column : info.decl.columns) columns[py::str(column.name)] = column.type;
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
