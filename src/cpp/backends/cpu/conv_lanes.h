// Conv with channels in lanes, float32 over constant weights, which are brought into their form once per
// model: windows of 1 x 1 on small maps, larger ones over few channels, and 3 x 3 by Winograd's minimal
// filtering.
#pragma once

#include "backends/cpu/cpu_op.h"
#include "kernels/conv/channel_lanes.h"
#include "kernels/conv/lane_windows.h"
#include "kernels/conv/winograd.h"
#include "kernels/variants.h"

namespace walle::backends::cpu {

// Nothing where the shape does not fit.
std::optional<Candidate> lane_candidate(const NodeView& node, const kernels::ConvShape& shape,
                                        kernels::Isa isa, int threads, int choice);
std::optional<Candidate> window_candidate(const NodeView& node, const kernels::ConvShape& shape,
                                          kernels::Isa isa, int threads, int choice);
// `blocked`: image, result and residual lie in blocks of channels, in the memory of that name; `kept`: they
// are bfloat16, in Bf16Memory.
std::optional<Candidate> winograd_candidate(const NodeView& node, const kernels::ConvShape& shape, int unit,
                                            kernels::Isa isa, int threads, int choice, bool blocked = false,
                                            const kernels::Variant<kernels::ConvBf16Table>* words = nullptr,
                                            const kernels::BlockedBf16Table* kept = nullptr);

Result<std::unique_ptr<Kernel>> lane_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                            const kernels::Epilogue& e, PrepareContext& context);
Result<std::unique_ptr<Kernel>> window_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                              const kernels::Epilogue& e, PrepareContext& context);
Result<std::unique_ptr<Kernel>> winograd_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                                int unit, const kernels::Epilogue& e,
                                                PrepareContext& context);
// The bias is constant.
Result<std::unique_ptr<Kernel>> blocked_winograd_kernel(const NodeView& node, const kernels::ConvShape& shape,
                                                        int unit, const kernels::Epilogue& e,
                                                        PrepareContext& context,
                                                        const kernels::ConvBf16Table* words = nullptr,
                                                        const kernels::BlockedBf16Table* kept = nullptr);

}  // namespace walle::backends::cpu
