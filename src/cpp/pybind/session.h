// A session as Python holds it, with the names of its inputs and outputs ready as Python strings: looking a
// name up in the caller's dictionary then makes no string, and hashes are kept with the strings.
//
// Called with Python's lock held; immutable but for the session below, which locks itself.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "runtime/session.h"

namespace walle::pybind {

class NativeSession {
 public:
  NativeSession(std::shared_ptr<const runtime::Model> model, std::unique_ptr<runtime::Session> session);

  // {name: value} in, {name: value} out; the GIL is released while the engine works.
  pybind11::dict run(const pybind11::dict& feeds, const pybind11::object& wanted);
  runtime::Session& native() { return *session_; }

 private:
  std::vector<ir::RuntimeValue> inputs(const pybind11::dict& feeds) const;
  std::vector<bool> chosen(const pybind11::object& wanted) const;
  // Says which name is wrong or missing; off the way of a run that is right.
  [[noreturn]] void refuse_names(const pybind11::dict& feeds) const;

  std::shared_ptr<const runtime::Model> model_;
  std::unique_ptr<runtime::Session> session_;
  std::vector<pybind11::str> input_names_;
  std::vector<pybind11::str> output_names_;
};

pybind11::dict explain(NativeSession& session);

}  // namespace walle::pybind
