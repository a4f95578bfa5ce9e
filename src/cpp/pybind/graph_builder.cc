// _core.GraphBuilder: how converters written in Python make a graph. Values are numbers, -1 is an omitted
// one.
#include <pybind11/stl.h>

#include <map>

#include "ir/graph.h"
#include "pybind/arrays.h"
#include "pybind/errors.h"
#include "pybind/model_data.h"

namespace walle::pybind {

namespace {

constexpr const char* kConvertAgain = "this is a fault of the converter: report it with the model";

// shared_ptr: a finished body is an attribute of its control node, in another builder's graph.
struct GraphBuilder {
  std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
};

ir::Value& value_at(GraphBuilder& b, ir::ValueId id) {
  // Converters are Python code that anybody may write: a wrong number must not become a wrong address.
  if (id < 0 || id >= static_cast<ir::ValueId>(b.graph->values.size()))
    throw CoreError(argument_error({"value number ", id}, "a number this builder gave out", "GraphBuilder",
                                   kConvertAgain));
  return b.graph->at(id);
}

ir::ValueKind kind_from(const std::string& name) {
  if (const auto kind = ir::value_kind_from_name(name)) return *kind;
  throw CoreError(argument_error({"value kind '", name, "'"}, "tensor, sequence or optional", "GraphBuilder",
                                 kConvertAgain));
}

DType dtype_from(const std::string& name) {
  return name == "undefined" ? DType::undefined : unwrap(tensor::dtype_from_name(name));
}

// Dimensions: an int, a symbol's name, or None.
std::optional<std::vector<ir::Dim>> dims_from(const py::object& shape) {
  if (shape.is_none()) return std::nullopt;
  std::vector<ir::Dim> dims;
  for (const py::handle item : shape) {
    ir::Dim dim;
    // None leaves both empty: a size that nothing is known of.
    if (py::isinstance<py::str>(item))
      dim.symbol = py::cast<std::string>(item);
    else if (!item.is_none())
      dim.size = py::cast<int64_t>(item);
    dims.push_back(std::move(dim));
  }
  return dims;
}

Tensor constant_from(const py::object& array, const std::string& dtype_name, const std::string& where) {
  const DType dtype = dtype_from(dtype_name);
  const Buffer window = py::isinstance<py::array>(array) ? window_of_file(array) : Buffer();
  const py::array bits = window ? py::array(array) : as_array(array, where, true);
  if (!can_hold(bits, dtype))
    throw CoreError(argument_error({"an array of dtype ", std::string(py::str(bits.dtype()))},
                                   {"the bits of ", dtype_name}, where, kConvertAgain));
  if (window && usable_as_it_is(bits))
    return unwrap(Tensor(dtype, shape_of(bits, dtype, where), window).with_plain_booleans());
  // At an address that its dtype cannot have. A small copy is made now: rules read such constants.
  constexpr size_t kLateBytes = size_t{64} << 10;
  const bool late =
      window && window.file()->mapped() && window.size() >= kLateBytes && dtype != DType::boolean;
  if (late) return Tensor(dtype, shape_of(bits, dtype, where), Buffer::aligned_late(window));
  if (window) {
    const Tensor aligned = copy(bits, dtype, shape_of(bits, dtype, where));
    window.drop(0, window.size());
    return unwrap(aligned.with_plain_booleans());
  }
  return unwrap(copy(bits, dtype, shape_of(bits, dtype, where)).with_plain_booleans());
}

// kind: i f s is fs ss t g, as one letter per scalar and a second "s" for lists.
ir::AttrValue attribute_from(const std::string& name, const std::string& kind, const py::object& value) {
  if (kind == "i") return py::cast<int64_t>(value);
  if (kind == "f") return py::cast<double>(value);
  if (kind == "s") return py::cast<std::string>(value);
  if (kind == "is") return py::cast<std::vector<int64_t>>(value);
  if (kind == "fs") return py::cast<std::vector<double>>(value);
  if (kind == "ss") return py::cast<std::vector<std::string>>(value);
  if (kind == "t") {
    const auto pair = py::cast<py::tuple>(value);
    return constant_from(pair[0], py::cast<std::string>(pair[1]), "attribute " + name);
  }
  if (kind == "g") return std::shared_ptr<const ir::Graph>(py::cast<GraphBuilder&>(value).graph);
  throw CoreError(argument_error({"attribute kind '", kind, "'"}, "i, f, s, is, fs, ss, t or g",
                                 {"attribute ", name}, kConvertAgain));
}

std::vector<ir::ValueId> add_node(
    GraphBuilder& b, const std::string& op, const std::string& name, const std::vector<ir::ValueId>& inputs,
    const std::vector<std::string>& outputs,
    const std::vector<std::tuple<std::string, std::string, py::object>>& attributes) {
  ir::Node node;
  node.op = op;
  node.name = name;
  for (const ir::ValueId id : inputs) {
    if (id != ir::kNone) value_at(b, id);
    node.inputs.push_back(id);
  }
  for (const auto& [key, kind, value] : attributes)
    node.attributes.set(key, attribute_from(key, kind, value));
  for (const std::string& output : outputs) {
    ir::Value value;
    value.name = output;
    node.outputs.push_back(b.graph->add_value(std::move(value)));
  }
  std::vector<ir::ValueId> ids = node.outputs;
  b.graph->nodes.push_back(std::move(node));
  return ids;
}

ir::ValueId add_input(GraphBuilder& b, const std::string& name, const std::string& kind,
                      const std::string& dtype, const py::object& shape) {
  ir::Value value;
  value.name = name;
  value.kind = kind_from(kind);
  value.dtype = dtype_from(dtype);
  value.shape = dims_from(shape);
  const ir::ValueId id = b.graph->add_value(std::move(value));
  b.graph->inputs.push_back(id);
  return id;
}

ir::ValueId add_constant(GraphBuilder& b, const std::string& name, Tensor tensor) {
  ir::Value value;
  value.name = name;
  value.dtype = tensor.dtype();
  value.shape.emplace();
  for (const int64_t size : tensor.shape()) value.shape->push_back({size, {}});
  value.constant = std::move(tensor);
  return b.graph->add_value(std::move(value));
}

ir::ValueId constant(GraphBuilder& b, const std::string& name, const py::object& array,
                     const std::string& dtype) {
  return add_constant(b, name, constant_from(array, dtype, "constant '" + name + "'"));
}

ir::ValueId share_constant(GraphBuilder& b, GraphBuilder& source, ir::ValueId id) {
  const ir::Value& value = value_at(source, id);
  if (!value.constant)
    throw CoreError(argument_error({"value '", value.name, "'"}, "a constant", "GraphBuilder.share_constant",
                                   kConvertAgain));
  return add_constant(b, value.name, *value.constant);
}

void describe(GraphBuilder& b, ir::ValueId id, const std::string& kind, const std::string& dtype,
              const py::object& shape) {
  ir::Value& value = value_at(b, id);
  value.kind = kind_from(kind);
  value.dtype = dtype_from(dtype);
  value.shape = dims_from(shape);
}

std::optional<py::array> constant_array(GraphBuilder& b, ir::ValueId id) {
  const ir::Value& value = value_at(b, id);
  if (!value.constant) return std::nullopt;
  return to_array(*value.constant);
}

void set_outputs(GraphBuilder& b, const std::vector<ir::ValueId>& ids) {
  for (const ir::ValueId id : ids) value_at(b, id);
  b.graph->outputs = ids;
}

void collect_files(const ir::Graph& graph, std::map<const base::MappedFile*, Buffer>& files) {
  const auto add = [&](const Tensor& t) {
    if (const base::MappedFile* file = t.buffer().file()) files.emplace(file, t.buffer());
  };
  for (const ir::Value& value : graph.values)
    if (value.constant) add(*value.constant);
  for (const ir::Node& node : graph.nodes)
    for (const auto& [name, value] : node.attributes.items()) {
      if (const auto* t = std::get_if<Tensor>(&value)) add(*t);
      if (const auto* body = std::get_if<std::shared_ptr<const ir::Graph>>(&value))
        collect_files(**body, files);
    }
}

std::vector<Buffer> files_of(const ir::Graph& graph) {
  std::map<const base::MappedFile*, Buffer> files;
  collect_files(graph, files);
  std::vector<Buffer> out;
  for (auto& [file, window] : files) out.push_back(std::move(window));
  return out;
}

void set_overridable(GraphBuilder& b, const std::vector<ir::ValueId>& ids) {
  for (const ir::ValueId id : ids) value_at(b, id);
  b.graph->overridable = ids;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

ModelDataHandle finish(GraphBuilder& b, const std::vector<std::tuple<std::string, Pairs, Pairs>>& signatures,
                       const std::map<std::string, std::string>& metadata) {
  auto data = std::make_shared<ir::ModelData>();
  data->graph = *b.graph;
  data->files = files_of(data->graph);
  for (const auto& [name, inputs, outputs] : signatures) data->signatures.push_back({name, inputs, outputs});
  data->metadata = metadata;
  return {std::move(data)};
}

GraphBuilder make(const std::string& name) {
  GraphBuilder b;
  b.graph->name = name;
  return b;
}

}  // namespace

void bind_graph_builder(py::module_& m) {
  py::class_<GraphBuilder>(m, "GraphBuilder",
                           "A graph under construction; values are numbers, -1 is an omitted one.")
      .def(py::init(&make), py::arg("name"))
      .def("input", add_input, py::arg("name"), py::arg("kind"), py::arg("dtype"), py::arg("shape"))
      .def("constant", constant, py::arg("name"), py::arg("array"), py::arg("dtype"))
      .def("share_constant", share_constant, py::arg("source"), py::arg("value"))
      .def("node", add_node, py::arg("op"), py::arg("name"), py::arg("inputs"), py::arg("outputs"),
           py::arg("attributes"))
      .def("describe", describe, py::arg("value"), py::arg("kind"), py::arg("dtype"), py::arg("shape"))
      .def(
          "rename",
          [](GraphBuilder& b, ir::ValueId id, const std::string& name) { value_at(b, id).name = name; },
          py::arg("value"), py::arg("name"))
      .def(
          "name_of", [](GraphBuilder& b, ir::ValueId id) { return value_at(b, id).name; }, py::arg("value"))
      .def(
          "is_constant", [](GraphBuilder& b, ir::ValueId id) { return value_at(b, id).constant.has_value(); },
          py::arg("value"))
      .def("constant_array", constant_array, py::arg("value"))
      .def("outputs", set_outputs, py::arg("values"))
      .def("overridable", set_overridable, py::arg("values"))
      .def_property_readonly("node_count", [](const GraphBuilder& b) { return b.graph->nodes.size(); })
      .def("text", [](const GraphBuilder& b) { return ir::dump(*b.graph); })
      .def("finish", finish, py::arg("signatures"), py::arg("metadata"));
}

}  // namespace walle::pybind
