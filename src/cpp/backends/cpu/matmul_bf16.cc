// A constant B is rounded and packed once per model, in half of float32's bytes; any other by every run,
// panel by panel. A is rounded by every run.
#include "backends/cpu/matmul_bf16.h"

#include "backends/cpu/epilogue.h"
#include "backends/cpu/matmul_problem.h"
#include "backends/cpu/matmul_rows.h"
#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/gemm_bf16/bf16.h"

namespace walle::backends::cpu {

namespace {
using Form = kernels::Variant<kernels::Bf16Table>;
constexpr int64_t kFloatBytes = sizeof(float);

const Form* form_here(Arithmetic arithmetic, int64_t rows) {
  const auto usable = kernels::usable_capabilities();
  if (!usable.ok()) return nullptr;
  return arithmetic == Arithmetic::float16 ? kernels::fp16_form(*usable)
                                           : kernels::bf16_form_for(*usable, rows);
}

bool packs_ahead(const NodeView& node, const MatMulProblem& p) { return node.constant(1) && p.one_b(); }

// Threads over batches when there are enough of them, inside each product otherwise.
int64_t shares_of(const MatMulProblem& p, int threads) {
  return std::ssize(p.a) >= threads ? std::min<int64_t>(std::ssize(p.a), threads) : 1;
}

int64_t share_bytes(const kernels::Bf16Table& table, const MatMulProblem& p, bool packed, int threads) {
  const int inner = shares_of(p, threads) > 1 ? 1 : threads;
  return kernels::bf16_workspace_bytes(table, p.m, p.n, p.k, packed, inner);
}

// One tile of rows takes what reading B takes; products of more rows do not show it.
const char* kernel_name(Arithmetic arithmetic, const kernels::Bf16Table& table, const MatMulProblem& p,
                        bool packed) {
  const bool half = arithmetic == Arithmetic::float16;
  if (!packed) return half ? "gemm_fp16_computed_b" : "gemm_bf16_computed_b";
  if (p.m <= table.mr) return half ? "gemm_fp16_rows" : "gemm_bf16_rows";
  return half ? "gemm_fp16" : "gemm_bf16";
}

Result<Block> pack(const kernels::Bf16Table& table, const Tensor& b, const MatMulProblem& p) {
  WALLE_ASSIGN(Block block,
               Block::allocate(host_memory(), kernels::bf16_packed_b_words(table, p.n, p.k) * 4));
  auto* const words = reinterpret_cast<uint32_t*>(floats_of(block));
  // Two steps of k are a word.
  for_rows_of_b(b, p, 2, [&](const float* from, int64_t k0, int64_t k1) {
    kernels::pack_bf16_b_rows(table, {from, p.n, 1}, k0, k1, p.k, p.n, words);
  });
  return block;
}
}  // namespace

void add_short_product(const NodeView& node, Arithmetic arithmetic, int threads, int choice,
                       std::vector<Candidate>& out) {
  if (node.dtype(0) != DType::float32) return;
  const MatMulProblem p = matmul_problem_of(node);
  const Form* form = form_here(arithmetic, p.m);
  if (!form) return;
  const kernels::Bf16Table& table = *form->table;
  const bool packed = packs_ahead(node, p);
  const std::string tile = std::to_string(table.mr) + "x" + std::to_string(table.nr);
  Candidate c =
      variant_candidate(node, kernel_name(arithmetic, table, p, packed), form->name, threads, choice, tile);
  c.arithmetic = arithmetic;
  count_tiles(p, table.mr, table.nr, c.features);
  // A computed B is rounded and copied to panels by every run.
  if (!packed)
    c.features[Quantity::l1_bytes] += static_cast<double>(std::ssize(p.a) * p.n * p.k * kFloatBytes);
  c.workspace_bytes = shares_of(p, threads) * share_bytes(table, p, packed, threads);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_short_product(const NodeView& node, Arithmetic arithmetic,
                                                      PrepareContext& context) {
  MatMulProblem p = matmul_problem_of(node);
  const Form* form = form_here(arithmetic, p.m);
  if (!form) return internal_error("a product of 16-bit numbers without its instruction", "cpu MatMul");
  const kernels::Bf16Table& table = *form->table;
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  SharedBlock weights;
  if (packs_ahead(node, p)) {
    const std::string kind =
        "gemm_bf16_b_" + std::to_string(table.nr) + "_" + std::to_string(p.k) + "x" + std::to_string(p.n);
    WALLE_ASSIGN(weights,
                 context.shared({node.constant(1)}, kind, [&] { return pack(table, *node.constant(1), p); }));
  }
  const bool has_bias = node.has(2), has_residual = node.has(3);
  const uint32_t unread = weights ? kPackedWeights : 0;
  return make_kernel_in(
      host_memory(), unread,
      [p = std::move(p), e, weights, has_bias, has_residual, &table](const HostArgs& args) -> Status {
        const auto batches = static_cast<int64_t>(p.a.size());
        const int64_t shares = shares_of(p, args.threads);
        const int inner = shares > 1 ? 1 : args.threads;
        const int64_t bytes = share_bytes(table, p, static_cast<bool>(weights), args.threads);
        base::parallel_for(shares, args.threads, [&](int64_t share) {
          for (int64_t i = batches * share / shares; i < batches * (share + 1) / shares; ++i) {
            const int64_t at = i * p.m * p.n;
            kernels::Bf16Gemm g{.m = p.m, .n = p.n, .k = p.k};
            g.a = {args.input<float>(0) + p.a[i], p.k, 1};
            if (weights)
              g.packed_b = reinterpret_cast<const uint32_t*>(floats_of(*weights));
            else
              g.b = {args.input<float>(1) + p.b[i], p.n, 1};
            g.c = args.output<float>(0) + at;
            g.c_row = p.n;
            g.epilogue = e;
            if (has_bias) g.epilogue.col_bias = args.input<float>(2);
            if (has_residual) g.epilogue.residual = args.input<float>(3) + at;
            kernels::run_bf16_gemm(table, g, inner, args.workspace + share * bytes);
          }
        });
        return {};
      });
}

}  // namespace walle::backends::cpu
