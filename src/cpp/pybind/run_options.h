// What Python asks of a run beside its inputs: when it ends, and where its results go.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "runtime/run_control.h"

namespace walle::pybind {

// Lets Python handle the signals that came in while its main thread runs a model. What a handler raises
// (KeyboardInterrupt) ends the run and goes on from rethrow(); made and destroyed with the lock held.
class SignalCheck final : public runtime::HostCheck {
 public:
  Status check() override;
  void rethrow();

 private:
  std::optional<pybind11::error_already_set> raised_;
};

// Seconds, checked.
std::chrono::nanoseconds timeout_from(double seconds);

// The arrays of `out`, a dictionary {name: array} or a list in the order of the results wanted, in the order
// of `names`; None where there is none.
pybind11::list result_arrays(const pybind11::object& out, const pybind11::object& wanted,
                             const std::vector<pybind11::str>& names, const std::vector<bool>& give);

// These as memory for results.
std::vector<Tensor> result_tensors(const pybind11::list& arrays, const ir::Graph& graph);

}  // namespace walle::pybind
