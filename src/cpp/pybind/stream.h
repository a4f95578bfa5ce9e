// The topics of _core.stream, and the conversions they share.
#pragma once

#include <deque>

#include "pybind/cells.h"
#include "pybind/enums.h"
#include "stream/event/event_names.h"
#include "stream/event/event_query.h"

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

py::tuple event_tuple(const stream::Event& event, const stream::Catalog& catalog);

}  // namespace walle::pybind
