// Events as Python sees them: a dict of names and contents.
#include "pybind/stream.h"

namespace walle::pybind {

using namespace walle::stream;

// An int is a float where a float is declared, as everywhere in Python; other mismatches are the catalogue's
// to refuse.
Value Contents::value_of(py::handle given, FieldType declared) {
  if (py::isinstance<py::bool_>(given)) return Value::of(given.cast<bool>());
  if (py::isinstance<py::int_>(given) && declared != FieldType::f64) return Value::of(given.cast<int64_t>());
  if (py::isinstance<py::int_>(given) || py::isinstance<py::float_>(given))
    return Value::of(given.cast<double>());
  // A deque: the texts that came before stay where the values point.
  return Value::of(std::string_view(texts_.emplace_back(given.cast<std::string>())));
}

Value plain_value(py::handle given, std::string& text) {
  if (py::isinstance<py::bool_>(given)) return Value::of(given.cast<bool>());
  if (py::isinstance<py::int_>(given)) return Value::of(given.cast<int64_t>());
  if (py::isinstance<py::float_>(given)) return Value::of(given.cast<double>());
  text = given.cast<std::string>();
  return Value::of(std::string_view(text));
}

std::span<const Value> Contents::read(const Catalog& catalog, uint16_t event, const py::object& given) {
  values_.clear();
  texts_.clear();
  if (given.is_none()) return {};  // an event without contents, which most are
  const std::vector<FieldDecl>& fields = catalog.events()[event].fields;
  values_.resize(fields.size());  // by position in the declaration; what the dict lacks stays absent
  for (const auto& [name, value] : given.cast<py::dict>()) {
    const size_t at = unwrap(field_by_name(catalog, event, name.cast<std::string>()));
    if (!value.is_none()) values_[at] = value_of(value, fields[at].type);
  }
  return values_;
}

namespace {
py::object object_of(const Value& value) {
  switch (value.type) {
    case FieldType::i64: return py::int_(value.i);
    case FieldType::f64: return py::float_(value.d);
    case FieldType::boolean: return py::bool_(value.i != 0);
    case FieldType::text: return py::str(value.text.data(), value.text.size());
  }
  return py::none();
}
}  // namespace

py::dict event_dict(const Event& event, const Catalog& catalog) {
  const EventDecl& declared = catalog.events()[event.event];
  py::dict contents;
  for (size_t i = 0; i < event.contents.size(); ++i)
    if (event.contents[i].present) contents[py::str(declared.fields[i].name)] = object_of(event.contents[i]);
  py::dict out;
  out["seq"] = event.seq;
  out["event"] = declared.name;
  out["page"] = page_name(catalog, event);
  out["ts"] = event.ts;
  out["session"] = event.session;
  out["page_instance"] = event.page_instance;
  out["flags"] = event.flags;
  out["contents"] = contents;
  out["own_ts"] = event.own_ts;
  return out;
}

}  // namespace walle::pybind
