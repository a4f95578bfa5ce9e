// What attention computes, apart from how: sizes, masks, and where the operands of a head lie.
#pragma once

#include <cstdint>

namespace walle::kernels {

// From one row to the next and from one column to the next, in elements.
struct Steps {
  int64_t row = 0;
  int64_t col = 1;
};

// Query q sees keys [q + first, q + last]; a causal mask has last = 0, or as many keys as came before.
struct Band {
  static constexpr int64_t kOpen = int64_t{1} << 40;  // beyond every key
  int64_t first = -kOpen, last = kOpen;
};

// What a query becomes whose weights are NaN. `zero`: 0, where -infinity hides every key from it; NaN where
// its numbers are. `never_nan`: 0 whatever the reason.
enum class Empty { nan, zero, never_nan };

// score = scale Q K^T, then cap * tanh(score) where there is a cap, then the biases, then `fill` where `keep`
// says so, then -infinity outside of the band.
struct Attention {
  int64_t queries = 0, keys = 0, depth = 0, width = 0;  // `width`: columns of V; all are at least 1
  float scale = 1;
  float cap = 0;  // 0: none
  Steps q, k, v;  // [queries, depth], [keys, depth], [keys, width]
  // [queries, keys] each: what is added to the scores, and where they count.
  bool has_bias = false, has_more = false;  // `more` only beside `bias`
  Steps bias, more, keep;
  bool keep_value = true;  // of `keep`: where a score stays
  float fill = 0;          // what a score becomes elsewhere
  Band band;
  Empty empty = Empty::nan;
  Steps out;  // [queries, width]; vector kernels want columns that lie together
};

// Where one head's operands start.
struct AttentionHead {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const float* bias = nullptr;
  const float* more = nullptr;  // a second bias
  const bool* keep = nullptr;
  float* out = nullptr;
};

}  // namespace walle::kernels
