// Conv over blocks of channels, and from rows to blocks. Weights and bias are constants and packed once per
// model, so that the kernels read the image and the residual alone.
#include "backends/cpu/blocked/blocked_op.h"
#include "backends/cpu/blocked/conv_bf16.h"
#include "backends/cpu/conv_lanes.h"
#include "backends/cpu/conv_shape.h"
#include "backends/cpu/epilogue.h"
#include "kernels/blocked/blocked_conv.h"

namespace walle::backends::cpu {

namespace {
constexpr Bf16Images kFromRows{.from = kernels::ConvBf16Image::rows};

bool has_images(const NodeView& node) {
  return is_image(node.dtype(0), node.shape(0)) && is_image(node.out_dtype(0), node.out_shape(0)) &&
         node.constant(1) && (!node.has(2) || node.constant(2));
}

bool supports(const NodeView& node) {
  const auto isa = float_isa(node);
  return isa && has_images(node) && kernels::blocked_conv_fits(conv_shape(node), *isa);
}

// A residual would lie in blocks.
bool supports_rows(const NodeView& node) {
  return has_images(node) && !node.has(3) && kernels::row_conv_fits(conv_shape(node));
}

Candidate blocked_candidate(const NodeView& node, std::string_view kernel, const kernels::BlockedConv& conv,
                            kernels::Isa isa, int threads) {
  const kernels::BlockedWork work = kernels::blocked_work(conv);
  Candidate c = vector_candidate(node, kernel, isa, threads, 0);
  // Functions are computed of the lanes without a channel too.
  const auto m = static_cast<double>(conv.shape.m);
  const double idle = static_cast<double>(kernels::blocks_of(conv.shape.m) * kernels::kBlock) / m - 1;
  c.features[Quantity::flop] = work.flops + idle * folded_flops(node);
  c.features[Quantity::tiles] = work.tiles;
  return c;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = float_isa(node);
  if (!isa) return;
  const kernels::ConvShape shape = conv_shape(node);
  const kernels::BlockedConv conv = kernels::make_blocked_conv(shape, *isa);
  const std::string_view kernel = shape.groups > 1 && !conv.depthwise ? "blocked_grouped_f32"
                                  : conv.depthwise
                                      ? shape.sh > 1 ? "blocked_depthwise_s2_f32" : "blocked_depthwise_f32"
                                  : conv.flat ? "blocked_pointwise_f32"
                                              : "blocked_window_f32";
  out.push_back(blocked_candidate(node, kernel, conv, *isa, threads));
  for (int unit : kernels::kWinogradUnits)
    if (auto winograd = winograd_candidate(node, shape, unit, *isa, threads, unit, true))
      out.push_back(std::move(*winograd));
  if (!conv.depthwise) {
    bf16_candidates(node, {}, threads, out);
    fp16_candidates(node, {}, threads, out);
  }
}

void row_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = float_isa(node);
  if (!isa) return;
  const kernels::BlockedConv conv = kernels::make_row_conv(conv_shape(node), *isa);
  out.push_back(blocked_candidate(node, "blocked_from_rows_f32", conv, *isa, threads));
  bf16_candidates(node, kFromRows, threads, out);
  fp16_candidates(node, kFromRows, threads, out);
}

}  // namespace

Result<SharedBlock> blocked_conv_weights(const NodeView& node, const kernels::BlockedConv& conv,
                                         PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const Tensor& w = *node.constant(1);
  const Tensor* bias = node.has(2) ? node.constant(2) : nullptr;
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::blocked_weight_elements(conv)));
    WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
    kernels::blocked_weights(conv, readable.as<float>().data(), bias ? bias->as<float>().data() : nullptr,
                             floats_of(block));
    return block;
  };
  // Depthwise filters and those of one channel have one shape and two packings.
  const std::string kind = "conv_blocked_" + std::string(isa_name(isa)) + "_" +
                           std::to_string(conv.shape.groups) + "_" + std::to_string(conv.panel());
  return bias ? context.shared({&w, bias}, kind, make) : context.shared({&w}, kind, make);
}

namespace {
// A candidate's choice is the unit of Winograd's filtering, or 0.
Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& c, PrepareContext& context) {
  if (c.arithmetic != Arithmetic::own) return short_conv_kernel(node, c.arithmetic, {}, c.choice, context);
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  if (c.choice) return blocked_winograd_kernel(node, conv_shape(node), c.choice, e, context);
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  auto conv = std::make_shared<const kernels::BlockedConv>(kernels::make_blocked_conv(conv_shape(node), isa));
  WALLE_ASSIGN(const SharedBlock weights, blocked_conv_weights(node, *conv, context));
  const kernels::BlockedTail tail{.activation = e.activation, .alpha = e.alpha, .beta = e.beta};
  return make_blocked_kernel(
      [=, has_residual = node.has(3)](const HostArgs& a) -> Status {
        kernels::BlockedTail here = tail;
        if (has_residual) here.residual = a.input<float>(3);
        kernels::run_blocked_conv(*conv, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                                  a.threads);
        return {};
      },
      kConvConstants);
}

Result<std::unique_ptr<Kernel>> prepare_rows(const NodeView& node, const Candidate& c,
                                             PrepareContext& context) {
  if (c.arithmetic != Arithmetic::own) return short_conv_kernel(node, c.arithmetic, kFromRows, 0, context);
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  auto conv = std::make_shared<const kernels::BlockedConv>(kernels::make_row_conv(conv_shape(node), isa));
  WALLE_ASSIGN(const SharedBlock weights, blocked_conv_weights(node, *conv, context));
  const kernels::BlockedTail tail{.activation = e.activation, .alpha = e.alpha, .beta = e.beta};
  return make_kernel_between(host_memory(), blocked_memory(), kConvConstants,
                             [=](const HostArgs& a) -> Status {
                               kernels::run_blocked_conv(*conv, a.input<float>(0), floats_of(*weights), tail,
                                                         a.output<float>(0), a.threads);
                               return {};
                             });
}
}  // namespace

extern const CpuOp kBlockedConv{
    .op = "Conv", .supports = supports, .candidates = candidates, .prepare = prepare};

extern const CpuOp kRowsToBlocksConv{
    .op = "Conv", .supports = supports_rows, .candidates = row_candidates, .prepare = prepare_rows};

}  // namespace walle::backends::cpu
