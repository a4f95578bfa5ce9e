// SessionStates: the state values of a session: contents that outlive a run, such as parameters in training,
// or the keys and values of a decoder.
//
// Rules of aliasing, told here once:
//   1. Contents are never written where they lie. A run computes the next ones elsewhere, and the end of the
//      run exchanges the two: steps read the old contents in whatever order they run, and a run that fails or
//      is ended leaves all states as they were.
//   2. Next contents are results like others: the session's pool lends their memory, and gets back what they
//      replace. A stream of runs allocates nothing, and a state that is written takes twice its size.
//   3. No result shares memory with contents, and no contents with what a caller gave: both are copied where
//      they meet. States may share with each other (one value given to two of them) and with the model's
//      constants (before the first run), because of rule 1.
//   4. Plans know states as inputs and results and hold no contents: those of other shapes, and of runs that
//      override inputs, go on from the same ones. Nothing of a state is folded, packed ahead or kept with the
//      model, whose other sessions have contents of their own.
//
// Guarded by the session's lock, which a run holds from contents() to commit().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/runtime_value.h"
#include "runtime/own_results.h"

namespace walle::runtime {

// The graph that a session runs: states are inputs behind the others, their next contents results behind the
// others.
ir::Graph with_open_states(const ir::Graph& graph);

class SessionStates {
 public:
  // The graph of a model, whose constants are what states begin with; it outlives this.
  explicit SessionStates(const ir::Graph& graph);

  bool empty() const { return contents_.empty(); }
  const std::vector<Tensor>& contents() const { return contents_; }

  // Takes the next contents off the end of `results`. An error when they are not what the state is declared
  // as. `borrowed`: where memory of the caller begins.
  Result<std::vector<Tensor>> take_next(std::vector<ir::RuntimeValue>& results,
                                        const Borrowed& borrowed) const;
  void commit(std::vector<Tensor> next) { contents_ = std::move(next); }

  Result<Tensor> read(std::string_view name) const;  // a copy
  Status write(std::string_view name, const Tensor& value);
  void reset();

 private:
  Result<size_t> find(std::string_view name) const;
  const ir::Value& declared(size_t state) const { return graph_.at(graph_.states[state].value); }
  Status fits(size_t state, const ir::RuntimeValue& value) const;

  const ir::Graph& graph_;
  std::vector<Tensor> contents_;
};

}  // namespace walle::runtime
