// Element-wise operators, pooling, means and movement over images of bfloat16: computed in float32, from
// pieces in the first-level cache, and rounded once.
#include "backends/cpu/blocked/bf16_op.h"
#include "backends/cpu/blocked/eltwise.h"
#include "backends/cpu/blocked/image_moves.h"
#include "backends/cpu/blocked/image_pools.h"
#include "backends/cpu/pool_shape.h"
#include "kernels/function_work.h"
#include "ops/rules/kinds.h"

namespace walle::backends::cpu {

namespace {
// A vector that is widened or rounded takes as long as so many steps of element-wise arithmetic in the table,
// each of which loads and stores.
constexpr double kTurnFlops = 0.5;

double elements_of(const NodeView& node) {
  return static_cast<double>(blocked_shape(node.out_shape(0)).floats());
}

void unary_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = same_work(node, "blocked_unary_bf16", "eltwise_unary_f32", *isa, threads);
  c.features[Quantity::flop] =
      (kernels::function_flops(*unary_of(node)) + 2 * kTurnFlops) * elements_of(node);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_unary(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const UnaryKind kind = *unary_of(node);
  UnaryParams params = ops::unary_params(kind, node.attrs());
  const kernels::UnaryF32 run = kernels::unary_f32(kind, isa, params);
  return make_bf16_kernel([=, table = bf16_form_here()->table, alpha = static_cast<float>(params.alpha),
                           beta = static_cast<float>(params.beta),
                           n = blocked_shape(node.out_shape(0)).floats()](const HostArgs& a) -> Status {
    const uint16_t* const x[] = {a.input<uint16_t>(0)};
    kernels::over_bf16(
        *table, x, a.output<uint16_t>(0), n, n, a.threads,
        [&](const float* const* in, float* y, int64_t, int64_t count) { run(in[0], y, count, alpha, beta); });
    return {};
  });
}

// A number of rank 4 would be kept as bfloat16 itself, and constants are exact.
bool supports_binary(const NodeView& node) {
  if (!is_blocked_binary(node)) return false;
  for (const int i : {0, 1})
    if ((part_of(node, i) != Part::whole && node.shape(i).rank() == 4 && node.shape(i).elements() == 1) ||
        (node.constant(i) && node.shape(i).rank() == 4))
      return false;
  return true;
}

void binary_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = same_work(node, "blocked_binary_bf16", "eltwise_binary_f32", *isa, threads);
  c.features[Quantity::flop] += 3 * kTurnFlops * elements_of(node);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> scale_kernel(const NodeView& node, int whole, kernels::Isa isa) {
  const bool shared = part_of(node, 1 - whole) == Part::shared_channels;
  return make_bf16_kernel([=, scale = *scale_of(*binary_of(node)), shape = blocked_shape(node.out_shape(0)),
                           table = bf16_form_here()->table](const HostArgs& a) -> Status {
    const int64_t each = shape.pixels * kernels::kBlock;
    const uint16_t* const x[] = {a.input<uint16_t>(whole)};
    const auto run = [&](const float* const* in, float* y, int64_t first, int64_t count) {
      const int64_t block = first / each;
      alignas(64) float lanes[kernels::kBlock];
      table->widen(a.input<uint16_t>(1 - whole) +
                       (shared ? block % kernels::blocks_of(shape.c) : block) * kernels::kBlock,
                   table->lanes, kernels::kBlock / table->lanes, lanes, table->lanes);
      kernels::blocked_table(isa).scale(scale, in[0], lanes, count / kernels::kBlock, y);
    };
    kernels::over_bf16(*table, x, a.output<uint16_t>(0), shape.floats(), each, a.threads, run);
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare_binary(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  if (const int whole = scaled(node); whole >= 0) return scale_kernel(node, whole, isa);
  const bool first = part_of(node, 0) == Part::whole, second = part_of(node, 1) == Part::whole;
  return make_bf16_kernel([=, n = blocked_shape(node.out_shape(0)).floats(), table = bf16_form_here()->table,
                           run = kernels::binary_f32(*binary_of(node), isa)](const HostArgs& a) -> Status {
    std::vector<const uint16_t*> x;
    if (first) x.push_back(a.input<uint16_t>(0));
    if (second) x.push_back(a.input<uint16_t>(1));
    kernels::over_bf16(*table, x, a.output<uint16_t>(0), n, n, a.threads,
                       [&](const float* const* in, float* y, int64_t, int64_t count) {
                         const float* const left = first ? in[0] : a.input<float>(0);
                         const float* const right = second ? in[first ? 1 : 0] : a.input<float>(1);
                         run(left, first, right, second, y, count);
                       });
    return {};
  });
}

bool supports_pool(const NodeView& node) {
  return is_image(node.dtype(0), node.shape(0)) && is_image(node.out_dtype(0), node.out_shape(0)) &&
         node.output_count() == 1;
}

void pool_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  const kernels::PoolShape s = pool_shape(node);
  Candidate c = vector_candidate(node, "blocked_pool_bf16", *isa, threads, 0);
  c.features.kernel = "blocked_pool_f32";
  const auto pixels = static_cast<double>(blocked_shape(node.out_shape(0)).blocks() * s.oh * s.ow);
  // Widened at every tap, and rounded at the end.
  c.features[Quantity::flop] = pixels * kernels::kBlock * (2 * static_cast<double>(s.kh * s.kw) + 2);
  c.features[Quantity::tiles] = pixels;
  c.workspace_bytes = kernels::blocked_bf16_workspace_bytes(s.ow, threads);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_pool(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_bf16_kernel([shape = pool_shape(node), image = blocked_shape(node.shape(0)),
                           table = bf16_form_here()->table](const HostArgs& a) -> Status {
    kernels::blocked_pool_bf16(*table, image, shape, a.input<uint16_t>(0), a.output<uint16_t>(0), a.threads,
                               a.workspace);
    return {};
  });
}

void reduce_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = same_work(node, "blocked_mean_bf16", "blocked_mean_f32", *isa, threads);
  c.features[Quantity::tiles] = static_cast<double>(blocked_shape(node.shape(0)).blocks());
  c.workspace_bytes = blocked_shape(node.shape(0)).blocks() * kernels::kBlock * dtype_size(DType::float32);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_reduce_to_blocks(const NodeView& node, const Candidate&,
                                                         PrepareContext&) {
  return make_kernel_between(bf16_memory(), blocked_memory(), 0b10,
                             [shape = blocked_shape(node.shape(0)), count = image_mean_count(node),
                              table = bf16_form_here()->table](const HostArgs& a) -> Status {
                               kernels::blocked_mean_bf16(*table, shape, count, a.input<uint16_t>(0),
                                                          a.output<float>(0), a.threads);
                               return {};
                             });
}

// A result of another rank than 4 lies as on the host, and is not rounded.
Result<std::unique_ptr<Kernel>> prepare_reduce(const NodeView& node, const Candidate&, PrepareContext&) {
  const kernels::BlockedShape shape = blocked_shape(node.shape(0));
  return make_bf16_kernel(
      [=, count = image_mean_count(node), rounded = node.out_shape(0).rank() == 4,
       table = bf16_form_here()->table](const HostArgs& a) -> Status {
        auto* const means = rounded ? reinterpret_cast<float*>(a.workspace) : a.output<float>(0);
        kernels::blocked_mean_bf16(*table, shape, count, a.input<uint16_t>(0), means, a.threads);
        if (rounded)
          table->narrow(means, table->lanes, shape.blocks() * kernels::kBlock / table->lanes,
                        a.output<uint16_t>(0), table->lanes);
        return {};
      },
      0b10);
}

bool supports_raster(const NodeView& node) {
  return node.out_dtype(0) == DType::float32 && image_moves(node, sizeof(uint16_t)).has_value();
}

Result<std::unique_ptr<Kernel>> prepare_raster(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_bf16_kernel([moves = *image_moves(node, sizeof(uint16_t))](const HostArgs& a) -> Status {
    run_moves(moves, a);
    return {};
  });
}

void raster_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(moves_candidate(node, *image_moves(node, sizeof(uint16_t)), threads));
}
}  // namespace

extern const CpuOp kBf16Unary{
    .op = "Unary", .supports = is_blocked_unary, .candidates = unary_candidates, .prepare = prepare_unary};
extern const CpuOp kBf16Binary{
    .op = "Binary", .supports = supports_binary, .candidates = binary_candidates, .prepare = prepare_binary};
extern const CpuOp kBf16MaxPool{
    .op = "MaxPool", .supports = supports_pool, .candidates = pool_candidates, .prepare = prepare_pool};
extern const CpuOp kBf16AveragePool{
    .op = "AveragePool", .supports = supports_pool, .candidates = pool_candidates, .prepare = prepare_pool};
extern const CpuOp kBf16Reduce{
    .op = "Reduce", .supports = reduces_pixels, .candidates = reduce_candidates, .prepare = prepare_reduce};
extern const CpuOp kBf16ToBlocksReduce{.op = "Reduce",
                                       .supports = reduces_pixels,
                                       .candidates = reduce_candidates,
                                       .prepare = prepare_reduce_to_blocks};
extern const CpuOp kBf16Raster{
    .op = "raster", .supports = supports_raster, .candidates = raster_candidates, .prepare = prepare_raster};

}  // namespace walle::backends::cpu
