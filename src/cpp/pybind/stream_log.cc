// _core.stream.EventLog: the durable log of what happened.
#include "pybind/stream.h"
#include "stream/event/event_log.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

constexpr double kMicroseconds = 1e6;  // in a second

std::unique_ptr<EventLog> open(const std::string& directory, const Catalog& catalog, size_t journal_bytes,
                               int64_t quota_bytes, double max_age_s, uint64_t sync_events, double sync_s) {
  const EventLogOptions options{.journal_bytes = journal_bytes,
                                .quota_bytes = quota_bytes,
                                .max_age_us = static_cast<int64_t>(max_age_s * kMicroseconds),
                                .sync_events = sync_events,
                                .sync_us = static_cast<int64_t>(sync_s * kMicroseconds)};
  return unwrap(EventLog::open(Env::system(), directory, catalog, options));
}

uint64_t append(EventLog& log, const std::string& name, const std::string& page, const py::object& contents,
                std::optional<int64_t> ts, bool on) {
  // The log's own clock, so that tests may replace it in one place.
  const int64_t when = ts ? *ts : Env::system().wall_us();
  Event event = unwrap(event_by_name(log.catalog(), name, page, when, on));
  Contents values;  // owns the texts that the event points to, until it is appended
  event.contents = values.read(log.catalog(), event.event, contents);
  return unwrap(log.append(event)).seq;
}

// A negative limit is none.
py::list read(EventLog& log, uint64_t from_seq, int64_t limit) {
  py::list out;
  unwrap(log.read(from_seq, [&](const Event& event) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) >= limit) return false;
    out.append(event_dict(event, log.catalog()));
    return true;
  }));
  return out;
}

py::dict report(const EventLog& log) {
  const LogReport& found = log.report();
  const SequencerStats& stats = log.stats();
  py::dict out;
  out["first_seq"] = found.journal.first_seq;
  out["last_seq"] = found.journal.last_seq;
  out["lost"] = found.journal.lost;
  out["damage_offset"] = found.journal.damage_offset;
  out["damaged_segments"] = found.damaged_segments;
  out["index_rebuilt"] = found.index_rebuilt;
  out["mended_copies"] = found.mended_copies;
  out["state_lost"] = found.state_lost;
  out["repaired_times"] = stats.repaired_times;
  out["unpaired_pages"] = stats.unpaired_pages;
  out["closed_inner"] = stats.closed_inner;
  out["overflowed_pages"] = stats.overflowed_pages;
  return out;
}

}  // namespace

void bind_stream_log(py::module_& m) {
  py::class_<EventLog>(m, "EventLog", "The device's durable event log in one directory.")
      .def_static("open", open, py::arg("directory"), py::arg("catalog"), py::arg("journal_bytes"),
                  py::arg("quota_bytes"), py::arg("max_age_s"), py::arg("sync_events"), py::arg("sync_s"))
      .def("append", append, py::arg("event"), py::arg("page"), py::arg("contents"), py::arg("ts"),
           py::arg("on"))
      .def("read", read, py::arg("from_seq"), py::arg("limit"))
      .def("maintain", [](EventLog& log) { unwrap(log.maintain()); })
      .def("compact", [](EventLog& log) { unwrap(log.compact()); })
      .def("sync", [](EventLog& log) { unwrap(log.sync()); })
      .def(
          "page", [](EventLog& log, const std::string& name) { return unwrap(log.page(name)); },
          py::arg("name"))
      .def(
          "state", [](EventLog& log, const std::string& name) { return unwrap(log.state(name)); },
          py::arg("name"))
      .def(
          "lower",
          [](EventLog& log, const std::string& event, const std::string& field, int to) {
            unwrap(log.lower(event, field, enum_of(to, Sensitivity::secret, "sensitivity")));
          },
          py::arg("event"), py::arg("field"), py::arg("to"))
      .def(
          "acknowledge_state_loss",
          [](EventLog& log, const std::map<std::string, double>& spent) {
            unwrap(log.acknowledge_state_loss(spent));
          },
          py::arg("spent"))
      .def(
          "cursor",
          [](EventLog& log, const std::string& reader) { return unwrap(log.log_state().cursor(reader)); },
          py::arg("reader"))
      .def(
          "set_cursor",
          [](EventLog& log, const std::string& reader, uint64_t seq) {
            unwrap(log.log_state().set_cursor(reader, seq));
          },
          py::arg("reader"), py::arg("seq"))
      .def("last_seq", &EventLog::last_seq)
      .def("segment_bytes", &EventLog::segment_bytes)
      .def("catalog", [](const EventLog& log) { return log.catalog(); })
      .def("report", report);
}

}  // namespace walle::pybind
