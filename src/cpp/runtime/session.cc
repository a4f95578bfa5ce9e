// What surrounds a run and knows nothing of plans. Inputs are checked before the lock is taken, so
// that a faulty call does not wait for a long run; results that lie in the caller's memory are copied
// before it is given back.
#include "runtime/session.h"

#include <algorithm>

#include "runtime/value_names.h"

namespace walle::runtime {

Session::Session(std::shared_ptr<const Model> model, SessionOptions options,
                 std::vector<const backends::Backend*> backends)
    : model_(std::move(model)),
      shared_{std::move(options), std::move(backends), &model_->prepared(), {}, nullptr, 0},
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
    for (Tensor& item : plain->items) {
      WALLE_ASSIGN(item, item.with_plain_booleans());
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
  // Reading a file that was cut would end the process; asking takes 0.2 us a file.
  WALLE_TRY(ir::check_files(model_->data()));
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
  std::vector<std::string> given;
  given.reserve(inputs.size());
  for (const NamedValue& in : inputs) {
    if (std::ranges::find(given, in.name) != given.end())
      return argument_error("input '" + in.name + "' twice", "each input once", "run", "remove one");
    given.push_back(in.name);
  }
  WALLE_TRY(check_input_names(graph, given));
  std::vector<ir::RuntimeValue> values;
  values.reserve(graph.inputs.size());
  for (const ir::ValueId id : graph.inputs) {
    const auto it = std::ranges::find(inputs, graph.at(id).name, &NamedValue::name);
    values.push_back(it == inputs.end() ? ir::RuntimeValue() : it->value);
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
