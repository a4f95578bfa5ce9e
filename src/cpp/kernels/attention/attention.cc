#include "kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/attention/attention_mask.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(AttentionTable, kAttentionF32, attention_table)

namespace {
using base::ceil_div;
using base::round_up;

// A key's own bias, the same for every query, is added by the product as it stores a row of scores.
bool by_product(const Attention& a) {
  return a.has_bias && !a.has_more && a.cap == 0 && a.bias.row == 0 && a.bias.col == 1;
}

// Floats of each buffer, in the order of the workspace.
struct Sizes {
  Sizes(const GemmTable& gemm, const Attention& a)
      : k(whole_lines(packed_a_elements(gemm, a.keys, a.depth))),
        v(whole_lines(packed_b_elements(gemm, a.width, a.keys) + kSlackFloats)),
        q(whole_lines(a.depth * gemm.nr + kSlackFloats)),
        scores(whole_lines(a.keys * gemm.nr + kSlackFloats)),
        bias(a.has_bias && !by_product(a) ? scores : 0),
        inverse(whole_lines(gemm.nr)),
        blocks(ceil_div(a.queries, int64_t{gemm.nr})),
        ranges(whole_lines(blocks * static_cast<int64_t>(sizeof(KeyRange)) / kFloatBytes)) {}
  int64_t total() const { return k + v + q + scores + bias + inverse + ranges; }

  int64_t k, v, q, scores, bias, inverse, blocks, ranges;
};

// One thread's blocks, one after the other.
class Worker {
 public:
  Worker(const GemmTable& gemm, const AttentionTable& table, const Attention& a, std::byte* workspace)
      : gemm_(gemm), table_(table), a_(a) {
    const Sizes sizes(gemm, a);
    auto* at = reinterpret_cast<float*>(workspace);
    const auto take = [&](int64_t floats) { return std::exchange(at, at + floats); };
    k_ = take(sizes.k);
    v_ = take(sizes.v);
    q_ = take(sizes.q);
    scores_ = take(sizes.scores);
    bias_ = take(sizes.bias);
    inverse_ = take(sizes.inverse);
    ranges_ = {reinterpret_cast<KeyRange*>(at), static_cast<size_t>(sizes.blocks)};
    forget_ranges();
  }

  // Queries [q0, q1) of a head; q0 is a multiple of nr.
  void run(const AttentionHead& h, int64_t q0, int64_t q1) {
    pack(h);
    for (int64_t q = q0; q < q1; q += gemm_.nr) block(h, q, std::min<int64_t>(gemm_.nr, q1 - q));
  }

 private:
  void pack(const AttentionHead& h) {
    // Query heads that share a key head follow one another.
    if (h.k != packed_k_) gemm_.pack_a(h.k, a_.k.row, a_.k.col, a_.keys, a_.depth, k_);
    if (h.v != packed_v_) gemm_.pack_b(h.v, a_.v.row, a_.v.col, a_.keys, a_.width, a_.keys * gemm_.nr, v_);
    packed_k_ = h.k;
    packed_v_ = h.v;
  }

  void block(const AttentionHead& h, int64_t q, int64_t count) {
    KeyRange r = range(h, q, count);
    float* out = h.out + q * a_.out.row;
    if (r.count() <= 0) {
      for (int64_t i = 0; i < count; ++i) fill_empty(out + i * a_.out.row);
      return;
    }
    r.from = r.from / gemm_.mr * gemm_.mr;  // where a panel starts
    score(h, q, count, r);
    if (h.keep) cover(h.keep + q * a_.keep.row, count, r);
    cut_band(q, count, r);
    table_.softmax(scores_, r.count(), count, inverse_);
    for (int64_t j = 0; j < a_.width; j += gemm_.nr)
      table_.mix(scores_, v_ + j * a_.keys + r.from * gemm_.nr, r.count(), count,
                 std::min<int64_t>(gemm_.nr, a_.width - j), inverse_, out + j, a_.out.row);
    if (a_.empty == Empty::nan) return;
    for (int64_t i = 0; i < count; ++i)
      if (std::isnan(inverse_[i]) && becomes_zero(a_, h, q + i)) fill_empty(out + i * a_.out.row);
  }

  // Looked for once where heads that follow one another share masks, as they do in decoders.
  KeyRange range(const AttentionHead& h, int64_t q, int64_t count) {
    if (h.bias != masks_.bias || h.more != masks_.more || h.keep != masks_.keep) forget_ranges();
    masks_ = h;
    KeyRange& r = ranges_[static_cast<size_t>(q / gemm_.nr)];
    if (r.from == kUnknown) r = seen_keys(table_, a_, h, q, count);
    return r;
  }
  void forget_ranges() { std::fill(ranges_.begin(), ranges_.end(), KeyRange{kUnknown, 0}); }

  void fill_empty(float* row) const {
    std::fill_n(row, a_.width, a_.empty == Empty::nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  }

  // scores_[key - r.from][query]: keys are the rows of the product, so that queries come to lie in lanes.
  void score(const AttentionHead& h, int64_t q, int64_t count, KeyRange r) {
    gemm_.pack_b(h.q + q * a_.q.row, a_.q.col, a_.q.row, a_.depth, count, 0, q_);
    // Of the few numbers of Q instead of every score.
    if (a_.scale != 1)
      for (int64_t i = 0; i < a_.depth * gemm_.nr; ++i) q_[i] *= a_.scale;
    GemmBlock b;
    b.rows = r.count();
    b.cols = count;
    b.k = a_.depth;
    b.a = k_ + r.from * a_.depth;
    b.a_panel = a_.depth * gemm_.mr;
    b.b = q_;
    b.b_row = gemm_.nr;
    b.c = scores_;
    b.c_row = gemm_.nr;
    const bool laid = a_.has_bias && !by_product(a_);
    if (laid) lay_bias(h, q, count, r);
    if (by_product(a_)) b.epilogue.row_bias = h.bias + r.from;
    if (laid && a_.cap == 0) b.epilogue.residual = bias_;
    gemm_.block(b);
    if (a_.cap == 0) return;
    table_.soften(scores_, r.count() * gemm_.nr, a_.cap);
    if (laid) table_.add(scores_, bias_, r.count() * gemm_.nr);
  }

  // As the scores lie.
  void lay_bias(const AttentionHead& h, int64_t q, int64_t count, KeyRange r) {
    const auto lay = [&](const float* bias, Steps steps, float* to) {
      gemm_.pack_b(bias + q * steps.row + r.from * steps.col, steps.col, steps.row, r.count(), count, 0, to);
    };
    lay(h.bias, a_.bias, bias_);
    if (!a_.has_more) return;
    lay(h.more, a_.more, scores_);
    table_.add(bias_, scores_, r.count() * gemm_.nr);
  }

  void cover(const bool* keep, int64_t count, KeyRange r) {
    for (int64_t l = r.from; l < r.to; ++l) {
      float* s = scores_ + (l - r.from) * gemm_.nr;
      const bool* here = keep + l * a_.keep.col;
      // Padding: a key counts for all queries or for none.
      if (a_.keep.row == 0) {
        if (*here != a_.keep_value) std::fill_n(s, count, a_.fill);
        continue;
      }
      for (int64_t q = 0; q < count; ++q) s[q] = here[q * a_.keep.row] == a_.keep_value ? s[q] : a_.fill;
    }
  }

  // -infinity where some queries of the block have keys that others do not see.
  void cut_band(int64_t q, int64_t count, KeyRange r) {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    // Query q + i sees no key behind q + i + last: of key l, queries before l - last do not.
    for (int64_t l = std::max(r.from, q + a_.band.last + 1); l < r.to; ++l)
      std::fill_n(scores_ + (l - r.from) * gemm_.nr, std::min(count, l - a_.band.last - q), kHidden);
    for (int64_t l = r.from; l < std::min(r.to, q + count - 1 + a_.band.first); ++l) {
      const int64_t seen = std::max<int64_t>(0, l - a_.band.first - q + 1);
      std::fill_n(scores_ + (l - r.from) * gemm_.nr + seen, count - seen, kHidden);
    }
  }

  static constexpr int64_t kUnknown = -1;

  const GemmTable& gemm_;
  const AttentionTable& table_;
  const Attention& a_;
  std::span<KeyRange> ranges_;  // of each block of queries, under the masks of masks_
  AttentionHead masks_;
  float *k_, *v_, *q_, *scores_, *bias_, *inverse_;
  const float* packed_k_ = nullptr;
  const float* packed_v_ = nullptr;
};
}  // namespace

int64_t attention_workspace_bytes(const GemmTable& gemm, const Attention& a) {
  return Sizes(gemm, a).total() * kFloatBytes;
}

void run_attention(const GemmTable& gemm, const AttentionTable& table, const Attention& a,
                   const AttentionHeads& heads, int threads, std::byte* workspace) {
  const int64_t bytes = attention_workspace_bytes(gemm, a);
  const int64_t blocks = ceil_div(a.queries, int64_t{gemm.nr});
  const int64_t shares = std::min<int64_t>(heads.count * blocks, threads);
  // A share is a run of blocks: where it ends within a head, two threads pack that head's keys and values,
  // which is little beside idling.
  base::parallel_for(shares, threads, [&](int64_t share) {
    Worker worker(gemm, table, a, workspace + share * bytes);
    const int64_t last = heads.count * blocks * (share + 1) / shares;
    for (int64_t i = heads.count * blocks * share / shares; i < last;) {
      const int64_t head = i / blocks;
      const int64_t from = i % blocks;
      const int64_t to = std::min(blocks, from + last - i);
      worker.run(heads.at(heads.object, head), from * gemm.nr, std::min(a.queries, to * gemm.nr));
      i += to - from;
    }
  });
}

}  // namespace walle::kernels
