// Reductions over any set of axes: the reference kernels.
#pragma once

#include <array>
#include <span>

#include "kernels/reduce/reduce_table.h"
#include "tensor/kinds.h"
#include "tensor/shape.h"

namespace walle::kernels {

// The input's axes merged into runs that are kept or reduced alternately (unit axes dropped).
struct ReducePlan {
  int rank = 0;
  std::array<int64_t, base::kMaxRank> size{};
  std::array<bool, base::kMaxRank> reduced{};
  int64_t kept_elements = 1;
  int64_t reduced_elements = 1;
};
ReducePlan make_reduce_plan(const Shape& in, std::span<const int> axes);

bool reduce_supports(ReduceKind kind, DType dtype);

// Empty sets give the neutral element: 0, NaN (0 for integers), the lowest, the
// highest value, 1. Max and Min pass NaN on; integer sums wrap. Sums of floats go
// through blocks so that the error does not grow with the length of a contiguous run.
void run_reduce(ReduceKind kind, DType dtype, const ReducePlan& plan, const void* x, void* y, int threads);

// The index of the greatest (or least) element along the
// middle axis of [outer, axis, inner]; NaN wins, as in NumPy.
struct ArgReduce {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  bool greatest = true;
  bool last_index = false;  // of equal elements
};
void run_arg_reduce(const ArgReduce& spec, DType dtype, const void* x, int64_t* y);
// The same of float32 whose axis is the last one, in vectors: rows [begin, end) of `outer`.
void run_arg_rows(const ReduceTable& table, const ArgReduce& spec, const float* x, int64_t* y, int64_t begin,
                  int64_t end);

// Running sums (or products) along the middle axis of [outer, axis, inner].
struct CumSum {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  bool exclusive = false;
  bool reverse = false;
  bool product = false;
};
void run_cum_sum(const CumSum& spec, DType dtype, const void* x, void* y);

}  // namespace walle::kernels
