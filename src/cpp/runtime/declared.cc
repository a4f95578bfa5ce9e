#include "runtime/declared.h"

#include <algorithm>

#include "runtime/result_memory.h"

namespace walle::runtime {

Status check_dtype(const ir::Value& value, DType computed) {
  if (value.dtype == DType::undefined || value.dtype == computed) return {};
  return model_error({"value '", value.name, "' declared as ", dtype_name(value.dtype)},
                     {dtype_name(computed), ", which its node computes"}, "graph",
                     "correct the declared type, or add a Cast before it");
}

Status check_declared(const ir::Graph& graph, const Segment& segment) {
  const ops::Program& program = segment.executable->program();
  for (const Export& e : segment.exports)
    WALLE_TRY(check_dtype(graph.at(e.id), program.at(program.outputs[e.output]).dtype));
  return {};
}

Result<std::vector<Tensor>> given_to(const ir::Graph& graph, const Segment& segment,
                                     std::span<const Tensor> given) {
  const ops::Program& program = segment.executable->program();
  std::vector<Tensor> out(program.outputs.size());
  for (const Export& e : segment.exports) {
    const auto found = std::ranges::find(graph.outputs, e.id);
    if (found == graph.outputs.end()) continue;
    const Tensor& memory = given[found - graph.outputs.begin()];
    if (!memory.defined()) continue;
    const ops::ProgramValue& value = program.at(program.outputs[e.output]);
    if (memory.dtype() != value.dtype || !(memory.shape() == value.shape))
      return misfit(memory, value.dtype, value.shape).within({"result '", graph.at(e.id).name, "'"});
    out[e.output] = memory;
  }
  return out;
}

}  // namespace walle::runtime
