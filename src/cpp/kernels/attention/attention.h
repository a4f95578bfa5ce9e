// Attention of float32 heads in one pass: out = softmax(scale Q K^T + bias) V, where the scores of a block of
// queries never leave the cache.
//
// A block is as many queries as a panel of the matrix product has columns, with all keys: 32 queries of 512
// keys are 64 KB of scores where the second level holds 1 MB. Milakov and Gimelshein's running maximum
// ("Online normalizer calculation for softmax", 2018), on which FlashAttention stands (Dao et al., 2022),
// needs blocks of keys as well and rescales what it has; here it would spare a pass over scores that stay in
// the cache anyway. Operands are read by their strides, so that heads side by side need no transposition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention/attention_problem.h"
#include "kernels/attention/attention_table.h"
#include "kernels/gemm/gemm.h"
#include "kernels/softmax/softmax_table.h"

namespace walle::kernels {

const AttentionTable& attention_table(Isa isa);

// `heads` of a kernel run: the i-th by a function, so that a plan keeps offsets and a run has addresses.
struct AttentionHeads {
  int64_t count = 0;
  AttentionHead (*at)(const void* object, int64_t i) = nullptr;
  const void* object = nullptr;
};

// Blocks of many queries. Scratch for one thread:
int64_t attention_workspace_bytes(const GemmTable& gemm, const Attention& a);

// On at most `threads` threads; `workspace` holds threads * attention_workspace_bytes, 64-byte aligned. Heads
// that follow one another and share keys and values pack them once. Keys that no query of a block sees are
// not computed (see attention_mask.h); what they hold must be finite.
void run_attention(const GemmTable& gemm, const AttentionTable& table, const Attention& a,
                   const AttentionHeads& heads, int threads, std::byte* workspace);

// Few queries, as when a text is continued word by word: keys and values are read where they lie, once for
// all heads that follow one another and share them. They, and the result, have columns that lie together, and
// at most kMostRowsDepth of them.
inline constexpr int64_t kMostRowsDepth = 1024;
int64_t attention_rows_workspace_bytes(const Attention& a);
void run_attention_rows(const AttentionTable& table, const SoftmaxTable& softmax, const Attention& a,
                        const AttentionHeads& heads, int threads, std::byte* workspace);

// As the definition says, in double: what the others are compared with. Scratch: a score per key and thread.
int64_t attention_reference_bytes(const Attention& a);
void run_attention_reference(const Attention& a, const AttentionHeads& heads, int threads,
                             std::byte* workspace);

}  // namespace walle::kernels
