// _core.vm.Vm: a VM library, loaded once.
#include "container/host/host_calls.h"
#include "pybind/vm.h"
#include "vm/vm.h"

namespace walle::pybind {

using vm::Vm;

namespace {

using GivenSource = std::tuple<std::string, std::string, std::string, bool>;  // name, file, text, package

std::shared_ptr<Vm> open_vm(const std::string& path) {
  return std::const_pointer_cast<Vm>(
      unwrap(without_python([&] { return Vm::open(path, container::host_calls()); })));
}

std::pair<py::bytes, std::vector<std::string>> compile(const Vm& self,
                                                       const std::vector<GivenSource>& sources) {
  std::vector<vm::Source> plain;
  for (const auto& [name, file, text, package] : sources) plain.push_back({name, file, text, package});
  std::vector<std::string> log;
  const std::string code = unwrap(without_python([&] { return self.compile(plain, &log); }));
  return {py::bytes(code), std::move(log)};
}

}  // namespace

void bind_vm_library(py::module_& m) {
  py::class_<Vm, std::shared_ptr<Vm>>(m, "Vm", "One loaded VM library.")
      .def_static("open", open_vm, py::arg("path"))
      .def_property_readonly("id", &Vm::id)
      .def_property_readonly("flavour", &Vm::flavour)
      .def_property_readonly("python", &Vm::python)
      .def_property_readonly("library", &Vm::library)
      .def("compile", compile, py::arg("sources"),
           "The bytecode container of [(name, file, text, package)], and the compiler's lines: 'file:1: "
           "SyntaxWarning: ...'.");
}

}  // namespace walle::pybind
