// What a session's plans say, as dictionaries; walle_rt.explain makes the documented classes of them.
#include <pybind11/stl.h>

#include "pybind/python_lock.h"
#include "pybind/session.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

py::dict choice_dict(const runtime::ExplainChoice& choice) {
  py::dict features;
  for (int i = 0; i < backends::kQuantities; ++i)
    features[py::str(std::string(backends::kQuantityNames[i]))] = choice.features.amount[i];
  py::dict out;
  out["backend"] = choice.backend;
  out["algorithm"] = choice.algorithm;
  out["kernel"] = std::string(choice.features.kernel);
  out["isa"] = std::string(choice.features.isa);
  out["features"] = features;
  out["threads"] = choice.features.threads;
  out["predicted_ms"] = choice.predicted_ms;
  out["measured_ms"] = choice.measured_ms;
  out["taken"] = choice.taken;
  return out;
}

py::dict row_dict(const runtime::ExplainRow& row) {
  py::dict parameters;
  for (const auto& [name, value] : row.parameters) parameters[py::str(name)] = value;
  py::dict out;
  out["plan"] = row.plan;
  out["graph"] = row.graph;
  out["node"] = row.node;
  out["op"] = row.op;
  out["backend"] = row.backend;
  out["algorithm"] = row.algorithm;
  out["parameters"] = parameters;
  out["arithmetic"] = row.arithmetic;
  out["weights"] = row.weights;
  out["output"] = row.output;
  out["memory"] = row.memory;
  out["storage"] = row.storage;
  out["offset"] = row.offset;
  out["workspace_bytes"] = row.workspace_bytes;
  out["flops"] = row.flops;
  out["bytes"] = row.bytes;
  out["predicted_ms"] = row.predicted_ms;
  out["measured_runs"] = row.measured_runs;
  out["measured_ms"] = row.measured_ms;
  out["losers"] = row.losers;
  py::list choices;
  for (const runtime::ExplainChoice& choice : row.choices) choices.append(choice_dict(choice));
  out["choices"] = choices;
  return out;
}

}  // namespace

py::dict explain(NativeSession& session) {
  const runtime::ExplainReport report = [&] {
    const PythonUnlocked unlocked;  // it waits for a run under way
    return session.native().explain();
  }();
  py::list rows;
  for (const runtime::ExplainRow& row : report.rows) rows.append(row_dict(row));
  py::dict out;
  out["rows"] = rows;
  out["plans"] = report.plans;
  out["arena_bytes"] = report.arena_bytes;
  out["arenas"] = report.arenas;
  out["activation_bytes"] = report.activation_bytes;
  out["aliases"] = report.aliases;
  out["predicted_ms"] = report.predicted_ms;
  out["search_ms"] = report.search_ms;
  out["costs"] = report.costs;
  out["plan_sources"] = report.plan_sources;
  out["weight_sources"] = report.weight_sources;
  out["profiled_runs"] = report.profiled_runs;
  out["wall_ms"] = report.wall_ms;
  out["program"] = report.program;
  return out;
}

}  // namespace walle::pybind
