#include "stream/graph/graph.h"

#include "stream/graph/graph_check.h"
#include "stream/graph/join_stage.h"

namespace walle::stream {

namespace {

Error not_given(Text what, Text expected, Text next) { return resource_error(what, expected, "graph", next); }

using Stage = std::unique_ptr<GraphStage>;

Result<Stage> staged(Result<std::unique_ptr<Operator>> made) {
  if (!made.ok()) return made.take_error();
  return Stage(new OperatorStage(std::move(made).value()));
}

struct StageMaker {
  GraphResources& resources;

  Result<Stage> operator()(const FilterStep& s) const { return staged(make_filter(s.predicate)); }
  Result<Stage> operator()(const MapStep& s) const { return staged(make_map(s.out, s.left, s.op, s.right)); }
  Result<Stage> operator()(const SelectStep& s) const { return staged(make_select(s.columns)); }
  Result<Stage> operator()(const DedupeStep& s) const {
    return staged(make_dedupe(s.keys, s.within_us, s.max_keys));
  }
  Result<Stage> operator()(const WindowSpec& s) const { return staged(make_window(s)); }
  Result<Stage> operator()(const StateSpec& s) const { return staged(make_state(s)); }
  Result<Stage> operator()(const EncodeStep& s) const {
    WALLE_ASSIGN(auto encoder, resources.encoder(s.model));
    return staged(make_encode(s.columns, s.out, std::move(encoder)));
  }
  Result<Stage> operator()(const NoiseStep& s) const {
    WALLE_ASSIGN(PrivacyAccount account, resources.account(s.account, s.limit));
    return staged(make_noise(s.noise, std::move(account), resources.random(s)));
  }
  Result<Stage> operator()(const IpvSpec& s) const { return staged(make_ipv(s)); }
  Result<Stage> operator()(const JoinStep& s) const {
    StageChain right;
    for (const GraphStep& step : s.right) {
      WALLE_ASSIGN(Stage stage, std::visit(*this, step.what));
      right.add(std::move(stage));
    }
    return Stage(new JoinStage(s, std::move(right)));
  }
};

// Stands for everything a spec names: columns are asked for, and no row is ever run.
class Supposed final : public GraphResources {
  class Nothing final : public Encoder {
    Status run(std::span<const float>, size_t, Floats&) override {
      return internal_error("a row for an encoder that only stands for one", "graph");
    }
  };
  Result<std::shared_ptr<Encoder>> encoder(const std::string&) override {
    return std::shared_ptr<Encoder>(std::make_shared<Nothing>());
  }
  Result<PrivacyAccount> account(const std::string& name, double) override {
    return PrivacyAccount::closed(name);
  }
  std::mt19937_64 random(const NoiseStep&) override { return std::mt19937_64(0); }
};

size_t steps_in(const GraphStep& step) {
  const auto* join = std::get_if<JoinStep>(&step.what);
  return 1 + (join ? join->right.size() : 0);
}

}  // namespace

Result<std::shared_ptr<Encoder>> GraphResources::encoder(const std::string& name) {
  return not_given({"a graph that encodes with the model '", name, "'"}, "somebody who has the model",
                   "give the model with the graph");
}
Result<PrivacyAccount> GraphResources::account(const std::string& name, double) {
  return not_given({"a graph whose noise spends from the account '", name, "'"},
                   "an event log that keeps the account", "give the log with the graph");
}
std::mt19937_64 GraphResources::random(const NoiseStep&) { return noise_source(std::nullopt); }

Result<Graph> Graph::make(GraphSpec spec, GraphResources& resources) {
  WALLE_TRY(verify(spec));
  Graph out;
  for (const GraphStep& step : spec.steps) {
    WALLE_ASSIGN(Stage stage, std::visit(StageMaker{resources}, step.what));
    out.stages_.add(std::move(stage));
  }
  out.spec_ = std::move(spec);
  return out;
}

Result<Graph> Graph::make(GraphSpec spec) {
  GraphResources nothing;
  return make(std::move(spec), nothing);
}

Status Graph::add(GraphStep step, GraphResources& resources) {
  size_t steps = steps_in(step);
  for (const GraphStep& before : spec_.steps) steps += steps_in(before);
  WALLE_TRY(check_size(steps));
  WALLE_TRY(verify_step(step));
  WALLE_ASSIGN(Stage stage, std::visit(StageMaker{resources}, step.what));
  stages_.add(std::move(stage));
  spec_.steps.push_back(std::move(step));
  return {};
}

Result<TracedBatch> Graph::push(const TracedBatch& rows, size_t input) {
  const size_t inputs = input_count(spec_);
  if (input >= inputs)
    return argument_error({"rows for input ", input}, inputs == 1 ? "input 0, the only one" : "input 0 or 1",
                          "graph", "push into an input that a join has");
  WALLE_TRY(stages_.feed(rows, input));
  return input == 0 ? stages_.push(rows) : TracedBatch();
}

Result<TracedBatch> Graph::run(const TracedBatch& rows) {
  WALLE_ASSIGN(const TracedBatch made, push(rows));
  WALLE_ASSIGN(const TracedBatch rest, finish());
  return made.followed_by(rest);
}

Result<TracedBatch> columns_made(const GraphSpec& spec, const TracedBatch::LabelsByName& given,
                                 const TracedBatch::LabelsByName& second) {
  Supposed resources;
  TracedBatch rows = TracedBatch::supposed(given);
  WALLE_TRY(verify(spec));
  for (const GraphStep& step : spec.steps) {
    const auto* join = std::get_if<JoinStep>(&step.what);
    if (!join) {
      WALLE_ASSIGN(const Stage stage, std::visit(StageMaker{resources}, step.what));
      WALLE_ASSIGN(rows, stage->push(rows));
      continue;
    }
    // A join gives nothing before its end, and its columns are asked for without one.
    WALLE_ASSIGN(const TracedBatch right,
                 columns_made({join->right}, join->second_input ? second : given, {}));
    WALLE_ASSIGN(rows, TracedBatch::joined(rows, right, join->keys, join->within_us));
  }
  return rows;
}

}  // namespace walle::stream
