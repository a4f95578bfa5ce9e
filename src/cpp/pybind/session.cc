// _core.Session: run, explain, profile.
#include "pybind/session.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "pybind/arrays.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"

namespace walle::pybind {

namespace {

// The usual case, on the way of every call: an array of the declared dtype that can be used where it lies.
std::optional<Tensor> borrow_plain(py::handle object, DType declared) {
  if (!py::isinstance<py::array>(object)) return std::nullopt;
  const auto array = py::reinterpret_borrow<py::array>(object);
  if (array.ndim() > base::kMaxRank || array.nbytes() > base::kMaxTensorBytes || !usable_as_it_is(array) ||
      dtype_of(array) != declared)
    return std::nullopt;
  Shape shape;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
  return borrow(array, declared, shape);
}

Tensor tensor_from(py::handle object, DType declared, const std::string& name) {
  if (auto plain = borrow_plain(object, declared)) return *std::move(plain);
  const std::string where = "input '" + name + "'";
  const py::array array = as_array(object, where);
  DType dtype = dtype_of(array);
  if (dtype != declared && can_hold(array, declared)) dtype = declared;
  if (dtype == DType::undefined) {
    const std::string have = py::str(array.dtype());
    const std::string want =
        declared == DType::undefined ? "a numeric or boolean dtype" : std::string(dtype_name(declared));
    throw CoreError(argument_error("an array of dtype " + have, want, where, "convert it with .astype(...)"));
  }
  return borrow(array, dtype, shape_of(array, dtype, where));
}

ir::RuntimeValue value_from(py::handle object, const ir::Value& declared) {
  if (declared.kind == ir::ValueKind::tensor) return tensor_from(object, declared.dtype, declared.name);
  if (object.is_none()) {
    if (declared.kind == ir::ValueKind::optional) return {};
    throw CoreError(argument_error("None", "a list of arrays", "input '" + declared.name + "'",
                                   "pass an empty list for an empty sequence"));
  }
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    if (declared.kind == ir::ValueKind::optional) return tensor_from(object, declared.dtype, declared.name);
    throw CoreError(argument_error("a value that is not a list", "a list of arrays",
                                   "input '" + declared.name + "'", "wrap the arrays in a list"));
  }
  auto sequence = std::make_shared<ir::Sequence>();
  sequence->dtype = declared.dtype;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(object))
    sequence->items.push_back(tensor_from(item, declared.dtype, declared.name));
  return ir::RuntimeValue(std::shared_ptr<const ir::Sequence>(std::move(sequence)));
}

// Results that are somebody else's memory (an input handed through, a constant) are copied: what a caller
// gets is his to change.
py::array fresh_array(const Tensor& tensor) {
  if (tensor.buffer().writable()) return to_array(tensor);
  Tensor own = unwrap(Tensor::allocate(tensor.dtype(), tensor.shape()));
  if (tensor.bytes()) std::memcpy(own.mutable_data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
  return to_array(own);
}

py::object value_to_python(const ir::RuntimeValue& value) {
  if (const Tensor* t = value.tensor()) return fresh_array(*t);
  if (const ir::Sequence* s = value.sequence()) {
    py::list items;
    for (const Tensor& t : s->items) items.append(fresh_array(t));
    return items;
  }
  return py::none();
}

// Edit distance, for "did you mean".
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t keep = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, keep});
    }
  }
  return row[b.size()];
}

std::string quoted(const std::vector<py::str>& names) {
  std::string out;
  for (const py::str& name : names) out += (out.empty() ? "'" : ", '") + std::string(name) + "'";
  return out.empty() ? "none" : out;
}

[[noreturn]] void unknown_name(const std::string& given, const std::vector<py::str>& known,
                               const char* what) {
  std::string best;
  size_t least = given.size() / 2 + 2;
  for (const py::str& name : known) {
    const std::string text = name;
    if (text.size() > 256 || given.size() > 256) continue;
    if (const size_t d = distance(given, text); d < least) {
      least = d;
      best = text;
    }
  }
  const std::string next = best.empty() ? std::string("see the model's ") + what + "s for their names"
                                        : "did you mean '" + best + "'?";
  throw CoreError(
      argument_error("'" + given + "'", std::string(what) + "s named " + quoted(known), "run", next));
}

py::dict explain(NativeSession& s) {
  runtime::ExplainReport report;
  {
    const PythonUnlocked unlocked;
    report = s.native().explain();
  }
  py::list rows;
  for (const runtime::ExplainRow& r : report.rows) {
    py::dict row;
    row["plan"] = r.plan;
    row["graph"] = r.graph;
    row["node"] = r.node;
    row["op"] = r.op;
    row["backend"] = r.backend;
    row["algorithm"] = r.algorithm;
    row["parameters"] = r.parameters;
    row["output"] = r.output;
    row["storage"] = r.storage;
    row["offset"] = r.offset;
    row["workspace_bytes"] = r.workspace_bytes;
    row["flops"] = r.flops;
    row["bytes"] = r.bytes;
    row["predicted_ms"] = r.predicted_ms;
    row["measured_runs"] = r.measured_runs;
    row["measured_ms"] = r.measured_ms;
    row["losers"] = r.losers;
    rows.append(row);
  }
  py::dict out;
  out["rows"] = rows;
  out["plans"] = report.plans;
  out["arena_bytes"] = report.arena_bytes;
  out["activation_bytes"] = report.activation_bytes;
  out["aliases"] = report.aliases;
  out["predicted_ms"] = report.predicted_ms;
  out["program"] = report.program;
  return out;
}

py::list stop_profile(NativeSession& s) {
  py::list out;
  for (const runtime::ProfileEvent& e : s.native().stop_profile())
    out.append(py::make_tuple(e.name, e.op, e.backend, e.algorithm, e.start_us, e.duration_us));
  return out;
}

}  // namespace

NativeSession::NativeSession(std::shared_ptr<const runtime::Model> model,
                             std::unique_ptr<runtime::Session> session)
    : model_(std::move(model)), session_(std::move(session)) {
  const ir::Graph& graph = model_->graph();
  for (const ir::ValueId id : graph.inputs) input_names_.emplace_back(graph.at(id).name);
  for (const ir::ValueId id : graph.outputs) output_names_.emplace_back(graph.at(id).name);
}

std::vector<ir::RuntimeValue> NativeSession::inputs(const py::dict& feeds) const {
  const ir::Graph& graph = model_->graph();
  std::vector<ir::RuntimeValue> values;
  values.reserve(input_names_.size());
  for (size_t i = 0; i < input_names_.size(); ++i) {
    PyObject* given = PyDict_GetItemWithError(feeds.ptr(), input_names_[i].ptr());
    const ir::Value& declared = graph.at(graph.inputs[i]);
    if (!given) {
      if (declared.kind == ir::ValueKind::optional) {
        values.emplace_back();
        continue;
      }
      for (const auto& item : feeds)  // a misspelt name explains a missing one best
        if (!py::isinstance<py::str>(item.first) ||
            std::find_if(input_names_.begin(), input_names_.end(),
                         [&](const py::str& n) { return n.equal(item.first); }) == input_names_.end())
          unknown_name(py::str(item.first), input_names_, "input");
      throw CoreError(argument_error("no value for input '" + declared.name + "'",
                                     "inputs named " + quoted(input_names_), "run",
                                     "add '" + declared.name + "' to the dictionary"));
    }
    values.push_back(value_from(given, declared));
  }
  return values;
}

py::dict NativeSession::run(const py::dict& feeds, const py::object& wanted) {
  std::vector<ir::RuntimeValue> values = inputs(feeds);
  if (feeds.size() > input_names_.size())
    for (const auto& item : feeds)
      if (std::find_if(input_names_.begin(), input_names_.end(),
                       [&](const py::str& n) { return n.equal(item.first); }) == input_names_.end())
        unknown_name(py::str(item.first), input_names_, "input");
  std::vector<bool> give(output_names_.size(), wanted.is_none());
  if (py::isinstance<py::str>(wanted) ||
      !(wanted.is_none() || py::hasattr(wanted, "__iter__")))  // a name is a sequence of letters
    throw CoreError(argument_error("outputs=" + std::string(py::repr(wanted)), "a list of output names",
                                   "run", "put the name into a list"));
  if (!wanted.is_none()) {
    for (const py::handle name : wanted) {
      const auto found = std::find_if(output_names_.begin(), output_names_.end(),
                                      [&](const py::str& n) { return n.equal(name); });
      if (found == output_names_.end()) unknown_name(py::str(name), output_names_, "output");
      give[static_cast<size_t>(found - output_names_.begin())] = true;
    }
  }
  // The second handle lets go of the arrays here, with the GIL held; the engine's would have to fight for it
  // at each one.
  const std::vector<ir::RuntimeValue> kept = values;
  Result<std::vector<ir::RuntimeValue>> results = [&] {
    const PythonUnlocked unlocked;
    return session_->run(std::move(values));
  }();
  if (!results.ok()) throw CoreError(results.take_error());
  py::dict out;
  for (size_t i = 0; i < output_names_.size() && i < results->size(); ++i)
    if (give[i]) out[output_names_[i]] = value_to_python((*results)[i]);
  return out;
}

void bind_session(py::module_& m) {
  py::class_<NativeSession>(m, "Session", "A model made ready to run.")
      .def("run", &NativeSession::run, py::arg("inputs"), py::arg("outputs") = py::none())
      .def("explain", explain)
      .def("start_profile", [](NativeSession& s) { s.native().start_profile(); })
      .def("stop_profile", stop_profile);
}

}  // namespace walle::pybind
