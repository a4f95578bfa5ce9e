#include "runtime/session_states.h"

#include "runtime/check_value.h"
#include "runtime/value_names.h"

namespace walle::runtime {

ir::Graph with_open_states(const ir::Graph& graph) {
  ir::Graph open = graph;
  for (const ir::State& state : graph.states) {
    open.at(state.value).constant.reset();
    open.inputs.push_back(state.value);
    open.outputs.push_back(state.next);
  }
  open.states.clear();
  return open;
}

SessionStates::SessionStates(const ir::Graph& graph) : graph_(graph) { reset(); }

void SessionStates::reset() {
  contents_.clear();
  for (const ir::State& state : graph_.states) contents_.push_back(*graph_.at(state.value).constant);
}

Status SessionStates::fits(size_t state, const ir::RuntimeValue& value) const {
  std::map<std::string, int64_t> symbols;
  WALLE_TRY(check_value(declared(state), value, "state", symbols));
  const DType dtype = contents_[state].dtype();
  if (value.tensor()->dtype() == dtype) return {};
  return argument_error(dtype_name(value.tensor()->dtype()), dtype_name(dtype),
                        {"state '", declared(state).name, "'"}, "convert it to the state's dtype");
}

Result<std::vector<Tensor>> SessionStates::take_next(std::vector<ir::RuntimeValue>& results,
                                                     const Borrowed& borrowed) const {
  std::vector<Tensor> next;
  const size_t first = results.size() - contents_.size();
  for (size_t i = 0; i < contents_.size(); ++i) {
    WALLE_TRY(fits(i, results[first + i]));
    const Tensor& made = *results[first + i].tensor();
    WALLE_ASSIGN(next.emplace_back(), lent(made, borrowed) ? copied(made) : Result<Tensor>(made));
  }
  results.resize(first);
  return next;
}

Result<size_t> SessionStates::find(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < contents_.size(); ++i) {
    if (declared(i).name == name) return i;
    names.push_back(declared(i).name);
  }
  return unknown_name(name, "state", names);
}

Result<Tensor> SessionStates::read(std::string_view name) const {
  WALLE_ASSIGN(const size_t state, find(name));
  return copied(contents_[state]);
}

Status SessionStates::write(std::string_view name, const Tensor& value) {
  WALLE_ASSIGN(const size_t state, find(name));
  WALLE_TRY(fits(state, value));
  WALLE_ASSIGN(const Tensor plain, value.with_plain_booleans());
  WALLE_ASSIGN(contents_[state], copied(plain));
  return {};
}

}  // namespace walle::runtime
