#include "pybind/stream.h"

namespace py = pybind11;

namespace walle::pybind {

using namespace walle::stream;

std::span<const Value> Contents::read(const Catalog& catalog, uint16_t event, const py::object& given) {
  values_.clear(), texts_.clear();
  if (given.is_none()) return {};
  const auto& fields = catalog.events()[event].fields;
  values_.resize(fields.size());
  for (const auto& [key, value] : given.cast<py::dict>()) {
    const auto name = key.cast<std::string>();
    size_t at = 0;
    while (at < fields.size() && fields[at].name != name) ++at;
    if (at == fields.size())
      throw CoreError(argument_error("field '" + name + "'", "a declared field",
                                     "event '" + catalog.events()[event].name + "'",
                                     "declare the field or correct its name"));
    if (value.is_none()) continue;
    if (py::isinstance<py::bool_>(value))
      values_[at] = Value::of(value.cast<bool>());
    else if (py::isinstance<py::int_>(value) && fields[at].type == FieldType::f64)
      values_[at] = Value::of(value.cast<double>());
    else if (py::isinstance<py::int_>(value))
      values_[at] = Value::of(value.cast<int64_t>());
    else if (py::isinstance<py::float_>(value))
      values_[at] = Value::of(value.cast<double>());
    else
      values_[at] = Value::of(std::string_view(texts_.emplace_back(value.cast<std::string>())));
  }
  return values_;
}

py::dict event_dict(const Event& e, const Catalog& catalog) {
  py::dict out, contents;
  const EventDecl& decl = catalog.events()[e.event];
  for (size_t i = 0; i < e.contents.size(); ++i) {
    const Value& v = e.contents[i];
    if (!v.present) continue;
    py::object value = v.type == FieldType::f64       ? py::object(py::float_(v.d))
                       : v.type == FieldType::boolean ? py::object(py::bool_(v.i != 0))
                       : v.type == FieldType::text    ? py::object(py::str(v.text.data(), v.text.size()))
                                                      : py::object(py::int_(v.i));
    contents[py::str(decl.fields[i].name)] = value;
  }
  const bool state = decl.kind == EventKind::app_state;
  out["seq"] = e.seq, out["event"] = decl.name,
  out["page"] = state ? catalog.states()[e.page] : catalog.pages()[e.page];
  out["ts"] = e.ts, out["session"] = e.session, out["page_instance"] = e.page_instance,
  out["flags"] = e.flags, out["contents"] = contents;
  return out;
}

Event make_event(const Catalog& catalog, const std::string& name, const std::string& page, int64_t ts,
                 bool on) {
  const auto id = catalog.find_event(name);
  if (!id)
    throw CoreError(argument_error("event '" + name + "'", "a declared event", "append",
                                   "declare it or correct its name"));
  Event e;
  e.event = *id, e.ts = ts;
  const bool state = catalog.events()[*id].kind == EventKind::app_state;
  const auto found = page.empty() && !state ? std::optional<uint16_t>(kNoPage)
                     : state                ? catalog.find_state(page)
                                            : catalog.find_page(page);
  if (!found)
    throw CoreError(argument_error((state ? "state '" : "page '") + page + "'", "a declared name",
                                   "append of '" + name + "'", "declare it first"));
  e.page = *found;
  if (state && on) e.flags |= kStateOn;
  return e;
}

void bind_stream_log(py::module_& m) {
  py::class_<Catalog>(m, "Catalog")
      .def(py::init<>())
      .def("declare",
           [](Catalog& c, const std::string& name, int kind,
              const std::vector<std::tuple<std::string, int, int>>& fields) {
             EventDecl d{name, static_cast<EventKind>(kind), {}};
             for (const auto& [field, type, sensitivity] : fields)
               d.fields.push_back(
                   {field, static_cast<FieldType>(type), static_cast<Sensitivity>(sensitivity), 0});
             return unwrap(c.declare(std::move(d)));
           })
      .def("page", [](Catalog& c, const std::string& name) { return unwrap(c.page(name)); })
      .def("state", [](Catalog& c, const std::string& name) { return unwrap(c.state(name)); })
      .def("serialize", [](const Catalog& c) { return py::bytes(c.serialize()); })
      .def_static("parse", [](const std::string& bytes) { return unwrap(Catalog::parse(bytes)); })
      .def("events",
           [](const Catalog& c) {
             py::list out;
             for (const EventDecl& e : c.events()) {
               py::list fields;
               for (const FieldDecl& f : e.fields)
                 fields.append(
                     py::make_tuple(f.name, field_type_name(f.type), sensitivity_name(f.sensitivity)));
               out.append(py::make_tuple(e.name, static_cast<int>(e.kind), fields));
             }
             return out;
           })
      .def("pages", [](const Catalog& c) { return c.pages(); })
      .def("states", [](const Catalog& c) { return c.states(); });

  py::class_<EventLog>(m, "EventLog")
      .def_static(
          "open",
          [](const std::string& dir, const Catalog& catalog, size_t journal_bytes, int64_t quota_bytes,
             double max_age_s, uint64_t sync_events, double sync_s) {
            return unwrap(EventLog::open(Env::system(), dir, catalog,
                                         {journal_bytes, quota_bytes, static_cast<int64_t>(max_age_s * 1e6),
                                          sync_events, static_cast<int64_t>(sync_s * 1e6)}));
          })
      .def("append",
           [](EventLog& log, const std::string& name, const std::string& page, const py::object& contents,
              std::optional<int64_t> ts, bool on) {
             Contents values;
             Event e = make_event(log.catalog(), name, page, ts.value_or(Env::system().wall_us()), on);
             e.contents = values.read(log.catalog(), e.event, contents);
             return unwrap(log.append(e)).seq;
           })
      .def("read",
           [](EventLog& log, uint64_t from, int64_t limit) {
             py::list out;
             unwrap(log.read(from, [&](const Event& e) {
               if (limit >= 0 && static_cast<int64_t>(out.size()) >= limit) return false;
               out.append(event_dict(e, log.catalog()));
               return true;
             }));
             return out;
           })
      .def("maintain", [](EventLog& log) { unwrap(log.maintain()); })
      .def("compact", [](EventLog& log) { unwrap(log.compact()); })
      .def("sync", [](EventLog& log) { unwrap(log.sync()); })
      .def("page", [](EventLog& log, const std::string& name) { return unwrap(log.page(name)); })
      .def("state", [](EventLog& log, const std::string& name) { return unwrap(log.state(name)); })
      .def("cursor",
           [](EventLog& log, const std::string& reader) { return unwrap(log.index().cursor(reader)); })
      .def("set_cursor", [](EventLog& log, const std::string& reader,
                            uint64_t seq) { unwrap(log.index().set_cursor(reader, seq)); })
      .def("last_seq", &EventLog::last_seq)
      .def("segment_bytes", &EventLog::segment_bytes)
      .def("catalog", [](const EventLog& log) { return log.catalog(); })
      .def("report",
           [](const EventLog& log) {
             const LogReport& r = log.report();
             const SequencerStats& s = log.stats();
             py::dict out;
             out["first_seq"] = r.journal.first_seq, out["last_seq"] = r.journal.last_seq,
             out["lost"] = r.journal.lost;
             out["damage_offset"] = r.journal.damage_offset, out["damaged_segments"] = r.damaged_segments,
             out["index_rebuilt"] = r.index_rebuilt;
             out["repaired_times"] = s.repaired_times, out["unpaired_pages"] = s.unpaired_pages,
             out["closed_inner"] = s.closed_inner;
             out["overflowed_pages"] = s.overflowed_pages;
             return out;
           })
      .def("append_ns", [](EventLog& log, const std::string& name, const std::string& page,
                           const py::object& contents, size_t n) {
        // For the benchmark: nanoseconds of each of n appends of one event, measured inside.
        Contents values;
        Event e = make_event(log.catalog(), name, page, Env::system().wall_us(), false);
        e.contents = values.read(log.catalog(), e.event, contents);
        std::vector<int64_t> out(n);
        for (size_t i = 0; i < n; ++i) {
          timespec a, b;
          clock_gettime(CLOCK_MONOTONIC, &a);
          unwrap(log.append(e));
          clock_gettime(CLOCK_MONOTONIC, &b);
          out[i] = (b.tv_sec - a.tv_sec) * 1'000'000'000 + b.tv_nsec - a.tv_nsec;
          if (i % 64 == 0) unwrap(log.maintain());
        }
        return out;
      });
}

}  // namespace walle::pybind
