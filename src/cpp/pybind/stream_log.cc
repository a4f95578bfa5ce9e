// _core.stream.EventLog: the durable log of what happened.
#include <algorithm>

#include "pybind/seconds.h"
#include "pybind/stream.h"
#include "stream/event/event_log.h"
#include "stream/operators/traced_batch.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

std::unique_ptr<EventLog> open_log(const std::string& directory, const Catalog& catalog, size_t journal_bytes,
                                   int64_t quota_bytes, double max_age_s, uint64_t sync_events, double sync_s,
                                   bool read_only, bool maintenance_thread, bool recorded_times,
                                   const py::bytes& key) {
  const EventLogOptions options{.journal_bytes = journal_bytes,
                                .quota_bytes = quota_bytes,
                                .max_age_us = static_cast<int64_t>(max_age_s * kMicroseconds),
                                .sync_events = sync_events,
                                .sync_us = static_cast<int64_t>(sync_s * kMicroseconds),
                                .read_only = read_only,
                                .maintenance_thread = maintenance_thread,
                                .recorded_times = recorded_times,
                                .key = key};
  return unwrap(EventLog::open(Env::system(), directory, catalog, options));
}

// What has no error of its own to say that this is a child of fork().
const EventLog& here(const EventLog& log) {
  unwrap(log.check_process());
  return log;
}

uint64_t append(EventLog& log, const std::string& name, const std::string& page, const py::object& contents,
                std::optional<int64_t> ts, bool durable, bool on, bool late) {
  here(log);
  // The log's own clock, so that tests may replace it in one place.
  const int64_t when = ts ? *ts : Env::system().wall_us();
  Event event = unwrap(event_by_name(log.catalog(), name, page, when, on));
  if (late) event.flags |= kTimeLate;
  Contents values;  // owns the texts that the event points to, until it is appended
  event.contents = values.read(log.catalog(), event.event, contents);
  return unwrap(log.append(event, durable)).seq;
}

// kind, first, last, events, exact, noticed, reader, cause
using LogLoss =
    std::tuple<std::string, uint64_t, uint64_t, uint64_t, bool, int64_t, std::string, std::string>;

LogLoss log_loss(const Loss& l) {
  return {
      std::string(loss_kind_name(l.kind)), l.first, l.last, l.count, l.exact, l.noticed_us, l.owner, l.cause};
}

std::vector<LogLoss> log_losses(EventLog& log) {
  std::vector<LogLoss> out;
  for (const Loss& l : unwrap(log.losses())) out.push_back(log_loss(l));
  return out;
}

void acknowledge_log(EventLog& log, const std::vector<LogLoss>& seen) {
  std::vector<Loss> out;
  for (const Loss& l : unwrap(log.losses()))
    if (std::ranges::find(seen, log_loss(l)) != seen.end()) out.push_back(l);
  unwrap(log.acknowledge(out));
}

uint64_t erase(EventLog& log, const std::optional<std::string>& event, const std::optional<std::string>& page,
               const std::optional<std::string>& field, const py::object& value) {
  here(log);
  py::object held;  // what the value borrows from, until it has been looked for
  const EraseRule rule = unwrap(erase_rule(log.catalog(), event, page, field));
  EraseRule given = rule;
  if (!value.is_none()) given.value = cell_of(value, "value of what is erased", held);
  return unwrap(log.erase(given));
}

// A negative limit is none.
py::list read_log(EventLog& log, const GivenQuery& query, int64_t limit) {
  py::list out;
  EventTuples tuples(log.catalog());
  unwrap(log.read(query_of(query), nullptr, [&](const Event& event) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) >= limit) return false;
    out.append(tuples.of(event));
    return true;
  }));
  return out;
}

// As read_log, with the named contents, absent where an event has none.
py::tuple read_log_rows(EventLog& log, const std::vector<std::string>& fields, const GivenQuery& query,
                        int64_t limit) {
  std::vector<uint64_t> numbers;
  const TracedBatch read =
      unwrap(TracedBatch::of_log(log, fields, query_of(query), limit, SIZE_MAX, &numbers));
  Batch rows = read.rows();
  py::list columns;
  for (Column& column : rows.columns) {
    const ColumnType type = column.cells.type();
    const py::array present = presence_of(column.cells);
    columns.append(py::make_tuple(column.name, type, values_of(std::move(column.cells)), present));
  }
  return py::make_tuple(array_over(std::move(numbers)), array_over(std::move(rows.ts)), columns);
}

py::dict log_report(const EventLog& log) {
  const LogReport& found = here(log).report();
  const SequencerStats& stats = log.stats();
  py::dict out;
  out["first_seq"] = found.journal.first_seq;
  out["last_seq"] = found.journal.last_seq;
  out["damage_offset"] = found.journal.damage_offset;
  out["damaged_segments"] = found.damaged_segments;
  out["mended_copies"] = found.mended_copies;
  out["state_lost"] = found.state_lost;
  out["erased"] = found.erased;
  out["repaired_times"] = stats.repaired_times;
  out["late_events"] = stats.late_events;
  out["rebased_clocks"] = stats.rebased_clocks;
  out["unpaired_pages"] = stats.unpaired_pages;
  out["closed_inner"] = stats.closed_inner;
  out["overflowed_pages"] = stats.overflowed_pages;
  return out;
}

}  // namespace

void bind_stream_log(py::module_& m) {
  py::class_<EventLog>(m, "EventLog", "The device's durable event log in one directory.")
      .def_static("open", open_log, py::arg("directory"), py::arg("catalog"), py::kw_only(),
                  py::arg("journal_bytes"), py::arg("quota_bytes"), py::arg("max_age_s"),
                  py::arg("sync_events"), py::arg("sync_s"), py::arg("read_only"),
                  py::arg("maintenance_thread"), py::arg("recorded_times"), py::arg("key"))
      .def("append", append, py::arg("event"), py::arg("page"), py::arg("contents"), py::arg("ts"),
           py::arg("durable"), py::kw_only(), py::arg("on") = false, py::arg("late") = false)
      .def("read", read_log, py::arg("query"), py::arg("limit"))
      .def("read_rows", read_log_rows, py::arg("fields"), py::arg("query"), py::arg("limit"))
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
          "cursor", [](EventLog& log, const std::string& reader) { return unwrap(log.cursor(reader)); },
          py::arg("reader"))
      .def(
          "set_cursor",
          [](EventLog& log, const std::string& reader, uint64_t seq) { unwrap(log.set_cursor(reader, seq)); },
          py::arg("reader"), py::arg("seq"))
      .def("losses", log_losses, "[(kind, first, last, events, exact, noticed, reader, cause)].")
      .def("acknowledge", acknowledge_log, py::arg("seen"))
      .def("erase", erase, py::arg("event"), py::arg("page"), py::arg("field"), py::arg("value"))
      .def("last_seq", [](const EventLog& log) { return here(log).last_seq(); })
      .def("segment_bytes", [](const EventLog& log) { return here(log).segment_bytes(); })
      .def("catalog", [](const EventLog& log) { return here(log).catalog(); })
      .def("report", log_report);
}

}  // namespace walle::pybind
