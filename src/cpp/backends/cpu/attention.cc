// Attention in one pass on the CPU: a reference, and blocks of queries for vector sets.
#include "kernels/attention/attention.h"
#include "backends/cpu/cpu_op.h"
#include "base/checked.h"
#include "ops/rules/attention.h"

namespace walle::backends::cpu {

namespace {
using ops::AttentionSpec;
enum Choice { kReference, kBlocks };

bool supports(const NodeView& node) { return node.dtype(0) == DType::float32; }

kernels::Attention kernel_form(const AttentionSpec& spec) {
  const auto steps = [&](AttentionSpec::Operand o) {
    return kernels::Steps{spec.operands[o].row, spec.operands[o].col};
  };
  kernels::Attention a;
  a.queries = spec.queries;
  a.keys = spec.keys;
  a.depth = spec.depth;
  a.width = spec.width;
  a.scale = static_cast<float>(spec.scale);
  a.q = steps(AttentionSpec::kQ);
  a.k = steps(AttentionSpec::kK);
  a.v = steps(AttentionSpec::kV);
  a.bias = steps(AttentionSpec::kBias);
  a.keep = steps(AttentionSpec::kKeep);
  a.keep_value = spec.keep_value;
  a.fill = static_cast<float>(spec.fill);
  a.out = steps(AttentionSpec::kOut);
  return a;
}

// Packing the queries of a block, as rows of scores.
constexpr int64_t kBlockStart = 64;

// A round is a row of scores of one block of queries: it goes through the exponential, whatever the depth.
// Lanes of queries that hold nothing are tails.
void count_work(const AttentionSpec& spec, const kernels::GemmTable& table, Features& f) {
  const int64_t lanes = table.nr / 2;
  const auto heads = static_cast<double>(spec.head_count());
  const auto each = static_cast<double>(spec.keys * (spec.depth + base::round_up(spec.width, lanes)));
  const int64_t blocks = base::ceil_div(spec.queries, int64_t{table.nr});
  f[Quantity::flop] = 2 * heads * static_cast<double>(spec.queries) * each;
  f[Quantity::tails] =
      2 * heads * static_cast<double>(base::round_up(spec.queries, lanes) - spec.queries) * each;
  f[Quantity::tiles] = heads * static_cast<double>(blocks * (spec.keys + kBlockStart));
  // Keys and values are packed once per head.
  f[Quantity::l1_bytes] += heads * each * static_cast<double>(sizeof(float));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const AttentionSpec spec = ops::attention_spec(node.attrs());
  const kernels::Attention a = kernel_form(spec);
  Candidate plain = reference_candidate(node, "attention_reference", threads);
  plain.workspace_bytes = threads * kernels::attention_reference_bytes(a);
  out.push_back(std::move(plain));
  const auto isa = float_isa(node);
  if (!isa || (a.out.col != 1 && a.width != 1)) return;
  const kernels::GemmTable& table = kernels::gemm_table(*isa);
  Candidate blocks =
      vector_candidate(node, "attention_f32", *isa, threads, kBlocks, std::to_string(table.nr));
  count_work(spec, table, blocks.features);
  blocks.workspace_bytes =
      threads * kernels::attention_workspace_bytes(table, a, node.has(AttentionSpec::kBias));
  out.push_back(std::move(blocks));
}

// Offsets of every head, so that a run adds addresses alone.
struct Offsets {
  int64_t q, k, v, bias, keep, out;
};

std::vector<Offsets> offsets_of(const AttentionSpec& spec) {
  std::vector<Offsets> all(static_cast<size_t>(spec.head_count()));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto at = [&](AttentionSpec::Operand o) { return spec.start(o, static_cast<int64_t>(i)); };
    all[i] = {at(AttentionSpec::kQ),    at(AttentionSpec::kK),    at(AttentionSpec::kV),
              at(AttentionSpec::kBias), at(AttentionSpec::kKeep), at(AttentionSpec::kOut)};
  }
  return all;
}

struct Run {
  const std::vector<Offsets>& offsets;
  kernels::AttentionHead base;  // the operands themselves

  static kernels::AttentionHead head(const void* object, int64_t i) {
    const Run& run = *static_cast<const Run*>(object);
    const Offsets& o = run.offsets[static_cast<size_t>(i)];
    kernels::AttentionHead h = run.base;
    h.q += o.q;
    h.k += o.k;
    h.v += o.v;
    if (h.bias) h.bias += o.bias;
    if (h.keep) h.keep += o.keep;
    h.out += o.out;
    return h;
  }
};

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  const AttentionSpec spec = ops::attention_spec(node.attrs());
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const bool has_bias = node.has(AttentionSpec::kBias), has_keep = node.has(AttentionSpec::kKeep);
  return make_kernel([a = kernel_form(spec), offsets = offsets_of(spec), has_bias, has_keep,
                      blocks = candidate.choice == kBlocks, &gemm = kernels::gemm_table(isa),
                      &table = kernels::attention_table(isa)](const HostArgs& args) -> Status {
    kernels::AttentionHead base{args.input<float>(AttentionSpec::kQ), args.input<float>(AttentionSpec::kK),
                                args.input<float>(AttentionSpec::kV)};
    if (has_bias) base.bias = args.input<float>(AttentionSpec::kBias);
    if (has_keep) base.keep = args.input<bool>(AttentionSpec::kKeep);
    base.out = args.output<float>(0);
    const Run run{offsets, base};
    const kernels::AttentionHeads heads{static_cast<int64_t>(offsets.size()), Run::head, &run};
    if (blocks)
      kernels::run_attention(gemm, table, a, has_bias, heads, args.threads, args.workspace);
    else
      kernels::run_attention_reference(a, heads, args.threads, args.workspace);
    return {};
  });
}
}  // namespace

extern const CpuOp kAttentionCpu{
    .op = "attention", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
