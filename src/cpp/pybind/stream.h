// The topics of _core.stream, and the conversions they share.
#pragma once

#include <deque>
#include <unordered_map>

#include "pybind/cells.h"
#include "pybind/enums.h"
#include "stream/event/event_names.h"
#include "stream/event/event_query.h"
#include "stream/match/local_time.h"

namespace walle::pybind {

namespace py = pybind11;

// bind_stream_<name>() lives in pybind/stream_<name>.cc.
void bind_stream_catalog(py::module_& m);
void bind_stream_log(py::module_& m);
void bind_stream_triggers(py::module_& m);
void bind_stream_trigger_set(py::module_& m);
void bind_stream_processor(py::module_& m);
void bind_stream_rows(py::module_& m);
void bind_stream_graph(py::module_& m);
void bind_stream_privacy(py::module_& m);
void bind_stream_egress(py::module_& m);
void bind_stream_ipv(py::module_& m);

// Which events are asked for: from_seq, to_seq, from_ts, to_ts, session, page_instance; all inclusive.
using GivenQuery = std::tuple<uint64_t, std::optional<uint64_t>, std::optional<int64_t>,
                              std::optional<int64_t>, std::optional<uint64_t>, std::optional<uint64_t>>;
stream::EventQuery query_of(const GivenQuery& given);
// Of local time: from when on in UTC, offset; in microseconds. The first one also holds before its time.
using GivenOffsets = std::vector<std::pair<int64_t, int64_t>>;
stream::LocalTime local_time(const GivenOffsets& offsets, double utc_offset_s = 0);
// None where there are no offsets: a task goes by what its device goes by.
std::shared_ptr<const stream::LocalTime> own_local_time(const GivenOffsets& offsets);
using GivenField = std::tuple<std::string, ColumnType, int>;  // name, type, sensitivity
// What a catalogue is asked to declare; CoreError for a number that no enumeration has.
stream::EventDecl event_decl(const std::string& name, int kind, const std::vector<GivenField>& fields);

// The values of one event; keeps the texts its Values borrow from.
class Contents {
 public:
  // `given`: a dict of field name to value, or None.
  std::span<const stream::Value> read(const stream::Catalog& catalog, uint16_t event,
                                      const py::object& given);

 private:
  stream::Value value_of(py::handle given, const stream::FieldDecl& field);

  std::vector<stream::Value> values_;
  std::deque<std::string> texts_;
};

// Events as tuples of Python's. Names are made once for all that one call gives: a text takes as long as all
// else of an event.
class EventTuples {
 public:
  explicit EventTuples(const stream::Catalog& catalog) : catalog_(catalog) {}
  py::tuple of(const stream::Event& event);

 private:
  struct Names {
    py::str event;
    std::vector<py::str> fields;
  };
  const Names& names_of(uint16_t event);
  const py::str& page_of(const stream::Event& event);

  const stream::Catalog& catalog_;
  std::unordered_map<uint16_t, Names> names_;
  std::unordered_map<uint32_t, py::str> pages_;  // by event and page: a state's event names states
};

}  // namespace walle::pybind
