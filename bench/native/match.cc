// CPU time of matching columns of events, without contents, against a set of triggers.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bench_value.h"
#include "clock.h"
#include "stream/match/trigger_set.h"

namespace walle::bench {

namespace {

using stream::Catalog;
using stream::Event;
using stream::Firing;
using stream::Matcher;
using stream::TriggerSet;
using stream::Value;

using Ids = py::array_t<uint16_t>;
using Times = py::array_t<int64_t>;

struct Count : stream::FiringSink {
  uint64_t count = 0;
  void fired(const Firing&, const stream::MatchPlace&) override { ++count; }
};

class Matching {
 public:
  Matching(const py::bytes& catalog, const std::vector<std::string>& triggers)
      : catalog_(value(Catalog::parse(std::string_view(catalog)))), set_(catalog_) {
    for (size_t i = 0; i < triggers.size(); ++i) check(set_.add("t" + std::to_string(i), triggers[i]));
  }

  // `values`: of the events' first field; empty for events without contents.
  std::pair<uint64_t, double> run(const Ids& events, const Ids& pages, const Times& ts, const Times& values) {
    check_columns(events, pages, ts);
    if (values.size() != 0 && values.size() != ts.size()) throw py::value_error("values differ in length");
    const auto value_at = values.unchecked<1>();
    Value content[1];
    const auto event = events.unchecked<1>();
    const auto page = pages.unchecked<1>();
    const auto time = ts.unchecked<1>();
    Matcher& matcher = set_.matcher();
    Count fired;
    Event e;
    e.session = 1;
    const int64_t start = cpu_ns();
    for (py::ssize_t i = 0; i < event.size(); ++i) {
      ++e.seq;
      e.event = event(i);
      e.page = page(i);
      e.ts = time(i);
      if (value_at.size() != 0) {
        content[0] = Value::of(value_at(i));
        e.contents = content;
      }
      matcher.step(e, fired);
    }
    return {fired.count, static_cast<double>(cpu_ns() - start) * 1e-9};
  }

  size_t memory_bytes() { return set_.matcher().memory_bytes(); }
  size_t nodes() { return set_.matcher().node_count(); }

 private:
  // The matcher takes all this for granted; checked here in front of the clock.
  void check_columns(const Ids& events, const Ids& pages, const Times& ts) {
    if (events.size() != pages.size() || events.size() != ts.size())
      throw py::value_error("events, pages and ts differ in length");
    const auto event = events.unchecked<1>();
    const auto page = pages.unchecked<1>();
    const auto time = ts.unchecked<1>();
    int64_t newest = set_.matcher().last_ts();
    for (py::ssize_t i = 0; i < event.size(); ++i) {
      if (event(i) >= catalog_.events().size() || page(i) >= catalog_.page_count(event(i)))
        throw py::value_error("row " + std::to_string(i) + " has an id the catalogue does not have");
      if (time(i) < newest) throw py::value_error("row " + std::to_string(i) + " is not in order of time");
      newest = time(i);
    }
  }

  Catalog catalog_;
  TriggerSet set_;
};

}  // namespace

void bind_match(py::module_& m) {
  py::class_<Matching>(m, "Matching", "A set of triggers that columns of events are matched against.")
      .def(py::init<const py::bytes&, const std::vector<std::string>&>(), py::arg("catalog"),
           py::arg("triggers"))
      .def("run", &Matching::run, py::arg("events"), py::arg("pages"), py::arg("ts"), py::arg("values"),
           "(firings, CPU seconds); ids are the catalogue's, ts in microseconds.")
      .def_property_readonly("memory_bytes", &Matching::memory_bytes)
      .def_property_readonly("nodes", &Matching::nodes);
}

}  // namespace walle::bench
