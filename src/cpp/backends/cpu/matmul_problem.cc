#include "backends/cpu/matmul_problem.h"

#include "base/checked.h"

namespace walle::backends::cpu {

namespace {
// Offsets of each batch of `out` in an operand whose leading axes broadcast.
std::vector<int64_t> batch_offsets(const Shape& out, const Shape& operand, int64_t matrix) {
  std::vector<int64_t> offsets(out.elements(), 0);
  const Shape strides = operand.strides();
  for (int64_t at = 0; at < std::ssize(offsets); ++at) {
    int64_t rest = at;
    for (int i = 1; i <= out.rank(); ++i) {
      const int64_t dim = out[out.rank() - i];
      const int64_t index = rest % dim;
      rest /= dim;
      const int axis = operand.rank() - i;
      if (axis >= 0 && operand[axis] != 1) offsets[at] += index * strides[axis] * matrix;
    }
  }
  return offsets;
}

}  // namespace

MatMulProblem matmul_problem_of(const NodeView& node, int right) {
  const Shape& a = node.shape(0);
  const Shape& b = node.shape(right);
  MatMulProblem p;
  p.k = a.back();
  // As NumPy has it, a vector is a row on the left and a column on the right; the result lacks that axis.
  p.m = a.rank() > 1 ? a[a.rank() - 2] : 1;
  p.n = b.rank() > 1 ? b.back() : 1;
  const Shape a_batch = a.sub(0, std::max(a.rank() - 2, 0));
  const Shape b_batch = b.sub(0, std::max(b.rank() - 2, 0));
  const Shape& out = node.out_shape(0);
  const Shape batch = out.sub(0, out.rank() - (a.rank() > 1) - (b.rank() > 1));
  // One B: all rows of A are one matrix, which fills tiles better and reads B once. Dense
  // layers look like this.
  if (b_batch.elements() == 1 && a_batch.elements() == batch.elements()) {
    p.m *= batch.elements();
    p.a = {0};
    p.b = {0};
    return p;
  }
  p.a = batch_offsets(batch, a_batch, p.m * p.k);
  p.b = batch_offsets(batch, b_batch, p.k * p.n);
  return p;
}

namespace {
// Below it a packed copy costs next to nothing, and serves a product with few columns better.
constexpr int64_t kInPlaceBytes = int64_t{1} << 20;
}  // namespace

bool reads_b_in_place(const MatMulProblem& p, int64_t few_rows) {
  return p.a.size() == 1 && p.m <= few_rows && p.k * p.n * int64_t{sizeof(float)} >= kInPlaceBytes;
}

void count_tiles(const MatMulProblem& p, int64_t mr, int64_t nr, Features& f) {
  const int64_t tall = base::ceil_div(p.m, mr), wide = base::ceil_div(p.n, nr);
  const auto batches = static_cast<double>(p.a.size());
  f[Quantity::flop] = 2 * batches * static_cast<double>(p.m * wide * nr * p.k);
  f[Quantity::tails] = 2 * batches * static_cast<double>((tall * mr - p.m) * wide * nr * p.k);
  f[Quantity::tiles] = batches * static_cast<double>(tall * wide);
}

}  // namespace walle::backends::cpu
