// What MaxPool, AveragePool and LpPool share: the window rule,
// and pooling one or two axes of [N, C, H, W] at a time.
#pragma once

#include "ops/lower.h"
#include "ops/rules/window.h"

namespace walle::ops {

// The resolved window of a pooling node; padding must be
// smaller than the window, so that no window is all padding.
Result<Window> pool_window(const ir::Attributes& attrs, const Shape& x);

Status infer_pool(ir::InferContext& c);  // output 0: pooled, of X's dtype
ir::Cost cost_pool(const ir::Attributes&, std::span<const ir::InferInput>, std::span<const ir::InferOutput>);

// Lowering shared by MaxPool and AveragePool, whose windows are separable (the maximum of maxima; a mean's
// divisor is the product of per-axis counts): two spatial axes are canonical, one gains a unit axis, more are
// pooled in turns. Names no result when the node is canonical already.
Status lower_pool(LowerContext& c, std::string_view op);

}  // namespace walle::ops
