// _core.stream.Processor: log, catalogue and the triggers of all tasks as one object.
//
// Whatever waits for the processor's lock of matching lets go of the interpreter's first, or nothing behind
// that lock asks for the interpreter: no callback of Python is called there.
#include <map>

#include "pybind/seconds.h"
#include "pybind/stream.h"
#include "stream/processor/processor.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using Settled = std::map<std::string, uint64_t, std::less<>>;
using Triggers = std::vector<std::pair<std::string, std::string>>;  // name, text

std::unique_ptr<Processor> open_processor(const std::string& directory, const Catalog& catalog,
                                          Settled settled, size_t journal_bytes, int64_t quota_bytes,
                                          double max_age_s, uint64_t sync_events, double sync_s,
                                          bool maintenance_thread, bool recorded_times, const py::bytes& key,
                                          double utc_offset_s, size_t keys,
                                          std::vector<std::pair<std::string, size_t>> keys_of,
                                          size_t page_instances, size_t key_bytes,
                                          const GivenOffsets& offset_changes, uint64_t checkpoint_events) {
  ProcessorOptions options;
  options.log = {.journal_bytes = journal_bytes,
                 .quota_bytes = quota_bytes,
                 .max_age_us = static_cast<int64_t>(max_age_s * kMicroseconds),
                 .sync_events = sync_events,
                 .sync_us = static_cast<int64_t>(sync_s * kMicroseconds),
                 .maintenance_thread = maintenance_thread,
                 .recorded_times = recorded_times,
                 .key = key};
  options.matcher.local = local_time(offset_changes, utc_offset_s);
  options.matcher.keys = keys;
  options.matcher.keys_of = std::move(keys_of);
  options.matcher.page_instances = page_instances;
  options.matcher.key_bytes = key_bytes;
  options.settled = [settled = std::move(settled)](std::string_view task) {
    const auto at = settled.find(task);
    return at == settled.end() ? uint64_t{0} : at->second;
  };
  options.checkpoint_events = checkpoint_events;
  const py::gil_scoped_release released;
  return unwrap(Processor::open(Env::system(), directory, catalog, std::move(options)));
}

// Without a time given: now.
Event event_at(Processor& p, const std::string& name, const std::string& page, std::optional<int64_t> ts,
               bool on) {
  unwrap(p.log().check_process());
  return unwrap(event_by_name(p.catalog(), name, page, ts ? *ts : Env::system().wall_us(), on));
}

uint64_t record(Processor& p, const std::string& name, const std::string& page, const py::object& contents,
                std::optional<int64_t> ts, bool durable) {
  Event event = event_at(p, name, page, ts, false);
  Contents values;  // owns the texts that the event points to, until it is recorded
  event.contents = values.read(p.catalog(), event.event, contents);
  const py::gil_scoped_release released;
  return unwrap(p.record(event, durable)).seq;
}

uint64_t set_state(Processor& p, const std::string& state, bool on, std::optional<int64_t> ts) {
  const Event event = event_at(p, "app_state", state, ts, on);
  const py::gil_scoped_release released;
  return unwrap(p.record(event, false)).seq;
}

void install(Processor& p, const std::string& name, const Triggers& triggers, uint32_t queue, int when_full,
             int past) {
  TaskTriggers task{.task = name,
                    .triggers = {},
                    .queue = queue,
                    .when_full = enum_of(when_full, WhenFull::drop_new, "queue policy"),
                    .past = enum_of(past, Past::delivered, "past")};
  for (const auto& [trigger, text] : triggers) task.triggers.push_back({.name = trigger, .text = text});
  const py::gil_scoped_release released;
  unwrap(p.install(task));
}

// The fields of walle_rt.stream._processor.TaskFiring.
py::object take_firings(Processor& p, const std::string& task) {
  TaskFiring f;
  if (!p.take(task, f)) return py::none();
  unwrap(p.locate(f));
  return py::make_tuple(task, f.number, f.key, std::string(f.trigger_name), f.seq, f.ts, f.start_ts,
                        f.start_seq, f.last_seq, f.session, f.page_instance, f.coalesced,
                        f.trigger != kNoTrigger);
}

py::dict processor_stats(const Processor& p, const std::string& name) {
  const TaskStats found = [&] {
    const py::gil_scoped_release released;
    return unwrap(p.stats(name));
  }();
  py::list triggers;
  for (const TaskTriggerStats& t : found.triggers) {
    const py::object last = t.stats.fired ? py::object(py::int_(t.stats.last_ts)) : py::none();
    triggers.append(py::make_tuple(t.name, t.text, t.stats.fired, t.stats.suppressed, t.stats.evicted, last));
  }
  py::dict out;
  out["task"] = found.task;
  out["queue"] = found.queue;
  out["when_full"] = static_cast<int>(found.when_full);
  out["newest"] = found.newest;
  out["settled"] = found.settled;
  out["waiting"] = found.waiting;
  out["in_flight"] = found.in_flight;
  out["dropped"] = found.dropped;
  out["coalesced"] = found.coalesced;
  out["triggers"] = triggers;
  return out;
}

py::list read_processor(Processor& p, uint64_t from_seq, int64_t limit) {
  py::list out;
  EventTuples tuples(p.catalog());
  unwrap(p.log().read(from_seq, [&](const Event& event) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) >= limit) return false;
    out.append(tuples.of(event));
    return true;
  }));
  return out;
}

py::dict processor_report(const Processor& p) {
  const ProcessorReport& found = p.report();
  py::dict out;
  out["replayed"] = found.replayed;
  out["firings"] = found.firings;
  out["missed"] = found.missed;
  out["mended"] = found.mended;
  out["lost"] = found.lost;
  return out;
}

}  // namespace

void bind_stream_processor(py::module_& m) {
  using Free = py::call_guard<py::gil_scoped_release>;
  py::class_<Processor>(m, "Processor", "Log, catalogue and the triggers of all tasks as one object.")
      .def_static("open", open_processor, py::arg("directory"), py::arg("catalog"), py::kw_only(),
                  py::arg("settled"), py::arg("journal_bytes"), py::arg("quota_bytes"), py::arg("max_age_s"),
                  py::arg("sync_events"), py::arg("sync_s"), py::arg("maintenance_thread"),
                  py::arg("recorded_times"), py::arg("key"), py::arg("utc_offset_s"), py::arg("keys"),
                  py::arg("keys_of"), py::arg("page_instances"), py::arg("key_bytes"),
                  py::arg("offset_changes"), py::arg("checkpoint_events"))
      .def("record", record, py::arg("event"), py::arg("page"), py::arg("contents"), py::arg("ts"),
           py::arg("durable"))
      .def("set_state", set_state, py::arg("state"), py::arg("on"), py::arg("ts"))
      .def(
          "advance",
          [](Processor& p, std::optional<int64_t> ts) {
            unwrap(p.advance(ts ? *ts : Env::system().wall_us()));
          },
          py::arg("ts"), Free())
      .def(
          "next_deadline", [](const Processor& p) { return p.next_deadline(); }, Free())
      .def("install", install, py::arg("task"), py::arg("triggers"), py::arg("queue"), py::arg("when_full"),
           py::arg("past"))
      .def(
          "remove", [](Processor& p, const std::string& task) { unwrap(p.remove(task)); }, py::arg("task"),
          Free())
      .def("tasks", &Processor::tasks)
      .def("stats", processor_stats, py::arg("task"))
      .def("take", take_firings, py::arg("task"), "(task, number, key, trigger, ...) or None.")
      .def(
          "settle", [](Processor& p, const std::string& task, uint64_t number) { p.settle(task, number); },
          py::arg("task"), py::arg("number"))
      .def(
          "checkpoint", [](Processor& p) { unwrap(p.checkpoint()); }, Free())
      .def(
          "maintain", [](Processor& p) { unwrap(p.maintain()); }, Free())
      .def(
          "page", [](Processor& p, const std::string& name) { return unwrap(p.page(name)); }, py::arg("name"))
      .def(
          "state", [](Processor& p, const std::string& name) { return unwrap(p.state(name)); },
          py::arg("name"))
      .def("read", read_processor, py::arg("from_seq"), py::arg("limit"))
      .def("last_seq", [](Processor& p) { return p.log().last_seq(); })
      .def("catalog", [](const Processor& p) { return p.catalog(); })
      .def("report", processor_report)
      .def(
          "acknowledge_loss", [](Processor& p) { unwrap(p.acknowledge_loss()); }, Free())
      .def("memory_bytes", [](const Processor& p) { return p.memory_bytes(); }, Free());
}

}  // namespace walle::pybind
