// A session as Python holds it, with the names of its inputs and outputs ready as Python strings: looking a
// name up in the caller's dictionary then makes no string, and hashes are kept with the strings.
//
// Called with Python's lock held; immutable but for the session below, which locks itself.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <vector>

#include "runtime/session.h"

namespace walle::pybind {

class NativeSession {
 public:
  NativeSession(std::shared_ptr<const runtime::Model> model, std::unique_ptr<runtime::Session> session);

  // {name: value} in, {name: value} out; the GIL is released while the engine works.
  pybind11::dict run(const pybind11::dict& feeds, const pybind11::object& wanted);
  // With an end (seconds, a token) and memory for results, each None where it is not wanted.
  pybind11::dict run_with(const pybind11::dict& feeds, const pybind11::object& wanted,
                          std::optional<double> timeout,
                          const std::optional<std::shared_ptr<runtime::CancelToken>>& cancel,
                          const pybind11::object& out);
  // {name: shape as a tuple or list of int, or a value where its contents decide sizes}.
  void prepare(const pybind11::dict& feeds);
  runtime::Session& native() { return *session_; }

 private:
  // Values as Session::run takes them.
  struct Feeds {
    std::vector<ir::RuntimeValue> values;
    runtime::Names overridden;
  };

  using Convert = ir::RuntimeValue (*)(pybind11::handle object, const ir::Value& declared);
  Feeds inputs(const pybind11::dict& feeds, Convert convert) const;
  std::vector<bool> chosen(const pybind11::object& wanted) const;
  pybind11::dict run_chosen(const pybind11::dict& feeds, const std::vector<bool>& give,
                            runtime::RunOptions options, const pybind11::list* memory);
  // Says which name is wrong or missing; off the way of a run that is right.
  [[noreturn]] void refuse_names(const pybind11::dict& feeds) const;

  std::shared_ptr<const runtime::Model> model_;
  std::unique_ptr<runtime::Session> session_;
  std::vector<pybind11::str> input_names_;
  std::vector<pybind11::str> output_names_;
  std::vector<pybind11::str> overridable_names_;
};

pybind11::dict explain(NativeSession& session);

}  // namespace walle::pybind
