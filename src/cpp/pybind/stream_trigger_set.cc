// _core.stream.TriggerSet: all triggers of a device, matched together.
#include "pybind/seconds.h"
#include "pybind/stream.h"
#include "stream/match/trigger_set.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

// Keeps the catalogue it was made with: Python may go on declaring names in its own.
struct OwnedSet {
  OwnedSet(const Catalog& given, const MatcherOptions& options) : catalog(given), set(catalog, options) {}

  Catalog catalog;
  TriggerSet set;
  Status unmatched;  // of an attached log
};

std::unique_ptr<OwnedSet> made(const Catalog& catalog, size_t queue, double utc_offset_s, size_t keys,
                               std::vector<std::pair<std::string, size_t>> keys_of, size_t page_instances,
                               size_t key_bytes, const GivenOffsets& offset_changes) {
  MatcherOptions options{.queue_capacity = queue,
                         .local = local_time(offset_changes, utc_offset_s),
                         .keys = keys,
                         .keys_of = std::move(keys_of),
                         .page_instances = page_instances,
                         .key_bytes = key_bytes};
  unwrap(check_options(options));
  return std::make_unique<OwnedSet>(catalog, options);
}

py::tuple firing(const TriggerSet& set, const Firing& f) {
  return py::make_tuple(set.name_of(f.trigger), f.seq, f.ts, f.start_ts, f.idempotency, f.coalesced);
}

// Everything that fires in one call.
class Collected : public FiringSink {
 public:
  void fired(const Firing& f, const MatchPlace&) override { all_.push_back(f); }
  py::list named_by(const TriggerSet& set) const {
    py::list out;
    for (const Firing& f : all_) out.append(firing(set, f));
    return out;
  }

 private:
  std::vector<Firing> all_;
};

py::list step(OwnedSet& s, const std::string& name, const std::string& page, const py::object& contents,
              int64_t ts, uint64_t seq, uint64_t session, uint64_t page_instance, bool on) {
  Event event = unwrap(event_by_name(s.catalog, name, page, ts, on));
  event.seq = seq;
  event.session = session;
  event.page_instance = page_instance;
  Contents values;
  event.contents = values.read(s.catalog, event.event, contents);
  Collected fired;
  unwrap(s.set.step(event, fired));
  return fired.named_by(s.set);
}

// The set's names are the log's: what was declared since is adopted.
void follow(OwnedSet& s, const EventLog& log) {
  unwrap(check_same_names(s.catalog, log.catalog()));
  if (log.catalog().events().size() >= s.catalog.events().size()) s.catalog = log.catalog();
}

// Every event that the log records from now on is matched; what fires waits in the set's queue.
void attach(OwnedSet& s, EventLog& log) {
  if (log.followed())
    unwrap(argument_error("a log that a trigger set is attached to", "a log without one", "attach",
                          "detach the other set first"));
  follow(s, log);
  log.follow([&s, &log](const Event& recorded) {
    // Names that were declared since: the log's catalogue only grows.
    if (log.catalog().events().size() != s.catalog.events().size()) s.catalog = log.catalog();
    if (Status matched = s.set.follow(recorded); !matched.ok() && s.unmatched.ok())
      s.unmatched = std::move(matched);
  });
}

// The first recorded event that could not be matched is told here: it was recorded all the same.
py::list take_fired(OwnedSet& s) {
  unwrap(std::exchange(s.unmatched, Status()));
  py::list out;
  for (Firing f; s.set.matcher().queue().pop(f);) out.append(firing(s.set, f));
  return out;
}

py::list replay(OwnedSet& s, EventLog& log, uint64_t from_seq) {
  follow(s, log);
  Collected fired;
  unwrap(s.set.replay(log, from_seq, fired));
  return fired.named_by(s.set);
}

py::list add_with_past(OwnedSet& s, const std::string& name, const std::string& text, EventLog& log) {
  follow(s, log);
  Collected fired;
  unwrap(s.set.add(name, text, log, fired));
  return fired.named_by(s.set);
}

py::list advance(OwnedSet& s, int64_t ts) {
  Collected fired;
  s.set.matcher().advance(ts, fired);
  return fired.named_by(s.set);
}

// How a trigger's `scope` clause says it.
std::string scope_name(const KeyPrice& p) {
  return p.scope == Scope::page ? "page" : p.scope == Scope::session ? "session" : "by(" + p.by + ")";
}

// [(scope, keys, bytes per key, bytes at most)]
py::list prices(OwnedSet& s) {
  py::list out;
  for (const KeyPrice& p : s.set.matcher().key_prices())
    out.append(py::make_tuple(scope_name(p), p.keys, p.bytes_per_key, p.bytes));
  return out;
}

py::tuple stats_of(OwnedSet& s, const std::string& name) {
  const TriggerStats found = unwrap(s.set.stats_of(name));
  const py::object last = found.fired ? py::object(py::int_(found.last_ts)) : py::none();
  return py::make_tuple(found.fired, found.suppressed, found.evicted, last);
}

py::dict set_stats(OwnedSet& s) {
  Matcher& matcher = s.set.matcher();
  py::dict out;
  out["events"] = matcher.stats().events;
  out["firings"] = matcher.stats().firings;
  out["suppressed"] = matcher.stats().suppressed;
  out["evicted_keys"] = matcher.stats().evicted_keys;
  out["evicted_limits"] = matcher.stats().evicted_limits;
  out["row_pages"] = matcher.stats().row_pages;
  out["coalesced"] = matcher.queue().coalesced();
  out["dropped"] = matcher.queue().dropped();
  out["nodes"] = matcher.node_count();
  out["edges"] = matcher.edge_count();
  out["memory_bytes"] = matcher.memory_bytes();
  out["memory_bytes_at_most"] = matcher.memory_bytes_at_most();
  out["triggers"] = matcher.trigger_count();
  return out;
}

}  // namespace

void bind_stream_trigger_set(py::module_& m) {
  py::class_<OwnedSet>(m, "TriggerSet", "Triggers by name, matched by one shared-prefix trie.")
      .def(py::init(&made), py::arg("catalog"), py::kw_only(), py::arg("queue"), py::arg("utc_offset_s"),
           py::arg("keys"), py::arg("keys_of"), py::arg("page_instances"), py::arg("key_bytes"),
           py::arg("offset_changes"))
      .def(
          "add",
          [](OwnedSet& s, const std::string& name, const std::string& text) {
            unwrap(s.set.add(name, text));
          },
          py::arg("name"), py::arg("text"))
      .def("add_with_past", add_with_past, py::arg("name"), py::arg("text"), py::arg("log"))
      .def(
          "remove", [](OwnedSet& s, const std::string& name) { unwrap(s.set.remove(name)); }, py::arg("name"))
      .def(
          "texts", [](const OwnedSet& s) { return s.set.texts(); }, "[(name, canonical text)].")
      .def("step", step, py::arg("event"), py::arg("page"), py::arg("contents"), py::arg("ts"),
           py::arg("seq"), py::kw_only(), py::arg("session"), py::arg("page_instance"), py::arg("on"))
      .def("replay", replay, py::arg("log"), py::arg("from_seq"))
      .def("advance", advance, py::arg("ts"))
      // keep_alive: the log calls the set.
      .def("attach", attach, py::arg("log"), py::keep_alive<2, 1>())
      .def(
          "detach", [](OwnedSet&, EventLog& log) { log.follow(nullptr); }, py::arg("log"))
      .def("take", take_fired)
      .def("last_ts",
           [](OwnedSet& s) {
             const int64_t ts = s.set.matcher().last_ts();
             return ts == INT64_MIN ? std::optional<int64_t>() : ts;
           })
      .def("next_deadline", [](OwnedSet& s) { return s.set.matcher().next_deadline(); })
      .def("prices", prices, "[(scope, keys, bytes per key, bytes at most)].")
      .def("stats_of", stats_of, py::arg("name"), "(fired, suppressed, evicted, last_ts).")
      .def("snapshot", [](OwnedSet& s) { return py::bytes(s.set.matcher().snapshot()); })
      .def(
          "restore",
          [](OwnedSet& s, const py::bytes& data) {
            return unwrap(s.set.matcher().restore(std::string_view(data)));
          },
          py::arg("data"))
      .def("stats", set_stats);
}

}  // namespace walle::pybind
