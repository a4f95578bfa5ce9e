// Images of bfloat16 blocked by channels: how they come from rows of float32 and go back, and what is
// computed of them but convolutions of whole blocks (kernels/conv_bf16, kernels/conv/winograd). Every result
// is computed in float32 and rounded once.
//
// Stateless: every function may be called from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/blocked/blocked.h"
#include "kernels/blocked/blocked_conv.h"
#include "kernels/blocked_bf16/blocked_bf16_table.h"
#include "kernels/variants.h"

namespace walle::kernels {

// The best form within what may be used; null: there is none.
const Variant<BlockedBf16Table>* blocked_bf16_form(base::Capabilities usable);

void to_blocked_bf16(const BlockedBf16Table& table, const BlockedTable& turns, const BlockedShape& shape,
                     const float* rows, uint16_t* out, int threads);
void from_blocked_bf16(const BlockedBf16Table& table, const BlockedTable& turns, const BlockedShape& shape,
                       const uint16_t* blocked, float* out, int threads);

// Rows of results are made in float32 first, in a workspace of this size; `ow`: of a row.
int64_t blocked_bf16_workspace_bytes(int64_t ow, int threads);

// Of a depthwise convolution of 3 x 3 or 5 x 5, made for `conv` of that set; weights as blocked_weights()
// packs them. No residual.
void run_depthwise_bf16(const BlockedBf16Table& table, Isa isa, const BlockedConv& conv, const uint16_t* x,
                        const float* weights, const BlockedTail& tail, uint16_t* y, int threads,
                        std::byte* workspace);

void blocked_pool_bf16(const BlockedBf16Table& table, const BlockedShape& image, const PoolShape& shape,
                       const uint16_t* x, uint16_t* y, int threads, std::byte* workspace);

// Means (or with count 1: sums) over an image's pixels to [n, c, 1], float32 in blocks.
void blocked_mean_bf16(const BlockedBf16Table& table, const BlockedShape& shape, float count,
                       const uint16_t* x, float* y, int threads);

// Element by element in float32, over pieces of at most this many.
inline constexpr int64_t kBf16Piece = 1024;
using Bf16Piece = std::function<void(const float* const* x, float* y, int64_t first, int64_t n)>;

// `x` are one or two images of `elements`, a multiple of kBlock, in any lanes; pieces are whole vectors and
// begin and end with a pixel of one block, `block` elements of which follow one another.
void over_bf16(const BlockedBf16Table& table, std::span<const uint16_t* const> x, uint16_t* y,
               int64_t elements, int64_t block, int threads, const Bf16Piece& fn);

}  // namespace walle::kernels
