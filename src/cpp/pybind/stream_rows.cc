// _core.stream.TracedBatch: rows with where they come from, which Python can hold and not make.
#include "pybind/stream_batch.h"
#include "stream/operators/traced_batch.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using Names = std::vector<std::string>;

TracedBatch given(const py::dict& columns, const Labels& labels) {
  return TracedBatch::given(batch_of(columns, labels));
}

TracedBatch of_log(EventLog& log, const Names& fields, const GivenQuery& query, int64_t limit) {
  return unwrap(TracedBatch::of_log(log, fields, query_of(query), limit));
}

}  // namespace

void bind_stream_rows(py::module_& m) {
  py::class_<TracedBatch>(m, "TracedBatch", "Rows of known origin; nobody can change them.")
      .def(py::init<>())
      .def_static("given", given, py::arg("columns"), py::arg("labels"),
                  "Rows by hand: personal at least, one event each.")
      .def_static("of_log", of_log, py::arg("log"), py::arg("fields"), py::arg("query"), py::arg("limit"))
      .def(
          "confirmed",
          [](const TracedBatch& rows, const py::dict& columns, const Labels& labels) {
            return rows.confirmed(batch_of(columns, labels));
          },
          py::arg("columns"), py::arg("labels"), "These rows if they are unchanged, else rows by hand.")
      .def(
          "followed_by",
          [](const TracedBatch& rows, const TracedBatch& behind) { return unwrap(rows.followed_by(behind)); },
          py::arg("behind"))
      .def(
          "columns", [](const TracedBatch& rows) { return columns_of(rows.rows()); },
          "({\"ts\": ..., name: ...}, {name: (sensitivity, path)}, events behind each row).")
      .def("by_hand", [](const TracedBatch& rows) { return rows.origin() == TracedBatch::Origin::given; })
      .def("__len__", [](const TracedBatch& rows) { return rows.rows().rows(); });
  m.def(
      "labels_of_log",
      [](const Catalog& catalog, const Names& fields) {
        std::map<std::string, int> out;
        for (const auto& [name, label] : unwrap(TracedBatch::labels_of_log(catalog, fields)))
          out[name] = static_cast<int>(label);
        return out;
      },
      py::arg("catalog"), py::arg("fields"), "{column: sensitivity} that rows of a log have at least.");
  m.def(
      "as_of_join",
      [](const TracedBatch& left, const TracedBatch& right, const Names& keys, int64_t within_us) {
        return unwrap(TracedBatch::joined(left, right, keys, within_us));
      },
      py::arg("left"), py::arg("right"), py::arg("keys"), py::arg("within_us"));
}

}  // namespace walle::pybind
