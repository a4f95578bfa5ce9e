// Loop: runs `body` up to M times while the condition holds. Inputs: M, cond (both optional), carried values,
// captures (attribute body_captures). Body: (iteration, condition, carried..., captures...) -> (condition,
// carried..., slices...); slices are stacked along a new first axis.
#include "base/limits.h"
#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/slices.h"

namespace walle::ops {

namespace {
// Bytes of one kept slice beside its elements: billions of scalars must not fill the memory.
constexpr int64_t kKeptOverhead = 256;

struct Layout {
  int carried = 0;
  int captures = 0;
  int slices = 0;
};

Result<Layout> layout_of(const ControlContext& c) {
  Layout l;
  const int64_t captures = c.attrs().get_int("body_captures", 0);
  if (captures < 0 || captures > c.input_count() - 2)
    return model_error({captures, " captures"}, "one input per capture", "attribute body_captures",
                       "convert the model again");
  l.captures = static_cast<int>(captures);
  // M and the condition come first, captures last.
  l.carried = c.input_count() - 2 - l.captures;
  l.slices = c.output_count() - l.carried;
  if (l.slices < 0)
    return model_error({c.output_count(), " outputs for ", l.carried, " carried values"},
                       "an output per carried value", "Loop outputs", "connect every carried value");
  return l;
}

Result<bool> condition(const ir::RuntimeValue& v) {
  const Tensor* t = v.tensor();
  if (!t || t->dtype() != DType::boolean || t->elements() != 1)
    return model_error("a loop condition that is not one boolean", "a bool tensor with one element",
                       "Loop condition", "reduce or cast it");
  return t->as<bool>()[0];
}

// What lives from round to round.
struct Rounds {
  bool go = true;
  std::vector<ir::RuntimeValue> carried;
  std::vector<std::vector<Tensor>> slices;
  int64_t kept_bytes = 0;
};

std::vector<ir::RuntimeValue> carried_of(const ControlContext& c, const Layout& l) {
  std::vector<ir::RuntimeValue> carried;
  for (int i = 0; i < l.carried; ++i) carried.push_back(c.in(2 + i));
  return carried;
}

Status run_round(ControlContext& c, const Layout& l, int64_t round, Rounds& r) {
  WALLE_ASSIGN(Tensor count, Tensor::scalar<int64_t>(round));
  // The body's condition input is always true: a false one has ended the loop.
  WALLE_ASSIGN(Tensor flag, Tensor::scalar<bool>(true));
  std::vector<ir::RuntimeValue> inputs{std::move(count), std::move(flag)};
  // Moved, so that a body that is the only holder of a state may write into it.
  for (ir::RuntimeValue& v : r.carried) inputs.push_back(std::move(v));
  for (int i = 0; i < l.captures; ++i) inputs.push_back(c.in(2 + l.carried + i));
  WALLE_ASSIGN(std::vector<ir::RuntimeValue> results, c.run_body("body", std::move(inputs)));
  // The body of a file may have any number of outputs.
  if (static_cast<int>(results.size()) != 1 + l.carried + l.slices)
    return model_error({"a body with ", results.size(), " outputs"}, 1 + l.carried + l.slices, "Loop body",
                       "match the body's outputs to the node's");
  WALLE_ASSIGN(r.go, condition(results[0]));
  for (int i = 0; i < l.carried; ++i) r.carried[i] = std::move(results[1 + i]);
  for (int i = 0; i < l.slices; ++i) {
    const Tensor* t = results[1 + l.carried + i].tensor();
    if (!t)
      return model_error("a slice that is not a tensor", "a tensor", "Loop body output",
                         "carry sequences instead of stacking them");
    r.kept_bytes += t->bytes() + kKeptOverhead;
    r.slices[i].push_back(*t);
  }
  return {};
}

Status run(ControlContext& c) {
  WALLE_ASSIGN(const Layout l, layout_of(c));
  // Neither M nor a condition is an endless loop in ONNX; here it ends at the limit, as an error.
  int64_t trips = base::kMaxLoopTrips;
  if (!c.in(0).empty()) {
    WALLE_ASSIGN(trips, one_integer(c.in(0).tensor(), "input M"));
  }
  Rounds r;
  if (!c.in(1).empty()) {
    WALLE_ASSIGN(r.go, condition(c.in(1)));
  }
  r.carried = carried_of(c, l);
  r.slices.resize(l.slices);
  for (int64_t round = 0; r.go && round < trips; ++round) {
    // Asked every round: a body that gives slices of any size decides how much is kept.
    if (round >= base::kMaxLoopTrips || r.kept_bytes > base::kMaxTensorBytes)
      return resource_error({"a loop of more than ", round, " rounds"}, "fewer rounds or smaller slices",
                            "Loop", "bound the trip count M");
    WALLE_TRY(run_round(c, l, round, r));
  }
  for (int i = 0; i < l.carried; ++i) c.output(i, std::move(r.carried[i]));
  for (int i = 0; i < l.slices; ++i) {
    const auto& items = r.slices[i];
    WALLE_ASSIGN(Tensor all, items.empty() ? no_slices(c.attrs(), 1 + l.carried + i) : stack(items, 0));
    c.output(l.carried + i, std::move(all));
  }
  return {};
}
}  // namespace

extern const ir::OpDef kLoopOp{
    .name = "Loop", .op_class = ir::OpClass::control, .inputs = {2, -1}, .outputs = {0, -1}, .control = run};

}  // namespace walle::ops
