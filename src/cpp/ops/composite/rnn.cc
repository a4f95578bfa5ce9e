// RNN, GRU and LSTM: one product for the input of all steps, then the steps written out one after the other.
// Backends may run them whole; this decomposition says what they mean.
#include <array>

#include "ops/lower.h"
#include "ops/rules/cost.h"
#include "ops/rules/infer.h"
#include "ops/rules/rnn.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
// Written out, at some twenty nodes each; longer sequences need a backend that runs the operator whole.
constexpr int64_t kMaxSteps = 2048;

template <RnnKind Kind>
constexpr std::string_view kName = tensor::rnn_operator(Kind).name;

Status expect(const ir::InferContext& c, int i, const Shape& shape, const char* name) {
  // Lengths are int32 beside floats.
  if (!c.has(i) || (c.shape(i) == shape && (c.dtype(i) == c.dtype(0) || i == kRnnLengths))) return {};
  return model_error({name, c.shape(i).text()}, {shape.text(), " of X's dtype"}, {"input ", name},
                     "correct the shape");
}

template <RnnKind Kind>
Status infer(ir::InferContext& c) {
  if (!c.has(1) || !c.has(2))
    return model_error("no weights", "W and R", "inputs W, R", "connect the weights");
  WALLE_TRY(same_dtypes(c, 0, 3));
  if (!tensor::is_float(c.dtype(0)))
    return model_error({"X of ", dtype_name(c.dtype(0))}, "a float dtype", "input X", "insert a Cast");
  // Steps and batch may be symbols, of which the specification needs to know nothing; weights have sizes.
  const Shape& x = c.shape(0);
  const Shape numbers = x.rank() == 3 ? Shape{x.dim(0).value(), x.dim(1).value(), x[2]} : x;
  WALLE_ASSIGN(const RnnSpec s, rnn_spec(kName<Kind>, c.attrs(), numbers, c.shape(1), c.shape(2)));
  const Dim sequence = x.dim(s.batch_first ? 1 : 0);
  const Dim batch = x.dim(s.batch_first ? 0 : 1);
  const Shape state =
      s.batch_first ? Shape::of({batch, s.directions, s.hidden}) : Shape::of({s.directions, batch, s.hidden});
  WALLE_TRY(expect(c, kRnnB, Shape{s.directions, 2 * s.gates * s.hidden}, "B"));
  WALLE_TRY(expect(c, kRnnLengths, Shape::of({batch}), "sequence_lens"));
  WALLE_TRY(expect(c, kRnnH, state, "initial_h"));
  WALLE_TRY(expect(c, kRnnC, state, "initial_c"));
  // Peepholes i, o, f: three per hidden element, the cell gate has none (Gers and Schmidhuber, 2000).
  WALLE_TRY(expect(c, kRnnP, Shape{s.directions, 3 * s.hidden}, "P"));
  if (c.has(kRnnLengths) && c.dtype(kRnnLengths) != DType::int32)
    return model_error({"sequence_lens of ", dtype_name(c.dtype(kRnnLengths))}, "int32",
                       "input sequence_lens", "insert a Cast");
  // layout 0 and 1 of ONNX (opset 14).
  const Shape all = s.batch_first ? Shape::of({batch, sequence, s.directions, s.hidden})
                                  : Shape::of({sequence, s.directions, batch, s.hidden});
  WALLE_TRY(all.check(dtype_size(c.dtype(0)), std::string(kName<Kind>)));
  c.output(0, c.dtype(0), all);
  c.output(1, c.dtype(0), state);
  // Y_c exists for LSTM alone.
  if (Kind == RnnKind::lstm) c.output(2, c.dtype(0), state);
  return {};
}

// Everything one direction needs while its steps are written out.
class Steps {
 public:
  Steps(LowerContext& c, const RnnSpec& s, int64_t direction)
      : c_(c), s_(s), d_(direction), act_(s.activations[direction]), dtype_(c.dtype(c.in(kRnnX))) {}

  struct Result {
    std::vector<Ref> y;  // per time step, in time order; zero beyond an item's length
    Ref h = kNoRef, cell = kNoRef;
  };

  Result run(Ref x) {  // x [sequence, batch, input]
    const int64_t width = s_.gates * s_.hidden;
    const Ref w = c_.transpose(row(c_.in(kRnnW), d_), {1, 0});
    // Transposed once, not per step: constants are folded, computed weights become one copy.
    recurrent_ = c_.transpose(row(c_.in(kRnnR), d_), {1, 0});
    Ref all = c_.emit("MatMul", {c_.reshape(x, Shape{s_.sequence * s_.batch, s_.input}), w});
    if (c_.has(kRnnB)) {
      const Ref b = row(c_.in(kRnnB), d_);
      // B holds the input's biases, then the recurrent ones. They are kept apart, because GRU with
      // linear_before_reset scales the latter.
      all = c_.add(all, part(b, 0, 0, width));
      recurrent_bias_ = part(b, 0, width, width);
    }
    projected_ = c_.reshape(all, Shape{s_.sequence, s_.batch, width});
    if (c_.has(kRnnP)) peephole_ = row(c_.in(kRnnP), d_);
    h_ = initial(kRnnH);
    if (s_.kind == RnnKind::lstm) cell_ = initial(kRnnC);
    Result r;
    r.y.resize(s_.sequence, kNoRef);
    for (int64_t i = 0; i < s_.sequence; ++i) {
      const int64_t t = s_.backward(d_) ? s_.sequence - 1 - i : i;
      // By time and not by order of computation: ONNX's Y of a backward direction is in time order.
      r.y[t] = step(t);
    }
    r.h = h_;
    r.cell = cell_;
    return r;
  }

 private:
  // Elements [start, start + length) along an axis.
  Ref part(Ref x, int axis, int64_t start, int64_t length) {
    const Shape in = c_.shape(x);
    Shape out = in;
    out[axis] = length;
    raster::Raster r;
    r.regions.push_back(raster::strided_region(0, out.dims(), start * in.strides()[axis], in.strides().dims(),
                                               0, out.strides().dims()));
    return c_.raster(std::move(r), c_.dtype(x), out, {x});
  }
  Ref row(Ref x, int64_t i) { return c_.reshape(part(x, 0, i, 1), c_.shape(x).sub(1, c_.shape(x).rank())); }

  Ref initial(int input) {
    const Shape shape{s_.batch, s_.hidden};
    if (c_.has(input)) return c_.reshape(part(c_.in(input), s_.batch_first ? 1 : 0, d_, 1), shape);
    return zeros(c_, dtype_, shape);
  }

  Ref number(double v) { return c_.scalar(dtype_, v); }
  Ref gate(Ref x, int64_t g, int64_t count = 1) { return part(x, 1, g * s_.hidden, count * s_.hidden); }

  // `which` counts the functions f, g, h of ONNX's formulas.
  Ref activate(size_t which, Ref x) {
    const RnnActivation& a = act_[which];
    // Before the activation, and for every gate: "clip" bounds the activation's input.
    if (s_.clip > 0) x = c_.emit("Min2", {c_.emit("Max2", {x, number(-s_.clip)}), number(s_.clip)});
    const auto alpha = static_cast<double>(a.alpha);
    const auto beta = static_cast<double>(a.beta);
    switch (a.function) {
      case RnnFunction::affine: return c_.add(c_.mul(x, number(alpha)), number(beta));
      case RnnFunction::scaled_tanh: return c_.mul(c_.emit("Tanh", {c_.mul(x, number(beta))}), number(alpha));
      // Operators of the same names, which read the same numbers.
      case RnnFunction::relu:
      case RnnFunction::tanh:
      case RnnFunction::sigmoid:
      case RnnFunction::leaky_relu:
      case RnnFunction::thresholded_relu:
      case RnnFunction::hard_sigmoid:
      case RnnFunction::elu:
      case RnnFunction::softsign:
      case RnnFunction::softplus: break;
    }
    const auto& facts = tensor::rnn_function_facts(a.function);
    ir::Attributes attributes;
    if (facts.numbers >= 1) attributes.set("alpha", alpha);
    if (facts.numbers >= 2) attributes.set("beta", beta);
    return c_.emit(facts.name, {x}, std::move(attributes));
  }

  Ref with_peephole(Ref x, int64_t which, Ref cell) {
    return peephole_ < 0 ? x : c_.add(x, c_.mul(part(peephole_, 0, which * s_.hidden, s_.hidden), cell));
  }

  Ref one_minus(Ref x) { return c_.sub(number(1), x); }

  // To 256 codes over the whole batch's own range, as an integer product of the state would see it.
  Ref rounded(Ref h) {
    return c_.emit("DequantizeLinear", c_.emit_many("DynamicQuantizeLinear", {h}, {}, 3));
  }

  void step_lstm(Ref x, Ref& h, Ref& cell) {
    Ref sum = c_.add(x, c_.emit("MatMul", {s_.round_state ? rounded(h_) : h_, recurrent_}));
    if (recurrent_bias_ >= 0) sum = c_.add(sum, recurrent_bias_);
    const Ref i = activate(0, with_peephole(gate(sum, 0), 0, cell_));
    const Ref f = s_.input_forget ? one_minus(i) : activate(0, with_peephole(gate(sum, 2), 2, cell_));
    cell = c_.add(c_.mul(f, cell_), c_.mul(i, activate(1, gate(sum, 3))));
    const Ref o = activate(0, with_peephole(gate(sum, 1), 1, cell));
    h = c_.mul(o, activate(2, cell));
  }

  Ref step_gru(Ref x) {
    // z and r together, h apart: its product may need r * h first.
    const Ref zr_weights = gate(recurrent_, 0, 2);
    const Ref h_weights = gate(recurrent_, 2);
    Ref sum = c_.add(gate(x, 0, 2), c_.emit("MatMul", {h_, zr_weights}));
    if (recurrent_bias_ >= 0) sum = c_.add(sum, part(recurrent_bias_, 0, 0, 2 * s_.hidden));
    const Ref z = activate(0, gate(sum, 0));
    const Ref r = activate(0, gate(sum, 1));
    Ref hidden = c_.emit("MatMul", {s_.linear_before_reset ? h_ : c_.mul(r, h_), h_weights});
    if (recurrent_bias_ >= 0) hidden = c_.add(hidden, part(recurrent_bias_, 0, 2 * s_.hidden, s_.hidden));
    if (s_.linear_before_reset) hidden = c_.mul(r, hidden);
    const Ref candidate = activate(1, c_.add(gate(x, 2), hidden));
    // z keeps the old state, as in Cho et al. (2014), Keras and PyTorch; Chung et al. (2014) swap the two.
    return c_.add(c_.mul(one_minus(z), candidate), c_.mul(z, h_));
  }

  Ref step_rnn(Ref x) {
    Ref sum = c_.add(x, c_.emit("MatMul", {h_, recurrent_}));
    if (recurrent_bias_ >= 0) sum = c_.add(sum, recurrent_bias_);
    return activate(0, sum);
  }

  // Moves the state and gives the output of time step t.
  Ref step(int64_t t) {
    const Ref x = c_.reshape(part(projected_, 0, t, 1), Shape{s_.batch, s_.gates * s_.hidden});
    Ref h = kNoRef;
    Ref cell = kNoRef;
    if (s_.kind == RnnKind::lstm)
      step_lstm(x, h, cell);
    else
      h = s_.kind == RnnKind::gru ? step_gru(x) : step_rnn(x);
    Ref y = h;
    if (c_.has(kRnnLengths)) {  // beyond its length an item keeps its state and gives zeros
      // Per item of the batch, by selection: the step is computed for all of them anyway.
      const Ref inside =
          c_.reshape(c_.emit("Less", {c_.scalar(DType::int32, static_cast<double>(t)), c_.in(kRnnLengths)}),
                     Shape{s_.batch, 1});
      h = c_.emit("Where", {inside, h, h_});
      if (cell >= 0) cell = c_.emit("Where", {inside, cell, cell_});
      y = c_.emit("Where", {inside, y, number(0)});
    }
    h_ = h;
    cell_ = cell;
    return y;
  }

  LowerContext& c_;
  const RnnSpec& s_;
  int64_t d_;
  const std::array<RnnActivation, 3>& act_;
  DType dtype_;
  Ref recurrent_ = kNoRef, recurrent_bias_ = kNoRef, projected_ = kNoRef, peephole_ = kNoRef;
  Ref h_ = kNoRef, cell_ = kNoRef;
};

// Final states of all directions, [directions, batch, hidden] or with the batch first.
Ref join_states(LowerContext& c, const RnnSpec& s, const std::vector<Ref>& states, const Shape& out) {
  raster::Raster r;
  for (size_t d = 0; d < states.size(); ++d) {
    const auto at = static_cast<int64_t>(d);
    const int64_t size[] = {s.batch, s.hidden};
    const int64_t src[] = {s.hidden, 1};
    const int64_t dst[] = {s.batch_first ? s.directions * s.hidden : s.hidden, 1};
    r.regions.push_back(raster::strided_region(static_cast<int>(d), size, 0, src,
                                               at * (s.batch_first ? s.hidden : s.batch * s.hidden), dst));
  }
  return c.raster(std::move(r), c.dtype(c.in(0)), out, states);
}

Ref join_steps(LowerContext& c, const RnnSpec& s, const std::vector<Steps::Result>& results) {
  raster::Raster r;
  std::vector<Ref> sources;
  for (size_t d = 0; d < results.size(); ++d)
    for (int64_t t = 0; t < s.sequence; ++t) {
      const auto direction = static_cast<int64_t>(d);
      const int64_t size[] = {s.batch, s.hidden};
      const int64_t src[] = {s.hidden, 1};
      const int64_t dst[] = {s.batch_first ? s.sequence * s.directions * s.hidden : s.hidden, 1};
      const int64_t at = s.batch_first ? (t * s.directions + direction) * s.hidden
                                       : (t * s.directions + direction) * s.batch * s.hidden;
      r.regions.push_back(raster::strided_region(static_cast<int>(sources.size()), size, 0, src, at, dst));
      sources.push_back(results[d].y[t]);
    }
  return c.raster(std::move(r), c.dtype(c.in(0)), c.out_shape(0), sources);
}

template <RnnKind Kind>
Status lower(LowerContext& c) {
  WALLE_ASSIGN(const RnnSpec s,
               rnn_spec(kName<Kind>, c.attrs(), c.shape(c.in(0)), c.shape(c.in(1)), c.shape(c.in(2))));
  // An error and not hours of planning; the CPU's own kernel has no such limit.
  if (s.sequence > kMaxSteps)
    return resource_error({s.sequence, " time steps"},
                          {"at most ", kMaxSteps, " without a backend that runs them whole"}, "input X",
                          "cut the sequence, or use float32");
  // Time first, so that a step is one contiguous part.
  const Ref x = s.batch_first ? c.transpose(c.in(0), {1, 0, 2}) : c.in(0);
  std::vector<Steps::Result> results;
  std::vector<Ref> hidden, cells;
  for (int64_t d = 0; d < s.directions && !c.failed(); ++d) {
    results.push_back(Steps(c, s, d).run(x));
    hidden.push_back(results.back().h);
    cells.push_back(results.back().cell);
  }
  if (c.failed()) return {};
  c.result(0, join_steps(c, s, results));
  if (c.output_count() > 1) c.result(1, join_states(c, s, hidden, c.out_shape(1)));
  if (c.output_count() > 2) c.result(2, join_states(c, s, cells, c.out_shape(2)));
  return {};
}

ir::Cost cost(const ir::Attributes&, std::span<const ir::InferInput> in,
              std::span<const ir::InferOutput> out) {
  const Shape& x = in[0].shape;
  // Steps times batch, in either layout.
  const auto steps = static_cast<double>(x[0] * x[1]);
  const auto weights = static_cast<double>(in[1].shape.elements() + in[2].shape.elements());
  return {2 * steps * weights, bytes_of(in, out)};
}

template <RnnKind Kind>
constexpr ir::OpDef row() {
  constexpr bool lstm = Kind == RnnKind::lstm;
  return {.name = kName<Kind>,
          .op_class = ir::OpClass::composite,
          .inputs = {3, lstm ? 8 : 6},
          .outputs = {1, lstm ? 3 : 2},
          .infer = infer<Kind>,
          .lower = lower<Kind>,
          .cost = cost,
          .numeric = ir::NumericClass::accumulation};
}

constexpr std::array kRows{row<RnnKind::rnn>(), row<RnnKind::gru>(), row<RnnKind::lstm>()};
}  // namespace

extern const std::span<const ir::OpDef> kRnnOps = kRows;

}  // namespace walle::ops
