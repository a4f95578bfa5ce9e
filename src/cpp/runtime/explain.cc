#include "runtime/explain.h"

#include <algorithm>

namespace walle::runtime {

namespace {
const char* home_name(search::Home home) {
  switch (home) {
    case search::Home::arena: return "arena";
    case search::Home::input: return "input";
    case search::Home::output: return "output";
    case search::Home::constant: return "constant";
    case search::Home::nowhere: break;
  }
  return "nowhere";
}

void describe_result(const ops::Program& program, const search::Plan& plan, const ops::ProgramNode& node,
                     ExplainRow& row) {
  const auto first = std::ranges::find_if(node.outputs, [](ops::Ref r) { return r >= 0; });
  if (first == node.outputs.end()) return;
  const ops::ProgramValue& value = program.at(*first);
  const search::Storage& at = plan.storage[static_cast<size_t>(*first)];
  row.output = std::string(dtype_name(value.dtype)) + value.shape.text();
  row.storage = home_name(at.home);
  row.offset = at.offset;
}

ExplainRow row_of(const GraphRunner& runner, const Executable& exe, size_t index) {
  const search::Step& step = exe.plan().steps[index];
  const ops::ProgramNode& node = exe.program().nodes[static_cast<size_t>(step.node)];
  const backends::Candidate& chosen = step.chosen.candidate;
  const ir::Cost cost = backends::NodeView(exe.program(), node).cost();
  const StepTime& time = exe.times()[index];
  ExplainRow row;
  row.graph = runner.graph().name;
  row.node = node.origin.text();
  row.op = node.op->name;
  row.backend = step.chosen.backend->name();
  row.algorithm = chosen.algorithm;
  row.parameters = chosen.parameters;
  row.workspace_bytes = chosen.workspace_bytes;
  row.flops = cost.flops;
  row.bytes = cost.bytes;
  row.predicted_ms = chosen.cost_ms;
  row.measured_runs = time.runs;
  row.measured_ms = time.runs > 0 ? time.total_us / 1e3 / static_cast<double>(time.runs) : 0;
  describe_result(exe.program(), exe.plan(), node, row);
  for (const search::Choice& loser : step.losers)
    row.losers.emplace_back(loser.candidate.algorithm, loser.candidate.cost_ms);
  return row;
}
}  // namespace

void explain(const GraphRunner& runner, ExplainReport& report) {
  for (const auto& segment : runner.segments()) {
    const Executable& exe = *segment->executable;
    const search::Plan& plan = exe.plan();
    ++report.plans;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      report.rows.push_back(row_of(runner, exe, i));
      report.rows.back().plan = report.plans;
    }
    report.arena_bytes = std::max(report.arena_bytes, plan.arena_bytes);
    report.activation_bytes += plan.activation_bytes;
    report.aliases += plan.aliases;
    report.predicted_ms += plan.predicted_ms;
    report.program += "segment " + std::to_string(segment->begin) + ".." + std::to_string(segment->end) +
                      " of " + runner.graph().name + "\n" + ops::dump(exe.program());
  }
  // In the order of the nodes; the runners themselves are kept by address.
  for (const ir::Node& node : runner.graph().nodes)
    for (const auto& [name, value] : node.attributes.items()) {
      const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value);
      const auto found = body ? runner.bodies().find(body->get()) : runner.bodies().end();
      if (found != runner.bodies().end()) explain(*found->second, report);
    }
}

}  // namespace walle::runtime
