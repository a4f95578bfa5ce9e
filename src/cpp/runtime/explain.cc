// Made of the plans that stand when somebody asks: running records nothing for it but times, under profile().
#include "runtime/explain.h"

#include <algorithm>

#include "runtime/step_labels.h"

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

void describe_value(const Executable& exe, int memory, ops::Ref r, ExplainRow& row) {
  const ops::ProgramValue& value = exe.program().at(r);
  const search::Storage& at = exe.plan().at(memory, r);
  row.output = std::string(dtype_name(value.dtype)) + value.shape.text();
  row.memory = exe.plan().memories[memory].memory->name();
  row.storage = home_name(at.home);
  row.offset = at.offset;
}

void describe_node(const Executable& exe, const search::Step& step, ExplainRow& row) {
  const ops::ProgramNode& node = exe.program().nodes[step.node];
  const backends::Candidate& chosen = step.chosen.candidate;
  const ir::Cost cost = backends::NodeView(exe.program(), node).cost();
  row.parameters = chosen.parameters;
  row.workspace_bytes = chosen.workspace_bytes;
  row.flops = cost.flops;
  row.bytes = cost.bytes;
  for (const search::Choice& loser : step.losers)
    row.losers.emplace_back(loser.candidate.algorithm, loser.candidate.cost_ms);
  const auto first = std::ranges::find_if(node.outputs, [](ops::Ref r) { return r >= 0; });
  if (first != node.outputs.end()) describe_value(exe, step.memory, *first, row);
}

ExplainRow row_of(const GraphRunner& runner, const Executable& exe, size_t index) {
  const search::Step& step = exe.plan().steps[index];
  const StepTime& time = exe.times()[index];
  StepLabels labels = labels_of(exe.program(), exe.plan(), step);
  ExplainRow row;
  row.graph = runner.graph().name;
  row.node = std::move(labels.node);
  row.op = std::move(labels.op);
  row.backend = std::move(labels.backend);
  row.algorithm = std::move(labels.algorithm);
  row.predicted_ms = step.cost_ms();
  row.measured_runs = time.runs;
  row.measured_ms = time.runs > 0 ? time.total_us / 1e3 / static_cast<double>(time.runs) : 0;
  if (step.is_copy()) {
    row.bytes = static_cast<double>(step.copy.bytes);
    describe_value(exe, step.copy.to, step.copy.value, row);
  } else {
    describe_node(exe, step, row);
  }
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
    report.arena_bytes = std::max(report.arena_bytes, plan.arena_bytes());
    for (const search::PlannedMemory& m : plan.memories) {
      int64_t& most = report.arenas[std::string(m.memory->name())];
      most = std::max(most, m.arena_bytes);
    }
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
