// Conv on the CPU, in the canonical form of ops/atomic/conv.cc.
//
// The definition for every dtype, and for float32 an implicit matrix product or, where every group is one
// channel, depthwise lines (kernels/conv), and channels in lanes (conv_lanes.h). Constant weights are packed
// once per model.
#include "kernels/conv/conv.h"
#include "backends/cpu/conv_lanes.h"
#include "backends/cpu/conv_shape.h"
#include "backends/cpu/epilogue.h"
#include "base/checked.h"
#include "kernels/conv/conv_reference.h"
#include "kernels/workspace.h"

namespace walle::backends::cpu {

namespace {
enum Choice { kReference, kSimd, kLanes, kWindows, kWinograd };  // kWinograd + the unit

bool supports(const NodeView& node) {
  // Other ranks are brought to this one by the operator's own rule, before a backend sees them.
  return node.shape(0).rank() == 4 && tensor::visit_numeric(node.dtype(0), [](auto) {});
}

Candidate depthwise_candidate(const NodeView& node, const kernels::Conv& c, kernels::Isa isa, int threads) {
  const kernels::ConvShape& s = c.shape;
  const std::string window = std::to_string(s.kh) + "x" + std::to_string(s.kw);
  Candidate out = vector_candidate(node, "conv_depthwise_f32", isa, threads, kSimd, window);
  Features& f = out.features;
  // Two kernels behind one name: over the image as it lies, and over padded planes of its own.
  const bool strided = s.sw > 1;
  f.kernel = !c.in_place ? strided ? "conv_depthwise_planes_s2_f32" : "conv_depthwise_planes_f32"
             : strided   ? "conv_depthwise_s2_f32"
                         : "conv_depthwise_f32";
  f[Quantity::flop] = kernels::conv_flops(c);
  f[Quantity::tiles] = static_cast<double>(s.n * s.m * s.oh);
  // Planes are written by every run, padding included.
  const int64_t plane = c.in_place ? 0 : c.planes.count * c.planes.rows * c.planes.pitch;
  f[Quantity::l1_bytes] += static_cast<double>(s.n * s.c * plane * kernels::kFloatBytes);
  return out;
}

Candidate product_candidate(const NodeView& node, const kernels::Conv& c, kernels::Isa isa, int threads) {
  const kernels::ConvShape& s = c.shape;
  const std::string tile = std::to_string(c.gemm->mr) + "x" + std::to_string(c.gemm->nr);
  // Traces and profiles show which way a shape takes.
  Candidate out = vector_candidate(node, c.pointwise ? "conv_pointwise_f32" : "conv_implicit_gemm_f32", isa,
                                   threads, kSimd, tile);
  Features& f = out.features;
  const int64_t rows = s.m / s.groups;
  const int64_t tall = base::ceil_div(rows, int64_t{c.gemm->mr});
  const int64_t wide = base::ceil_div(s.oh * s.ow, int64_t{c.gemm->nr});
  const auto products = static_cast<double>(s.n * s.groups);
  f[Quantity::flop] = kernels::conv_flops(c);
  f[Quantity::tails] =
      f[Quantity::flop] * static_cast<double>(tall * c.gemm->mr - rows) / static_cast<double>(rows);
  f[Quantity::tiles] = products * static_cast<double>(tall * wide);
  // Panels of columns are made by every run, once.
  const auto panels = static_cast<double>(s.depth() * wide * c.gemm->nr * kernels::kFloatBytes);
  if (!c.pointwise) f[Quantity::l1_bytes] += products * panels;
  return out;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(reference_candidate(node, "conv_reference", threads));
  const auto isa = float_isa(node);
  if (!isa || node.out_shape(0).elements() == 0) return;  // planes and tiles are made of at least one element
  const kernels::Conv conv = kernels::plan_conv(conv_shape(node), *isa);
  Candidate simd = conv.shape.depthwise() ? depthwise_candidate(node, conv, *isa, threads)
                                          : product_candidate(node, conv, *isa, threads);
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
  WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
  kernels::pack_weights(conv, readable.as<float>().data(), floats_of(block));
  return block;
}

Result<std::unique_ptr<Kernel>> simd_kernel(const NodeView& node, const kernels::Epilogue& e,
                                            PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  auto conv = std::make_shared<const kernels::Conv>(kernels::make_conv(conv_shape(node), isa));
  SharedBlock weights;
  // Depthwise lines read each weight once per line, in the order it is stored: packing would only copy.
  if (const Tensor* w = node.constant(1); w && !conv->shape.depthwise()) {
    const auto make = [&] { return pack(*conv, *w); };
    // The layout depends on the tile and on how many rows a group has, nothing else of the node.
    const std::string kind =
        "conv_a_" + std::string(isa_name(isa)) + "_" + std::to_string(conv->shape.groups);
    WALLE_ASSIGN(weights, context.shared({w}, kind, make));
  }
  const auto run = [=, has_bias = node.has(2), has_residual = node.has(3)](const HostArgs& a) -> Status {
    kernels::Epilogue here = e;
    if (has_bias) here.row_bias = a.input<float>(2);
    if (has_residual) here.residual = a.input<float>(3);
    const float* packed = weights ? floats_of(*weights) : nullptr;
    kernels::run_conv(*conv, a.input<float>(0), a.input<float>(1), packed, here, a.output<float>(0),
                      a.threads, a.workspace);
    return {};
  };
  return make_kernel_in(host_memory(), weights ? kPackedWeights : 0, run);
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate& candidate,
                                        PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  if (candidate.choice == kSimd) return simd_kernel(node, e, context);
  if (candidate.choice == kLanes) return lane_kernel(node, conv_shape(node), e, context);
  if (candidate.choice == kWindows) return window_kernel(node, conv_shape(node), e, context);
  if (candidate.choice > kWinograd)
    return winograd_kernel(node, conv_shape(node), candidate.choice - kWinograd, e, context);
  std::unique_ptr<Kernel> kernel;
  tensor::visit_numeric(node.dtype(0), [&](auto tag) {
    kernel = reference_kernel<typename decltype(tag)::type>(conv_shape(node), e, node.has(2), node.has(3));
  });
  return kernel;
}
}  // namespace

extern const CpuOp kConvCpu{.op = "Conv", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
