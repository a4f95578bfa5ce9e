// ArgMax and ArgMin on the CPU: one scalar pass on one thread. They stand at the end of classifiers, on a few
// thousand numbers, so neither vectors nor threads have been worth their code.
#include "backends/cpu/cpu_op.h"
#include "kernels/reduce/reduce.h"

namespace walle::backends::cpu {

namespace {
bool supports(const NodeView& node) {
  // Booleans are no numbers to visit_numeric(), but false < true: LabelEncoder looks for the first true.
  return node.dtype(0) == DType::boolean || tensor::visit_numeric(node.dtype(0), [](auto) {});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "arg_reduce_reference", threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  const Shape& x = node.shape(0);
  WALLE_ASSIGN(const int axis, tensor::normalize_axis(node.attrs().get_int("axis", 0), x.rank()));
  const kernels::ArgReduce spec{.outer = x.product(0, axis),
                                .axis = x[axis],
                                .inner = x.product(axis + 1, x.rank()),
                                .greatest = node.op().name == "ArgMax",
                                .last_index = node.attrs().get_int("select_last_index", 0) != 0};
  return make_kernel([spec, dtype = node.dtype(0)](const HostArgs& a) -> Status {
    kernels::run_arg_reduce(spec, dtype, a.input<void>(0), a.output<int64_t>(0));
    return {};
  });
}
}  // namespace

extern const CpuOp kArgReduceCpu{
    .op = "ArgReduce", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
