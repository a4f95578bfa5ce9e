// Convolutions and functions of 8-bit codes over blocks of channels.
#include "backends/cpu/blocked/blocked_op.h"
#include "backends/cpu/codes_arithmetic.h"
#include "backends/cpu/conv_codes.h"
#include "kernels/blocked/blocked_conv.h"
#include "kernels/parallel.h"
#include "ops/rules/quantized_conv.h"

namespace walle::backends::cpu {

namespace {
bool supports_conv(const NodeView& node) {
  return is_code_image(node.dtype(0), node.shape(0)) && conv_codes_fit(node);
}

// As for float32: with more channels the planes of one pixel are too many pages.
bool supports_rows(const NodeView& node) {
  return supports_conv(node) && !node.has(ops::QuantizedConvInput::kOther) &&
         node.shape(0)[1] <= kernels::kMostRowChannels;
}

void conv_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (const auto codes = conv_codes(node, false); codes.ok())
    out.push_back(conv_codes_candidate(
        node, *codes, codes->conv.depthwise ? "blocked_depthwise_int8" : "blocked_conv_int8", threads));
}

void row_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (const auto codes = conv_codes(node, true); codes.ok())
    out.push_back(conv_codes_candidate(node, *codes, "blocked_from_rows_int8", threads));
}

Result<std::unique_ptr<Kernel>> conv_kernel(const NodeView& node, bool from_rows, PrepareContext& context) {
  WALLE_ASSIGN(ConvCodes codes, conv_codes(node, from_rows));
  WALLE_ASSIGN(const SharedBlock packed, packed_conv_codes(node, codes, context));
  const Memory& source = from_rows ? static_cast<const Memory&>(host_memory()) : blocked_memory();
  constexpr uint32_t unread =
      ~(1u << 0 | 1u << ops::QuantizedConvInput::kOther);  // constants, all but the image and what is added
  const int32_t zero = codes.x_zero >= 0 ? code_at(*node.constant(codes.x_zero), 0) : 0;
  return make_kernel_between(
      source, blocked_memory(), unread,
      [codes = std::move(codes), packed, zero,
       joined = node.has(ops::QuantizedConvInput::kOther)](const HostArgs& a) -> Status {
        kernels::ConvInt8Run run{.x = a.input<uint8_t>(0),
                                 .x_zero = zero,
                                 .packed = reinterpret_cast<const uint32_t*>(floats_of(*packed)),
                                 .end = codes.end,
                                 .y = a.output<uint8_t>(0)};
        if (joined) run.end.residual = a.input<uint8_t>(ops::QuantizedConvInput::kOther);
        kernels::run_conv_int8(codes.conv, run, a.threads, a.workspace);
        return {};
      });
}

Result<std::unique_ptr<Kernel>> prepare_conv(const NodeView& node, const Candidate&,
                                             PrepareContext& context) {
  return conv_kernel(node, false, context);
}
Result<std::unique_ptr<Kernel>> prepare_rows(const NodeView& node, const Candidate&,
                                             PrepareContext& context) {
  return conv_kernel(node, true, context);
}

bool same_images(const NodeView& node) {
  return is_code_image(node.out_dtype(0), node.out_shape(0)) && node.shape(0) == node.out_shape(0);
}

// One value per channel of each image, and images of such values.
bool scales_channels(const NodeView& node) {
  const Shape& y = node.out_shape(0);
  return node.op().name == "QLinearMul" && node.shape(3) == Shape{y[0], y[1], 1, 1};
}

bool supports_binary(const NodeView& node) {
  return same_images(node) && codes_binary(node) &&
         (node.shape(3) == node.out_shape(0) || scales_channels(node));
}

void binary_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = vector_candidate(node, "blocked_codes_binary", *isa, threads, 0);
  c.features.kernel = "codes_binary";
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_binary(const NodeView& node, const Candidate&, PrepareContext&) {
  const kernels::BlockedShape shape = blocked_shape(node.out_shape(0));
  if (node.shape(3) == node.out_shape(0)) return codes_binary_kernel(node, blocked_memory(), shape.floats());
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_blocked_kernel(
      [op = *codes_binary(node), shape, run = kernels::codes_table(isa).scale](const HostArgs& a) -> Status {
        const int64_t grain = kernels::items_of(kernels::kVectorGrain, shape.pixels * kernels::kBlock);
        kernels::parallel_ranges(shape.blocks(), grain, a.threads, [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b) {
            const int64_t at = b * shape.pixels * kernels::kBlock;
            run(op, a.input<uint8_t>(0) + at, a.input<uint8_t>(3) + b * kernels::kBlock,
                a.output<uint8_t>(0) + at, shape.pixels);
          }
        });
        return {};
      });
}

bool supports_lookup(const NodeView& node) {
  return same_images(node) && is_code(node.dtype(0)) && node.constant(1);
}

void lookup_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto set = codes_lookup_set();
  if (!set.ok()) return;
  Candidate c = variant_candidate(node, "blocked_codes_lookup", *set, threads, 0);
  c.features.kernel = "codes_lookup";
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_lookup(const NodeView& node, const Candidate&, PrepareContext&) {
  return codes_lookup_kernel(node, blocked_memory(), blocked_shape(node.out_shape(0)).floats());
}
bool supports_mean(const NodeView& node) { return codes_mean_of(node).has_value(); }

void mean_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  Candidate c = vector_candidate(node, "blocked_codes_mean", *isa, threads, 0);
  c.features[Quantity::tiles] = static_cast<double>(node.out_shape(0).elements());
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare_mean(const NodeView& node, const Candidate&, PrepareContext&) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  return make_blocked_kernel([op = *codes_mean_of(node), shape = blocked_shape(node.shape(0)),
                              table = &kernels::codes_table(isa)](const HostArgs& a) -> Status {
    kernels::codes_mean(*table, shape, op, a.input<uint8_t>(0), a.output<uint8_t>(0), a.threads);
    return {};
  });
}
}  // namespace

extern const CpuOp kBlockedCodesMean{.op = "QLinearGlobalAveragePool",
                                     .supports = supports_mean,
                                     .candidates = mean_candidates,
                                     .prepare = prepare_mean};
extern const CpuOp kBlockedQuantizedConv{
    .op = "QuantizedConv", .supports = supports_conv, .candidates = conv_candidates, .prepare = prepare_conv};
extern const CpuOp kRowsToBlocksQuantizedConv{
    .op = "QuantizedConv", .supports = supports_rows, .candidates = row_candidates, .prepare = prepare_rows};
extern const CpuOp kBlockedQLinearAdd{.op = "QLinearAdd",
                                      .supports = supports_binary,
                                      .candidates = binary_candidates,
                                      .prepare = prepare_binary};
extern const CpuOp kBlockedQLinearMul{.op = "QLinearMul",
                                      .supports = supports_binary,
                                      .candidates = binary_candidates,
                                      .prepare = prepare_binary};
extern const CpuOp kBlockedCodeLookup{.op = "CodeLookup",
                                      .supports = supports_lookup,
                                      .candidates = lookup_candidates,
                                      .prepare = prepare_lookup};

}  // namespace walle::backends::cpu
