// RNN, GRU and LSTM claimed whole on the CPU (float32); other dtypes run their decomposition.
//
// Decomposed, every step is a dozen operators, each with its own start and its own pass over memory. Whole,
// the products with the input are one matrix product for many steps, and a step is one small product and one
// loop over the gates (kernels/rnn).
#include <algorithm>
#include <array>

#include "backends/cpu/cpu_op.h"
#include "kernels/rnn/rnn.h"
#include "kernels/workspace.h"
#include "ops/rules/rnn.h"

namespace walle::backends::cpu {

namespace {
Result<kernels::Rnn> rnn_of(const NodeView& node) {
  WALLE_ASSIGN(const ops::RnnSpec s,
               ops::rnn_spec(node.op().name, node.attrs(), node.shape(0), node.shape(1), node.shape(2)));
  kernels::Rnn r{.kind = s.kind,
                 .sequence = s.sequence,
                 .batch = s.batch,
                 .input = s.input,
                 .hidden = s.hidden,
                 .gates = s.gates,
                 .directions = s.directions,
                 .batch_first = s.batch_first,
                 .linear_before_reset = s.linear_before_reset,
                 .input_forget = s.input_forget,
                 .round_state = s.round_state,
                 .clip = s.clip};
  for (int64_t d = 0; d < s.directions; ++d) {
    r.backward[d] = s.backward(d);
    r.activations[d] = s.activations[d];
  }
  return r;
}

bool supports(const NodeView& node) {
  // An empty sequence has no steps to project; the decomposition says what its results are.
  return node.dtype(0) == DType::float32 && node.shape(0).elements() > 0 && kernels::select_isa().ok() &&
         rnn_of(node).ok();
}

// Both weights or none: they are packed side by side into one block.
bool packs_ahead(const NodeView& node) { return node.constant(1) && node.constant(2); }

int64_t packed_bytes(const kernels::GemmTable& table, const kernels::Rnn& r) {
  return r.directions * kernels::rnn_packed_elements(table, r) * static_cast<int64_t>(sizeof(float));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  const auto r = rnn_of(node);
  if (!isa.ok() || !r.ok()) return;
  const kernels::GemmTable& table = kernels::gemm_table(*isa);
  // The steps wait for each other, so half of a product's speed, and of threads one per direction.
  const int busy = std::min<int>(threads, static_cast<int>(r->directions));
  Candidate c = vector_candidate(node, "rnn_f32", *isa, busy, 0);
  // Every step reads the recurrence's weights again, and starts anew.
  const auto steps = static_cast<double>(r->sequence * r->directions);
  const auto recurrence = static_cast<double>(r->gates * r->hidden * r->hidden * kernels::kFloatBytes);
  c.features[level_of(recurrence)] += steps * recurrence;
  c.features[Quantity::tiles] = steps;
  c.workspace_bytes =
      kernels::rnn_workspace_bytes(table, *r, threads) + (packs_ahead(node) ? 0 : packed_bytes(table, *r));
  out.push_back(std::move(c));
}

void pack_all(const kernels::GemmTable& table, const kernels::Rnn& r, const float* w, const float* rec,
              float* out) {
  const int64_t width = r.gates * r.hidden;
  for (int64_t d = 0; d < r.directions; ++d)
    kernels::pack_rnn(table, r, w + d * width * r.input, rec + d * width * r.hidden,
                      out + d * kernels::rnn_packed_elements(table, r));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  WALLE_ASSIGN(const kernels::Rnn r, rnn_of(node));
  const kernels::GemmTable& table = kernels::gemm_table(isa);
  SharedBlock packed;
  if (packs_ahead(node)) {
    const Tensor& w = *node.constant(1);
    const Tensor& rec = *node.constant(2);
    const auto make = [&]() -> Result<Block> {
      WALLE_ASSIGN(Block block, Block::allocate(host_memory(), packed_bytes(table, r)));
      WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
      WALLE_ASSIGN(const Tensor readable_rec, rec.for_one_reading());
      pack_all(table, r, readable.as<float>().data(), readable_rec.as<float>().data(), floats_of(block));
      return block;
    };
    // A GRU that resets after the product packs its recurrence whole, any other GRU in two pieces.
    const std::string kind = "rnn_" + std::string(isa_name(isa)) +
                             (r.kind == RnnKind::gru && r.linear_before_reset ? "_linear" : "");
    WALLE_ASSIGN(packed, context.shared({&w, &rec}, kind, make));
  }
  const auto has = [&](int i) { return node.has(i); };
  // A kernel outlives the node it was made from, so what it has and wants is noted. Eight inputs: the LSTM's.
  const std::array<bool, 8> present{has(0), has(1), has(2), has(3), has(4), has(5), has(6), has(7)};
  const std::array<bool, 3> wanted{node.has_output(0), node.has_output(1), node.has_output(2)};
  return make_kernel(
      [r, isa, packed, present, wanted, &table, ahead = packed_bytes(table, r)](const HostArgs& a) -> Status {
        const auto in = [&](int i) { return present[i] ? a.input<float>(i) : nullptr; };
        const auto out = [&](int i) { return wanted[i] ? a.output<float>(i) : nullptr; };
        std::byte* workspace = a.workspace;
        kernels::RnnOperands o;
        if (packed) {
          o.packed = floats_of(*packed);
        } else {
          // Computed weights: packed by every run, in front of the kernel's own scratch.
          pack_all(table, r, in(1), in(2), reinterpret_cast<float*>(workspace));
          o.packed = reinterpret_cast<const float*>(workspace);
          workspace += ahead;
        }
        o.x = in(0);
        o.b = in(ops::kRnnB);
        o.lengths = present[ops::kRnnLengths] ? a.input<int32_t>(ops::kRnnLengths) : nullptr;
        o.h = in(ops::kRnnH);
        o.cell = in(ops::kRnnC);
        o.peephole = in(ops::kRnnP);
        o.y = out(0);
        o.y_h = out(1);
        o.y_cell = out(2);
        kernels::run_rnn(isa, r, o, a.threads, workspace);
        return {};
      });
}
}  // namespace

extern const CpuOp kRnnCpu{.op = "RNN", .supports = supports, .candidates = candidates, .prepare = prepare};
extern const CpuOp kGruCpu{.op = "GRU", .supports = supports, .candidates = candidates, .prepare = prepare};
extern const CpuOp kLstmCpu{.op = "LSTM", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
