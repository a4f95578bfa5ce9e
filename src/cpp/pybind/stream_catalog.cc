// _core.stream.Catalog: what a device may record.
#include "pybind/stream.h"

namespace walle::pybind {

using namespace walle::stream;

EventDecl event_decl(const std::string& name, int kind, const std::vector<GivenField>& fields) {
  EventDecl declared{.name = name, .kind = enum_of(kind, EventKind::custom, "event kind"), .fields = {}};
  for (const auto& [field, type, sensitivity] : fields)
    declared.fields.push_back({.name = field,
                               .type = type,
                               .sensitivity = enum_of(sensitivity, Sensitivity::secret, "sensitivity")});
  return declared;
}

namespace {

// The number that events of this name carry in the log.
uint16_t declare(Catalog& catalog, const std::string& name, int kind, const std::vector<GivenField>& fields) {
  return unwrap(catalog.declare(event_decl(name, kind, fields)));
}

py::list events(const Catalog& catalog) {
  py::list out;
  for (const EventDecl& event : catalog.events()) {
    py::list fields;
    for (const FieldDecl& field : event.fields)
      fields.append(py::make_tuple(field.name, field.type, static_cast<int>(field.sensitivity)));
    out.append(py::make_tuple(event.name, static_cast<int>(event.kind), fields));
  }
  return out;
}

int label_at(const Catalog& catalog, const std::string& field, uint64_t seq) {
  Sensitivity highest = Sensitivity::open;
  for (const EventDecl& event : catalog.events())
    for (const FieldDecl& declared : event.fields)
      if (declared.name == field) highest = std::max(highest, declared.label_at(seq));
  return static_cast<int>(highest);
}

}  // namespace

void bind_stream_catalog(py::module_& m) {
  py::class_<Catalog>(m, "Catalog", "What a device may record; only grows.")
      .def(py::init<>())
      .def("declare", declare, py::arg("name"), py::arg("kind"), py::arg("fields"))
      .def(
          "extend",
          [](Catalog& c, const std::string& event, const std::string& field, ColumnType type,
             int sensitivity) {
            unwrap(
                c.extend(event, {.name = field,
                                 .type = type,
                                 .sensitivity = enum_of(sensitivity, Sensitivity::secret, "sensitivity")}));
          },
          py::arg("event"), py::arg("field"), py::arg("type"), py::arg("sensitivity"))
      .def("label_at", label_at, py::arg("field"), py::arg("seq"),
           "The highest label that events declare for a field, as it was for events from this number on.")
      .def(
          "page", [](Catalog& c, const std::string& name) { return unwrap(c.page(name)); }, py::arg("name"))
      .def(
          "state", [](Catalog& c, const std::string& name) { return unwrap(c.state(name)); }, py::arg("name"))
      .def("serialize", [](const Catalog& c) { return py::bytes(c.serialize()); })
      .def_static(
          "parse", [](const py::bytes& data) { return unwrap(Catalog::parse(std::string_view(data))); },
          py::arg("data"))
      .def("events", events, "[(name, kind, [(field, type, sensitivity)])] by id.")
      .def("pages", [](const Catalog& c) { return c.pages(); })
      .def("states", [](const Catalog& c) { return c.states(); });
}

}  // namespace walle::pybind
