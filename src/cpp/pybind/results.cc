// _core.results: result tables of a folder, written to or only read.
#include "container/device/commits.h"
#include "container/device/results_reader.h"

#include "pybind/result_rows.h"

namespace walle::pybind {

namespace py = pybind11;
using container::Commit;
using container::Commits;
using container::CommitsOptions;
using container::ResultsReader;

namespace {

// name, type, of each column
using GivenColumns = std::vector<std::pair<std::string, ColumnType>>;

store::TableDecl decl_of(const std::string& name, const GivenColumns& columns, int64_t max_bytes,
                         int64_t max_age_us) {
  store::TableDecl out{.name = name, .columns = {}, .max_bytes = max_bytes, .max_age_us = max_age_us};
  for (const auto& [column, type] : columns) out.columns.push_back({.name = column, .type = type});
  return out;
}

store::TableRows rows_of(const store::TableDecl& decl, const py::list& rows, int64_t ts_us) {
  store::TableRows out;
  std::vector<Cell> cells;
  std::vector<py::object> held;  // what cells borrow from, of one row
  for (const py::handle& row : rows) {
    cells.assign(decl.columns.size(), Cell());
    held.assign(decl.columns.size(), py::object());
    for (const auto& [key, value] : py::cast<py::dict>(row)) {
      const auto name = py::cast<std::string>(key);
      const size_t at = unwrap(store::column_at(decl, name));
      cells[at] = cell_of(value, {"column '", name, "'"}, held[at]);
    }
    unwrap(store::add_row(decl, ts_us, cells, out));
  }
  return out;
}

py::tuple read(store::Tables& tables, const std::string& table, uint64_t from, std::optional<uint64_t> limit,
               const std::vector<std::string>& columns) {
  auto rows = [&] {
    const py::gil_scoped_release free;
    return tables.read(table, from, limit.value_or(UINT64_MAX), columns);
  }();
  return as_python(unwrap(std::move(rows)));
}

py::tuple last(store::Tables& tables, const std::string& table, uint64_t count) {
  auto rows = [&] {
    const py::gil_scoped_release free;
    return tables.last(table, count);
  }();
  return as_python(unwrap(std::move(rows)));
}

py::dict info_dict(const store::TableInfo& info) {
  py::dict out;
  py::list columns;
  for (const store::ColumnDecl& c : info.decl.columns) columns.append(py::make_tuple(c.name, c.type));
  out["name"] = info.decl.name;
  out["columns"] = columns;
  out["max_bytes"] = info.decl.max_bytes;
  out["max_age_us"] = info.decl.max_age_us;
  out["rows"] = info.rows;
  out["waiting"] = info.waiting;
  out["first"] = info.first;
  out["last"] = info.last;
  out["bytes"] = info.bytes;
  out["segments"] = info.segments;
  out["removed"] = info.removed;
  return out;
}

py::list infos(const store::Tables& tables) {
  py::list out;
  for (const store::TableInfo& info : tables.tables()) out.append(info_dict(info));
  return out;
}

// kind, table, first, last, rows, exact, noticed, cause
using TableLoss =
    std::tuple<std::string, std::string, uint64_t, uint64_t, uint64_t, bool, int64_t, std::string>;

std::vector<TableLoss> losses(const store::Tables& tables) {
  std::vector<TableLoss> out;
  for (const store::Loss& l : tables.losses())
    out.emplace_back(std::string(store::loss_kind_name(l.kind)), l.owner, l.first, l.last, l.count, l.exact,
                     l.noticed_us, l.cause);
  return out;
}

template <class Owner>
py::class_<Owner> bind_reading(py::class_<Owner> c) {
  return c
      .def(
          "read",
          [](Owner& o, const std::string& table, uint64_t from, std::optional<uint64_t> limit,
             const std::vector<std::string>& columns) {
            return read(o.tables(), table, from, limit, columns);
          },
          py::arg("table"), py::arg("start"), py::arg("limit"), py::arg("columns"))
      .def(
          "last",
          [](Owner& o, const std::string& table, uint64_t count) { return last(o.tables(), table, count); },
          py::arg("table"), py::arg("count"))
      .def("tables", [](Owner& o) { return infos(o.tables()); })
      .def("losses", [](Owner& o) { return losses(o.tables()); });
}

}  // namespace

void bind_results(py::module_& m) {
  auto sub = m.def_submodule("results", "Result tables; walle_rt.results is the documented API.");
  bind_reading(py::class_<ResultsReader>(sub, "Reader"))
      .def_static(
          "open",
          [](const std::string& directory, const py::bytes& key) {
            return unwrap(ResultsReader::open(Env::system(), directory, key));
          },
          py::arg("directory"), py::arg("key"));
  bind_reading(py::class_<Commits>(sub, "Writer"))
      .def_static(
          "open",
          [](const std::string& directory, const py::bytes& key, size_t journal_bytes) {
            CommitsOptions options;
            options.key = key;
            options.journal_bytes = journal_bytes;
            return unwrap(Commits::open(Env::system(), directory, options));
          },
          py::arg("directory"), py::arg("key"), py::arg("journal_bytes"))
      .def(
          "declare",
          [](Commits& c, const std::string& name, const GivenColumns& columns, int64_t max_bytes,
             int64_t max_age_us) { unwrap(c.declare(decl_of(name, columns, max_bytes, max_age_us))); },
          py::arg("name"), py::arg("columns"), py::arg("max_bytes"), py::arg("max_age_us"))
      .def(
          "drop", [](Commits& c, const std::string& name) { unwrap(c.drop(name)); }, py::arg("name"))
      .def(
          "append",
          [](Commits& c, const std::string& table, const py::list& rows) {
            const auto decl = c.tables().find(table);
            if (!decl) unwrap(c.tables().info(table).status());
            Commit commit;
            commit.rows.push_back(rows_of(*decl, rows, Env::system().wall_us()));
            const py::gil_scoped_release free;
            unwrap(c.commit(commit));
          },
          py::arg("table"), py::arg("rows"))
      .def(
          "maintain", [](Commits& c) { unwrap(c.maintain()); }, py::call_guard<py::gil_scoped_release>())
      .def(
          "checkpoint", [](Commits& c) { unwrap(c.checkpoint()); }, py::call_guard<py::gil_scoped_release>())
      .def(
          "sync", [](Commits& c) { unwrap(c.sync()); }, py::call_guard<py::gil_scoped_release>())
      .def("acknowledge_losses", [](Commits& c) { unwrap(c.acknowledge(c.tables().losses())); });
}

}  // namespace walle::pybind
