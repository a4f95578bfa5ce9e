// Triggers as text: parsed, checked, compiled, explained. Sets of them are matched in stream_trigger_set.cc.
#include "pybind/stream.h"
#include "stream/match/trigger_set.h"
#include "stream/trigger/trigger_names.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

// The text goes along, so that positions in errors and explanations speak of what was written.
CompiledTrigger compiled(const std::string& text, const Catalog& catalog) {
  return unwrap(compile_trigger(unwrap(parse_trigger(text)), catalog, text));
}

std::string explain_triggers(const std::vector<std::pair<std::string, std::string>>& triggers,
                             const Catalog& catalog, bool dot) {
  std::vector<std::pair<std::string, CompiledTrigger>> all;
  for (const auto& [name, text] : triggers) all.emplace_back(name, compiled(text, catalog));
  return dot ? explain_dot(all, catalog) : explain_text(all, catalog);
}

py::list lint(const std::string& text) {
  py::list out;
  for (const Finding& f : lint_trigger(unwrap(parse_trigger(text))))
    out.append(py::make_tuple(f.error, f.message, f.position));
  return out;
}

py::tuple trigger_names(const std::string& text) {
  const TriggerNames found = names_in(unwrap(parse_trigger(text)));
  py::dict fields;
  for (const auto& [name, type] : found.fields) fields[py::str(name)] = type;
  return py::make_tuple(found.events, found.pages, found.states, fields);
}

}  // namespace

void bind_stream_triggers(py::module_& m) {
  m.def(
      "format_trigger", [](const std::string& text) { return format_trigger(unwrap(parse_trigger(text))); },
      py::arg("text"), "The canonical text.");
  m.def("lint_trigger", lint, py::arg("text"), "[(error, message, position)].");
  m.def(
      "check_trigger", [](const std::string& text, const Catalog& catalog) { compiled(text, catalog); },
      py::arg("text"), py::arg("catalog"), "Throws where the trigger cannot fire with this catalogue.");
  m.def("explain_triggers", explain_triggers, py::arg("triggers"), py::arg("catalog"), py::arg("dot"));
  m.def("trigger_names", trigger_names, py::arg("text"),
        "Events, pages, states, and fields with their types.");
  py::list aggregates;
  for (const TriggerAggregateFacts& a : kTriggerAggregates)
    if (!a.word.empty()) aggregates.append(std::string(a.word));
  m.attr("TRIGGER_AGGREGATES") = py::tuple(aggregates);
}

}  // namespace walle::pybind
