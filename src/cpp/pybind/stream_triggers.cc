#include <pybind11/numpy.h>

#include <ctime>

#include "pybind/stream.h"
#include "stream/match/trigger_set.h"

namespace py = pybind11;

namespace walle::pybind {

using namespace walle::stream;

namespace {
py::list drain(TriggerSet& set) {
  py::list out;
  for (Firing f; set.matcher().queue().pop(f);)
    out.append(py::make_tuple(set.name_of(f.trigger), f.seq, f.ts, f.start_ts, f.idempotency, f.coalesced));
  return out;
}

// A set owns the catalogue it was made with.
struct OwnedSet {
  OwnedSet(const Catalog& c, size_t queue, double utc_offset_s)
      : catalog(c), set(catalog, {queue, static_cast<int64_t>(utc_offset_s * 1e6)}) {}
  Catalog catalog;
  TriggerSet set;
};

std::vector<std::pair<std::string, CompiledTrigger>> compile_all(
    const std::vector<std::pair<std::string, std::string>>& texts, const Catalog& c) {
  std::vector<std::pair<std::string, CompiledTrigger>> out;
  for (const auto& [name, text] : texts)
    out.emplace_back(name, unwrap(compile_trigger(unwrap(parse_trigger(text)), c, text)));
  return out;
}

// What the matcher takes for granted, because the event log sees to it.
void check_time(int64_t newest, int64_t ts) {
  if (ts < newest)
    throw CoreError(
        argument_error("time " + std::to_string(ts) + " us",
                       "not before " + std::to_string(newest) + " us, the newest event's", "trigger set",
                       "give events in order of time, or replay an EventLog, which repairs times"));
}

// Matches events given as columns (ids, times), without contents: for replays and measurements. Returns the
// firings and the CPU seconds of the steps alone.
std::pair<uint64_t, double> run_columns(Matcher& matcher, const Catalog& catalog,
                                        const py::array_t<uint16_t>& event, const py::array_t<uint16_t>& page,
                                        const py::array_t<int64_t>& ts) {
  if (event.size() != page.size() || event.size() != ts.size())
    throw CoreError(argument_error("columns of " + std::to_string(event.size()) + ", " +
                                       std::to_string(page.size()) + " and " + std::to_string(ts.size()),
                                   "three columns of one length", "run", "pass one value per event in each"));
  const auto events = event.unchecked<1>(), pages = page.unchecked<1>();
  const auto times = ts.unchecked<1>();
  for (py::ssize_t i = 0; i < events.size(); ++i) {
    check_time(i == 0 ? matcher.last_ts() : times(i - 1), times(i));
    if (events(i) >= catalog.events().size() || pages(i) >= catalog.page_count(events(i)))
      throw CoreError(argument_error(
          "event id " + std::to_string(events(i)) + " with page id " + std::to_string(pages(i)),
          "ids of the catalogue", "run, row " + std::to_string(i), "take the ids from the catalogue"));
  }
  uint64_t fired = 0;
  Event e;
  e.session = 1;
  timespec a, b;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  for (py::ssize_t i = 0; i < events.size(); ++i) {
    ++e.seq, e.event = events(i), e.page = pages(i), e.ts = times(i);
    matcher.step(e);
    for (Firing f; matcher.queue().pop(f);) ++fired;
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  return {fired,
          static_cast<double>(b.tv_sec - a.tv_sec) + static_cast<double>(b.tv_nsec - a.tv_nsec) * 1e-9};
}
}  // namespace

void bind_stream_triggers(py::module_& m) {
  m.def("format_trigger",
        [](const std::string& text) { return format_trigger(unwrap(parse_trigger(text))); });
  m.def("lint_trigger", [](const std::string& text) {
    py::list out;
    for (const Finding& f : lint_trigger(unwrap(parse_trigger(text))))
      out.append(py::make_tuple(f.error, f.message, f.position));
    return out;
  });
  m.def("compile_trigger", [](const std::string& text, const Catalog& c) {
    return py::bytes(save_compiled(unwrap(compile_trigger(unwrap(parse_trigger(text)), c, text)), c));
  });
  m.def("load_trigger",
        [](const std::string& bytes, const Catalog& c) { return unwrap(load_compiled(bytes, c)).text; });
  m.def("explain_triggers",
        [](const std::vector<std::pair<std::string, std::string>>& texts, const Catalog& c, bool dot) {
          return dot ? explain_dot(compile_all(texts, c), c) : explain_text(compile_all(texts, c), c);
        });

  m.def("trigger_names", [](const std::string& text) {
    // Everything a trigger names: events, pages, states, fields with the type their literals suggest.
    const TriggerSpec spec = unwrap(parse_trigger(text));
    py::set events, pages, states;
    py::dict fields;
    const auto atoms = [&](const std::vector<Atom>& all) {
      for (const Atom& a : all) {
        if (a.event != "*") events.add(a.event);
        if (a.page != "*") pages.add(a.page);
        for (const auto& n : a.predicate.nodes)
          if (!n.field.empty()) {
            const FieldType t = n.literals.empty() ? FieldType::i64 : n.literals[0].type;
            fields[py::str(n.field)] = static_cast<int>(t == FieldType::i64 ? FieldType::f64 : t);
          }
      }
    };
    for (const Step& s : spec.steps) atoms(s.any_of), atoms(s.guard);
    atoms(spec.absent);
    if (!spec.by.empty() && !fields.contains(spec.by))
      fields[py::str(spec.by)] = static_cast<int>(FieldType::text);
    for (const auto& all : spec.when)
      for (const StateTerm& t : all) states.add(t.name);
    return py::make_tuple(events, pages, states, fields);
  });

  py::class_<OwnedSet>(m, "TriggerSet")
      .def(py::init<const Catalog&, size_t, double>())
      .def("add", [](OwnedSet& s, const std::string& name,
                     const std::string& text) { unwrap(s.set.add(name, text)); })
      .def("remove", [](OwnedSet& s, const std::string& name) { unwrap(s.set.remove(name)); })
      .def("texts", [](OwnedSet& s) { return s.set.texts(); })
      .def("step",
           [](OwnedSet& s, const std::string& name, const std::string& page, const py::object& contents,
              int64_t ts, uint64_t seq, uint64_t session, uint64_t instance, bool on) {
             Contents values;
             Event e = make_event(s.catalog, name, page, ts, on);
             e.seq = seq, e.session = session, e.page_instance = instance;
             e.contents = values.read(s.catalog, e.event, contents);
             unwrap(check_contents(s.catalog, e.event, e.contents));
             check_time(s.set.matcher().last_ts(), ts);
             s.set.matcher().step(e);
             return drain(s.set);
           })
      .def("replay",
           [](OwnedSet& s, EventLog& log, uint64_t from) {
             py::list out;
             unwrap(log.read(from, [&](const Event& e) {
               check_time(s.set.matcher().last_ts(), e.ts);
               s.set.matcher().step(e);
               for (const auto& f : drain(s.set)) out.append(f);
               return true;
             }));
             return out;
           })
      .def("advance",
           [](OwnedSet& s, int64_t ts) {
             s.set.matcher().advance(ts);
             return drain(s.set);
           })
      .def("run",
           [](OwnedSet& s, const py::array_t<uint16_t>& event, const py::array_t<uint16_t>& page,
              const py::array_t<int64_t>& ts) {
             return run_columns(s.set.matcher(), s.catalog, event, page, ts);
           })
      .def("snapshot", [](OwnedSet& s) { return py::bytes(s.set.matcher().snapshot()); })
      .def("restore",
           [](OwnedSet& s, const std::string& bytes) { return unwrap(s.set.matcher().restore(bytes)); })
      .def("stats", [](OwnedSet& s) {
        const MatcherStats& t = s.set.matcher().stats();
        py::dict out;
        out["events"] = t.events, out["firings"] = t.firings, out["suppressed"] = t.suppressed,
        out["evicted_keys"] = t.evicted_keys;
        out["coalesced"] = s.set.matcher().queue().coalesced(),
        out["dropped"] = s.set.matcher().queue().dropped();
        out["nodes"] = s.set.matcher().node_count(), out["edges"] = s.set.matcher().edge_count();
        out["memory_bytes"] = s.set.matcher().memory_bytes(),
        out["triggers"] = s.set.matcher().trigger_count();
        return out;
      });
}

void bind_stream_log(py::module_& m);
void bind_stream_ipv(py::module_& m);
void bind_stream_graph(py::module_& m);
void bind_stream(py::module_& m) {
  auto s = m.def_submodule("stream", "Events, triggers and features on the device.");
  bind_stream_log(s);
  bind_stream_triggers(s);
  bind_stream_graph(s);
  bind_stream_ipv(s);
}

}  // namespace walle::pybind
