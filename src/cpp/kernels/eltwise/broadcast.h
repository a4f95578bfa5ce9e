// Broadcast: how up to three operands are walked to fill one dense result. Axes that all operands walk alike
// are merged, so that two dense operands are one run and a row vector against a matrix is two axes.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "tensor/strided.h"

namespace walle::kernels {

inline constexpr int kMaxOperands = 3;  // of Where

struct Broadcast {
  int rank = 0;  // at least 1; the last axis is the inner run
  int operands = 0;
  int64_t elements = 0;
  std::array<int64_t, base::kMaxRank> size{};
  // In elements; 0 where an operand repeats.
  std::array<std::array<int64_t, base::kMaxRank>, kMaxOperands> stride{};
};

// Precondition: every shape broadcasts to `out`, and there are at most kMaxOperands.
Broadcast make_broadcast(const Shape& out, std::span<const Shape> operands);
// The same for views; offsets are the caller's.
Broadcast make_broadcast(const Shape& out, std::span<const Layout> operands);

// Calls fn(out_offset, operand_offsets, n) for the runs along
// the last axis that make up the elements [begin, end).
template <class Fn>
void for_each_run(const Broadcast& b, int64_t begin, int64_t end, Fn&& fn) {
  const int last = b.rank - 1;
  std::array<int64_t, base::kMaxRank> at{};
  std::array<int64_t, kMaxOperands> offset{};
  // A thread starts in the middle: the position is taken apart once, then only carried on.
  int64_t rest = begin;
  for (int i = last; i >= 0; --i) {
    at[i] = rest % b.size[i];
    rest /= b.size[i];
    for (int k = 0; k < b.operands; ++k) offset[k] += at[i] * b.stride[k][i];
  }
  for (int64_t out = begin; out < end;) {
    const int64_t n = std::min(end - out, b.size[last] - at[last]);
    fn(out, offset, n);
    out += n;
    if (out >= end) return;
    // The run ended at the end of the last axis: go back to its start and carry.
    for (int k = 0; k < b.operands; ++k) offset[k] -= at[last] * b.stride[k][last];
    at[last] = 0;
    for (int i = last - 1; i >= 0; --i) {
      for (int k = 0; k < b.operands; ++k) offset[k] += b.stride[k][i];
      if (++at[i] < b.size[i]) break;
      for (int k = 0; k < b.operands; ++k) offset[k] -= b.size[i] * b.stride[k][i];
      at[i] = 0;
    }
  }
}

}  // namespace walle::kernels
