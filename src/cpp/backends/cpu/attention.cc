// Attention in one pass on the CPU: a reference, and blocks of queries for vector sets.
#include <algorithm>

#include "backends/cpu/cpu_op.h"
#include "base/checked.h"
#include "kernels/attention/attention.h"
#include "kernels/rows.h"
#include "ops/rules/attention.h"

namespace walle::backends::cpu {

namespace {
using ops::AttentionSpec;
enum Choice { kReference, kBlocks, kRows };

bool supports(const NodeView& node) { return node.dtype(0) == DType::float32; }

kernels::Attention kernel_form(const NodeView& node) {
  const AttentionSpec spec = ops::attention_spec(node.attrs());
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
  a.cap = static_cast<float>(spec.cap);
  a.has_bias = node.has(AttentionSpec::kBias);
  a.has_more = node.has(AttentionSpec::kMore);
  a.bias = steps(AttentionSpec::kBias);
  a.more = steps(AttentionSpec::kMore);
  a.keep = steps(AttentionSpec::kKeep);
  a.keep_value = spec.keep_value;
  a.fill = static_cast<float>(spec.fill);
  a.band = {spec.band.first, spec.band.last};
  a.empty = static_cast<kernels::Empty>(spec.empty);
  a.out = steps(AttentionSpec::kOut);
  return a;
}

// Packing the queries of a block, as rows of scores.
constexpr int64_t kBlockStart = 64;
// Queries of a head beyond which rows are not asked for: a block has as many lanes.
constexpr int64_t kMostRows = 16;

// Keys that blocks of `block` queries compute, of all blocks together: under a band fewer than all.
int64_t keys_of_blocks(const AttentionSpec& spec, int64_t block) {
  int64_t keys = 0;
  for (int64_t q = 0; q < spec.queries; q += block) {
    const int64_t last = std::min(spec.keys - 1, std::min(spec.queries, q + block) - 1 + spec.band.last);
    keys += std::max<int64_t>(0, last - std::max<int64_t>(0, q + spec.band.first) + 1);
  }
  return keys;
}

// A round is a row of scores of one block of queries: it goes through the exponential, whatever the depth.
// Lanes of queries that hold nothing are tails.
void count_blocks(const AttentionSpec& spec, const kernels::GemmTable& table, Features& f) {
  const int64_t lanes = table.nr / 2;
  const auto heads = static_cast<double>(spec.head_count());
  const auto each = static_cast<double>(spec.depth + base::round_up(spec.width, lanes));
  const int64_t blocks = base::ceil_div(spec.queries, int64_t{table.nr});
  const int64_t rounds = keys_of_blocks(spec, table.nr);
  const double keys = static_cast<double>(rounds) / static_cast<double>(blocks);
  f[Quantity::flop] = 2 * heads * static_cast<double>(spec.queries) * keys * each;
  f[Quantity::tails] =
      2 * heads * static_cast<double>(base::round_up(spec.queries, lanes) - spec.queries) * keys * each;
  f[Quantity::tiles] = heads * static_cast<double>(rounds + blocks * kBlockStart);
  // Keys and values are packed once per head.
  f[Quantity::l1_bytes] += heads * static_cast<double>(spec.keys) * each * static_cast<double>(sizeof(float));
}

// A round is a row of scores of one query.
void count_rows(const AttentionSpec& spec, Features& f) {
  const auto heads = static_cast<double>(spec.head_count());
  const double scores = heads * static_cast<double>(keys_of_blocks(spec, 1));
  f[Quantity::flop] = 2 * scores * static_cast<double>(spec.depth + spec.width);
  f[Quantity::tiles] = heads * static_cast<double>(spec.queries);
  f[Quantity::l1_bytes] += scores * static_cast<double>(sizeof(float));
}

bool together(const kernels::Steps& steps, int64_t columns) { return steps.col == 1 || columns == 1; }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const AttentionSpec spec = ops::attention_spec(node.attrs());
  const kernels::Attention a = kernel_form(node);
  Candidate plain = reference_candidate(node, "attention_reference", threads);
  plain.workspace_bytes = threads * kernels::attention_reference_bytes(a);
  out.push_back(std::move(plain));
  const auto isa = float_isa(node);
  if (!isa || !together(a.out, a.width)) return;
  const kernels::GemmTable& table = kernels::gemm_table(*isa);
  Candidate blocks =
      vector_candidate(node, "attention_f32", *isa, threads, kBlocks, std::to_string(table.nr));
  count_blocks(spec, table, blocks.features);
  blocks.workspace_bytes = threads * kernels::attention_workspace_bytes(table, a);
  out.push_back(std::move(blocks));
  if (a.queries > kMostRows || !together(a.k, a.depth) || !together(a.v, a.width) ||
      a.depth > kernels::kMostRowsDepth)
    return;
  Candidate rows = vector_candidate(node, "attention_rows_f32", *isa, threads, kRows, "rows");
  count_rows(spec, rows.features);
  rows.workspace_bytes = threads * kernels::attention_rows_workspace_bytes(a);
  out.push_back(std::move(rows));
}

// Offsets of every head, so that a run adds addresses alone.
struct Offsets {
  int64_t q, k, v, bias, more, keep, out;
};

std::vector<Offsets> offsets_of(const AttentionSpec& spec) {
  std::vector<Offsets> all(static_cast<size_t>(spec.head_count()));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto at = [&](AttentionSpec::Operand o) { return spec.start(o, static_cast<int64_t>(i)); };
    all[i] = {at(AttentionSpec::kQ),    at(AttentionSpec::kK),    at(AttentionSpec::kV),
              at(AttentionSpec::kBias), at(AttentionSpec::kMore), at(AttentionSpec::kKeep),
              at(AttentionSpec::kOut)};
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
    if (h.more) h.more += o.more;
    if (h.keep) h.keep += o.keep;
    h.out += o.out;
    return h;
  }
};

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate, PrepareContext&) {
  const AttentionSpec spec = ops::attention_spec(node.attrs());
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_kernel([a = kernel_form(node), offsets = offsets_of(spec),
                      has_keep = node.has(AttentionSpec::kKeep), choice = candidate.choice,
                      &gemm = kernels::gemm_table(isa), &table = kernels::attention_table(isa),
                      &softmax = kernels::softmax_table(isa)](const HostArgs& args) -> Status {
    kernels::AttentionHead base{args.input<float>(AttentionSpec::kQ), args.input<float>(AttentionSpec::kK),
                                args.input<float>(AttentionSpec::kV)};
    if (a.has_bias) base.bias = args.input<float>(AttentionSpec::kBias);
    if (a.has_more) base.more = args.input<float>(AttentionSpec::kMore);
    if (has_keep) base.keep = args.input<bool>(AttentionSpec::kKeep);
    base.out = args.output<float>(0);
    const Run run{offsets, base};
    const kernels::AttentionHeads heads{static_cast<int64_t>(offsets.size()), Run::head, &run};
    if (choice == kBlocks)
      kernels::run_attention(gemm, table, a, heads, args.threads, args.workspace);
    else if (choice == kRows)
      kernels::run_attention_rows(table, softmax, a, heads, args.threads, args.workspace);
    else
      kernels::run_attention_reference(a, heads, args.threads, args.workspace);
    return {};
  });
}
}  // namespace

extern const CpuOp kAttentionCpu{
    .op = "attention", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
