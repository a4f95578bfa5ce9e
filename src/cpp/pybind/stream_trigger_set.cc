// _core.stream.TriggerSet: all triggers of a device, matched together.
#include "pybind/stream.h"
#include "stream/match/trigger_set.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

constexpr double kMicroseconds = 1e6;  // in a second

// Keeps the catalogue it was made with: Python may go on declaring names in its own.
struct OwnedSet {
  OwnedSet(const Catalog& given, size_t queue, double utc_offset_s,
           const std::vector<std::pair<int64_t, int64_t>>& offset_changes)
      : catalog(given), set(catalog, options(queue, utc_offset_s, offset_changes)) {}

  static MatcherOptions options(size_t queue, double utc_offset_s,
                                const std::vector<std::pair<int64_t, int64_t>>& offset_changes) {
    MatcherOptions out;
    out.queue_capacity = queue;
    out.utc_offset_us = static_cast<int64_t>(utc_offset_s * kMicroseconds);
    for (const auto& [from, offset] : offset_changes) out.offset_changes.push_back({from, offset});
    if (!out.offset_changes.empty()) out.utc_offset_us = out.offset_changes[0].offset_us;
    return out;
  }

  Catalog catalog;
  TriggerSet set;
};

py::tuple firing(const TriggerSet& set, const Firing& f) {
  return py::make_tuple(set.name_of(f.trigger), f.seq, f.ts, f.start_ts, f.idempotency, f.coalesced);
}

// Everything that fired, taken out of the queue: Python has its own places to keep it.
py::list waiting(TriggerSet& set) {
  py::list out;
  for (Firing f; set.matcher().queue().pop(f);) out.append(firing(set, f));
  return out;
}

py::list step(OwnedSet& s, const std::string& name, const std::string& page, const py::object& contents,
              int64_t ts, uint64_t seq, uint64_t session, uint64_t page_instance, bool on) {
  Event event = unwrap(event_by_name(s.catalog, name, page, ts, on));
  event.seq = seq;
  event.session = session;
  event.page_instance = page_instance;
  Contents values;
  event.contents = values.read(s.catalog, event.event, contents);
  unwrap(s.set.step(event));
  return waiting(s.set);
}

py::list replay(OwnedSet& s, EventLog& log, uint64_t from_seq) {
  py::list out;
  unwrap(s.set.replay(log, from_seq, [&](const Firing& f) { out.append(firing(s.set, f)); }));
  return out;
}

py::list advance(OwnedSet& s, int64_t ts) {
  s.set.matcher().advance(ts);
  return waiting(s.set);
}

py::dict stats(OwnedSet& s) {
  Matcher& matcher = s.set.matcher();
  py::dict out;
  out["events"] = matcher.stats().events;
  out["firings"] = matcher.stats().firings;
  out["suppressed"] = matcher.stats().suppressed;
  out["evicted_keys"] = matcher.stats().evicted_keys;
  out["evicted_limits"] = matcher.stats().evicted_limits;
  out["coalesced"] = matcher.queue().coalesced();
  out["dropped"] = matcher.queue().dropped();
  out["nodes"] = matcher.node_count();
  out["edges"] = matcher.edge_count();
  out["memory_bytes"] = matcher.memory_bytes();
  out["triggers"] = matcher.trigger_count();
  return out;
}

}  // namespace

void bind_stream_trigger_set(py::module_& m) {
  py::class_<OwnedSet>(m, "TriggerSet", "Triggers by name, matched by one shared-prefix trie.")
      .def(py::init<const Catalog&, size_t, double, const std::vector<std::pair<int64_t, int64_t>>&>(),
           py::arg("catalog"), py::arg("queue"), py::arg("utc_offset_s"), py::arg("offset_changes"))
      .def(
          "add",
          [](OwnedSet& s, const std::string& name, const std::string& text) {
            unwrap(s.set.add(name, text));
          },
          py::arg("name"), py::arg("text"))
      .def(
          "remove", [](OwnedSet& s, const std::string& name) { unwrap(s.set.remove(name)); }, py::arg("name"))
      .def(
          "texts", [](const OwnedSet& s) { return s.set.texts(); }, "[(name, canonical text)].")
      .def("step", step, py::arg("event"), py::arg("page"), py::arg("contents"), py::arg("ts"),
           py::arg("seq"), py::arg("session"), py::arg("page_instance"), py::arg("on"))
      .def("replay", replay, py::arg("log"), py::arg("from_seq"))
      .def("advance", advance, py::arg("ts"))
      .def("snapshot", [](OwnedSet& s) { return py::bytes(s.set.matcher().snapshot()); })
      .def(
          "restore",
          [](OwnedSet& s, const py::bytes& data) {
            return unwrap(s.set.matcher().restore(std::string_view(data)));
          },
          py::arg("data"))
      .def("stats", stats);
}

}  // namespace walle::pybind
