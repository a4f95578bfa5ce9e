// Conv in bfloat16 over blocks of channels, and from rows to blocks: for sessions that ask for it. Depthwise
// windows have none, they wait for memory.
#include "backends/cpu/blocked/conv_bf16.h"

#include "backends/cpu/blocked/blocked_op.h"
#include "backends/cpu/conv_lanes.h"
#include "backends/cpu/conv_shape.h"
#include "backends/cpu/epilogue.h"
#include "kernels/conv_bf16/conv_bf16.h"

namespace walle::backends::cpu {

namespace {
// Of products in bfloat16 that take as long as one flop in float32.
constexpr double kFloatFlops = 2;

const kernels::Variant<kernels::ConvBf16Table>* form_here() {
  const auto usable = kernels::usable_capabilities();
  return usable.ok() ? kernels::conv_bf16_form(*usable) : nullptr;
}

Result<SharedBlock> packed_weights(const NodeView& node, const kernels::ConvBf16& conv, std::string_view form,
                                   PrepareContext& context) {
  const Tensor& w = *node.constant(1);
  const Tensor* bias = node.has(2) ? node.constant(2) : nullptr;
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::conv_bf16_packed_words(conv)));
    WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
    kernels::pack_conv_bf16(conv, readable.as<float>().data(), bias ? bias->as<float>().data() : nullptr,
                            reinterpret_cast<uint32_t*>(floats_of(block)));
    return block;
  };
  const std::string kind = "conv_bf16_" + std::string(form) + "_" + std::to_string(conv.shape.groups);
  return bias ? context.shared({&w, bias}, kind, make) : context.shared({&w}, kind, make);
}
}  // namespace

void bf16_candidates(const NodeView& node, bool from_rows, int threads, std::vector<Candidate>& out) {
  const kernels::ConvShape shape = conv_shape(node);
  const auto* form = form_here();
  if (!form || !kernels::conv_bf16_fits(shape)) return;
  const kernels::ConvBf16 conv = kernels::make_conv_bf16(shape, *form->table, from_rows);
  const std::string_view kernel = from_rows           ? "blocked_from_rows_bf16"
                                  : shape.taps() == 1 ? "blocked_pointwise_bf16"
                                                      : "blocked_window_bf16";
  const kernels::ConvBf16Work work = kernels::conv_bf16_work(conv);
  Candidate c = variant_candidate(node, kernel, form->name, threads, 0);
  const double idle =
      static_cast<double>(kernels::blocks_of(shape.m) * kernels::kBlock) / static_cast<double>(shape.m) - 1;
  // Functions are of float32, and of the lanes without a channel too.
  c.features[Quantity::flop] = work.flops + kFloatFlops * (1 + idle) * folded_flops(node);
  c.features[Quantity::tiles] = work.tiles;
  c.features[Quantity::l1_bytes] += work.rounded * static_cast<double>(sizeof(float));
  c.workspace_bytes = kernels::conv_bf16_workspace_bytes(conv, threads);
  c.arithmetic = Arithmetic::bfloat16;
  out.push_back(std::move(c));
  const auto isa = kernels::select_isa();
  if (from_rows || !isa.ok()) return;
  for (const int unit : kernels::kWinogradBf16Units)
    if (auto winograd = winograd_candidate(node, shape, unit, *isa, threads, unit, true, form))
      out.push_back(std::move(*winograd));
}

Result<std::unique_ptr<Kernel>> bf16_conv_kernel(const NodeView& node, bool from_rows, int unit,
                                                 PrepareContext& context) {
  const auto* form = form_here();
  if (!form) return internal_error("a processor without products of bfloat16", "cpu convolution in bfloat16");
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  if (unit) return blocked_winograd_kernel(node, conv_shape(node), unit, e, context, form->table);
  auto conv = std::make_shared<const kernels::ConvBf16>(
      kernels::make_conv_bf16(conv_shape(node), *form->table, from_rows));
  WALLE_ASSIGN(const SharedBlock packed, packed_weights(node, *conv, form->name, context));
  const kernels::BlockedTail tail{.activation = e.activation, .alpha = e.alpha, .beta = e.beta};
  const Memory& source = from_rows ? static_cast<const Memory&>(host_memory()) : blocked_memory();
  return make_kernel_between(source, blocked_memory(), kConvConstants,
                             [=, has_residual = node.has(3)](const HostArgs& a) -> Status {
                               kernels::BlockedTail here = tail;
                               if (has_residual) here.residual = a.input<float>(3);
                               kernels::run_conv_bf16(*conv, a.input<float>(0),
                                                      reinterpret_cast<const uint32_t*>(floats_of(*packed)),
                                                      here, a.output<float>(0), a.threads, a.workspace);
                               return {};
                             });
}

}  // namespace walle::backends::cpu
