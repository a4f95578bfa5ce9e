// The rows of a constant B, some at a time, for whoever packs them.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/matmul_problem.h"
#include "tensor/widen.h"

namespace walle::backends::cpu {

// So much of B at once: what is packed leaves memory before the next rows come in.
inline constexpr int64_t kPackedAtOnce = int64_t{8} << 20;
// Likewise, of weights that lie unaligned: the rows stay in the outer cache while they are packed.
inline constexpr int64_t kCopiedAtOnce = int64_t{256} << 10;

// fn(where row 0 lies or would lie, k0, k1) of rows [k0, k1) in turn, a multiple of `step` of them but for
// the last ones.
template <class Fn>
void for_rows_of_b(const Tensor& b, const MatMulProblem& p, int64_t step, Fn fn) {
  const int64_t row = std::max<int64_t>(p.n * int64_t{sizeof(float)}, 1);
  const bool aligned = b.buffer().lies_aligned();
  const Tensor stored = b.as_stored();
  const int64_t stored_row = row * dtype_size(stored.dtype()) / int64_t{sizeof(float)};
  const int64_t rows = std::max((aligned ? kPackedAtOnce : kCopiedAtOnce) / row / step * step, step);
  std::vector<float> copied(aligned ? 0 : std::min(rows, p.k) * p.n);
  for (int64_t k0 = 0; k0 < p.k; k0 += rows) {
    const int64_t k1 = std::min(k0 + rows, p.k);
    const float* from = nullptr;
    if (aligned) {
      from = b.as<float>().data();
    } else {
      const std::byte* lies = stored.address() + k0 * stored_row;
      if (stored.dtype() == DType::float32)
        std::memcpy(copied.data(), lies, static_cast<size_t>((k1 - k0) * row));
      else
        tensor::widen(stored.dtype(), lies, copied.data(), (k1 - k0) * p.n);
      from = copied.data() - k0 * p.n;
    }
    fn(from, k0, k1);
    stored.buffer().drop(stored.byte_offset() + static_cast<size_t>(k0 * stored_row),
                         static_cast<size_t>((k1 - k0) * stored_row));
  }
}

}  // namespace walle::backends::cpu
