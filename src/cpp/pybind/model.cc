// _core.Model: what a model declares, its text, and sessions over it.
#include "runtime/model.h"

#include <pybind11/stl.h>

#include <set>

#include "ir/walle_file.h"
#include "pybind/errors.h"
#include "pybind/graph_builder.h"
#include "pybind/python_lock.h"
#include "pybind/session.h"
#include "runtime/session.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

const char* kind_name(ir::ValueKind kind) {
  switch (kind) {
    case ir::ValueKind::tensor: return "tensor";
    case ir::ValueKind::sequence: return "sequence";
    case ir::ValueKind::optional: return "optional";
  }
  return "tensor";
}

py::tuple value_info(const ir::Value& value) {
  py::object shape = py::none();
  if (value.shape) {
    py::list dims;
    for (const ir::Dim& dim : *value.shape) {
      if (dim.size >= 0)
        dims.append(dim.size);
      else if (!dim.symbol.empty())
        dims.append(dim.symbol);
      else
        dims.append(py::none());
    }
    shape = py::tuple(dims);
  }
  return py::make_tuple(value.name, kind_name(value.kind), std::string(dtype_name(value.dtype)), shape);
}

py::list value_infos(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  py::list out;
  for (const ir::ValueId id : ids) out.append(value_info(graph.at(id)));
  return out;
}

py::list signatures(const ir::ModelData& data) {
  py::list out;
  for (const ir::Signature& s : data.signatures) out.append(py::make_tuple(s.name, s.inputs, s.outputs));
  return out;
}

using ModelPtr = std::shared_ptr<runtime::Model>;

ModelPtr create(const ModelDataHandle& handle, bool fold) {
  const PythonUnlocked unlocked;
  return unwrap(runtime::Model::create(*handle.data, {.fold = fold}));
}

std::unique_ptr<NativeSession> session(const ModelPtr& model, const std::string& backend, int threads,
                                       const std::string& precision, bool search, bool merge, bool fuse,
                                       bool claim, bool fold) {
  runtime::SessionOptions options{backend, threads, precision, search, merge, fuse, claim, fold};
  return std::make_unique<NativeSession>(model, unwrap(model->session(options)));
}

// The same model with every value of the main graph as an output, for looking at what it computes.
ModelDataHandle expose_all(const ModelPtr& model) {
  auto data = std::make_shared<ir::ModelData>();
  data->graph = model->graph();
  ir::Graph& g = data->graph;
  g.outputs.clear();
  std::set<std::string> names;
  for (const ir::Node& node : g.nodes)
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::kNone) continue;
      if (!names.insert(g.at(id).name).second) g.at(id).name += "#" + std::to_string(id);
      g.outputs.push_back(id);
    }
  return {std::move(data)};
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
      .def_property_readonly("signatures", [](const ModelPtr& model) { return signatures(model->data()); })
      .def_property_readonly("metadata", [](const ModelPtr& model) { return model->data().metadata; })
      .def_property_readonly("node_count", [](const ModelPtr& model) { return model->graph().nodes.size(); })
      .def(
          "save",
          [](const ModelPtr& model, const std::string& path) {
            const PythonUnlocked unlocked;
            unwrap(ir::save_walle(model->data(), path));
          },
          py::arg("path"), "Write a .walle file, replacing an old one atomically.")
      .def(
          "serialize",
          [](const ModelPtr& model) { return py::bytes(unwrap(ir::serialize_walle(model->data()))); },
          "The bytes of a .walle file.")
      .def("expose_all", expose_all, "The model data with every value of the main graph as an output.")
      .def(
          "text", [](const ModelPtr& model) { return ir::dump(model->graph()); }, "One line per node.")
      .def("session", session, py::arg("backend"), py::arg("threads"), py::arg("precision"),
           py::arg("search") = true, py::arg("merge") = true, py::arg("fuse") = true, py::arg("claim") = true,
           py::arg("fold") = true);
}

}  // namespace walle::pybind
