// _core.names: the rules of names, for what is written in Python.
#include "base/names.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "base/name_shapes.h"
#include "pybind/errors.h"

namespace walle::pybind {

namespace py = pybind11;

using base::NameKind;
using base::NameRule;

namespace {

NameKind name_kind_of(std::string_view kind) {
  const std::span<const NameRule> rules = base::name_rules();
  const auto found = std::ranges::find(rules, kind, &NameRule::kind);
  if (found != rules.end()) return static_cast<NameKind>(found - rules.begin());
  throw CoreError(argument_error({"kind ", base::shown_name(kind), " of names"}, "one of names.KINDS",
                                 "names", "see docs/reference/names.md"));
}

// Bytes as they are; of a text that is no UTF-8 (half a surrogate pair) bytes that are none either.
std::string name_text_of(const py::object& name) {
  if (!py::isinstance<py::str>(name)) return py::cast<py::bytes>(name);
  return py::bytes(name.attr("encode")("utf-8", "surrogatepass"));
}

py::object checked_name(std::string_view kind, const py::object& name, std::string_view where) {
  unwrap(base::check_name(name_kind_of(kind), name_text_of(name), where));
  return name;
}

bool is_valid_name(std::string_view kind, const py::object& name) {
  return base::valid_name(name_kind_of(kind), name_text_of(name));
}

// As a schema of JSON says it.
py::dict name_schema(std::string_view kind) {
  const NameRule& rule = base::name_rule(name_kind_of(kind));
  py::dict out;
  out["description"] = std::string(rule.word) + ": " + rule.expected();
  out["minLength"] = rule.least;
  out["maxLength"] = rule.most;
  if (!rule.shape.pattern.empty()) out["pattern"] = rule.shape.pattern;
  if (!rule.reserved.empty()) {
    py::dict reserved;
    reserved["enum"] = py::str(rule.reserved).attr("split")();
    out["not"] = reserved;
  }
  return out;
}

std::optional<py::tuple> names_of_package(const std::string& path) {
  const auto found = base::package_names(path);
  if (!found) return std::nullopt;
  return py::make_tuple((*found)[0], (*found)[1], (*found)[2]);
}

}  // namespace

void bind_names(py::module_& m) {
  py::module_ names = m.def_submodule("names", "Rules of names, by kind.");
  py::list kinds;
  for (const NameRule& rule : base::name_rules()) kinds.append(rule.kind);
  names.attr("KINDS") = py::tuple(kinds);
  names.def("check", checked_name, py::arg("kind"), py::arg("name"), py::arg("where"));
  names.def("valid", is_valid_name, py::arg("kind"), py::arg("name"));
  names.def(
      "expected", [](std::string_view kind) { return base::name_rule(name_kind_of(kind)).expected(); },
      py::arg("kind"));
  names.def(
      "longest", [](std::string_view kind) { return base::name_rule(name_kind_of(kind)).most; },
      py::arg("kind"));
  names.def("schema", name_schema, py::arg("kind"));
  names.def("package_path", base::package_path, py::arg("scenario"), py::arg("task"), py::arg("version"));
  names.def("package_names", names_of_package, py::arg("path"));
}

}  // namespace walle::pybind
