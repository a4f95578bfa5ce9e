#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_mask.h"
#include "kernels/workspace.h"

namespace walle::kernels {

namespace {
int64_t share_bytes(const Attention& a) {
  return base::round_up(a.keys * int64_t{sizeof(double)}, int64_t{64});
}

double score(const Attention& a, const AttentionHead& h, int64_t q, int64_t key) {
  double sum = 0;
  for (int64_t l = 0; l < a.depth; ++l)
    sum += static_cast<double>(h.q[q * a.q.row + l * a.q.col]) *
           static_cast<double>(h.k[key * a.k.row + l * a.k.col]);
  sum *= static_cast<double>(a.scale);
  if (a.cap != 0) sum = static_cast<double>(a.cap) * std::tanh(sum);
  if (h.bias) sum += static_cast<double>(h.bias[q * a.bias.row + key * a.bias.col]);
  if (h.more) sum += static_cast<double>(h.more[q * a.more.row + key * a.more.col]);
  if (h.keep && h.keep[q * a.keep.row + key * a.keep.col] != a.keep_value) sum = static_cast<double>(a.fill);
  const bool within = q + a.band.first <= key && key <= q + a.band.last;
  return within ? sum : -std::numeric_limits<double>::infinity();
}

// A query whose scores are all -infinity becomes NaN, as the softmax by itself has it, or 0.
void run_query(const Attention& a, const AttentionHead& h, int64_t q, double* p) {
  double top = -std::numeric_limits<double>::infinity();
  for (int64_t key = 0; key < a.keys; ++key) {
    p[key] = score(a, h, q, key);
    top = p[key] > top || std::isnan(p[key]) ? p[key] : top;
  }
  double total = 0;
  for (int64_t key = 0; key < a.keys; ++key) {
    p[key] = std::exp(p[key] - top);
    total += p[key];
  }
  const bool zero = std::isnan(total) && becomes_zero(a, h, q);
  for (int64_t j = 0; j < a.width; ++j) {
    double sum = 0;
    for (int64_t key = 0; key < a.keys; ++key)
      sum += p[key] / total * static_cast<double>(h.v[key * a.v.row + j * a.v.col]);
    h.out[q * a.out.row + j * a.out.col] = zero ? 0.0f : static_cast<float>(sum);
  }
}
}  // namespace

int64_t attention_reference_bytes(const Attention& a) { return share_bytes(a); }

void run_attention_reference(const Attention& a, const AttentionHeads& heads, int threads,
                             std::byte* workspace) {
  const int64_t rows = heads.count * a.queries;
  const int64_t shares = std::min<int64_t>(rows, threads);
  base::parallel_for(shares, threads, [&](int64_t share) {
    auto* p = reinterpret_cast<double*>(workspace + share * share_bytes(a));
    for (int64_t i = rows * share / shares; i < rows * (share + 1) / shares; ++i)
      run_query(a, heads.at(heads.object, i / a.queries), i % a.queries, p);
  });
}

}  // namespace walle::kernels
