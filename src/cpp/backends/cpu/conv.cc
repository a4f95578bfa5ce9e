// Conv on the CPU, in the canonical form of ops/atomic/conv.cc.
//
// The definition for every dtype, and for float32 an implicit matrix product or, where every group is one
// channel, depthwise lines (kernels/conv), and channels in lanes (conv_lanes.h). Constant weights are packed
// once per model.
#include "kernels/conv/conv.h"
#include "backends/cpu/conv_lanes.h"
#include "backends/cpu/epilogue.h"
#include "kernels/conv/conv_reference.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kSimd, kLanes, kWindows, kWinograd };  // kWinograd + the unit

// Predicted speed of one thread. Measured on an AVX-512 core: reference 0.3 to 1, products 98, depthwise 20
// to 50; 0.62 of it is taken, as in conv_lanes.cc, whose candidates are weighed against these.
constexpr double kReferenceGflops = 0.5;
constexpr double kProductGflops = 62;
constexpr double kDepthwiseGflops = 15;
// Results that one thread brings from register tiles to their rows in a second, again with 0.62 of what was
// measured (0.26 ns each). It decides where products are short: 3 x 3
// over three channels, 1 x 1 over a few dozen.
constexpr double kResultGigafloats = 2.4;

kernels::ConvShape shape_of(const NodeView& node) {
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  const Shape& y = node.out_shape(0);
  // The defaults are ONNX's; the shape rule has checked lengths and signs.
  const auto stride = node.attrs().get_ints("strides", {1, 1});
  const auto dilation = node.attrs().get_ints("dilations", {1, 1});
  const auto pad = node.attrs().get_ints("pads", {0, 0, 0, 0});
  // The pads behind the image (pad[2], pad[3]) are in the output's size already.
  return {.n = x[0],
          .c = x[1],
          .h = x[2],
          .w = x[3],
          .m = w[0],
          .oh = y[2],
          .ow = y[3],
          .kh = w[2],
          .kw = w[3],
          .sh = stride[0],
          .sw = stride[1],
          .dh = dilation[0],
          .dw = dilation[1],
          .pt = pad[0],
          .pl = pad[1],
          .groups = node.attrs().get_int("group", 1)};
}

bool supports(const NodeView& node) {
  // Other ranks are brought to this one by the operator's own rule, before a backend sees them.
  return node.shape(0).rank() == 4 && tensor::visit_numeric(node.dtype(0), [](auto) {});
}

// Traces and profiles show which of the kernel's three ways a shape takes.
std::string simd_name(const kernels::Conv& c, kernels::Isa isa) {
  const kernels::ConvShape& s = c.shape;
  const std::string suffix = "_" + std::string(isa_name(isa));
  if (s.depthwise())
    return "conv_depthwise_f32_" + std::to_string(s.kh) + "x" + std::to_string(s.kw) + suffix;
  const std::string tile = std::to_string(c.gemm->mr) + "x" + std::to_string(c.gemm->nr);
  return (c.pointwise ? "conv_pointwise_f32_" : "conv_implicit_gemm_f32_") + tile + suffix;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(rated_candidate(node, "conv_reference", kReferenceGflops, threads, kReference));
  const auto isa = float_isa(node);
  if (!isa || node.out_shape(0).elements() == 0) return;  // planes and tiles are made of at least one element
  const kernels::Conv conv = kernels::make_conv(shape_of(node), *isa);
  const double gflops = conv.shape.depthwise() ? kDepthwiseGflops : kProductGflops;
  Candidate simd =
      rated_candidate(node, simd_name(conv, *isa), kernels::conv_flops(conv), gflops, threads, kSimd);
  if (!conv.shape.depthwise())
    simd.cost_ms += static_cast<double>(node.out_shape(0).elements()) / (kResultGigafloats * 1e6) / threads;
  simd.workspace_bytes = kernels::conv_workspace_bytes(conv, threads, node.constant(1) != nullptr);
  out.push_back(std::move(simd));
  // Weights of another form are worth their making once per model, not once per run.
  if (!node.constant(1)) return;
  if (auto lanes = lane_candidate(node, conv.shape, *isa, threads, kLanes)) out.push_back(std::move(*lanes));
  if (auto windows = window_candidate(node, conv.shape, *isa, threads, kWindows))
    out.push_back(std::move(*windows));
  for (int unit : kernels::kWinogradUnits)
    if (auto winograd = winograd_candidate(node, conv.shape, unit, *isa, threads, kWinograd + unit))
      out.push_back(std::move(*winograd));
}

template <class T>
std::unique_ptr<Kernel> reference_kernel(const kernels::ConvShape& s, const kernels::Epilogue& e,
                                         bool has_bias, bool has_residual) {
  return make_kernel([=](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    // float whatever T is: only float32 nodes are given a residual (ops/passes/fuse_epilogue.h).
    if (has_residual) here.residual = a.input<float>(3);
    kernels::conv_reference(s, a.input<T>(0), a.input<T>(1), has_bias ? a.input<T>(2) : nullptr, here,
                            a.output<T>(0), a.threads);
    return {};
  });
}

Result<Block> pack(const kernels::Conv& conv, const Tensor& w) {
  WALLE_ASSIGN(Block block, allocate_floats(kernels::packed_weight_elements(conv)));
  kernels::pack_weights(conv, w.as<float>().data(), floats_of(block));
  return block;
}

Result<std::unique_ptr<Kernel>> simd_kernel(const NodeView& node, const kernels::Epilogue& e,
                                            PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  auto conv = std::make_shared<const kernels::Conv>(kernels::make_conv(shape_of(node), isa));
  SharedBlock weights;
  // Depthwise lines read each weight once per line, in the order it is stored: packing would only copy.
  if (const Tensor* w = node.constant(1); w && !conv->shape.depthwise()) {
    const auto make = [&] { return pack(*conv, *w); };
    // The layout depends on the tile and on how many rows a group has, nothing else of the node.
    const std::string kind =
        "conv_a_" + std::string(isa_name(isa)) + "_" + std::to_string(conv->shape.groups);
    WALLE_ASSIGN(weights, context.shared({w}, kind, make));
  }
  return make_kernel([=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    const float* packed = weights ? floats_of(*weights) : nullptr;
    kernels::run_conv(*conv, a.input<float>(0), a.input<float>(1), packed, here, a.output<float>(0),
                      a.threads, a.workspace);
    return {};
  });
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                        PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  if (candidate.choice == kSimd) return simd_kernel(node, e, context);
  if (candidate.choice == kLanes) return lane_kernel(node, shape_of(node), e, context);
  if (candidate.choice == kWindows) return window_kernel(node, shape_of(node), e, context);
  if (candidate.choice > kWinograd)
    return winograd_kernel(node, shape_of(node), candidate.choice - kWinograd, e, context);
  std::unique_ptr<Kernel> kernel;
  tensor::visit_numeric(node.dtype(0), [&](auto tag) {
    kernel = reference_kernel<typename decltype(tag)::type>(shape_of(node), e, node.has(2), node.has(3));
  });
  return kernel;
}
}  // namespace

extern const CpuOp kConvCpu{.op = "Conv", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
