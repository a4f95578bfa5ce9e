// _core.dtypes() and _core.limits(): what Python would otherwise have to copy from tensor/kinds/dtype.inc and
// base/limits.h.
#include <pybind11/stl.h>

#include "base/limits.h"
#include "pybind/errors.h"
#include "tensor/dtype.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {
py::dict dtypes() {
  py::dict out;
  for (int i = 1; i < tensor::kDTypeCount; ++i) {
    const tensor::DTypeFacts& row = tensor::kDTypes[i];
    out[py::str(std::string(row.name))] = py::make_tuple(i, tensor::numpy_code(row));
  }
  return out;
}

py::dict limits() {
  py::dict out;
  out["max_rank"] = base::kMaxRank;
  out["max_tensor_bytes"] = base::kMaxTensorBytes;
  out["max_graph_depth"] = base::kMaxGraphDepth;
  out["max_threads"] = base::kMaxThreads;
  return out;
}
}  // namespace

void bind_facts(py::module_& m) {
  m.def("dtypes", dtypes,
        "Name -> (number in files, NumPy code of the arrays that carry it, such as 'f4') of every element "
        "type.");
  m.def("limits", limits, "The limits of base/limits.h that are checked in Python too.");
}

}  // namespace walle::pybind
