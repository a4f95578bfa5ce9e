// _core.op_table(): every operator with its class and arity, as the native table has them.
#include <pybind11/stl.h>

#include "ops/op_set.h"
#include "ops/registry.h"
#include "pybind/errors.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

py::dict row(const ir::OpDef& op) {
  py::dict out;
  out["name"] = op.name;
  out["op_class"] = ir::op_class_name(op.op_class);
  out["family"] = op.family.empty() ? op.name : op.family;
  out["inputs"] = py::make_tuple(op.inputs.min, op.inputs.max);
  out["outputs"] = py::make_tuple(op.outputs.min, op.outputs.max);
  out["numeric"] = ir::numeric_class_name(op.numeric);
  out["deterministic"] = op.deterministic;
  return out;
}

}  // namespace

void bind_op_table(py::module_& m) {
  m.def(
      "op_table",
      [] {
        py::list rows;
        for (const ir::OpDef* op : ops::all_ops()) rows.append(row(*op));
        return rows;
      },
      "One dictionary per operator of the native table, in table order.");
  m.def("op_set", &ops::op_set_id, "The id of this set of operators: 16 hexadecimal digits.");
}

}  // namespace walle::pybind
