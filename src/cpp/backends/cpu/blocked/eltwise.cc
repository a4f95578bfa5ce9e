// Element-wise operators over blocks of channels: what lies in lanes without a channel is computed too, and
// stays there.
#include "backends/cpu/blocked/eltwise.h"

#include "kernels/function_work.h"
#include "kernels/parallel.h"
#include "ops/rules/kinds.h"

namespace walle::backends::cpu {

std::optional<UnaryKind> unary_of(const NodeView& node) {
  return ops::unary_kind(node.op().name, node.attrs());
}

std::optional<BinaryKind> binary_of(const NodeView& node) {
  return ops::binary_kind(node.op().name, node.attrs());
}

Candidate same_work(const NodeView& node, std::string_view name, std::string_view kernel, kernels::Isa isa,
                    int threads) {
  Candidate c = vector_candidate(node, name, isa, threads, 0);
  c.features.kernel = kernel;
  return c;
}

bool is_blocked_unary(const NodeView& node) {
  const auto kind = unary_of(node);
  UnaryParams params = kind ? ops::unary_params(*kind, node.attrs()) : UnaryParams{};
  return kind && is_image(node.dtype(0), node.shape(0)) && node.out_dtype(0) == DType::float32 &&
         kernels::unary_f32(*kind, *float_isa(node), params);
}

Part part_of(const NodeView& node, int i) {
  const Shape& s = node.shape(i);
  const Shape& y = node.out_shape(0);
  if (s == y) return Part::whole;
  if (s.elements() == 1) return Part::number;  // in whatever rank, it comes first
  if (s.rank() != 4 || s[1] != y[1] || s[2] * s[3] != 1) return Part::other;
  return s[0] == y[0] ? Part::channels : s[0] == 1 ? Part::shared_channels : Part::other;
}

std::optional<kernels::BlockedScale> scale_of(BinaryKind kind) {
  if (kind == BinaryKind::add) return kernels::BlockedScale::add;
  if (kind == BinaryKind::mul) return kernels::BlockedScale::multiply;
  if (kind == BinaryKind::sub) return kernels::BlockedScale::subtract;
  if (kind == BinaryKind::prelu) return kernels::BlockedScale::prelu;
  return std::nullopt;
}

int scaled(const NodeView& node) {
  const auto kind = scale_of(*binary_of(node));
  const auto lanes = [](Part p) { return p == Part::channels || p == Part::shared_channels; };
  if (!kind) return -1;
  if (part_of(node, 0) == Part::whole && lanes(part_of(node, 1))) return 0;
  const bool turns = *kind == kernels::BlockedScale::add || *kind == kernels::BlockedScale::multiply;
  return turns && part_of(node, 1) == Part::whole && lanes(part_of(node, 0)) ? 1 : -1;
}

bool is_blocked_binary(const NodeView& node) {
  const auto kind = binary_of(node);
  if (!kind || !node.has(1) || node.dtype(1) != DType::float32 ||
      !is_image(node.out_dtype(0), node.out_shape(0)) || !kernels::binary_f32(*kind, *float_isa(node)))
    return false;
  const auto dense = [&](int i) {
    return part_of(node, i) == Part::whole || part_of(node, i) == Part::number;
  };
  return (dense(0) && dense(1)) || scaled(node) >= 0;
}

namespace {
void unary_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = float_isa(node);
  if (!isa) return;
  Candidate c = same_work(node, "blocked_unary_f32", "eltwise_unary_f32", *isa, threads);
  c.features[Quantity::flop] = kernels::function_flops(*unary_of(node)) *
                               static_cast<double>(blocked_shape(node.out_shape(0)).floats());
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_unary(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const UnaryKind kind = *unary_of(node);
  UnaryParams params = ops::unary_params(kind, node.attrs());
  const kernels::UnaryF32 run = kernels::unary_f32(kind, isa, params);
  return make_blocked_kernel([=, alpha = static_cast<float>(params.alpha),
                              beta = static_cast<float>(params.beta),
                              n = blocked_shape(node.out_shape(0)).floats()](const HostArgs& a) -> Status {
    kernels::parallel_ranges(n, kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
      run(a.input<float>(0) + begin, a.output<float>(0) + begin, end - begin, alpha, beta);
    });
    return {};
  });
}

void binary_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (const auto isa = float_isa(node))
    out.push_back(same_work(node, "blocked_binary_f32", "eltwise_binary_f32", *isa, threads));
}

Result<std::unique_ptr<Kernel>> prepare_binary(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const BinaryKind kind = *binary_of(node);
  const kernels::BlockedShape shape = blocked_shape(node.out_shape(0));
  if (const int whole = scaled(node); whole >= 0) {
    const bool shared = part_of(node, 1 - whole) == Part::shared_channels;
    return make_blocked_kernel([=, scale = *scale_of(kind)](const HostArgs& a) -> Status {
      kernels::blocked_scale(kernels::blocked_table(isa), shape, scale, shared, a.input<float>(whole),
                             a.input<float>(1 - whole), a.output<float>(0), a.threads);
      return {};
    });
  }
  const int64_t x_step = part_of(node, 0) == Part::whole ? 1 : 0;
  const int64_t y_step = part_of(node, 1) == Part::whole ? 1 : 0;
  return make_blocked_kernel([=, run = kernels::binary_f32(kind, isa)](const HostArgs& a) -> Status {
    kernels::parallel_ranges(
        shape.floats(), kernels::kVectorGrain, a.threads, [&](int64_t begin, int64_t end) {
          run(a.input<float>(0) + begin * x_step, x_step, a.input<float>(1) + begin * y_step, y_step,
              a.output<float>(0) + begin, end - begin);
        });
    return {};
  });
}
}  // namespace

extern const CpuOp kBlockedUnary{
    .op = "Unary", .supports = is_blocked_unary, .candidates = unary_candidates, .prepare = prepare_unary};
extern const CpuOp kBlockedBinary{.op = "Binary",
                                  .supports = is_blocked_binary,
                                  .candidates = binary_candidates,
                                  .prepare = prepare_binary};

}  // namespace walle::backends::cpu
