// _core.package: the manifest of a package, read and written.
//
// Both directions speak one dict, whose keys are the members of link::Package: what read() gives is what
// pack() takes. Digests are raw bytes.
#include "link/package/package.h"

#include <pybind11/stl.h>

#include "pybind/enums.h"
#include "pybind/errors.h"

namespace walle::pybind {

namespace py = pybind11;
using link::FileKind;
using link::Package;
using link::PackageFile;

namespace {

using GivenFile = std::tuple<std::string, py::bytes, uint64_t, int>;  // name, SHA-256, size, kind

Package package_of(const py::dict& given) {
  Package out;
  out.scenario = given["scenario"].cast<std::string>();
  out.task = given["task"].cast<std::string>();
  out.version = given["version"].cast<std::string>();
  out.vm = given["vm"].cast<std::string>();
  out.op_set = given["op_set"].cast<std::string>();
  out.ram_bytes = given["ram_bytes"].cast<uint64_t>();
  out.facts = given["facts"].cast<std::vector<std::string>>();
  out.capabilities = given["capabilities"].cast<std::vector<std::string>>();
  out.imports = given["imports"].cast<std::vector<std::string>>();
  for (const auto& [name, digest, size, kind] : given["files"].cast<std::vector<GivenFile>>())
    out.files.push_back({name, digest, size, enum_of(kind, FileKind::cloud, "kind of a file")});
  return out;
}

py::dict dict_of(const Package& package) {
  py::list files;
  for (const PackageFile& file : package.files) {
    files.append(py::make_tuple(file.name, py::bytes(file.sha256), file.size, static_cast<int>(file.kind)));
  }
  py::dict out;
  out["scenario"] = package.scenario;
  out["task"] = package.task;
  out["version"] = package.version;
  out["vm"] = package.vm;
  out["op_set"] = package.op_set;
  out["ram_bytes"] = package.ram_bytes;
  out["facts"] = package.facts;
  out["capabilities"] = package.capabilities;
  out["imports"] = package.imports;
  out["files"] = files;
  return out;
}

}  // namespace

void bind_cloud_package(py::module_& m) {
  py::module_ package = m.def_submodule("package", "Manifests of packages; use walle_rt.task instead.");
  package.attr("CODE") = link::kCodeName;
  package.attr("CLOUD_CODE") = link::kCloudCodeName;
  package.attr("MANIFEST") = link::kTaskManifestName;
  package.def(
      "pack", [](const py::dict& given) { return py::bytes(unwrap(link::pack_package(package_of(given)))); },
      py::arg("package"));
  package.def(
      "read",
      [](const py::bytes& data) { return dict_of(unwrap(link::read_package(std::string_view(data)))); },
      py::arg("data"));
}

}  // namespace walle::pybind
