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

ModelDataHandle load(const std::string& path, bool verify) {
  const PythonUnlocked unlocked;
  return handle(ir::load_walle(path, verify ? ir::Check::weights : ir::Check::graph));
}

// The bytes are copied once into aligned memory: a bytes object aligns nothing.
ModelDataHandle parse(const py::bytes& data) {
  const std::string_view view = data;
  const Buffer copy = unwrap(Buffer::allocate(view.size()));
  std::memcpy(copy.data(), view.data(), view.size());
  const PythonUnlocked unlocked;
  return handle(ir::parse_walle(copy, "bytes", ir::Check::weights));
}

bool file_looks_like_walle(const std::string& path) {
  const auto file = unwrap(base::MappedFile::open(path));
  return ir::looks_like_walle(file->bytes());
}

}  // namespace

// Into the bytes object itself: models are large.
py::bytes serialized(const ir::ModelData& data) {
  py::object made;
  const Status status = ir::serialize_walle(data, [&](size_t size) {
    made =
        py::reinterpret_steal<py::object>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!made) throw py::error_already_set();
    char* at = PyBytes_AS_STRING(made.ptr());
    std::memset(at, 0, size);
    return reinterpret_cast<std::byte*>(at);
  });
  unwrap(Status(status));
  return py::reinterpret_borrow<py::bytes>(made);
}

void bind_model_data(py::module_& m) {
  py::class_<base::MappedFile, std::shared_ptr<base::MappedFile>>(
      m, "MappedFile", py::buffer_protocol(),
      "A file as read-only memory; constants made of it are not copied.")
      .def(py::init([](const std::string& path) { return unwrap(base::MappedFile::open(path)); }),
           py::arg("path"))
      .def_buffer([](base::MappedFile& file) {
        const auto bytes = file.bytes();
        return py::buffer_info(reinterpret_cast<const uint8_t*>(bytes.data()),
                               static_cast<py::ssize_t>(bytes.size()), true);
      });
  py::class_<ModelDataHandle>(m, "ModelData",
                              "A finished graph with signatures and metadata, ready to become a model.")
      .def(
          "serialize", [](const ModelDataHandle& h) { return serialized(*h.data); },
          "The bytes of a .walle file.")
      .def("text", [](const ModelDataHandle& h) { return ir::dump(h.data->graph); }, "One line per node.");
  m.def("load_walle", load, py::arg("path"), py::arg("verify") = false, "Map a .walle file.");
  m.def("parse_walle", parse, py::arg("data"), "Parse the bytes of a .walle file.");
  m.def("file_looks_like_walle", file_looks_like_walle, py::arg("path"));
}

}  // namespace walle::pybind
