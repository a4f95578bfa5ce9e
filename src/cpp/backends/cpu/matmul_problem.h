// A product of matrices with NumPy's batches as plain products, for every kernel that multiplies.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/backend.h"

namespace walle::backends::cpu {

// The product as batches of plain matrix products.
struct MatMulProblem {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  std::vector<int64_t> a;  // element offset of each batch's operands
  std::vector<int64_t> b;
  // False of no batches: then B has no elements that could be packed.
  bool one_b() const {
    return !b.empty() && std::ranges::all_of(b, [](int64_t offset) { return offset == 0; });
  }
};

// Of inputs 0 and `right`, and output 0.
MatMulProblem matmul_problem_of(const NodeView& node, int right = 1);

// Whether a constant B is read where it lies: a product with few rows reads every weight once, and no order
// of them is faster than the one in memory. Packed they would be there twice for nothing.
bool reads_b_in_place(const MatMulProblem& p, int64_t few_rows);

// The work of tiles of `mr` x `nr`. Rows that a tile lacks are tails: they cost what loading its weights
// takes, whoever multiplies with them.
void count_tiles(const MatMulProblem& p, int64_t mr, int64_t nr, Features& f);

}  // namespace walle::backends::cpu
