// _core.ModelData, and .walle files to it and back. Models save themselves (model.cc).
#include "pybind/model_data.h"

#include <cstring>

#include "base/mapped_file.h"
#include "ir/walle_file.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

ModelDataHandle handle(Result<ir::ModelData> data) {
  return {std::make_shared<const ir::ModelData>(unwrap(std::move(data)))};
}

ModelDataHandle load(const std::string& path) {
  const PythonUnlocked unlocked;
  return handle(ir::load_walle(path));
}

// The bytes are copied once into aligned memory: a bytes object aligns nothing.
ModelDataHandle parse(const py::bytes& data) {
  const std::string_view view = data;
  const Buffer copy = unwrap(Buffer::allocate(view.size()));
  std::memcpy(copy.data(), view.data(), view.size());
  auto keep = std::make_shared<const Buffer>(copy);
  const PythonUnlocked unlocked;
  return handle(ir::parse_walle({copy.data(), view.size()}, keep, "bytes"));
}

bool file_looks_like_walle(const std::string& path) {
  const auto file = unwrap(base::MappedFile::open(path));
  return ir::looks_like_walle(file->bytes());
}

}  // namespace

void bind_model_data(py::module_& m) {
  py::class_<ModelDataHandle>(m, "ModelData",
                              "A finished graph with signatures and metadata, ready to become a model.")
      .def(
          "serialize",
          [](const ModelDataHandle& h) { return py::bytes(unwrap(ir::serialize_walle(*h.data))); },
          "The bytes of a .walle file.")
      .def("text", [](const ModelDataHandle& h) { return ir::dump(h.data->graph); }, "One line per node.");
  m.def("load_walle", load, py::arg("path"), "Map a .walle file.");
  m.def("parse_walle", parse, py::arg("data"), "Parse the bytes of a .walle file.");
  m.def("file_looks_like_walle", file_looks_like_walle, py::arg("path"));
}

}  // namespace walle::pybind
