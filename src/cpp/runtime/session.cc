#include "runtime/session.h"

#include <algorithm>
#include <optional>

namespace walle::runtime {

Session::Session(std::shared_ptr<const Model> model, SessionOptions options,
                 std::vector<const backends::Backend*> backends)
    : model_(std::move(model)),
      shared_{std::move(options), std::move(backends), &model_->packed(), {}, nullptr, 0},
      runner_(model_->graph(), shared_) {}

namespace {
// A result that is one of the inputs (Identity, a reshape of nothing) is copied: the caller may change the
// input later.
Status detach(ir::RuntimeValue& value, const std::vector<const std::byte*>& borrowed) {
  const Tensor* t = value.tensor();
  if (!t || std::ranges::find(borrowed, t->buffer().data()) == borrowed.end()) return {};
  WALLE_ASSIGN(Tensor copy, Tensor::allocate(t->dtype(), t->shape()));
  if (t->bytes() > 0) std::memcpy(copy.mutable_data(), t->data(), static_cast<size_t>(t->bytes()));
  value = std::move(copy);
  return {};
}

Status make_booleans_plain(ir::RuntimeValue& value) {
  if (const Tensor* t = value.tensor()) {
    if (!t->has_plain_booleans()) {
      WALLE_ASSIGN(value, t->with_plain_booleans());
    }
  } else if (const ir::Sequence* s = value.sequence();
             s && !std::ranges::all_of(s->items, &Tensor::has_plain_booleans)) {
    auto plain = std::make_shared<ir::Sequence>(*s);
    for (Tensor& t : plain->items) {
      WALLE_ASSIGN(t, t.with_plain_booleans());
    }
    value = std::shared_ptr<const ir::Sequence>(std::move(plain));
  }
  return {};
}
}  // namespace

Result<std::vector<ir::RuntimeValue>> Session::run(std::vector<ir::RuntimeValue> inputs) {
  if (inputs.size() != model_->graph().inputs.size())
    return argument_error(std::to_string(inputs.size()) + " inputs",
                          std::to_string(model_->graph().inputs.size()), "run", "pass every input once");
  WALLE_TRY(model_->check_inputs(inputs));
  for (ir::RuntimeValue& v : inputs) WALLE_TRY(make_booleans_plain(v));
  std::vector<const std::byte*> borrowed;
  for (const ir::RuntimeValue& v : inputs)
    if (const Tensor* t = v.tensor()) borrowed.push_back(t->buffer().data());
  std::lock_guard lock(mutex_);
  WALLE_ASSIGN(std::vector<ir::RuntimeValue> results, runner_.run(std::move(inputs)));
  for (ir::RuntimeValue& v : results) WALLE_TRY(detach(v, borrowed));
  return results;
}

Result<std::vector<ir::RuntimeValue>> Session::run(std::span<const NamedValue> inputs) {
  const ir::Graph& graph = model_->graph();
  std::vector<std::optional<ir::RuntimeValue>> ordered(graph.inputs.size());
  std::string names;
  for (ir::ValueId id : graph.inputs) names += (names.empty() ? "" : ", ") + graph.at(id).name;
  for (const NamedValue& in : inputs) {
    const auto it =
        std::ranges::find_if(graph.inputs, [&](ir::ValueId id) { return graph.at(id).name == in.name; });
    if (it == graph.inputs.end())
      return argument_error("input '" + in.name + "'", "one of: " + names, "run", "check the spelling");
    auto& slot = ordered[static_cast<size_t>(it - graph.inputs.begin())];
    if (slot) return argument_error("input '" + in.name + "' twice", "each input once", "run", "remove one");
    slot = in.value;
  }
  std::vector<ir::RuntimeValue> values;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const ir::Value& declared = graph.at(graph.inputs[i]);
    if (!ordered[i] && declared.kind != ir::ValueKind::optional)
      return argument_error("no value for input '" + declared.name + "'", "values for: " + names, "run",
                            "pass every input");
    values.push_back(ordered[i] ? std::move(*ordered[i]) : ir::RuntimeValue());
  }
  return run(std::move(values));
}

ExplainReport Session::explain() {
  std::lock_guard lock(mutex_);
  ExplainReport report;
  runtime::explain(runner_, report);
  return report;
}

void Session::start_profile() {
  std::lock_guard lock(mutex_);
  profiler_ = std::make_unique<Profiler>();
  shared_.profiler = profiler_.get();
}

std::vector<ProfileEvent> Session::stop_profile() {
  std::lock_guard lock(mutex_);
  shared_.profiler = nullptr;
  std::vector<ProfileEvent> events = profiler_ ? profiler_->events() : std::vector<ProfileEvent>();
  profiler_.reset();
  return events;
}

}  // namespace walle::runtime
