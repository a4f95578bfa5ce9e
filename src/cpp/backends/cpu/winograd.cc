#include "backends/cpu/winograd.h"

namespace walle::backends::cpu {

namespace {
// Tile positions that one thread makes or reads in a second, at the scale of kProductGflops. Measured on Zen
// 4 beside products of 112 GFLOP/s: 1.6, 2.6 and 3.0 ns a vector of 16 into units of 2, 4 and 6, spreading
// channels over lanes included, and 2.2, 2.4 and 4 out of them.
constexpr double kTransformGigafloats = 3.8;
// Transformed weights are up to four times the size of the others and come from memory or the outer cache,
// fetched ahead while products run.
constexpr double kWeightGigabytes = 14;

double work_ms(const kernels::WinogradWork& w) {
  const double product = w.product_flops / (kProductGflops * 1e6);
  const double weights = w.weight_bytes / (kWeightGigabytes * 1e6);
  const double transforms = (w.input_floats + w.output_floats) / (kTransformGigafloats * 1e6);
  return std::max(product, weights) + transforms;
}
}  // namespace

std::optional<Candidate> winograd_candidate(const NodeView& node, const kernels::ConvShape& shape, int unit,
                                            kernels::Isa isa, int threads, int choice) {
  if (!kernels::winograd_fits(shape)) return std::nullopt;
  const kernels::Winograd winograd = kernels::make_winograd(shape, unit, isa);
  const std::string side = std::to_string(unit);
  // The bytes of the operands bound it as they do every candidate; flops are counted below.
  Candidate c =
      rated_candidate(node, "conv_winograd_f32_" + side + "x" + side + "_" + std::string(isa_name(isa)), 0,
                      kProductGflops, threads, choice);
  c.parameters = {{"unit", unit}, {"tiles_at_once", winograd.block}};
  c.cost_ms = std::max(c.cost_ms, work_ms(kernels::winograd_work(winograd)) / threads);
  c.workspace_bytes = kernels::winograd_workspace_bytes(winograd, threads);
  c.error = kernels::winograd_error(unit);
  return c;
}

Result<std::unique_ptr<Kernel>> winograd_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                                int unit, const kernels::Epilogue& e,
                                                PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::Winograd winograd = kernels::make_winograd(shape, unit, isa);
  const Tensor& w = *node.constant(1);
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::winograd_weight_elements(winograd)));
    kernels::winograd_weights(winograd, w.as<float>().data(), floats_of(block));
    return block;
  };
  const std::string kind = "conv_winograd_" + std::to_string(unit) + "_" + std::string(isa_name(isa));
  WALLE_ASSIGN(const SharedBlock weights, context.shared({&w}, kind, make));
  const bool has_bias = node.has(2), has_residual = node.has(3);
  return make_kernel([=](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_winograd(winograd, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                          a.threads, a.workspace);
    return {};
  });
}

}  // namespace walle::backends::cpu
