// _core.Session: run and profile; explain() in explain.cc.
#include "pybind/session.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "pybind/run_options.h"
#include "pybind/session_values.h"
#include "runtime/live_sessions.h"
#include "runtime/value_names.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

std::vector<py::str> python_names(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// A name that is no str is shown as it would be written, and matches no input.
std::string shown(py::handle name) {
  return py::isinstance<py::str>(name) ? name.cast<std::string>() : std::string(py::repr(name));
}

py::list stop_profile(NativeSession& session) {
  py::list out;
  for (const runtime::ProfileEvent& e : unwrap(session.native().stop_profile()))
    out.append(py::make_tuple(e.name, e.op, e.backend, e.algorithm, e.start_us, e.duration_us));
  return out;
}

// A copy, so the array need not outlive the call.
void set_state(NativeSession& session, const std::string& name, const py::object& value) {
  const ir::Graph& graph = session.native().model().graph();
  const auto found = std::ranges::find_if(
      graph.states, [&](const ir::State& state) { return graph.at(state.value).name == name; });
  // The session says which names there are.
  const ir::Value declared = found == graph.states.end() ? ir::Value() : graph.at(found->value);
  const ir::RuntimeValue given = value_from(value, declared);
  const PythonUnlocked unlocked;
  unwrap(session.native().set_state(name, given.tensor() ? *given.tensor() : Tensor()));
}

py::object state(NativeSession& session, const std::string& name) {
  Tensor contents = [&] {
    const PythonUnlocked unlocked;
    return unwrap(session.native().state(name));
  }();
  return value_to_python(contents);
}

void reset_states(NativeSession& session) {
  const PythonUnlocked unlocked;
  unwrap(session.native().reset_states());
}

}  // namespace

NativeSession::NativeSession(std::shared_ptr<const runtime::Model> model,
                             std::unique_ptr<runtime::Session> session)
    : model_(std::move(model)),
      session_(std::move(session)),
      input_names_(python_names(runtime::value_names(model_->graph(), model_->graph().inputs))),
      output_names_(python_names(runtime::value_names(model_->graph(), model_->graph().outputs))),
      overridable_names_(python_names(runtime::value_names(model_->graph(), model_->graph().overridable))) {}

void NativeSession::refuse_names(const py::dict& feeds) const {
  std::vector<std::string> given;
  for (const auto& [name, value] : feeds) given.push_back(shown(name));
  unwrap(runtime::check_input_names(model_->graph(), given));
  throw CoreError(argument_error("inputs whose names are no str", "a dictionary {input name: array}", "run",
                                 "name the inputs by str"));
}

NativeSession::Feeds NativeSession::inputs(const py::dict& feeds, Convert convert) const {
  const ir::Graph& graph = model_->graph();
  Feeds found;
  found.values.reserve(input_names_.size());
  size_t used = 0;
  for (size_t i = 0; i < input_names_.size(); ++i) {
    const ir::Value& declared = graph.at(graph.inputs[i]);
    PyObject* given = PyDict_GetItemWithError(feeds.ptr(), input_names_[i].ptr());
    if (given == nullptr && declared.kind != ir::ValueKind::optional) refuse_names(feeds);
    used += given != nullptr ? 1 : 0;
    found.values.push_back(given != nullptr ? convert(given, declared) : ir::RuntimeValue());
  }
  for (size_t i = 0; used < feeds.size() && i < overridable_names_.size(); ++i) {
    PyObject* given = PyDict_GetItemWithError(feeds.ptr(), overridable_names_[i].ptr());
    if (given == nullptr) continue;
    ++used;
    const ir::Value& declared = graph.at(graph.overridable[i]);
    found.values.push_back(convert(given, declared));
    found.overridden.push_back(declared.name);
  }
  if (used < feeds.size()) refuse_names(feeds);
  return found;
}

std::vector<bool> NativeSession::chosen(const py::object& wanted) const {
  std::vector<bool> give(output_names_.size(), wanted.is_none());
  if (wanted.is_none()) return give;
  if (py::isinstance<py::str>(wanted) || !py::hasattr(wanted, "__iter__"))  // a name is a sequence of letters
    throw CoreError(argument_error({"outputs=", std::string(py::repr(wanted))}, "a list of output names",
                                   "run", "put the name into a list"));
  for (const py::handle name : wanted) {
    const auto found =
        std::ranges::find_if(output_names_, [&](const py::str& known) { return known.equal(name); });
    if (found == output_names_.end()) {
      const ir::Graph& graph = model_->graph();
      throw CoreError(
          runtime::unknown_name(shown(name), "output", runtime::value_names(graph, graph.outputs)));
    }
    give[found - output_names_.begin()] = true;
  }
  return give;
}

py::dict NativeSession::run_chosen(const py::dict& feeds, const std::vector<bool>& give,
                                   runtime::RunOptions options, const py::list* memory) {
  Feeds found = inputs(feeds, value_from);
  // The second handle lets go of the arrays here, with the GIL held; the engine's would have to fight for it
  // at each one.
  const std::vector<ir::RuntimeValue> kept = found.values;
  SignalCheck signals;
  if (on_main_thread()) options.host = &signals;
  Result<std::vector<ir::RuntimeValue>> ran = [&] {
    const PythonUnlocked unlocked;
    return session_->run(std::move(found.values), options, found.overridden);
  }();
  signals.rethrow();
  const std::vector<ir::RuntimeValue> results = unwrap(std::move(ran));
  py::dict out;
  for (size_t i = 0; i < output_names_.size() && i < results.size(); ++i) {
    if (!give.empty() && !give[i]) continue;
    const bool given = memory != nullptr && options.results[i].defined();
    out[output_names_[i]] = given ? py::object((*memory)[i]) : value_to_python(results[i]);
  }
  return out;
}

py::dict NativeSession::run(const py::dict& feeds, const py::object& wanted) {
  return run_chosen(feeds, wanted.is_none() ? std::vector<bool>() : chosen(wanted), {}, nullptr);
}

py::dict NativeSession::run_with(const py::dict& feeds, const py::object& wanted,
                                 std::optional<double> timeout,
                                 const std::optional<std::shared_ptr<runtime::CancelToken>>& cancel,
                                 const py::object& out) {
  const std::vector<bool> give = chosen(wanted);
  runtime::RunOptions options;
  if (timeout) options.timeout = timeout_from(*timeout);
  options.cancel = cancel ? cancel->get() : nullptr;
  if (out.is_none()) return run_chosen(feeds, give, std::move(options), nullptr);
  const py::list memory = result_arrays(out, wanted, output_names_, give);
  options.results = result_tensors(memory, model_->graph());
  return run_chosen(feeds, give, std::move(options), &memory);
}

void NativeSession::prepare(const py::dict& feeds) {
  Feeds found = inputs(feeds, shape_from);
  const PythonUnlocked unlocked;
  unwrap(session_->prepare(std::move(found.values), found.overridden));
}

void bind_session(py::module_& m) {
  m.def("trim_sessions", [] {
    const PythonUnlocked unlocked;
    return runtime::trim_sessions();
  });
  py::class_<runtime::CancelToken, std::shared_ptr<runtime::CancelToken>>(m, "CancelToken",
                                                                          "Ends runs from any thread.")
      .def(py::init<>())
      .def("cancel", &runtime::CancelToken::cancel)
      .def_property_readonly("cancelled", &runtime::CancelToken::cancelled);
  py::class_<NativeSession>(m, "Session", "A model made ready to run.")
      .def("run", &NativeSession::run, py::arg("inputs"), py::arg("outputs") = py::none())
      .def("run_with", &NativeSession::run_with, py::arg("inputs"), py::arg("outputs"), py::arg("timeout"),
           py::arg("cancel"), py::arg("out"))
      .def("prepare", &NativeSession::prepare, py::arg("shapes"))
      .def("state", state, py::arg("name"))
      .def("set_state", set_state, py::arg("name"), py::arg("value"))
      .def("reset_states", reset_states)
      .def("explain", explain)
      .def("memory",
           [](NativeSession& s) {
             const runtime::MemoryReport held = [&] {
               const PythonUnlocked unlocked;  // it waits for a run under way
               return s.native().memory();
             }();
             return py::dict(py::arg("plans") = held.plans, py::arg("steps") = held.steps,
                             py::arg("arena") = held.arena, py::arg("free") = held.free,
                             py::arg("lent") = held.lent, py::arg("packed") = held.packed,
                             py::arg("folded") = held.folded);
           })
      .def("trim",
           [](NativeSession& s) {
             const PythonUnlocked unlocked;
             return unwrap(s.native().trim());
           })
      .def("start_profile", [](NativeSession& s) { unwrap(s.native().start_profile()); })
      .def("stop_profile", stop_profile, "[(name, op, backend, algorithm, start us, duration us)].");
}

}  // namespace walle::pybind
