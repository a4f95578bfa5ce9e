#include "backends/cpu/conv_lanes.h"

namespace walle::backends::cpu {

namespace {
// Predicted speed of one thread, 0.62 of what AVX-512 was measured at (112), as are the other figures of
// convolutions. Their relations decide what is chosen.
constexpr double kProductGflops = 70;
// Values that one thread turns from rows to lanes or back in a second: 0.17 ns each were measured with
// vectors of 16, 0.34 by blocks of four, which the others are turned in.
double turn_gigafloats(const kernels::ChannelLanesTable& table) { return table.lanes == 16 ? 3.6 : 1.8; }
// Values that one thread copies between rows in the first-level cache.
constexpr double kCopyGigafloats = 5;
// Tile positions that one thread makes or reads in a second. Measured: 1.6, 2.6 and 3.0 ns a vector of 16
// into units of 2, 4 and 6, spreading channels over lanes included, and 2.2, 2.4 and 4 out of them.
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

std::optional<Candidate> lane_candidate(const NodeView& node, const kernels::ConvShape& shape,
                                        kernels::Isa isa, int threads, int choice) {
  if (!kernels::lane_conv_fits(shape)) return std::nullopt;
  const kernels::LaneConv conv = kernels::make_lane_conv(shape, isa);
  const kernels::LaneWork work = kernels::lane_work(conv);
  const std::string tile = std::to_string(conv.table->rows) + "x" + std::to_string(2 * conv.table->lanes);
  Candidate c = rated_candidate(node, "conv_pointwise_lanes_f32_" + tile + "_" + std::string(isa_name(isa)),
                                work.product_flops, kProductGflops, threads, choice);
  c.parameters = {{"pixels_at_once", conv.block}};
  c.cost_ms += work.turned_floats / (turn_gigafloats(*conv.table) * 1e6) / threads;
  c.workspace_bytes = kernels::lane_workspace_bytes(conv, threads);
  return c;
}

std::optional<Candidate> window_candidate(const NodeView& node, const kernels::ConvShape& shape,
                                          kernels::Isa isa, int threads, int choice) {
  if (!kernels::window_conv_fits(shape, isa)) return std::nullopt;
  const kernels::WindowConv conv = kernels::make_window_conv(shape, isa);
  const kernels::WindowWork work = kernels::window_work(conv);
  const std::string tile = std::to_string(conv.table->rows) + "x" + std::to_string(2 * conv.table->lanes);
  Candidate c = rated_candidate(node, "conv_windows_lanes_f32_" + tile + "_" + std::string(isa_name(isa)),
                                work.product_flops, kProductGflops, threads, choice);
  c.cost_ms += (work.turned_floats / turn_gigafloats(*conv.table) + work.copied_floats / kCopyGigafloats) /
               1e6 / threads;
  c.workspace_bytes = kernels::window_workspace_bytes(conv, threads);
  return c;
}

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

Result<std::unique_ptr<Kernel>> lane_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                            const kernels::Epilogue& e, PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::LaneConv conv = kernels::make_lane_conv(shape, isa);
  const Tensor& w = *node.constant(1);
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::lane_weight_elements(conv)));
    kernels::lane_weights(conv, w.as<float>().data(), floats_of(block));
    return block;
  };
  WALLE_ASSIGN(const SharedBlock weights,
               context.shared({&w}, "conv_lanes_" + std::string(isa_name(isa)), make));
  return make_kernel([=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_lane_conv(conv, a.input<float>(0), floats_of(*weights), here, a.output<float>(0), a.threads,
                           a.workspace);
    return {};
  });
}

Result<std::unique_ptr<Kernel>> window_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                              const kernels::Epilogue& e, PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  auto conv = std::make_shared<const kernels::WindowConv>(kernels::make_window_conv(shape, isa));
  const Tensor& w = *node.constant(1);
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::window_weight_elements(*conv)));
    kernels::window_weights(*conv, w.as<float>().data(), floats_of(block));
    return block;
  };
  WALLE_ASSIGN(const SharedBlock weights,
               context.shared({&w}, "conv_windows_" + std::string(isa_name(isa)), make));
  return make_kernel([=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_window_conv(*conv, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                             a.threads, a.workspace);
    return {};
  });
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
  return make_kernel([=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_winograd(winograd, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                          a.threads, a.workspace);
    return {};
  });
}

}  // namespace walle::backends::cpu
