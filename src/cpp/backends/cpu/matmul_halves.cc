#include "backends/cpu/matmul_halves.h"

#include <algorithm>

#include "backends/cpu/epilogue.h"
#include "kernels/halves/halves.h"
#include "kernels/workspace.h"

namespace walle::backends::cpu {

namespace {
// Constants come from the outer cache at best, as in candidates.cc.
Quantity level_of_constants(double bytes) { return std::max(level_of(bytes), Quantity::l3_bytes); }

// Of what counts as float32 among the operands, half is read.
void count_half_of(double bytes, Features& f) {
  double& whole = f[level_of_constants(bytes)];
  whole = std::max(whole - bytes, 0.0);
  f[level_of_constants(bytes / 2)] += bytes / 2;
}
}  // namespace

bool multiplies_halves(const NodeView& node, const MatMulProblem& p, const kernels::GemmTable& table) {
  const Tensor* b = node.constant(1);
  if (!b || b->stored() == b->dtype() || !p.one_b() || p.a.size() != 1) return false;
  return p.m != 1 || reads_b_in_place(p, table.mr_plain);
}

Candidate half_candidate(const NodeView& node, const MatMulProblem& p, kernels::Isa isa, int threads,
                         int choice) {
  const kernels::GemmTable& table = kernels::gemm_table(isa);
  const bool few = reads_b_in_place(p, table.mr_plain);
  const int rows = few ? table.mr_plain : table.mr;
  const std::string tile = std::to_string(rows) + "x" + std::to_string(table.nr);
  Candidate c =
      vector_candidate(node, few ? "gemm_halves_in_place" : "gemm_halves", isa, threads, choice, tile);
  // What widening a panel takes is what copying one takes, and few rows wait for their weights.
  c.features.kernel = few ? "gemm_in_place_f32" : "gemm_computed_b_f32";
  c.weights = node.constant(1)->stored();
  count_tiles(p, rows, table.nr, c.features);
  const auto bytes = static_cast<double>(p.n * p.k * kernels::kFloatBytes);
  count_half_of(bytes, c.features);
  if (!few) c.features[Quantity::l1_bytes] += bytes;
  c.workspace_bytes = threads * kernels::gemm_workspace_bytes(table, p.m, p.n, p.k, false, false);
  return c;
}

Result<std::unique_ptr<Kernel>> prepare_half_product(const NodeView& node, MatMulProblem p) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  const kernels::GemmTable& table = kernels::gemm_table(isa);
  const Tensor& b = *node.constant(1);
  const kernels::HalfForm& form = kernels::half_form(isa, b.stored() == DType::bfloat16);
  const bool few = reads_b_in_place(p, table.mr_plain);
  // The handle keeps what the address says.
  return make_kernel_in(host_memory(), kPackedWeights,
                        [p = std::move(p), e, few, b = b.as_stored(), has_bias = node.has(2),
                         has_residual = node.has(3), &form, &table](const HostArgs& args) -> Status {
                          const kernels::HalfMatrix matrix{
                              .gemm = &table,
                              .form = &form,
                              .data = reinterpret_cast<const uint16_t*>(b.address()),
                              .row_stride = p.n};
                          kernels::Gemm g;
                          g.m = p.m;
                          g.n = p.n;
                          g.k = p.k;
                          g.a = {args.input<float>(0), p.k, 1};
                          g.panels = kernels::half_panels(matrix, few);
                          g.c = args.output<float>(0);
                          g.c_row = p.n;
                          g.epilogue = e;
                          if (has_bias) g.epilogue.col_bias = args.input<float>(2);
                          if (has_residual) g.epilogue.residual = args.input<float>(3);
                          kernels::run_gemm(table, g, args.threads, args.workspace);
                          return {};
                        });
}

}  // namespace walle::backends::cpu
