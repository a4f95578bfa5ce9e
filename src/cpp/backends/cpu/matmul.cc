// MatMul on the CPU. Inputs: A, B, optional bias (one per column), optional residual (of the result's shape).
//
// A reference for every dtype, register tiles for float64 (kernels/gemm_f64), and for float32 those over
// packed B (kernels/gemm). A constant B is packed once per model and shared by its sessions, or read where it
// lies when a product has few rows; any other is packed by every run, panel by panel. One that is stored in
// 16 bits is read as it lies for any number of rows (matmul_halves.h).
#include "backends/cpu/epilogue.h"
#include "backends/cpu/matmul_bf16.h"
#include "backends/cpu/matmul_halves.h"
#include "backends/cpu/matmul_problem.h"
#include "backends/cpu/matmul_rows.h"
#include "base/checked.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_reference.h"
#include "kernels/gemm_f64/f64.h"
#include "kernels/workspace.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kPacked, kTiles, kShort, kHalves };
using Problem = MatMulProblem;

bool supports(const NodeView& node) {
  return tensor::visit_numeric(node.dtype(0), [](auto) {});
}

// Threads over batches when there are enough of them, inside each product otherwise: whole products share
// nothing, not even a packed panel of B.
int inner_threads(const Problem& p, int threads) { return std::ssize(p.a) >= threads ? 1 : threads; }

bool in_place(const kernels::GemmTable& table, const Problem& p) {
  return reads_b_in_place(p, table.mr_plain);
}

bool packs_ahead(const NodeView& node, const kernels::GemmTable& table, const Problem& p) {
  return node.constant(1) && p.one_b() && !in_place(table, p);
}

Candidate simd_candidate(const NodeView& node, const kernels::GemmTable& table, const Problem& p,
                         kernels::Isa isa, int threads) {
  const bool known = node.constant(1) && p.one_b();
  const bool plain = known && in_place(table, p);
  const std::string tile = std::to_string(plain ? table.mr_plain : table.mr) + "x" + std::to_string(table.nr);
  const char* kernel = plain ? "gemm_in_place_f32" : known ? "gemm_f32" : "gemm_computed_b_f32";
  Candidate c = vector_candidate(node, kernel, isa, threads, kPacked, tile);
  count_tiles(p, plain ? table.mr_plain : table.mr, table.nr, c.features);
  // A computed B is copied to panels by every run.
  const auto copied = static_cast<double>(p.a.size() * p.n * p.k * kernels::kFloatBytes);
  if (!known) c.features[Quantity::l1_bytes] += copied;
  c.workspace_bytes =
      threads * kernels::gemm_workspace_bytes(table, p.m, p.n, p.k, false, packs_ahead(node, table, p));
  return c;
}

// Of float64 without anything folded in; the reference takes the rest.
void add_f64(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (node.dtype(0) != DType::float64 || node.has(2) || node.has(3) || !isa.ok()) return;
  const kernels::F64Table& table = kernels::f64_table(*isa);
  const std::string tile = std::to_string(table.mr) + "x" + std::to_string(table.nr);
  Candidate c = vector_candidate(node, "gemm_f64", *isa, threads, kTiles, tile);
  c.workspace_bytes = kernels::f64_workspace_bytes(table, matmul_problem_of(node).k, threads);
  out.push_back(std::move(c));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "gemm_reference", threads));
  add_f64(node, threads, out);
  const auto isa = float_isa(node);
  if (!isa) return;
  const kernels::GemmTable& table = kernels::gemm_table(*isa);
  const Problem p = matmul_problem_of(node);
  if (multiplies_halves(node, p, table))
    out.push_back(half_candidate(node, p, *isa, threads, kHalves));
  else
    out.push_back(simd_candidate(node, table, p, *isa, threads));
  for (const Arithmetic arithmetic : {Arithmetic::bfloat16, Arithmetic::float16})
    add_short_product(node, arithmetic, threads, kShort, out);
}

template <class T>
std::unique_ptr<Kernel> reference_kernel(Problem p, kernels::Epilogue e, bool has_bias, bool has_residual) {
  return make_kernel([p = std::move(p), e, has_bias, has_residual](const HostArgs& args) -> Status {
    for (int64_t i = 0; i < std::ssize(p.a); ++i) {
      const int64_t at = i * p.m * p.n;
      kernels::Epilogue here = e;
      if (has_bias) here.col_bias = args.input<float>(2);
      if (has_residual) here.residual = args.input<float>(3) + at;
      kernels::gemm_reference(p.m, p.n, p.k, args.input<T>(0) + p.a[i], args.input<T>(1) + p.b[i],
                              args.output<T>(0) + at, here, args.threads);
    }
    return {};
  });
}

Result<std::unique_ptr<Kernel>> f64_kernel(Problem p) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::F64Table& table = kernels::f64_table(isa);
  return make_kernel([p = std::move(p), &table](const HostArgs& args) -> Status {
    for (int64_t i = 0; i < std::ssize(p.a); ++i)
      kernels::run_f64_gemm(table, p.m, p.n, p.k, args.input<double>(0) + p.a[i],
                            args.input<double>(1) + p.b[i], args.output<double>(0) + i * p.m * p.n,
                            args.threads, args.workspace);
    return {};
  });
}

Result<Block> pack(const kernels::GemmTable& table, const Tensor& b, const Problem& p) {
  WALLE_ASSIGN(Block block, allocate_floats(kernels::packed_b_elements(table, p.n, p.k)));
  for_rows_of_b(b, p, 1, [&](const float* from, int64_t k0, int64_t k1) {
    kernels::pack_b_rows(table, {from, p.n, 1}, k0, k1, p.k, p.n, floats_of(block));
  });
  return block;
}

Result<std::unique_ptr<Kernel>> packed_kernel(const NodeView& node, Problem p, const kernels::Epilogue& e,
                                              PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::GemmTable& table = kernels::gemm_table(isa);
  SharedBlock weights;
  SharedSlot elsewhere;  // of weights read in place: where another plan may have packed them
  if (node.constant(1) && p.one_b()) {
    const Tensor& b = *node.constant(1);
    const auto make = [&] { return pack(table, b, p); };
    // The shape belongs to the name: two nodes may read the same weights as matrices of different shapes.
    const std::string kind =
        "gemm_b_" + std::string(isa_name(isa)) + "_" + std::to_string(p.k) + "x" + std::to_string(p.n);
    if (packs_ahead(node, table, p)) {
      WALLE_ASSIGN(weights, context.shared({&b}, kind, make));
    } else {
      elsewhere = context.slot({&b}, kind);
    }
  }
  const int64_t share =
      kernels::gemm_workspace_bytes(table, p.m, p.n, p.k, false, static_cast<bool>(weights));
  const bool has_bias = node.has(2), has_residual = node.has(3);
  const uint32_t unread = weights || (elsewhere && elsewhere->find()) ? kPackedWeights : 0;
  return make_kernel_in(
      host_memory(), unread,
      [p = std::move(p), e, weights, elsewhere, share, has_bias, has_residual,
       &table](const HostArgs& args) -> Status {
        const Block* packed = weights ? weights.get() : elsewhere ? elsewhere->find() : nullptr;
        const auto batches = static_cast<int64_t>(p.a.size());
        const int inner = inner_threads(p, args.threads);
        const int64_t shares = inner > 1 ? 1 : std::min<int64_t>(batches, args.threads);
        base::parallel_for(shares, args.threads, [&](int64_t part) {
          for (int64_t i = batches * part / shares; i < batches * (part + 1) / shares; ++i) {
            const int64_t at = i * p.m * p.n;
            kernels::Gemm g;
            g.m = p.m;
            g.n = p.n;
            g.k = p.k;
            g.a = {args.input<float>(0) + p.a[i], p.k, 1};
            g.b = {args.input<float>(1) + p.b[i], p.n, 1};
            if (packed) g.packed_b = floats_of(*packed);
            g.c = args.output<float>(0) + at;
            g.c_row = p.n;
            g.epilogue = e;
            if (has_bias) g.epilogue.col_bias = args.input<float>(2);
            if (has_residual) g.epilogue.residual = args.input<float>(3) + at;
            kernels::run_gemm(table, g, inner, args.workspace + part * share);
          }
        });
        return {};
      });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                        PrepareContext& context) {
  Problem p = matmul_problem_of(node);
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  if (candidate.choice == kShort) return prepare_short_product(node, candidate.arithmetic, context);
  if (candidate.choice == kHalves) return prepare_half_product(node, std::move(p));
  if (candidate.choice == kTiles) return f64_kernel(std::move(p));
  if (candidate.choice == kPacked) return packed_kernel(node, std::move(p), e, context);
  std::unique_ptr<Kernel> kernel;
  tensor::visit_numeric(node.dtype(0), [&](auto tag) {
    kernel = reference_kernel<typename decltype(tag)::type>(std::move(p), e, node.has(2), node.has(3));
  });
  return kernel;
}
}  // namespace

extern const CpuOp kMatMulCpu{
    .op = "MatMul", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
