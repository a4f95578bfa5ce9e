// MatMulInteger on the CPU, claimed whole: exact products of int8 or uint8 in int32 (kernels/gemm_int8).
//
// Inputs: A, B, optional zero points of both: one, one per row of A, one per column of B. A constant B whose
// zero points are constant is packed once per model. Other forms - zero points per batch, float8 - run as the
// operators that MatMulInteger stands for.
#include "backends/cpu/cpu_op.h"
#include "backends/cpu/matmul_problem.h"
#include "base/checked.h"
#include "kernels/gemm_int8/int8.h"

namespace walle::backends::cpu {

namespace {
enum Input { kA, kB, kZeroA, kZeroB };

using Form = kernels::Variant<kernels::Int8Table>;
Result<Form> form_here() {
  WALLE_ASSIGN(const base::Capabilities usable, kernels::usable_capabilities());
  return kernels::int8_form(usable);
}

bool is_int8(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

// One for all, or one per row of A or column of B where that is one matrix.
bool takes_zeros(const NodeView& node, int zeros, int64_t each, bool one_matrix) {
  if (!node.has(zeros)) return true;
  const int64_t count = node.shape(zeros).elements();
  return count == 1 || (one_matrix && count == each);
}

bool one_matrix(const Shape& shape) { return shape.rank() <= 2; }

bool supports(const NodeView& node) {
  if (!is_int8(node.dtype(kA)) || !is_int8(node.dtype(kB))) return false;
  const MatMulProblem p = matmul_problem_of(node);
  return takes_zeros(node, kZeroA, p.m, one_matrix(node.shape(kA))) &&
         takes_zeros(node, kZeroB, p.n, one_matrix(node.shape(kB)));
}

bool packs_ahead(const NodeView& node, const MatMulProblem& p) {
  return node.constant(kB) && p.one_b() && (!node.has(kZeroB) || node.constant(kZeroB));
}

// How an operand lies, without its address.
kernels::Int8Matrix layout(const NodeView& node, int input, int64_t row_stride) {
  return {.data = nullptr, .is_signed = node.dtype(input) == DType::int8, .row_stride = row_stride};
}

// Zero points of one operand as int32, and room for them.
class Zeros {
 public:
  Zeros(const NodeView& node, int input)
      : input_(input),
        count_(node.has(input) ? node.shape(input).elements() : 0),
        is_signed_(node.has(input) && node.dtype(input) == DType::int8) {}

  int64_t words() const { return count_ > 1 ? base::round_up(count_, int64_t{16}) : 0; }
  bool given() const { return count_ > 0; }
  int input() const { return input_; }
  void read(const uint8_t* from, int32_t* room, kernels::Int8Matrix& into) const {
    if (count_ == 1) into.zero = value(from[0]);
    if (count_ <= 1) return;
    for (int64_t i = 0; i < count_; ++i) room[i] = value(from[i]);
    into.zeros = room;
  }

 private:
  int32_t value(uint8_t byte) const { return is_signed_ ? static_cast<int8_t>(byte) : byte; }

  int input_;
  int64_t count_;
  bool is_signed_;
};

int64_t workspace_words(const NodeView& node, const kernels::Int8Table& table, const MatMulProblem& p,
                        int threads) {
  const int64_t product =
      kernels::int8_workspace_bytes(table, p.m, p.n, p.k, packs_ahead(node, p), threads) / 4;
  return product + Zeros(node, kZeroA).words() + Zeros(node, kZeroB).words();
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto form = form_here();
  if (!form.ok()) return;
  const kernels::Int8Table& table = *form->table;
  const MatMulProblem p = matmul_problem_of(node);
  const std::string tile = std::to_string(table.mr) + "x" + std::to_string(table.nr);
  const bool ahead = packs_ahead(node, p);
  const char* kernel = ahead ? "gemm_int8" : "gemm_computed_b_int8";
  Candidate c = variant_candidate(node, kernel, form->name, threads, 0, tile);
  count_tiles(p, table.mr, table.nr, c.features);
  // Any other B is packed by every run.
  if (!ahead) c.features[Quantity::l1_bytes] += static_cast<double>(std::ssize(p.a) * p.n * p.k);
  c.workspace_bytes = workspace_words(node, table, p, threads) * 4;
  out.push_back(std::move(c));
}

Result<Block> pack(const NodeView& node, const kernels::Int8Table& table, const MatMulProblem& p) {
  const int64_t words = kernels::int8_packed_b_words(table, p.n, p.k);
  WALLE_ASSIGN(Block block, Block::allocate(host_memory(), words * 4));
  kernels::Int8Matrix b = layout(node, kB, p.n);
  b.data = reinterpret_cast<const uint8_t*>(node.constant(kB)->address());
  const Zeros zeros(node, kZeroB);
  std::vector<int32_t> room(zeros.words());
  if (zeros.given())
    zeros.read(reinterpret_cast<const uint8_t*>(node.constant(kZeroB)->address()), room.data(), b);
  kernels::pack_int8_b(table, b, p.k, p.n, reinterpret_cast<uint32_t*>(floats_of(block)));
  return block;
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext& context) {
  WALLE_ASSIGN(const Form form, form_here());
  const kernels::Int8Table& table = *form.table;
  MatMulProblem p = matmul_problem_of(node);
  SharedBlock weights;
  if (packs_ahead(node, p)) {
    const std::string kind =
        "gemm_int8_b_" + std::string(form.name) + "_" + std::to_string(p.k) + "x" + std::to_string(p.n);
    const auto make = [&] { return pack(node, table, p); };
    const Tensor* zeros = node.has(kZeroB) ? node.constant(kZeroB) : nullptr;
    WALLE_ASSIGN(weights, zeros ? context.shared({node.constant(kB), zeros}, kind, make)
                                : context.shared({node.constant(kB)}, kind, make));
  }
  const kernels::Int8Matrix a = layout(node, kA, p.k), b = layout(node, kB, p.n);
  const Zeros zeros_a(node, kZeroA), zeros_b(node, kZeroB);
  const uint32_t unread = weights ? kPackedWeights : 0;
  return make_kernel_in(
      host_memory(), unread,
      [p = std::move(p), a, b, zeros_a, zeros_b, weights, &table](const HostArgs& args) -> Status {
        auto* room = reinterpret_cast<int32_t*>(args.workspace);
        kernels::Int8Gemm g{.m = p.m, .n = p.n, .k = p.k, .a = a, .b = b, .c_row = p.n};
        if (zeros_a.given()) zeros_a.read(args.input<uint8_t>(kZeroA), room, g.a);
        room += zeros_a.words();
        if (weights)
          g.packed_b = reinterpret_cast<const uint32_t*>(floats_of(*weights));
        else if (zeros_b.given())
          zeros_b.read(args.input<uint8_t>(kZeroB), room, g.b);
        room += zeros_b.words();
        for (int64_t i = 0; i < std::ssize(p.a); ++i) {
          g.a.data = args.input<uint8_t>(kA) + p.a[i];
          if (!weights) g.b.data = args.input<uint8_t>(kB) + p.b[i];
          g.c = args.output<int32_t>(0) + i * p.m * p.n;
          kernels::run_int8_gemm(table, g, args.threads, reinterpret_cast<std::byte*>(room));
        }
        return {};
      });
}
}  // namespace

extern const CpuOp kMatMulIntegerCpu{
    .op = "MatMulInteger", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
