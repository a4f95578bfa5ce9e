// MatMulNBits on the CPU, claimed whole: float32 by constant weights of 2, 4 or 8 bits that stay packed
// (kernels/gemm_nbits). Other forms run as the operators that MatMulNBits stands for.
#include <algorithm>
#include <vector>

#include "backends/cpu/cpu_op.h"
#include "backends/cpu/matmul_problem.h"
#include "kernels/gemm_nbits/nbits.h"
#include "kernels/workspace.h"
#include "ops/rules/n_bits.h"
#include "tensor/half.h"

namespace walle::backends::cpu {

namespace {
enum Input { kA, kCodes, kScales, kZeros, kBias };
enum Choice { kFloats, kInt8 };
constexpr int64_t kInt8Level = 4;  // of accuracy_level: A may be quantised to int8

bool is_small_float(DType dtype) { return dtype == DType::float32 || tensor::is_half_float(dtype); }

bool supports(const NodeView& node) {
  if (node.dtype(kA) != DType::float32 || !node.constant(kCodes)) return false;
  if (!node.constant(kScales) || !is_small_float(node.dtype(kScales))) return false;
  if (!node.has(kZeros)) return true;
  const DType zeros = node.dtype(kZeros);
  return node.constant(kZeros) && (zeros == DType::uint8 || is_small_float(zeros));
}

// Known to be right: the shape rule has run.
ops::NBits attributes_of(const NodeView& node) { return *ops::n_bits_of(node.attrs()); }

kernels::NBitsWeights weights_of(const NodeView& node, int nr) {
  const ops::NBits w = attributes_of(node);
  const auto zeros = !node.has(kZeros)                    ? kernels::NBitsZeros::none
                     : node.dtype(kZeros) == DType::uint8 ? kernels::NBitsZeros::codes
                                                          : kernels::NBitsZeros::floats;
  return {nr, w.bits, w.n, w.k, w.block, zeros};
}

int64_t rows_of(const NodeView& node) { return node.out_shape(0).elements() / attributes_of(node).n; }

// The kernels of this session, and what they are called.
struct Kernels {
  kernels::NBitsKernels tables;
  std::string_view name;
};
Result<Kernels> kernels_here(bool int8) {
  WALLE_ASSIGN(const base::Capabilities usable, kernels::usable_capabilities());
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::NBitsTable& table = kernels::nbits_table(isa);
  const auto& form = kernels::nbits_dot_form(usable, table.nr);
  return Kernels{{&table, &kernels::gemm_table(isa), form.table, int8}, form.name};
}

// Products of codes scale the sums of each block; those of floats decode every weight once, into the cache.
void count_work(const kernels::NBitsKernels& k, const kernels::NBitsWeights& w, int64_t m, Features& f) {
  const int64_t columns = w.panels() * w.nr();
  if (k.int8 || kernels::nbits_by_digits(k, w, m)) {
    if (!k.int8) f.kernel = "gemm_nbits_digits";
    f[Quantity::flop] = 2 * static_cast<double>(m * columns * w.k());
    f[Quantity::tiles] = static_cast<double>(m * columns * w.pieces());
    return;
  }
  count_tiles({.m = m, .n = w.n(), .k = w.k(), .a = {0}, .b = {0}}, k.gemm->mr, k.gemm->nr, f);
  f[Quantity::l1_bytes] += static_cast<double>(columns * w.k() * kernels::kFloatBytes);
}

void add(const NodeView& node, int threads, Choice choice, std::vector<Candidate>& out) {
  const auto here = kernels_here(choice == kInt8);
  if (!here.ok()) return;
  const kernels::NBitsWeights weights = weights_of(node, here->tables.table->nr);
  const std::string bits = std::to_string(weights.bits());
  Candidate c = variant_candidate(node, choice == kInt8 ? "gemm_nbits_int8" : "gemm_nbits_f32", here->name,
                                  threads, choice, bits);
  c.workspace_bytes = kernels::nbits_workspace_bytes(here->tables, weights, rows_of(node), threads);
  count_work(here->tables, weights, rows_of(node), c.features);
  if (choice == kInt8) {
    c.error = 4;  // it is the model that allows them, and no session that is strict
    c.arithmetic = Arithmetic::int8;
  }
  out.push_back(std::move(c));
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  add(node, threads, kFloats, out);
  // Weights of 2 bits have no kernel of their own but the one that decodes them.
  if (node.attrs().get_int("accuracy_level", 0) == kInt8Level && attributes_of(node).bits > 2)
    add(node, threads, kInt8, out);
}

// As float32, converted into `room` where they are none.
const float* floats_in(const Tensor& t, std::vector<float>& room) {
  if (t.dtype() == DType::float32) return t.as<float>().data();
  room.resize(static_cast<size_t>(t.elements()));
  if (t.dtype() == DType::float16)
    std::ranges::transform(t.as<tensor::Half>(), room.begin(), [](tensor::Half x) { return float(x); });
  else
    std::ranges::transform(t.as<tensor::BFloat16>(), room.begin(),
                           [](tensor::BFloat16 x) { return float(x); });
  return room.data();
}

Result<Block> pack(const NodeView& node, const kernels::NBitsWeights& weights) {
  WALLE_ASSIGN(Block block, Block::allocate(host_memory(), weights.bytes()));
  WALLE_ASSIGN(const Tensor codes, node.constant(kCodes)->for_one_reading());
  WALLE_ASSIGN(const Tensor scales, node.constant(kScales)->for_one_reading());
  std::vector<float> scales_room, zeros_room;
  kernels::NBitsSource source{.codes = codes.as<uint8_t>().data()};
  source.scales = floats_in(scales, scales_room);
  Tensor zeros;
  if (node.has(kZeros)) {
    WALLE_ASSIGN(zeros, node.constant(kZeros)->for_one_reading());
    if (zeros.dtype() == DType::uint8)
      source.zero_codes = zeros.as<uint8_t>().data();
    else
      source.zeros = floats_in(zeros, zeros_room);
  }
  weights.pack(source, host_memory().pointer(block.handle()));
  return block;
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                        PrepareContext& context) {
  WALLE_ASSIGN(const Kernels here, kernels_here(candidate.choice == kInt8));
  const kernels::NBitsWeights weights = weights_of(node, here.tables.table->nr);
  const ops::NBits w = attributes_of(node);
  // Both ways read one form, and so do all instruction sets with panels as wide.
  const std::string kind = "gemm_nbits_b" + std::to_string(w.bits) + "_" + std::to_string(weights.nr()) +
                           "_" + std::to_string(w.k) + "x" + std::to_string(w.n) + "_" +
                           std::to_string(w.block);
  const auto make = [&] { return pack(node, weights); };
  const Tensor* zeros = node.has(kZeros) ? node.constant(kZeros) : nullptr;
  SharedBlock packed;
  if (zeros) {
    WALLE_ASSIGN(packed, context.shared({node.constant(kCodes), node.constant(kScales), zeros}, kind, make));
  } else {
    WALLE_ASSIGN(packed, context.shared({node.constant(kCodes), node.constant(kScales)}, kind, make));
  }
  constexpr uint32_t kPackedAhead = 1u << kCodes | 1u << kScales | 1u << kZeros;
  return make_kernel_in(host_memory(), kPackedAhead,
                        [tables = here.tables, weights, packed, m = rows_of(node),
                         biased = node.has(kBias)](const HostArgs& args) -> Status {
                          kernels::run_nbits_gemm(tables, weights,
                                                  {.m = m,
                                                   .a = args.input<float>(kA),
                                                   .packed = host_memory().pointer(packed->handle()),
                                                   .bias = biased ? args.input<float>(kBias) : nullptr,
                                                   .c = args.output<float>(0)},
                                                  args.threads, args.workspace);
                          return {};
                        });
}
}  // namespace

extern const CpuOp kMatMulNBitsCpu{
    .op = "MatMulNBits", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
