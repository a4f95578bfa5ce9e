// ConvInteger and QuantizedConv over rows, claimed whole: exact sums of products in int32, and codes made of
// them by one factor (kernels/conv_int8). The kernel writes blocks, which are turned into rows.
#include "backends/cpu/conv_codes.h"
#include "ops/rules/quantized_conv.h"

namespace walle::backends::cpu {

namespace {
// What a QuantizedConv adds lies in blocks.
bool supports(const NodeView& node) {
  const bool joined = node.op().name == "QuantizedConv" && node.has(ops::QuantizedConvInput::kOther);
  return !joined && conv_codes_fit(node);
}

kernels::BlockedShape result_of(const NodeView& node) {
  const Shape& y = node.out_shape(0);
  return {.n = y[0], .c = y[1], .pixels = y[2] * y[3]};
}

// With what aligns the kernel's scratch memory behind it.
int64_t result_bytes(const NodeView& node) {
  return base::round_up(result_of(node).floats() * dtype_size(node.out_dtype(0)), int64_t{64});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto codes = conv_codes(node, true);
  if (!codes.ok()) return;
  Candidate c = conv_codes_candidate(node, *codes, "conv_int8_rows", threads);
  // Windows of one channel take the time that they take over blocks.
  if (codes->conv.depthwise) c.features.kernel = "blocked_depthwise_int8";
  const auto bytes = static_cast<double>(result_bytes(node));
  c.features[level_of(bytes)] += (codes->conv.depthwise ? 2 : 1) * bytes;
  c.workspace_bytes += result_bytes(node);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext& context) {
  WALLE_ASSIGN(ConvCodes codes, conv_codes(node, true));
  WALLE_ASSIGN(const SharedBlock packed, packed_conv_codes(node, codes, context));
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  const bool sums = codes.factors.empty();
  const DType zero = codes.x_zero >= 0 ? node.dtype(codes.x_zero) : DType::uint8;
  const uint32_t unread = 1u << codes.weights | (codes.bias >= 0 ? 1u << codes.bias : 0);
  return make_kernel_in(
      host_memory(), unread,
      [codes = std::move(codes), packed, isa, sums, zero, shape = result_of(node),
       blocked = result_bytes(node)](const HostArgs& a) -> Status {
        kernels::ConvInt8Run run{.x = a.input<uint8_t>(0),
                                 .packed = reinterpret_cast<const uint32_t*>(floats_of(*packed)),
                                 .end = codes.end};
        if (codes.x_zero >= 0) {
          const uint8_t byte = *a.input<uint8_t>(codes.x_zero);
          run.x_zero = is_signed(zero) ? static_cast<int8_t>(byte) : byte;
        }
        auto* const blocks = reinterpret_cast<uint8_t*>(a.workspace);
        if (sums)
          run.sums = reinterpret_cast<int32_t*>(blocks);
        else
          run.y = blocks;
        kernels::run_conv_int8(codes.conv, run, a.threads, a.workspace + blocked);
        if (sums)
          kernels::from_blocked(kernels::blocked_table(isa), shape, reinterpret_cast<const float*>(blocks),
                                a.output<float>(0), a.threads);
        else
          kernels::codes_from_blocked(shape, blocks, a.output<uint8_t>(0), a.threads);
        return {};
      });
}
}  // namespace

extern const CpuOp kConvIntegerCpu{
    .op = "ConvInteger", .supports = supports, .candidates = candidates, .prepare = prepare};
extern const CpuOp kQuantizedConvCpu{
    .op = "QuantizedConv", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
