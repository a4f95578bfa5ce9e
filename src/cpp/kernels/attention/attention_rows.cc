// Attention of few queries: rows of scores, and no packing, which would cost more than it spares.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_mask.h"
#include "kernels/workspace.h"

namespace walle::kernels {

namespace {
using base::ceil_div;

// Queries, of one head or of several that share keys, that go over the keys together: what they read again
// comes from a near cache. More of them are work for blocks.
constexpr int64_t kRowsTogether = 16;

struct Sizes {
  explicit Sizes(const Attention& a)
      : q(whole_lines(kRowsTogether * a.depth + kSlackFloats)),
        row(whole_lines(a.keys)),
        scores(kRowsTogether * row + kSlackFloats),
        out(whole_lines(kRowsTogether * a.width + kSlackFloats)) {}
  int64_t total() const { return q + scores + out; }

  int64_t q, row, scores, out;
};

class RowWorker {
 public:
  RowWorker(const AttentionTable& table, const SoftmaxTable& softmax, const Attention& a,
            const AttentionHeads& heads, std::byte* workspace)
      : table_(table), softmax_(softmax), a_(a), heads_(heads) {
    const Sizes sizes(a);
    auto* at = reinterpret_cast<float*>(workspace);
    q_ = std::exchange(at, at + sizes.q);
    scores_ = std::exchange(at, at + sizes.scores);
    out_ = at;
    row_ = sizes.row;
  }

  // Rows are queries, head by head.
  void run(int64_t from, int64_t to) {
    while (from < to) {
      const AttentionHead first = head_of(from);
      int64_t next = from;
      while (next < std::min(to, from + kRowsTogether) && head_of(next).k == first.k &&
             head_of(next).v == first.v)
        ++next;
      together(from, next - from);
      from = next;
    }
  }

 private:
  AttentionHead head_of(int64_t row) const { return heads_.at(heads_.object, row / a_.queries); }

  void together(int64_t first, int64_t count) {
    KeyRange r{a_.keys, 0};
    for (int64_t i = 0; i < count; ++i) {
      const KeyRange one = seen(first + i);
      r = {std::min(r.from, one.from), std::max(r.to, one.to)};
      load_query(first + i, q_ + i * a_.depth);
    }
    const AttentionHead h = head_of(first);
    if (r.count() > 0) {
      table_.dots(q_, count, a_.depth, h.k + r.from * a_.k.row, a_.k.row, r.count(), scores_, row_);
      for (int64_t i = 0; i < count; ++i) weigh(first + i, r, scores_ + i * row_);
      table_.mix_rows(scores_, row_, count, h.v + r.from * a_.v.row, a_.v.row, r.count(), a_.width, out_,
                      a_.width);
    }
    for (int64_t i = 0; i < count; ++i) {
      const bool empty = seen(first + i).count() <= 0 || std::isnan(scores_[i * row_]);
      write(first + i, out_ + i * a_.width, empty);
    }
  }

  KeyRange seen(int64_t row) const {
    const KeyRange r = seen_keys(table_, a_, head_of(row), row % a_.queries, 1);
    return r.count() > 0 ? r : KeyRange{a_.keys, 0};
  }

  void load_query(int64_t row, float* to) const {
    const float* q = head_of(row).q + row % a_.queries * a_.q.row;
    for (int64_t d = 0; d < a_.depth; ++d) to[d] = q[d * a_.q.col] * a_.scale;
  }

  // Scores of keys r become weights.
  void weigh(int64_t row, KeyRange r, float* s) const {
    const AttentionHead h = head_of(row);
    const int64_t q = row % a_.queries;
    if (a_.cap != 0) table_.soften(s, r.count(), a_.cap);
    const auto bias = [&](const float* x, Steps steps) {
      x += q * steps.row + r.from * steps.col;
      if (steps.col == 1) return table_.add(s, x, r.count());
      for (int64_t l = 0; l < r.count(); ++l) s[l] += x[l * steps.col];
    };
    if (h.bias) bias(h.bias, a_.bias);
    if (h.more) bias(h.more, a_.more);
    if (h.keep) {
      const bool* keep = h.keep + q * a_.keep.row + r.from * a_.keep.col;
      for (int64_t l = 0; l < r.count(); ++l)
        if (keep[l * a_.keep.col] != a_.keep_value) s[l] = a_.fill;
    }
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    const int64_t first = std::clamp(q + a_.band.first, r.from, r.to) - r.from;
    const int64_t last = std::clamp(q + a_.band.last + 1, r.from, r.to) - r.from;
    std::fill(s, s + first, kHidden);
    std::fill(s + std::max(first, last), s + r.count(), kHidden);
    softmax_.rows(s, s, 1, r.count());
  }

  // `doubtful`: its weights are NaN, or there is none.
  void write(int64_t row, const float* from, bool doubtful) const {
    const AttentionHead h = head_of(row);
    const int64_t q = row % a_.queries;
    float* to = h.out + q * a_.out.row;
    if (doubtful && becomes_zero(a_, h, q))
      std::fill_n(to, a_.width, 0.0f);
    else if (doubtful && sees_none(a_, h, q))
      std::fill_n(to, a_.width, std::numeric_limits<float>::quiet_NaN());
    else
      std::copy_n(from, a_.width, to);
  }

  const AttentionTable& table_;
  const SoftmaxTable& softmax_;
  const Attention& a_;
  const AttentionHeads& heads_;
  float *q_, *scores_, *out_;
  int64_t row_;
};
}  // namespace

int64_t attention_rows_workspace_bytes(const Attention& a) { return Sizes(a).total() * kFloatBytes; }

void run_attention_rows(const AttentionTable& table, const SoftmaxTable& softmax, const Attention& a,
                        const AttentionHeads& heads, int threads, std::byte* workspace) {
  const int64_t rows = heads.count * a.queries;
  const int64_t shares = std::min<int64_t>(rows, threads);
  const int64_t bytes = attention_rows_workspace_bytes(a);
  base::parallel_for(shares, threads, [&](int64_t share) {
    RowWorker(table, softmax, a, heads, workspace + share * bytes)
        .run(rows * share / shares, rows * (share + 1) / shares);
  });
}

}  // namespace walle::kernels
