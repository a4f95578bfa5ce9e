#include "backends/cpu/conv_lanes.h"

#include "backends/cpu/blocked/bf16_op.h"
#include "base/checked.h"

namespace walle::backends::cpu {

namespace {
constexpr double kFloat = sizeof(float);

std::string tile_of(const kernels::ChannelLanesTable& table) {
  return std::to_string(table.rows) + "x" + std::to_string(2 * table.lanes);
}

// Tiles of so many pixels by the channels of two vectors.
double tiles_of(const kernels::ChannelLanesTable& table, int64_t pixels, int64_t channels) {
  return static_cast<double>(base::ceil_div(pixels, int64_t{table.rows}) *
                             base::ceil_div(channels, int64_t{2 * table.lanes}));
}
}  // namespace

std::optional<Candidate> lane_candidate(const NodeView& node, const kernels::ConvShape& shape,
                                        kernels::Isa isa, int threads, int choice) {
  if (!kernels::lane_conv_fits(shape)) return std::nullopt;
  const kernels::LaneConv conv = kernels::make_lane_conv(shape, isa);
  const kernels::LaneWork work = kernels::lane_work(conv);
  Candidate c =
      vector_candidate(node, "conv_pointwise_lanes_f32", isa, threads, choice, tile_of(*conv.table));
  c.features[Quantity::flop] = work.product_flops;
  c.features[Quantity::tiles] = static_cast<double>(shape.n) * tiles_of(*conv.table, conv.pixels(), shape.m);
  c.features[Quantity::l1_bytes] += work.turned_floats * kFloat;
  c.parameters = {{"pixels_at_once", conv.block}};
  c.workspace_bytes = kernels::lane_workspace_bytes(conv, threads);
  return c;
}

std::optional<Candidate> window_candidate(const NodeView& node, const kernels::ConvShape& shape,
                                          kernels::Isa isa, int threads, int choice) {
  if (!kernels::window_conv_fits(shape, isa)) return std::nullopt;
  const kernels::WindowConv conv = kernels::make_window_conv(shape, isa);
  const kernels::WindowWork work = kernels::window_work(conv);
  Candidate c = vector_candidate(node, "conv_windows_lanes_f32", isa, threads, choice, tile_of(*conv.table));
  c.features[Quantity::flop] = work.product_flops;
  c.features[Quantity::tiles] =
      static_cast<double>(shape.n * shape.oh) * tiles_of(*conv.table, shape.ow, shape.m);
  c.features[Quantity::l1_bytes] += (work.turned_floats + work.copied_floats) * kFloat;
  c.workspace_bytes = kernels::window_workspace_bytes(conv, threads);
  return c;
}

namespace {
std::string_view winograd_name(int unit) {
  return unit == 2 ? "conv_winograd_2x2_f32" : unit == 4 ? "conv_winograd_4x4_f32" : "conv_winograd_6x6_f32";
}

std::string_view blocked_winograd_name(int unit) {
  return unit == 2   ? "blocked_winograd_2x2_f32"
         : unit == 4 ? "blocked_winograd_4x4_f32"
                     : "blocked_winograd_6x6_f32";
}

std::string_view bf16_winograd_name(int unit) {
  return unit == 2 ? "blocked_winograd_2x2_bf16" : "blocked_winograd_4x4_bf16";
}

// Transformed filters, one copy for both layouts.
Result<SharedBlock> winograd_filters(const NodeView& node, const kernels::Winograd& winograd,
                                     kernels::Isa isa, PrepareContext& context) {
  const Tensor& w = *node.constant(1);
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::winograd_weight_elements(winograd)));
    WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
    kernels::winograd_weights(winograd, readable.as<float>().data(), floats_of(block));
    return block;
  };
  return context.shared({&w},
                        "conv_winograd_" + std::to_string(winograd.unit) + "_" + std::string(isa_name(isa)) +
                            (winograd.words ? "_bf16" : ""),
                        make);
}
}  // namespace

std::optional<Candidate> winograd_candidate(const NodeView& node, const kernels::ConvShape& shape, int unit,
                                            kernels::Isa isa, int threads, int choice, bool blocked,
                                            const kernels::Variant<kernels::ConvBf16Table>* words,
                                            const kernels::BlockedBf16Table* kept) {
  if (!(words ? kernels::winograd_bf16_fits(shape, isa, *words->table) : kernels::winograd_fits(shape)))
    return std::nullopt;
  const kernels::Winograd winograd =
      kernels::make_winograd(shape, unit, isa, blocked, words ? words->table : nullptr, kept);
  const kernels::WinogradWork work = kernels::winograd_work(winograd);
  const std::string_view kernel = words     ? bf16_winograd_name(unit)
                                  : blocked ? blocked_winograd_name(unit)
                                            : winograd_name(unit);
  Candidate c = variant_candidate(node, kernel, words ? words->name : isa_name(isa), threads, choice,
                                  kept ? "kept" : "");
  Features& f = c.features;
  f[Quantity::flop] = work.product_flops;
  f[Quantity::l1_bytes] += (work.input_floats + work.output_floats) * kFloat;
  // Transformed, weights are up to seven times the size of the others, which the operands count; they come
  // from the outer cache or from memory.
  f[std::max(level_of(work.weight_bytes), Quantity::l3_bytes)] += work.weight_bytes;
  f[Quantity::tiles] =
      static_cast<double>((unit + 2) * (unit + 2)) * tiles_of(*winograd.table, winograd.tiles(), shape.m);
  c.parameters = {{"unit", unit}, {"tiles_at_once", winograd.block}};
  c.workspace_bytes = kernels::winograd_workspace_bytes(winograd, threads);
  c.error = words ? kernels::winograd_bf16_error(unit) : kernels::winograd_error(unit);
  if (words) c.arithmetic = Arithmetic::bfloat16;
  // Results are rounded from a row of tiles in float32.
  if (kept) f[Quantity::l1_bytes] += 2 * kFloat * static_cast<double>(node.out_shape(0).elements());
  return c;
}

Result<std::unique_ptr<Kernel>> lane_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                            const kernels::Epilogue& e, PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::LaneConv conv = kernels::make_lane_conv(shape, isa);
  const Tensor& w = *node.constant(1);
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::lane_weight_elements(conv)));
    WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
    kernels::lane_weights(conv, readable.as<float>().data(), floats_of(block));
    return block;
  };
  WALLE_ASSIGN(const SharedBlock weights,
               context.shared({&w}, "conv_lanes_" + std::string(isa_name(isa)), make));
  const auto run = [=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_lane_conv(conv, a.input<float>(0), floats_of(*weights), here, a.output<float>(0), a.threads,
                           a.workspace);
    return {};
  };
  return make_kernel_in(host_memory(), kPackedWeights, run);
}

Result<std::unique_ptr<Kernel>> window_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                              const kernels::Epilogue& e, PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  auto conv = std::make_shared<const kernels::WindowConv>(kernels::make_window_conv(shape, isa));
  const Tensor& w = *node.constant(1);
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::window_weight_elements(*conv)));
    WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
    kernels::window_weights(*conv, readable.as<float>().data(), floats_of(block));
    return block;
  };
  WALLE_ASSIGN(const SharedBlock weights,
               context.shared({&w}, "conv_windows_" + std::string(isa_name(isa)), make));
  const auto run = [=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_window_conv(*conv, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                             a.threads, a.workspace);
    return {};
  };
  return make_kernel_in(host_memory(), kPackedWeights, run);
}

Result<std::unique_ptr<Kernel>> winograd_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                                int unit, const kernels::Epilogue& e,
                                                PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::Winograd winograd = kernels::make_winograd(shape, unit, isa);
  WALLE_ASSIGN(const SharedBlock weights, winograd_filters(node, winograd, isa, context));
  const auto run = [=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    kernels::run_winograd(winograd, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                          a.threads, a.workspace);
    return {};
  };
  return make_kernel_in(host_memory(), kPackedWeights, run);
}

Result<std::unique_ptr<Kernel>> blocked_winograd_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                                        int unit, const kernels::Epilogue& e,
                                                        PrepareContext& context,
                                                        const kernels::ConvBf16Table* words,
                                                        const kernels::BlockedBf16Table* kept) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const kernels::Winograd winograd = kernels::make_winograd(shape, unit, isa, true, words, kept);
  WALLE_ASSIGN(const SharedBlock weights, winograd_filters(node, winograd, isa, context));
  // A copy, because constants are not brought into this memory for a kernel that packs its weights.
  std::vector<float> bias;
  if (node.has(2)) {
    const auto given = node.constant(2)->as<float>();
    bias.assign(given.begin(), given.end());
  }
  const Memory& memory = kept ? static_cast<const Memory&>(bf16_memory()) : blocked_memory();
  return make_kernel_in(
      memory, kConvConstants,
      [=, keeps = kept != nullptr, has_residual = node.has(3)](const HostArgs& a) -> Status {
        kernels::Epilogue here = e;
        if (!bias.empty()) here.row_bias = bias.data();
        if (keeps) {
          const auto* residual = has_residual ? a.input<uint16_t>(3) : nullptr;
          kernels::run_winograd_bf16(winograd, a.input<uint16_t>(0), floats_of(*weights), here, residual,
                                     a.output<uint16_t>(0), a.threads, a.workspace);
          return {};
        }
        if (has_residual) here.residual = a.input<float>(3);
        kernels::run_winograd(winograd, a.input<float>(0), floats_of(*weights), here, a.output<float>(0),
                              a.threads, a.workspace);
        return {};
      });
}

}  // namespace walle::backends::cpu
