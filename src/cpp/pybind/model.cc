// _core.Model: what a model declares, its text, and sessions over it.
#include "runtime/model.h"

#include <pybind11/stl.h>

#include "ir/expose_all.h"
#include "ir/walle_file.h"
#include "pybind/errors.h"
#include "pybind/model_data.h"
#include "pybind/python_lock.h"
#include "pybind/session.h"
#include "pybind/session_values.h"
#include "runtime/session.h"
#include "runtime/value_names.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

// Sizes, symbols' names, None; None itself where the rank is not declared.
py::object shape_to_python(const std::optional<std::vector<ir::Dim>>& shape) {
  if (!shape) return py::none();
  py::tuple dims(shape->size());
  for (size_t i = 0; i < shape->size(); ++i) {
    const ir::Dim& dim = (*shape)[i];
    if (dim.size >= 0)
      dims[i] = dim.size;
    else if (!dim.symbol.empty())
      dims[i] = dim.symbol;
    else
      dims[i] = py::none();
  }
  return dims;
}

py::tuple value_info(const ir::Value& value) {
  return py::make_tuple(value.name, ir::value_kind_name(value.kind), dtype_name(value.dtype),
                        shape_to_python(value.shape));
}

py::list value_infos(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  py::list out;
  for (const ir::ValueId id : ids) out.append(value_info(graph.at(id)));
  return out;
}

py::list node_ops(const std::shared_ptr<runtime::Model>& model) {
  py::list out;
  for (const ir::Node& node : model->graph().nodes) out.append(node.op);
  return out;
}

py::list signatures(const ir::ModelData& data) {
  py::list out;
  for (const ir::Signature& s : data.signatures) out.append(py::make_tuple(s.name, s.inputs, s.outputs));
  return out;
}

using ModelPtr = std::shared_ptr<runtime::Model>;

ModelPtr create(const ModelDataHandle& handle, bool fold) {
  const PythonUnlocked unlocked;  // verifying and folding a large model take seconds
  return unwrap(runtime::Model::create(*handle.data, {.fold = fold}));
}

std::unique_ptr<NativeSession> session(const ModelPtr& model, const std::string& debug,
                                       const py::kwargs& given) {
  runtime::SessionOptions options;
#define WALLE_SESSION_OPTION(type, name, value) \
  if (given.contains(#name)) options.name = given[#name].cast<type>();
#include "runtime/session_option.inc"
  options.debug = unwrap(runtime::parse_debug(debug));
  return std::make_unique<NativeSession>(model, unwrap(model->session(options)));
}

ModelDataHandle expose_all(const ModelPtr& model) {
  ir::ModelData data = ir::expose_all(model->graph());
  data.files = model->data().files;
  return {std::make_shared<const ir::ModelData>(std::move(data))};
}

ModelPtr with_states(const ModelPtr& model,
                     const std::vector<std::tuple<std::string, std::string, py::object>>& states) {
  const ir::Graph& graph = model->graph();
  std::vector<runtime::StateSpec> specs;
  for (const auto& [input, output, value] : states) {
    const std::vector<std::string> names = runtime::value_names(graph, graph.inputs);
    const auto found = std::ranges::find(names, input);
    if (found == names.end()) throw CoreError(runtime::unknown_name(input, "input", names));
    const ir::RuntimeValue given = value_from(value, graph.at(graph.inputs[found - names.begin()]));
    specs.push_back({input, output, given.tensor() ? *given.tensor() : Tensor()});
  }
  return std::const_pointer_cast<runtime::Model>(unwrap(model->with_states(specs)));
}

}  // namespace

void bind_model(py::module_& m) {
  py::class_<runtime::Model, ModelPtr>(m, "Model", "A verified graph; immutable, shared by sessions.")
      .def_static("create", create, py::arg("data"), py::arg("fold") = true)
      .def_property_readonly(
          "inputs", [](const ModelPtr& model) { return value_infos(model->graph(), model->graph().inputs); })
      .def_property_readonly(
          "outputs",
          [](const ModelPtr& model) { return value_infos(model->graph(), model->graph().outputs); })
      .def_property_readonly(
          "overridable",
          [](const ModelPtr& model) { return value_infos(model->graph(), model->graph().overridable); })
      .def_property_readonly("states",
                             [](const ModelPtr& model) {
                               py::list out;
                               for (const ir::State& state : model->graph().states)
                                 out.append(value_info(model->graph().at(state.value)));
                               return out;
                             })
      .def("with_states", with_states, py::arg("states"), "[(input, output, value to begin with)]")
      .def_property_readonly("signatures", [](const ModelPtr& model) { return signatures(model->data()); })
      .def_property_readonly("metadata", [](const ModelPtr& model) { return model->data().metadata; })
      .def_property_readonly("node_count", [](const ModelPtr& model) { return model->graph().nodes.size(); })
      .def_property_readonly("ops", node_ops)
      .def(
          "save",
          [](const ModelPtr& model, const std::string& path) {
            const PythonUnlocked unlocked;
            unwrap(ir::save_walle(model->stored(), path));
          },
          py::arg("path"), "Write a .walle file, replacing an old one atomically.")
      .def(
          "serialize", [](const ModelPtr& model) { return serialized(model->stored()); },
          "The bytes of a .walle file.")
      .def("expose_all", expose_all, "The model data with every value of the main graph as an output.")
      .def(
          "text", [](const ModelPtr& model) { return ir::dump(model->graph()); }, "One line per node.")
      .def("session", session, py::kw_only(), py::arg("debug") = "",
           "Options are the names of runtime/session_option.inc.");
}

}  // namespace walle::pybind
