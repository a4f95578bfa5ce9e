// _core.vm.Bundle: a task's compiled modules and files.
#include "vm/bundle.h"

#include "pybind/vm.h"
#include "vm/task_file.h"

namespace walle::pybind {

using vm::Bundle;
using vm::Vm;

namespace {

// pybind11 holds shared_ptr<T> only. The const is cast away here and nothing bound below changes a bundle.
std::shared_ptr<Bundle> open_bundle(const std::shared_ptr<Vm>& vm, const py::bytes& data) {
  std::string bytes = data;  // while Python's lock is held: the checks below run without it
  return std::const_pointer_cast<Bundle>(
      unwrap(without_python([&] { return Bundle::open(vm, std::move(bytes)); })));
}

std::shared_ptr<Bundle> load_bundle(const std::shared_ptr<Vm>& vm, const std::string& path) {
  return std::const_pointer_cast<Bundle>(unwrap(without_python([&] { return Bundle::load(vm, path); })));
}

py::bytes pack(const py::bytes& code, const std::vector<std::pair<std::string, py::bytes>>& resources) {
  std::vector<std::pair<std::string, std::string_view>> parts;
  for (const auto& [name, bytes] : resources) parts.emplace_back(name, std::string_view(bytes));
  return unwrap(vm::write_task_file(std::string_view(code), std::move(parts)));
}

void keep_sources(Bundle& self, const std::map<std::string, std::string>& texts) {
  for (const auto& [file, text] : texts) self.keep_source(file, text);
}

py::bytes bundle_data(const Bundle& self) {
  return {reinterpret_cast<const char*>(self.bytes().data()), self.bytes().size()};
}

py::dict resources(const Bundle& self) {
  py::dict sizes;
  for (const vm::Resource& resource : self.resources()) sizes[py::str(resource.name)] = resource.bytes.size();
  return sizes;
}

}  // namespace

void bind_vm_bundle(py::module_& m) {
  m.attr("SOURCE_FOLDER") = std::string(vm::kSourceFolder);
  py::class_<Bundle, std::shared_ptr<Bundle>>(m, "Bundle", py::release_gil_before_calling_cpp_dtor(),
                                              "Compiled modules and the files that travel with them.")
      .def_static("open", open_bundle, py::arg("vm"), py::arg("data"))
      .def_static("load", load_bundle, py::arg("vm"), py::arg("path"))
      .def_static("pack", pack, py::arg("code"), py::arg("resources"))
      .def("keep_sources", keep_sources, py::arg("texts"))
      .def_property_readonly("data", bundle_data)
      .def_property_readonly("resources", resources)
      .def_property_readonly("modules", &Bundle::modules);
}

}  // namespace walle::pybind
