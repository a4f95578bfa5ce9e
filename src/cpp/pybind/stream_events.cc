// Events as Python sees them: the fields of walle_rt.stream.Event, in order.
#include "pybind/seconds.h"
#include "pybind/stream.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {
[[noreturn]] void refuse(const std::string& given, const std::string& expected, const FieldDecl& field,
                         const std::string& next_step) {
  throw CoreError(argument_error({given, " for field '", field.name, "'"}, expected, "contents", next_step));
}

// What counts as an integer in Python, NumPy's among them.
Value integer_of(py::handle given, const FieldDecl& field) {
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(given.ptr()));
  if (!number) throw py::error_already_set();
  if (field.type == ColumnType::real) {
    const double v = PyLong_AsDouble(number.ptr());
    if (!PyErr_Occurred()) return Value::of(v);
  } else {
    const int64_t v = PyLong_AsLongLong(number.ptr());
    if (!PyErr_Occurred()) return Value::of(v);
  }
  PyErr_Clear();
  refuse("the integer " + py::str(number).cast<std::string>(), "an integer of 64 bits", field,
         "record it as a text or a float");
}

bool is_numpy(py::handle given, std::string_view name) {
  const std::string type = py::str(py::type::of(given).attr("__module__")).cast<std::string>();
  return type == "numpy" &&
         py::str(py::type::of(given).attr("__name__")).cast<std::string>().starts_with(name);
}
}  // namespace

LocalTime local_time(const GivenOffsets& offsets, double utc_offset_s) {
  if (offsets.empty()) return LocalTime(static_cast<int64_t>(utc_offset_s * kMicroseconds));
  std::vector<UtcOffset> changes;
  for (const auto& [from, offset] : offsets) changes.push_back({from, offset});
  return LocalTime(offsets[0].second, std::move(changes));
}

std::shared_ptr<const LocalTime> own_local_time(const GivenOffsets& offsets) {
  return offsets.empty() ? nullptr : std::make_shared<const LocalTime>(local_time(offsets));
}

EventQuery query_of(const GivenQuery& given) {
  const auto& [from, to, from_ts, to_ts, session, page_instance] = given;
  return {.from = from,
          .to = to.value_or(UINT64_MAX),
          .from_ts = from_ts.value_or(INT64_MIN),
          .to_ts = to_ts.value_or(INT64_MAX),
          .session = session,
          .page_instance = page_instance};
}

// An int is a float where a float is declared, as everywhere in Python; other mismatches are the catalogue's
// to refuse.
Value Contents::value_of(py::handle given, const FieldDecl& field) {
  if (py::isinstance<py::bool_>(given)) return Value::of(given.cast<bool>());
  if (PyIndex_Check(given.ptr())) return integer_of(given, field);
  if (py::isinstance<py::float_>(given)) return Value::of(given.cast<double>());
  // A deque: the texts that came before stay where the values point.
  if (py::isinstance<py::str>(given))
    return Value::of(std::string_view(texts_.emplace_back(given.cast<std::string>())));
  if (is_numpy(given, "bool")) return Value::of(given.attr("__bool__")().cast<bool>());
  if (is_numpy(given, "float")) return Value::of(given.attr("__float__")().cast<double>());
  refuse("a value of Python's type " + py::str(py::type::of(given).attr("__name__")).cast<std::string>(),
         "int, float, bool, str or None", field, "convert it, a time for example to microseconds");
}

std::span<const Value> Contents::read(const Catalog& catalog, uint16_t event, const py::object& given) {
  values_.clear();
  texts_.clear();
  if (given.is_none()) return {};  // an event without contents, which most are
  const std::vector<FieldDecl>& fields = catalog.events()[event].fields;
  values_.resize(fields.size());  // by position in the declaration; what the dict lacks stays absent
  for (const auto& [name, value] : given.cast<py::dict>()) {
    const size_t at = unwrap(field_by_name(catalog, event, name.cast<std::string>()));
    if (!value.is_none()) values_[at] = value_of(value, fields[at]);
  }
  return values_;
}

const EventTuples::Names& EventTuples::names_of(uint16_t event) {
  const auto [at, fresh] = names_.try_emplace(event);
  if (!fresh) return at->second;
  const EventDecl& declared = catalog_.events()[event];
  at->second.event = py::str(declared.name);
  for (const FieldDecl& field : declared.fields) at->second.fields.emplace_back(field.name);
  return at->second;
}

const py::str& EventTuples::page_of(const Event& event) {
  const auto [at, fresh] = pages_.try_emplace(uint32_t{event.event} << 16 | event.page);
  if (fresh) at->second = py::str(page_name(catalog_, event));
  return at->second;
}

py::tuple EventTuples::of(const Event& event) {
  const Names& names = names_of(event.event);
  py::dict contents;
  for (size_t i = 0; i < event.contents.size(); ++i)
    if (event.contents[i].present) contents[names.fields[i]] = object_of(event.contents[i]);
  return py::make_tuple(event.seq, names.event, page_of(event), event.ts, event.session, event.page_instance,
                        event.flags, contents, event.own_ts);
}

}  // namespace walle::pybind
