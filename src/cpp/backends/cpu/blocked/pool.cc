// MaxPool, AveragePool and means over whole images, over blocks of channels.
#include "backends/cpu/blocked/blocked_op.h"
#include "backends/cpu/blocked/image_pools.h"
#include "backends/cpu/pool_shape.h"
#include "kernels/codes/codes.h"
#include "ops/rules/axis.h"
#include "tensor/kinds.h"

namespace walle::backends::cpu {

namespace {
// Of codes the maximum alone, which is a code.
bool pools_codes(const NodeView& node) {
  return node.op().name == "MaxPool" && is_code_image(node.dtype(0), node.shape(0)) &&
         is_code_image(node.out_dtype(0), node.out_shape(0));
}

bool supports_pool(const NodeView& node) {
  if (pools_codes(node)) return true;
  return is_image(node.dtype(0), node.shape(0)) && is_image(node.out_dtype(0), node.out_shape(0));
}

void pool_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  const kernels::PoolShape s = pool_shape(node);
  Candidate c =
      vector_candidate(node, pools_codes(node) ? "blocked_pool_codes" : "blocked_pool_f32", *isa, threads, 0);
  const auto pixels = static_cast<double>(blocked_shape(node.out_shape(0)).blocks() * s.oh * s.ow);
  c.features[Quantity::flop] = pixels * kernels::kBlock * static_cast<double>(s.kh * s.kw);
  c.features[Quantity::tiles] = pixels;
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_pool(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  if (pools_codes(node))
    return make_blocked_kernel([shape = pool_shape(node), image = blocked_shape(node.shape(0)),
                                is_signed = node.dtype(0) == DType::int8,
                                table = &kernels::codes_table(isa)](const HostArgs& a) -> Status {
      kernels::codes_max_pool(*table, image, shape, is_signed, a.input<uint8_t>(0), a.output<uint8_t>(0),
                              a.threads);
      return {};
    });
  return make_blocked_kernel([shape = pool_shape(node), image = blocked_shape(node.shape(0)),
                              table = &kernels::blocked_table(isa)](const HostArgs& a) -> Status {
    kernels::blocked_pool(*table, image, shape, a.input<float>(0), a.output<float>(0), a.threads);
    return {};
  });
}

}  // namespace

bool reduces_pixels(const NodeView& node) {
  const auto kind = tensor::reduce_kind(node.op().name);
  if ((kind != ReduceKind::sum && kind != ReduceKind::mean) || !is_image(node.dtype(0), node.shape(0)) ||
      (node.has(1) && !node.constant(1)))
    return false;
  std::vector<int64_t> given;
  if (node.has(1)) {
    auto axes = node.constant(1)->to_i64();
    if (!axes.ok()) return false;
    given = std::move(*axes);
  }
  const bool noop = node.attrs().get_int("noop_with_empty_axes", 0) != 0;
  const auto axes = ops::reduce_axes(given, 4, noop);
  if (!axes.ok() || *axes != std::vector<int>{2, 3}) return false;
  return node.out_shape(0).rank() == 4 || node.shape(0)[1] % kernels::kBlock == 0;
}

float image_mean_count(const NodeView& node) {
  const bool mean = tensor::reduce_kind(node.op().name) == ReduceKind::mean;
  return mean ? static_cast<float>(blocked_shape(node.shape(0)).pixels) : 1.0f;
}

namespace {
void reduce_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (const auto isa = float_isa(node)) {
    out.push_back(vector_candidate(node, "blocked_mean_f32", *isa, threads, 0));
    out.back().features[Quantity::tiles] = static_cast<double>(blocked_shape(node.shape(0)).blocks());
  }
}

Result<std::unique_ptr<Kernel>> prepare_reduce(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::BlockedShape shape = blocked_shape(node.shape(0));
  const float count = image_mean_count(node);
  return make_blocked_kernel(
      [=, table = &kernels::blocked_table(isa)](const HostArgs& a) -> Status {
        kernels::blocked_mean(*table, shape, count, a.input<float>(0), a.output<float>(0), a.threads);
        return {};
      },
      0b10);
}
}  // namespace

extern const CpuOp kBlockedMaxPool{
    .op = "MaxPool", .supports = supports_pool, .candidates = pool_candidates, .prepare = prepare_pool};
extern const CpuOp kBlockedAveragePool{
    .op = "AveragePool", .supports = supports_pool, .candidates = pool_candidates, .prepare = prepare_pool};
extern const CpuOp kBlockedReduce{
    .op = "Reduce", .supports = reduces_pixels, .candidates = reduce_candidates, .prepare = prepare_reduce};

}  // namespace walle::backends::cpu
