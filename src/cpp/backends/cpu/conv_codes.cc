#include "backends/cpu/conv_codes.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/window_shape.h"
#include "base/hash.h"
#include "kernels/isa.h"
#include "ops/rules/quantized_conv.h"
#include "ops/rules/window.h"

namespace walle::backends::cpu {

namespace {
using enum ops::QuantizedConvInput::Operand;

bool makes_codes(const NodeView& node) { return node.op().name == "QuantizedConv"; }
int weights_of(const NodeView& node) { return makes_codes(node) ? kW : 1; }
int weight_zeros_of(const NodeView& node) { return makes_codes(node) ? kWZero : 3; }
constexpr int kAnyXZero = 2;  // of both

kernels::ConvShape shape_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(weights_of(node));
  return {window_shape(node, w[2], w[3]), x[0], x[1], w[0], node.attrs().get_int("group", 1)};
}

std::vector<int32_t> zeros_of(const NodeView& node, int i) {
  std::vector<int32_t> out;
  if (!node.has(i)) return out;
  for (int64_t q = 0; q < node.shape(i).elements(); ++q) out.push_back(code_at(*node.constant(i), q));
  return out;
}

kernels::ConvInt8Weights weights(const NodeView& node, std::span<const int32_t> zeros) {
  const Tensor& w = *node.constant(weights_of(node));
  return {reinterpret_cast<const uint8_t*>(w.address()), is_signed(w.dtype()), zeros};
}

// All scales in one factor before the sum meets them, in the order of the operator's definition.
std::optional<std::vector<float>> factors_of(const NodeView& node) {
  const auto x = scale_of(node, kXScale), y = scale_of(node, kYScale);
  if (!x || !y || !node.constant(kWScale) || node.dtype(kWScale) != DType::float32) return std::nullopt;
  std::vector<float> out;
  for (const float w : node.constant(kWScale)->as<float>()) out.push_back(*x * w / *y);
  const bool numbers = std::ranges::all_of(out, [](float f) { return std::isfinite(f); });
  return numbers ? std::optional(std::move(out)) : std::nullopt;
}

bool known_ends(const NodeView& node) {
  if (!factors_of(node) || !zero_of(node, kXZero) || !zero_of(node, kYZero)) return false;
  if (node.has(kBias) && (!node.constant(kBias) || node.dtype(kBias) != DType::int32)) return false;
  if (!node.has(kOther)) return true;
  return scale_of(node, kOtherScale) && scale_of(node, kSumScale) && zero_of(node, kOtherZero) &&
         zero_of(node, kSumZero);
}

kernels::CodesEnd end_of(const NodeView& node) {
  const int32_t zero = *zero_of(node, kYZero);
  const CodeRange range = range_of(node, node.dtype(kYZero), zero, "low", "high");
  kernels::CodesEnd end{.low = range.low, .high = range.high, .zero = zero};
  if (!node.has(kOther)) return end;
  const float scale = *scale_of(node, kSumScale);
  end.residual_signed = is_signed(node.dtype(kOther));
  end.residual_zero = static_cast<float>(*zero_of(node, kOtherZero));
  end.own = *scale_of(node, kYScale) / scale;
  end.other = *scale_of(node, kOtherScale) / scale;
  end.joint_zero = *zero_of(node, kSumZero);
  const CodeRange joint = range_of(node, node.dtype(kSumZero), end.joint_zero, "joint_low", "joint_high");
  end.joint_low = joint.low;
  end.joint_high = joint.high;
  return end;
}
}  // namespace

bool conv_codes_fit(const NodeView& node) {
  const int w = weights_of(node), zeros = weight_zeros_of(node);
  if (!is_code(node.dtype(kX)) || node.shape(kX).rank() != 4 || node.out_shape(0).elements() == 0 ||
      !node.has(w) || !node.constant(w) || !is_code(node.dtype(w)) ||
      (node.has(zeros) && !node.constant(zeros)))
    return false;
  if (!ops::canonical_window(node.attrs(), node.shape(kX)) || !node.attrs().has("group")) return false;
  if (!kernels::conv_int8_fits(shape_of(node))) return false;
  if (makes_codes(node)) return known_ends(node);
  return !node.has(kAnyXZero) || node.shape(kAnyXZero).elements() == 1;
}

Result<ConvCodes> conv_codes(const NodeView& node, bool from_rows) {
  WALLE_ASSIGN(const base::Capabilities usable, kernels::usable_capabilities());
  const kernels::ConvShape shape = shape_of(node);
  const std::vector<int32_t> zeros = zeros_of(node, weight_zeros_of(node));
  const bool nine_bits = !kernels::fits_eight_bits(weights(node, zeros), shape.m, shape.depth());
  const auto& form = kernels::conv_int8_form(usable, shape, nine_bits);
  ConvCodes out{.conv = kernels::make_conv_int8(shape, *form.table, is_signed(node.dtype(kX)), from_rows),
                .form = form.name,
                .weights = weights_of(node),
                .x_zero = node.has(kAnyXZero) ? kAnyXZero : -1,
                .factors = {}};
  out.weight_zeros = node.has(weight_zeros_of(node)) ? weight_zeros_of(node) : -1;
  if (!makes_codes(node)) return out;
  if (node.has(kBias)) out.bias = kBias;
  out.factors = *factors_of(node);
  out.end = end_of(node);
  return out;
}

Candidate conv_codes_candidate(const NodeView& node, const ConvCodes& codes, std::string_view kernel,
                               int threads) {
  Candidate c = variant_candidate(node, kernel, codes.form, threads, 0);
  c.features[Quantity::flop] = kernels::conv_int8_flops(codes.conv);
  c.workspace_bytes = kernels::conv_int8_workspace_bytes(codes.conv, threads);
  return c;
}

Result<SharedBlock> packed_conv_codes(const NodeView& node, const ConvCodes& codes, PrepareContext& context) {
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::conv_int8_packed_words(codes.conv)));
    const std::vector<int32_t> zeros = zeros_of(node, weight_zeros_of(node));
    Tensor readable;
    std::span<const int32_t> bias;
    if (codes.bias >= 0) {
      WALLE_ASSIGN(readable, node.constant(codes.bias)->for_one_reading());
      bias = readable.as<int32_t>();
    }
    kernels::pack_conv_int8(codes.conv, weights(node, zeros), bias, codes.factors,
                            reinterpret_cast<uint32_t*>(floats_of(block)));
    return block;
  };
  // Factors are made of scales, which are no operands of the block: their digest names it.
  base::Hasher hash;
  for (const float f : codes.factors) hash.value(std::bit_cast<uint32_t>(f));
  const kernels::ConvInt8& conv = codes.conv;
  const std::string kind = (conv.winograd ? "winograd_int8_" : "conv_int8_") + std::string(codes.form) + "_" +
                           std::to_string(conv.shape.groups) + "_" + std::to_string(conv.words) + "_" +
                           std::to_string(hash.finish());
  std::vector<const Tensor*> sources{node.constant(codes.weights)};
  if (codes.weight_zeros >= 0) sources.push_back(node.constant(codes.weight_zeros));
  if (codes.bias >= 0) sources.push_back(node.constant(codes.bias));
  // Folding and tests run a program once: nobody to share with.
  return context.constants ? context.constants->get(sources, kind, make) : context.shared({}, kind, make);
}

}  // namespace walle::backends::cpu
