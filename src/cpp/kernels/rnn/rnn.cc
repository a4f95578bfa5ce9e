#include "kernels/rnn/rnn.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/copy.h"
#include "base/thread_pool.h"
#include "kernels/rnn/step_sharing.h"
#include "kernels/workspace.h"

namespace walle::kernels {

WALLE_PICK_PER_ISA(RnnTable, kRnn, rnn_table)

namespace {
// The projection of a chunk of steps should still be in
// the second-level cache when the steps read it: 512 KB.
constexpr int64_t kChunkElements = 128 << 10;
constexpr int64_t kMinChunk = 16;  // steps: fewer rows leave tiles of the projection's product empty
// Multiply-adds of one step's product from which on threads may share it: handing half of it over takes 0.3
// to 0.6 us, and 32 Ki of them about 1.2.
constexpr int64_t kSharedProduct = int64_t{32} << 10;

bool split_recurrence(const Rnn& r) { return r.kind == RnnKind::gru && !r.linear_before_reset; }

// Steps projected at once. With the batch outermost in memory
// and several rows, steps of a chunk are not adjacent.
int64_t chunk_steps(const Rnn& r) {
  if (r.sequence == 0 || (r.batch_first && r.batch > 1)) return std::max<int64_t>(r.sequence, 1);
  // Elements that the projection of one step takes.
  const int64_t step = std::max<int64_t>(r.batch * r.gates * r.hidden, 1);
  return std::min(r.sequence, std::max(kChunkElements / step, kMinChunk));
}

// Scratch of one direction, in floats, every part on its own cache line.
struct Scratch {
  int64_t projected, gates, h, cell, reset, rounded, bias, gemm;

  Scratch(const GemmTable& t, const Rnn& r, int threads) {
    const int64_t width = r.gates * r.hidden;
    projected = whole_lines(chunk_steps(r) * r.batch * width);
    gates = whole_lines(r.batch * width);
    h = whole_lines(r.batch * r.hidden);
    cell = h;
    reset = h;
    rounded = r.round_state ? h : 0;
    bias = whole_lines(2 * width);
    const int64_t project = gemm_workspace_bytes(t, chunk_steps(r) * r.batch, width, r.input, false, true);
    const int64_t recur = gemm_workspace_bytes(t, r.batch, width, r.hidden, false, true);
    // One scratch for both products: they never run at the same time within a direction.
    gemm = whole_lines(std::max(project, recur) / kFloatBytes * std::max(threads, 1));
  }
  int64_t total() const { return projected + gates + h + cell + reset + rounded + bias + gemm; }
};

// DynamicQuantizeLinear and DequantizeLinear in one: 256 codes over a range that holds 0, rounded half to
// even. A range that is not finite leaves nothing but NaN, as the two operators do. Scalar: `count` products
// of `4 * hidden` each follow.
void round_to_codes(const float* x, int64_t count, float* out) {
  float low = 0;
  float high = 0;
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    finite = finite && std::isfinite(x[i]);
  }
  const float scale = (high - low) / 255;
  if (!finite || !std::isfinite(scale) || scale == 0) {
    std::fill_n(out, count, scale == 0 && finite ? 0 : std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const float zero = std::nearbyint(-low / scale);
  for (int64_t i = 0; i < count; ++i)
    out[i] = (std::clamp(std::nearbyint(x[i] / scale) + zero, 0.0f, 255.0f) - zero) * scale;
}

class Direction {
 public:
  Direction(Isa isa, const Rnn& r, const RnnOperands& o, int64_t d, int threads, float* scratch)
      : r_(r),
        o_(o),
        d_(d),
        width_(r.gates * r.hidden),
        threads_(threads),
        gemm_(gemm_table(isa)),
        steps_(rnn_table(isa)) {
    const Scratch s(gemm_, r, threads);
    projected_ = scratch;
    gates_ = projected_ + s.projected;
    h_ = gates_ + s.gates;
    cell_ = h_ + s.h;
    reset_ = cell_ + s.cell;
    rounded_ = reset_ + s.reset;
    bias_ = rounded_ + s.rounded;
    work_ = reinterpret_cast<std::byte*>(bias_ + s.bias);
    input_weights_ = o.packed + d * rnn_packed_elements(gemm_, r);
    recurrent_weights_ = input_weights_ + packed_b_elements(gemm_, width_, r.input);
  }

  void run() {
    load_state(o_.h, h_);
    if (r_.kind == RnnKind::lstm) load_state(o_.cell, cell_);
    make_bias();
    const int64_t chunk = chunk_steps(r_);
    for (int64_t done = 0; done < r_.sequence; done += chunk) {
      const int64_t count = std::min(chunk, r_.sequence - done);
      first_ = backward() ? r_.sequence - done - count : done;
      project(count);
      for (int64_t i = 0; i < count; ++i) pace(backward() ? first_ + count - 1 - i : first_ + i);
    }
    store_state(h_, o_.y_h);
    if (r_.kind == RnnKind::lstm) store_state(cell_, o_.y_cell);
  }

 private:
  bool backward() const { return r_.backward[d_]; }
  int64_t state_at(int64_t b) const {
    return (r_.batch_first ? b * r_.directions + d_ : d_ * r_.batch + b) * r_.hidden;
  }

  void load_state(const float* from, float* to) {
    for (int64_t b = 0; b < r_.batch; ++b)
      for (int64_t i = 0; i < r_.hidden; ++i) to[b * r_.hidden + i] = from ? from[state_at(b) + i] : 0;
  }
  void store_state(const float* from, float* to) {
    if (!to) return;
    for (int64_t b = 0; b < r_.batch; ++b)
      std::memcpy(to + state_at(b), from + b * r_.hidden, r_.hidden * kFloatBytes);
  }

  // Both biases belong to the projection, except the one
  // that GRU's reset gate scales with the recurrent product.
  void make_bias() {
    const float* b = o_.b ? o_.b + d_ * 2 * width_ : nullptr;
    // ONNX GRU, linear_before_reset = 1 (what PyTorch and cuDNN compute): the third gate is g(Wx + Wb + r *
    // (Rh + Rb)), so its Rb may not be added before the reset.
    const int64_t kept = r_.kind == RnnKind::gru && r_.linear_before_reset ? 2 * r_.hidden : width_;
    for (int64_t i = 0; i < width_; ++i) {
      bias_[i] = !b ? 0 : i < kept ? b[i] + b[width_ + i] : b[i];
      bias_[width_ + i] = !b || i < kept ? 0 : b[width_ + i];
    }
  }

  void project(int64_t count) {
    const int64_t at = r_.batch_first ? first_ * r_.input : first_ * r_.batch * r_.input;
    const Gemm product{.m = count * r_.batch,
                       .n = width_,
                       .k = r_.input,
                       .a = {.data = o_.x + at, .row_stride = r_.input},
                       .packed_b = input_weights_,
                       .c = projected_,
                       .c_row = width_,
                       .epilogue = {.col_bias = bias_}};
    run_gemm(gemm_, product, threads_, work_);
  }

  const float* projected(int64_t t, int64_t b) const {
    const int64_t row = r_.batch_first && r_.batch > 1 ? b * r_.sequence + t : (t - first_) * r_.batch + b;
    return projected_ + row * width_;
  }

  void recur(const float* state, int64_t first_column, int64_t columns, const float* weights,
             const float* bias) {
    const Gemm product{.m = r_.batch,
                       .n = columns,
                       .k = r_.hidden,
                       .a = {.data = state, .row_stride = r_.hidden},
                       .packed_b = weights,
                       .c = gates_ + first_column,
                       .c_row = width_,
                       .epilogue = {.col_bias = bias}};
    run_gemm(gemm_, product, shared_ ? threads_ : 1, work_);
  }

  // What a step's product reads.
  const float* product_state() {
    if (!r_.round_state) return h_;
    round_to_codes(h_, r_.batch * r_.hidden, rounded_);
    return rounded_;
  }

  template <class Fn>
  void each_row(int64_t t, Fn fn) {
    const auto& a = r_.activations[d_];
    RnnRow row;
    row.hidden = r_.hidden;
    row.peephole = o_.peephole ? o_.peephole + d_ * 3 * r_.hidden : nullptr;
    row.f = a[0];
    row.g = a[1];
    row.last = a[2];
    row.clip = r_.clip;
    row.input_forget = r_.input_forget;
    for (int64_t b = 0; b < r_.batch; ++b) {
      if (o_.lengths && t >= o_.lengths[b]) continue;  // beyond its length an item keeps its state
      row.x = projected(t, b);
      row.s = gates_ + b * width_;
      row.h = h_ + b * r_.hidden;
      row.cell = cell_ + b * r_.hidden;
      row.reset = reset_ + b * r_.hidden;
      fn(row);
    }
  }

  void pace(int64_t t) {
    if (threads_ < 2 || r_.batch * width_ * r_.hidden < kSharedProduct) return step(t);
    shared_ = sharing_.share();
    const auto from = std::chrono::steady_clock::now();
    step(t);
    sharing_.took((std::chrono::steady_clock::now() - from) / std::chrono::nanoseconds(1));
  }

  void step(int64_t t) {
    // The product of the third gate needs r * h, which the first two gates give: two products instead of one.
    if (split_recurrence(r_)) {
      const int64_t two = 2 * r_.hidden;
      recur(h_, 0, two, recurrent_weights_, nullptr);
      each_row(t, steps_.gru_gates);
      recur(reset_, two, r_.hidden, recurrent_weights_ + packed_b_elements(gemm_, two, r_.hidden), nullptr);
      each_row(t, steps_.gru_finish);
    } else {
      recur(product_state(), 0, width_, recurrent_weights_,
            r_.kind == RnnKind::gru ? bias_ + width_ : nullptr);
      each_row(t, r_.kind == RnnKind::gru    ? steps_.gru_linear
                  : r_.kind == RnnKind::lstm ? steps_.lstm
                                             : steps_.rnn);
    }
    if (!o_.y) return;
    for (int64_t b = 0; b < r_.batch; ++b) {
      const int64_t row = r_.batch_first ? (b * r_.sequence + t) * r_.directions + d_
                                         : (t * r_.directions + d_) * r_.batch + b;
      float* y = o_.y + row * r_.hidden;
      const int64_t bytes = r_.hidden * kFloatBytes;
      if (o_.lengths && t >= o_.lengths[b])
        // ONNX leaves outputs beyond sequence_lens to the implementation; zeros are what PyTorch's packed
        // sequences give.
        std::memset(y, 0, bytes);
      else
        base::copy_bytes(y, h_ + b * r_.hidden, bytes);
    }
  }

  const Rnn& r_;
  const RnnOperands& o_;
  int64_t d_, width_;
  int threads_;
  const GemmTable& gemm_;
  const RnnTable& steps_;
  StepSharing sharing_;
  bool shared_ = false;  // this step's products
  int64_t first_ = 0;
  float *projected_, *gates_, *h_, *cell_, *reset_, *rounded_, *bias_;
  std::byte* work_;
  const float *input_weights_, *recurrent_weights_;
};

// Two directions run side by side when there are threads for it.
int inner_threads(const Rnn& r, int threads) { return r.directions > 1 ? std::max(threads / 2, 1) : threads; }
}  // namespace

int64_t rnn_packed_elements(const GemmTable& t, const Rnn& r) {
  const int64_t width = r.gates * r.hidden;
  // Panels of the split form start anew after two gates, because a panel must not hold columns of both
  // products.
  const int64_t recurrent = split_recurrence(r) ? packed_b_elements(t, 2 * r.hidden, r.hidden) +
                                                      packed_b_elements(t, r.hidden, r.hidden)
                                                : packed_b_elements(t, width, r.hidden);
  return whole_lines(packed_b_elements(t, width, r.input) + recurrent);
}

void pack_rnn(const GemmTable& t, const Rnn& r, const float* w, const float* rec, float* out) {
  const int64_t width = r.gates * r.hidden;
  pack_whole_b(t, {w, 1, r.input}, r.input, width, out);
  out += packed_b_elements(t, width, r.input);
  if (!split_recurrence(r)) return pack_whole_b(t, {rec, 1, r.hidden}, r.hidden, width, out);
  const int64_t two = 2 * r.hidden;
  pack_whole_b(t, {rec, 1, r.hidden}, r.hidden, two, out);
  pack_whole_b(t, {rec + two * r.hidden, 1, r.hidden}, r.hidden, r.hidden,
               out + packed_b_elements(t, two, r.hidden));
}

int64_t rnn_workspace_bytes(const GemmTable& t, const Rnn& r, int threads) {
  return r.directions * Scratch(t, r, inner_threads(r, threads)).total() * kFloatBytes;
}

void run_rnn(Isa isa, const Rnn& r, const RnnOperands& o, int threads, std::byte* workspace) {
  if (r.batch == 0) return;
  const int inner = inner_threads(r, threads);
  const int64_t share = Scratch(gemm_table(isa), r, inner).total();
  base::parallel_for(r.directions, threads, [&](int64_t d) {
    Direction(isa, r, o, d, inner, reinterpret_cast<float*>(workspace) + d * share).run();
  });
}

}  // namespace walle::kernels
