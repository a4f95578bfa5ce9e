// The element-wise part of recurrent steps. The usual activations without clipping are compiled in; any other
// combination chooses per vector, which exp and tanh outweigh.
#include "kernels/rnn/rnn_table.h"
#include "kernels/simd_math.h"

namespace walle::kernels::WALLE_ISA_NS {

namespace {
// By masks: both sides are computed, as vectors must; neither side traps.
inline vf select(vi mask, vf a, vf b) { return as_float((as_int(a) & mask) | (as_int(b) & ~mask)); }

inline vf softplus(vf x) {
  vf out;
  // Beyond 20 the result is x in float, and exp would overflow from 89 on.
  for (int i = 0; i < kLanes; ++i) out[i] = x[i] > 20 ? x[i] : __builtin_log1pf(__builtin_expf(x[i]));
  return out;
}

inline vf apply(const RnnActivation& a, vf x) {
  switch (a.function) {
    case RnnFunction::relu: return max_keep_nan(splat(0), x);
    case RnnFunction::tanh: return tanh(x);
    case RnnFunction::sigmoid: return sigmoid(x);
    case RnnFunction::affine: return x * a.alpha + a.beta;
    case RnnFunction::leaky_relu: return select(x < 0.0f, x * a.alpha, x);
    case RnnFunction::thresholded_relu: return select(x > a.alpha, x, splat(0));
    case RnnFunction::scaled_tanh: return a.alpha * tanh(x * a.beta);
    case RnnFunction::hard_sigmoid: return hard_sigmoid(x, a.alpha, a.beta);
    case RnnFunction::elu: return select(x < 0.0f, a.alpha * (exp(x) - 1.0f), x);
    case RnnFunction::softsign: return x / (1.0f + abs(x));
    case RnnFunction::softplus: return softplus(x);
  }
  return x;
}

// Sigmoid gates, tanh elsewhere, no clipping.
// What PyTorch and Keras export, so that it is compiled without a choice per vector.
struct Usual {
  static vf f(const RnnRow&, vf x) { return sigmoid(x); }
  static vf g(const RnnRow&, vf x) { return tanh(x); }
  static vf last(const RnnRow&, vf x) { return tanh(x); }
};

struct Any {
  // Clipping is rare, so that it may cost a branch.
  static vf bounded(const RnnRow& r, vf x) { return r.clip > 0 ? clamp(x, -r.clip, r.clip) : x; }
  static vf f(const RnnRow& r, vf x) { return apply(r.f, bounded(r, x)); }
  static vf g(const RnnRow& r, vf x) { return apply(r.g, bounded(r, x)); }
  static vf last(const RnnRow& r, vf x) { return apply(r.last, bounded(r, x)); }
};

bool usual(const RnnRow& r, bool has_last) {
  return !(r.clip > 0) && r.f.function == RnnFunction::sigmoid && r.g.function == RnnFunction::tanh &&
         (!has_last || r.last.function == RnnFunction::tanh);
}

// Calls body(i, n) for vectors of n = kLanes elements, then for the rest.
template <class Body>
inline void for_vectors(int64_t count, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, static_cast<int64_t>(kLanes));
  if (i < count) body(i, count - i);
}

inline vf load_some(const float* p, int64_t n) { return n == kLanes ? load(p) : load_n(p, n); }
inline void store_some(float* p, vf x, int64_t n) {
  if (n == kLanes)
    store(p, x);
  else
    store_n(p, x, n);
}

void rnn(const RnnRow& r) {
  for_vectors(r.hidden, [&](int64_t i, int64_t n) {
    store_some(r.h + i, Any::f(r, load_some(r.x + i, n) + load_some(r.s + i, n)), n);
  });
}

template <class A>
inline void lstm_row(const RnnRow& r) {
  const int64_t h = r.hidden;
  for_vectors(h, [&](int64_t i, int64_t n) {
    const auto sum = [&](int64_t gate) {
      return load_some(r.x + gate * h + i, n) + load_some(r.s + gate * h + i, n);
    };
    const auto peep = [&](int64_t which, vf cell) {
      return r.peephole ? load_some(r.peephole + which * h + i, n) * cell : splat(0);
    };
    const vf before = load_some(r.cell + i, n);
    const vf in = A::f(r, sum(0) + peep(0, before));
    const vf forget = r.input_forget ? 1.0f - in : A::f(r, sum(2) + peep(2, before));
    // Outputs see the new cell through their peephole, the other gates the old one (ONNX LSTM).
    const vf cell = forget * before + in * A::g(r, sum(3));
    const vf out = A::f(r, sum(1) + peep(1, cell));
    store_some(r.cell + i, cell, n);
    store_some(r.h + i, out * A::last(r, cell), n);
  });
}

template <class A>
inline void gru_linear_row(const RnnRow& r) {
  const int64_t h = r.hidden;
  for_vectors(h, [&](int64_t i, int64_t n) {
    const vf update = A::f(r, load_some(r.x + i, n) + load_some(r.s + i, n));
    const vf reset = A::f(r, load_some(r.x + h + i, n) + load_some(r.s + h + i, n));
    const vf fresh = A::g(r, load_some(r.x + 2 * h + i, n) + reset * load_some(r.s + 2 * h + i, n));
    // (1 - z) * fresh + z * h with one multiplication less.
    store_some(r.h + i, fresh + update * (load_some(r.h + i, n) - fresh), n);
  });
}

template <class A>
inline void gru_gates_row(const RnnRow& r) {
  const int64_t h = r.hidden;
  for_vectors(h, [&](int64_t i, int64_t n) {
    const vf reset = A::f(r, load_some(r.x + h + i, n) + load_some(r.s + h + i, n));
    store_some(r.s + i, A::f(r, load_some(r.x + i, n) + load_some(r.s + i, n)), n);
    store_some(r.reset + i, reset * load_some(r.h + i, n), n);
  });
}

template <class A>
inline void gru_finish_row(const RnnRow& r) {
  const int64_t h = r.hidden;
  for_vectors(h, [&](int64_t i, int64_t n) {
    const vf fresh = A::g(r, load_some(r.x + 2 * h + i, n) + load_some(r.s + 2 * h + i, n));
    store_some(r.h + i, fresh + load_some(r.s + i, n) * (load_some(r.h + i, n) - fresh), n);
  });
}

void lstm(const RnnRow& r) { usual(r, true) ? lstm_row<Usual>(r) : lstm_row<Any>(r); }
void gru_linear(const RnnRow& r) { usual(r, false) ? gru_linear_row<Usual>(r) : gru_linear_row<Any>(r); }
void gru_gates(const RnnRow& r) { usual(r, false) ? gru_gates_row<Usual>(r) : gru_gates_row<Any>(r); }
void gru_finish(const RnnRow& r) { usual(r, false) ? gru_finish_row<Usual>(r) : gru_finish_row<Any>(r); }
}  // namespace

extern const RnnTable kRnn;
const RnnTable kRnn = {
    .rnn = rnn,
    .lstm = lstm,
    .gru_linear = gru_linear,
    .gru_gates = gru_gates,
    .gru_finish = gru_finish,
};

}  // namespace walle::kernels::WALLE_ISA_NS
