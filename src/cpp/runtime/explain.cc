// Made of the plans that stand when somebody asks: running records nothing for it but times, under profile().
#include "runtime/explain.h"

#include <algorithm>

#include "ops/registry.h"
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
  const backends::Memory& there = *exe.plan().memories[memory].memory;
  row.output = std::string(dtype_name(there.kept_as(value.dtype, value.shape))) + value.shape.text();
  row.memory = there.name();
  row.storage = home_name(at.home);
  row.offset = at.offset;
}

const char* source_name(search::PlanSource source) {
  switch (source) {
    case search::PlanSource::kept: return "kept";
    case search::PlanSource::not_kept: return "not_kept";
    case search::PlanSource::mended: return "mended";
    case search::PlanSource::cache: return "cache";
    case search::PlanSource::search: break;
  }
  return "search";
}

ExplainChoice described(const search::Choice& choice, bool taken) {
  return {.backend = std::string(choice.backend->name()),
          .algorithm = choice.candidate.algorithm,
          .features = choice.candidate.features,
          .predicted_ms = choice.predicted_ms,
          .measured_ms = choice.measured_ms,
          .taken = taken};
}

// What a candidate rounds operands to; undefined: nothing.
DType shorter_of(const backends::Candidate& chosen) {
  if (chosen.arithmetic == backends::Arithmetic::bfloat16) return DType::bfloat16;
  return chosen.arithmetic == backends::Arithmetic::float16 ? DType::float16 : DType::undefined;
}

std::string arithmetic_of(const ops::Program& program, const ops::ProgramNode& node,
                          const backends::Candidate& chosen) {
  if (const DType shorter = shorter_of(chosen); shorter != DType::undefined)
    return std::string(dtype_name(shorter));
  if (chosen.arithmetic == backends::Arithmetic::int8) return std::string(dtype_name(DType::int8));
  for (const auto* refs : {&node.inputs, &node.outputs})
    for (const ops::Ref r : *refs)
      if (r >= 0) return std::string(dtype_name(program.at(r).dtype));
  return "";
}

std::string weights_of(const ops::Program& program, const ops::ProgramNode& node,
                       const backends::Candidate& chosen) {
  if (chosen.weights != DType::undefined) return std::string(dtype_name(chosen.weights));
  for (const ops::Ref r : node.inputs) {
    if (r < 0 || !program.at(r).constant || program.at(r).shape.rank() < 2) continue;
    // Packed words of some bits each.
    if (const int64_t bits = node.attributes.get_int("bits", 0); bits > 0)
      return "uint" + std::to_string(bits);
    const DType own = program.at(r).dtype;
    const DType shorter = shorter_of(chosen);
    return std::string(dtype_name(own == DType::float32 && shorter != DType::undefined ? shorter : own));
  }
  return "";
}

void describe_node(const Executable& exe, const search::Step& step, ExplainRow& row) {
  const ops::ProgramNode& node = exe.program().nodes[step.node];
  const backends::Candidate& chosen = step.chosen.candidate;
  const ir::Cost cost = backends::NodeView(exe.program(), node).cost();
  row.parameters = chosen.parameters;
  row.workspace_bytes = chosen.workspace_bytes;
  row.flops = cost.flops;
  row.bytes = cost.bytes;
  row.arithmetic = arithmetic_of(exe.program(), node, chosen);
  row.weights = weights_of(exe.program(), node, chosen);
  for (const search::Choice& loser : step.losers)
    row.losers.emplace_back(loser.candidate.algorithm, loser.cost_ms());
  row.choices.push_back(described(step.chosen, true));
  for (const search::Choice& loser : step.losers) row.choices.push_back(described(loser, false));
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

ExplainRow executor_row(const GraphRunner& runner, std::string node, std::string op, const StepTime& time) {
  ExplainRow row;
  row.graph = runner.graph().name;
  row.node = std::move(node);
  row.algorithm = "host_" + op;
  row.op = std::move(op);
  row.backend = "host";
  row.memory = "host";
  row.storage = home_name(search::Home::nowhere);
  row.measured_runs = time.runs;
  row.measured_ms = time.runs > 0 ? time.total_us / 1e3 / static_cast<double>(time.runs) : 0;
  return row;
}

void explain_segment(const GraphRunner& runner, const Segment& segment, ExplainReport& report) {
  const Executable& exe = *segment.executable;
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
  report.search_ms += plan.search_ms;
  ++report.plan_sources[source_name(plan.source)];
  report.program += "segment " + std::to_string(segment.begin) + ".." + std::to_string(segment.end) + " of " +
                    runner.graph().name + "\n" + ops::dump(exe.program());
}

// A node of the executor: always listed when it can be nothing else, and when it was timed as one.
void explain_node(const GraphRunner& runner, size_t index, ExplainReport& report) {
  const ir::Node& node = runner.graph().nodes[index];
  const ir::OpDef* def = ops::find_op(node.op);
  const std::vector<StepTime>& times = runner.times().nodes;
  const StepTime time = times.empty() ? StepTime{} : times[index];
  if (time.runs > 0 || (def && def->op_class == ir::OpClass::control))
    report.rows.push_back(executor_row(runner, node.name, node.op, time));
  // Runners of bodies are kept by address; their order is that of the nodes.
  for (const auto& [name, value] : node.attributes.items()) {
    const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value);
    const auto found = body ? runner.bodies().find(body->get()) : runner.bodies().end();
    if (found != runner.bodies().end()) explain(*found->second, report);
  }
}
}  // namespace

// In the order in which they run: the plans of a part, then the node of the executor that ended it.
void explain(const GraphRunner& runner, ExplainReport& report) {
  const RunnerTimes& times = runner.times();
  const auto add = [&](const char* op, const StepTime& time) {
    if (time.runs > 0) report.rows.push_back(executor_row(runner, runner.graph().name, op, time));
  };
  add("plan", times.planning);
  add("pack", times.packing);
  add("fit", times.fitting);
  for (size_t n = 0; n < runner.graph().nodes.size(); ++n) {
    for (const auto& segment : runner.segments())
      if (segment->begin == static_cast<int>(n)) explain_segment(runner, *segment, report);
    explain_node(runner, n, report);
  }
  add("dropped", times.dropped);
}

}  // namespace walle::runtime
