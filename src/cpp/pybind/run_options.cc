#include "pybind/run_options.h"

#include <algorithm>
#include <cmath>

#include "pybind/arrays.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

constexpr double kLongest = 1e9;  // seconds, 30 years: fits nanoseconds in 64 bits

std::string type_name(py::handle object) {
  return py::str(py::type::handle_of(object).attr("__name__")).cast<std::string>();
}

// The position of a name among the results that the caller wants.
size_t position(py::handle name, const std::vector<py::str>& names, const std::vector<bool>& give) {
  const auto found = std::ranges::find_if(names, [&](const py::str& known) { return known.equal(name); });
  const auto index = static_cast<size_t>(found - names.begin());
  if (found != names.end() && give[index]) return index;
  std::string known;
  for (size_t i = 0; i < names.size(); ++i)
    if (give[i]) known += (known.empty() ? "'" : ", '") + names[i].cast<std::string>() + "'";
  throw CoreError(argument_error({"out for ", py::repr(name).cast<std::string>()},
                                 {"names of results that are wanted: ", known}, "out", "check the spelling"));
}

// The names in the order of the list: that of `wanted`, or of the model.
std::vector<size_t> order(const py::object& wanted, const std::vector<py::str>& names,
                          const std::vector<bool>& give) {
  std::vector<size_t> places;
  if (wanted.is_none()) {
    for (size_t i = 0; i < names.size(); ++i) places.push_back(i);
  } else {
    for (const py::handle name : wanted) places.push_back(position(name, names, give));
  }
  return places;
}

Tensor memory_from(py::handle object, const ir::Value& declared) {
  const std::string where = "out, result '" + declared.name + "'";
  if (!py::isinstance<py::array>(object))
    throw CoreError(argument_error({"a value of type ", type_name(object)}, "a NumPy array", where,
                                   "make it with numpy.empty(shape, dtype)"));
  const auto array = py::reinterpret_borrow<py::array>(object);
  const DType dtype = declared.dtype == DType::undefined ? dtype_of(array) : declared.dtype;
  if (dtype == DType::undefined || !can_hold(array, dtype))
    throw CoreError(argument_error({"an array of dtype ", std::string(py::str(array.dtype()))},
                                   dtype_name(declared.dtype), where,
                                   "make it with numpy.empty(shape, dtype)"));
  if (!array.writeable())
    throw CoreError(
        argument_error("an array that may not be written", "a writable array", where, "pass a copy of it"));
  if (!usable_as_it_is(array))
    throw CoreError(argument_error("an array that is not C-contiguous, aligned and of native byte order",
                                   "one that is", where, "make it with numpy.empty(shape, dtype)"));
  return borrow(array, dtype, shape_of(array, dtype, where), true);
}

}  // namespace

Status SignalCheck::check() {
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() == 0) return {};
  raised_.emplace();
  return cancelled_error("a signal whose handler raised", "run");
}

void SignalCheck::rethrow() {
  if (raised_) throw py::error_already_set(*raised_);
}

std::chrono::nanoseconds timeout_from(double seconds) {
  if (std::isnan(seconds) || seconds <= 0)
    throw CoreError(argument_error({"timeout=", py::repr(py::float_(seconds)).cast<std::string>()},
                                   "a number of seconds above 0", "run", "leave it out for no limit"));
  const std::chrono::duration<double> bounded(std::min(seconds, kLongest));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(bounded);
}

py::list result_arrays(const py::object& out, const py::object& wanted, const std::vector<py::str>& names,
                       const std::vector<bool>& give) {
  py::list arrays;
  for (size_t i = 0; i < names.size(); ++i) arrays.append(py::none());
  if (py::isinstance<py::dict>(out)) {
    for (const auto& [name, array] : out.cast<py::dict>()) arrays[position(name, names, give)] = array;
    return arrays;
  }
  if (!py::isinstance<py::list>(out) && !py::isinstance<py::tuple>(out))
    throw CoreError(argument_error({"out of type ", type_name(out)},
                                   "a dictionary {result name: array} or a list of arrays", "run",
                                   "put the array into a list"));
  const auto given = out.cast<py::sequence>();
  const std::vector<size_t> places = order(wanted, names, give);
  if (given.size() != places.size())
    throw CoreError(argument_error({"out with ", given.size(), " arrays"},
                                   {places.size(), ", one per result"}, "run",
                                   "put None where the engine shall make the array"));
  for (size_t i = 0; i < places.size(); ++i) arrays[places[i]] = given[i];
  return arrays;
}

std::vector<Tensor> result_tensors(const py::list& arrays, const ir::Graph& graph) {
  std::vector<Tensor> tensors(arrays.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!arrays[i].is_none()) tensors[i] = memory_from(arrays[i], graph.at(graph.outputs[i]));
  return tensors;
}

}  // namespace walle::pybind
