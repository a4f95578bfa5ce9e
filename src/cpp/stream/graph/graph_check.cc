#include "stream/graph/graph_check.h"

#include <cmath>

#include "base/utf8.h"

namespace walle::stream {

namespace {

Error beyond(Text given, Text expected) {
  return argument_error(given, expected, "", "split the graph, or shorten what it names");
}

Status check_text(const std::string& text, std::string_view what) {
  if (text.size() > kMaxGraphText)
    return beyond({what, " of ", text.size(), " bytes"}, {"at most ", kMaxGraphText});
  if (base::valid_utf8(text)) return {};
  return argument_error({what, " that is no UTF-8 text"}, "UTF-8", "", "correct the name");
}

Status check_name(const std::string& name, std::string_view what) {
  if (!name.empty()) return check_text(name, what);
  return argument_error({"an empty ", what}, "a name", "", "name it");
}

Status check_names(const std::vector<std::string>& names, std::string_view what) {
  if (names.size() > kMaxGraphNames)
    return beyond({names.size(), " ", what, "s"}, {"at most ", kMaxGraphNames});
  for (const std::string& name : names) WALLE_TRY(check_name(name, what));
  return {};
}

Status check_keys(uint64_t max_keys) {
  if (max_keys <= kMaxGraphKeys) return {};
  return beyond({max_keys, " keys to remember"}, {"at most ", kMaxGraphKeys});
}

Status check_finite(double value, std::string_view what) {
  if (std::isfinite(value)) return {};
  return argument_error({what, " ", value}, "a finite number", "", "correct it");
}

Status check_one(const AggregateSpec& a) {
  WALLE_TRY(check_text(a.column, "column"));
  WALLE_TRY(check_name(a.out, "aggregate's name"));
  WALLE_TRY(check_finite(a.low, "low"));
  return check_finite(a.high, "high");
}

// What the functions that make operators do not look at: sizes and texts, which come from programs there and
// from bytes here.
struct Limits {
  Status operator()(const FilterStep& s) const { return check_text(s.predicate, "predicate"); }
  Status operator()(const MapStep& s) const {
    WALLE_TRY(check_name(s.out, "column"));
    WALLE_TRY(check_name(s.left, "column"));
    return check_text(s.right, "right side");
  }
  Status operator()(const SelectStep& s) const { return check_names(s.columns, "column"); }
  Status operator()(const DedupeStep& s) const {
    WALLE_TRY(check_keys(s.max_keys));
    return check_names(s.keys, "key");
  }
  Status operator()(const WindowSpec& s) const {
    WALLE_TRY(check_names(s.keys, "key"));
    if (s.aggregates.empty())
      return argument_error("a window without aggregates", "at least one", "", "add aggregate(\"count\")");
    if (s.aggregates.size() > kMaxGraphNames)
      return beyond({s.aggregates.size(), " aggregates"}, {"at most ", kMaxGraphNames});
    for (const AggregateSpec& a : s.aggregates) WALLE_TRY(check_one(a));
    return {};
  }
  Status operator()(const StateSpec& s) const {
    WALLE_TRY(check_names(s.keys, "key"));
    WALLE_TRY(check_text(s.column, "column"));
    WALLE_TRY(check_text(s.out, "column"));
    WALLE_TRY(check_keys(s.max_keys));
    return s.kind == StateKind::running ? check_one(s.aggregate) : Status();
  }
  Status operator()(const EncodeStep& s) const {
    WALLE_TRY(check_names(s.columns, "column"));
    WALLE_TRY(check_text(s.out, "column"));
    return check_name(s.model, "model's name");
  }
  Status operator()(const NoiseStep& s) const {
    WALLE_TRY(check_name(s.noise.column, "column"));
    WALLE_TRY(check_name(s.account, "account's name"));
    if (!std::isnan(s.limit)) return {};
    return argument_error("a limit that is no number", "a number", "", "correct it");
  }
  Status operator()(const IpvSpec& s) const {
    WALLE_TRY(check_name(s.depth, "column"));
    WALLE_TRY(check_name(s.item, "column"));
    return check_name(s.out, "column");
  }
  Status operator()(const JoinStep& s) const {
    if (s.keys.empty())
      return argument_error("a join without keys", "at least one", "", "name a column of both sides");
    return check_names(s.keys, "key");
  }
};

// Stands for what a spec names; nothing is run.
class NoEncoder final : public Encoder {
  Status run(std::span<const float>, size_t, Floats&) override {
    return internal_error("a row for an encoder that only stands for one", "graph");
  }
};

Status check_join(const JoinStep& join);

// What is wrong with the meaning, in the words of the operator itself: it is made and given up.
struct Meaning {
  Status operator()(const FilterStep& s) const { return make_filter(s.predicate).status(); }
  Status operator()(const MapStep& s) const { return make_map(s.out, s.left, s.op, s.right).status(); }
  Status operator()(const SelectStep& s) const { return make_select(s.columns).status(); }
  Status operator()(const DedupeStep& s) const {
    return make_dedupe(s.keys, s.within_us, s.max_keys).status();
  }
  Status operator()(const WindowSpec& s) const { return make_window(s).status(); }
  Status operator()(const StateSpec& s) const { return make_state(s).status(); }
  Status operator()(const EncodeStep& s) const {
    return make_encode(s.columns, s.out, std::make_shared<NoEncoder>()).status();
  }
  Status operator()(const NoiseStep& s) const { return check_noise(s.noise); }
  Status operator()(const IpvSpec& s) const { return make_ipv(s).status(); }
  Status operator()(const JoinStep& s) const { return check_join(s); }
};

size_t count_steps(const std::vector<GraphStep>& steps) {
  size_t n = steps.size();
  for (const GraphStep& step : steps)
    if (const auto* join = std::get_if<JoinStep>(&step.what)) n += count_steps(join->right);
  return n;
}

Status verify_steps(const std::vector<GraphStep>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    Status status = verify_step(steps[i]);
    if (status.ok()) continue;
    Error error = status.take_error();
    error.within({"operator ", i + 1});
    return error;
  }
  return {};
}

Status check_join(const JoinStep& join) {
  if (join.within_us < 0 || join.within_us > kMaxTimeUs)
    return argument_error({"within ", join.within_us, " us"}, "microseconds between 0 and 2^60", "as-of join",
                          "correct it");
  for (const GraphStep& step : join.right)
    // A join waits for its whole right side; joins in joins would wait for each other, and a graph that needs
    // them is two graphs.
    if (std::holds_alternative<JoinStep>(step.what))
      return argument_error("a join within the right side of a join", "a right side without joins",
                            "as-of join", "join one after the other");
  Status status = verify_steps(join.right);
  if (status.ok()) return {};
  Error error = status.take_error();
  error.within("right side of as-of join");
  return error;
}

}  // namespace

Status verify_step(const GraphStep& step) {
  WALLE_TRY(std::visit(Limits(), step.what));
  return std::visit(Meaning(), step.what);
}

Status check_size(size_t steps) {
  if (steps <= kMaxGraphSteps) return {};
  return argument_error({"a graph of ", steps, " operators"}, {"at most ", kMaxGraphSteps}, "graph",
                        "split the graph");
}

Status verify(const GraphSpec& spec) {
  WALLE_TRY(check_size(count_steps(spec.steps)));
  return verify_steps(spec.steps);
}

}  // namespace walle::stream
