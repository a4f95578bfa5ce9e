#include "ops/passes/fuse_epilogue.h"

#include <algorithm>

#include "ops/passes/uses.h"
#include "ops/rules/kinds.h"

namespace walle::ops {

namespace {
// Inputs of Conv and of a fused MatMul; input 0 is the data.
constexpr int kWeights = 1;
constexpr int kBias = 2;
constexpr int kResidual = 3;

// One Conv or MatMul and what can be folded into it so far.
class Chain {
 public:
  Chain(Program& program, const Uses& uses, const FuseOptions& options, const std::vector<bool>& gone,
        int index)
      : program_(program),
        uses_(uses),
        options_(options),
        gone_(gone),
        node_(program.nodes[index]),
        last_(index),
        conv_(node_.op->name == "Conv") {
    // Room for all four, so that run() trims once at the end; a node without bias has two again.
    node_.inputs.resize(std::max<size_t>(node_.inputs.size(), 4), kNoRef);
    if (node_.inputs[kResidual] >= 0) residual_ = true;
  }

  // Folds as long as something fits. The node then belongs
  // in the place of node last(); nodes absorbed() are gone.
  Status run() {
    while (true) {
      const int before = last_;
      WALLE_TRY(step());
      if (last_ == before) break;
    }
    // Two inputs is what a node without bias has: kernels look at the count.
    while (node_.inputs.size() > 2 && node_.inputs.back() < 0) node_.inputs.pop_back();
    return {};
  }
  int last() const { return last_; }
  const std::vector<int>& absorbed() const { return absorbed_; }
  ProgramNode take() { return std::move(node_); }

 private:
  Ref out() const { return node_.outputs[0]; }
  ProgramNode& at(int i) { return program_.nodes[i]; }
  const Shape& shape(Ref r) const { return program_.at(r).shape; }

  void absorb(int reader) {
    absorbed_.push_back(last_);
    last_ = reader;
    node_.outputs = at(reader).outputs;
  }

  Status step() {
    // The activation comes last in a kernel: nothing can follow it.
    if (activated_ || uses_.is_output(out())) return {};
    // Before the test for one reader, because y * Sigmoid(y) reads y twice.
    if ((try_gated(Activation::silu, {"Sigmoid"}) || try_gated(Activation::mish, {"Softplus", "Tanh"})))
      return {};
    if (!uses_.private_to_one(out())) return {};
    const int reader = uses_.readers(out())[0];
    // Another chain took the reader: of two convolutions that
    // are added, the first has the other for its residual.
    if (gone_[reader]) return {};
    const ProgramNode& next = at(reader);
    // A broadcast to a larger shape is no epilogue.
    if (next.outputs.size() != 1 || shape(next.outputs[0]) != shape(out())) return {};
    const std::string_view op = next.op->name;
    if (next.op->family == "Binary") {
      const bool left = next.inputs[0] == out();
      const Ref other = next.inputs[left ? 1 : 0];
      // The order of operands matters to Sub and Div alone: c - y would need the sum negated.
      if (op == "Add" || (op == "Sub" && left)) return add(reader, other, op == "Sub" ? -1.0f : 1.0f);
      if (op == "Mul" || (op == "Div" && left)) return scale(reader, other, op == "Div");
      return {};
    }
    if (next.op->family == "Unary" && options_.activation) activate(reader, next);
    return {};
  }

  int64_t channels() const { return conv_ ? shape(out())[1] : shape(out()).back(); }

  // The constant as one number per channel; empty when it is not constant or varies along another axis.
  std::vector<float> per_channel(Ref r) const {
    if (r < 0 || !program_.at(r).constant || program_.at(r).dtype != DType::float32) return {};
    const Tensor& t = *program_.at(r).constant;
    const size_t n = channels();
    if (t.elements() != 1 && t.elements() != static_cast<int64_t>(n))
      return {};  // of weights nothing is read
    const auto values = t.as<float>();
    if (values.size() == 1) return std::vector<float>(n, values[0]);  // a scalar is every channel's
    // Of the channels, counted from the right.
    const int axis = t.shape().rank() - (conv_ ? shape(out()).rank() - 1 : 1);
    // Convolutions have their channels on axis 1, products on the last one.
    if (axis < 0 || t.shape()[axis] != channels()) return {};
    return {values.begin(), values.end()};
  }

  Ref add_constant(Tensor t) {
    const Shape shape = t.shape();
    return program_.add({t.dtype(), shape, std::move(t)});
  }

  Result<Ref> constant_vector(const std::vector<float>& values) {
    WALLE_ASSIGN(Tensor t, Tensor::from<float>(Shape{static_cast<int64_t>(values.size())}, values));
    return add_constant(std::move(t));
  }

  // The present bias per channel: zeros when there is none, empty when it is computed.
  std::vector<float> bias() const {
    if (node_.inputs[kBias] < 0) return std::vector<float>(channels(), 0.0f);
    if (!program_.at(node_.inputs[kBias]).constant) return {};
    const auto values = program_.at(node_.inputs[kBias]).constant->as<float>();
    return {values.begin(), values.end()};
  }

  Status add(int reader, Ref other, float sign) {
    const std::vector<float> values = per_channel(other);
    if (!values.empty()) {
      std::vector<float> sum = bias();
      // An empty sum: the bias is computed at run time and cannot be added to.
      if (!options_.bias || sum.empty()) return {};
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += sign * values[i];
      WALLE_ASSIGN(node_.inputs[kBias], constant_vector(sum));
      absorb(reader);
      return {};
    }
    // One residual, added: `residual - y` has no kernel. A constant of the whole shape stays an Add, which
    // costs the same read.
    if (!options_.residual || residual_ || sign < 0 || other < 0 || other == out() ||
        program_.at(other).constant || shape(other) != shape(out()))
      return {};
    node_.inputs[kResidual] = other;
    residual_ = true;
    absorb(reader);
    return {};
  }

  // Codes of a quantised layer: an exact sum of integers, times one factor, rounded. In the weights the
  // factor would make the sum inexact, and ties, which such sums do meet, would become the code beside.
  bool rounded_next(int reader) const {
    const auto& readers = uses_.readers(program_.nodes[reader].outputs[0]);
    return std::ranges::any_of(readers, [&](int n) { return program_.nodes[n].op->name == "Round"; });
  }

  // Weights are [M, ...] for a convolution and [..., N] for a product. Loops without a division: with one for
  // each weight, this was half of what a plan of convolutions took (3 ms of 572,000 weights).
  Result<Tensor> scaled_weights(const Tensor& weights, const std::vector<float>& factors) const {
    WALLE_ASSIGN(Tensor scaled, Tensor::allocate(DType::float32, weights.shape()));
    WALLE_ASSIGN(const Tensor readable, weights.for_one_reading());
    const auto from = readable.as<float>();
    const auto to = scaled.as_mutable<float>();
    const size_t n = factors.size();
    const size_t together = from.size() / n;  // of a convolution: weights of one channel
    if (conv_)
      for (size_t c = 0; c < n; ++c)
        for (size_t i = c * together; i < (c + 1) * together; ++i) to[i] = from[i] * factors[c];
    else
      for (size_t row = 0; row < from.size(); row += n)
        for (size_t c = 0; c < n; ++c) to[row + c] = from[row + c] * factors[c];
    return scaled;
  }

  Status scale(int reader, Ref other, bool divide) {
    // Where a float layer is quantised, its result is divided, and no sum was exact before.
    if (!divide && rounded_next(reader)) return {};
    const ProgramValue& weights = program_.at(node_.inputs[kWeights]);
    // Asked first: the channels of a product of two values may be a symbol.
    if (!weights.constant) return {};
    std::vector<float> factors = per_channel(other);
    std::vector<float> shifted = bias();
    // After a residual the factor would have to scale that as well.
    if (!options_.scale || residual_ || factors.empty() || shifted.empty()) return {};
    // A batched right operand with broadcast columns.
    if (!conv_ && weights.shape.back() != channels()) return {};
    if (divide)
      for (float& f : factors) f = 1 / f;
    for (size_t i = 0; i < shifted.size(); ++i) shifted[i] *= factors[i];
    WALLE_ASSIGN(Tensor scaled, scaled_weights(*weights.constant, factors));
    node_.inputs[kWeights] = add_constant(std::move(scaled));
    if (node_.inputs[kBias] >= 0) {
      WALLE_ASSIGN(node_.inputs[kBias], constant_vector(shifted));
    }
    absorb(reader);
    return {};
  }

  void set_activation(Activation activation, const UnaryParams& params) {
    node_.attributes.set("activation", std::string(tensor::activation_name(activation)));
    node_.attributes.set("activation_alpha", params.alpha);
    node_.attributes.set("activation_beta", params.beta);
    activated_ = true;
  }

  void activate(int reader, const ProgramNode& next) {
    const auto kind = unary_kind(next.op->name, next.attributes);
    if (!kind) return;
    const auto fused = tensor::as_activation(*kind, unary_params(*kind, next.attributes));
    if (!fused) return;
    set_activation(fused->activation, fused->params);
    absorb(reader);
  }

  // y * gate(y), y being read by exactly the first operator of the gate and by the product: y * Sigmoid(y),
  // y * Tanh(Softplus(y)), which exporters write for Mish before opset 18.
  bool try_gated(Activation activation, std::initializer_list<std::string_view> gate) {
    if (!options_.activation || uses_.readers(out()).size() != 2) return false;
    int last = uses_.readers(out())[0];
    int product = uses_.readers(out())[1];
    if (gone_[last] || gone_[product]) return false;
    if (at(last).op->name != *gate.begin()) std::swap(last, product);
    std::vector<int> operators;
    for (const std::string_view name : gate) {
      if (gone_[last] || at(last).op->name != name) return false;
      operators.push_back(last);
      // The result of each must go nowhere else.
      const Ref gated = at(last).outputs[0];
      if (!uses_.private_to_one(gated)) return false;
      last = uses_.readers(gated)[0];
    }
    // The product must read y once beside it (y * y * Sigmoid(y) is another function).
    if (last != product || at(product).op->name != "Mul" ||
        std::ranges::count(at(product).inputs, out()) != 1)
      return false;
    set_activation(activation, {});
    absorbed_.insert(absorbed_.end(), operators.begin(), operators.end());
    absorb(product);
    return true;
  }

  Program& program_;
  const Uses& uses_;
  const FuseOptions& options_;
  const std::vector<bool>& gone_;
  ProgramNode node_;
  int last_;
  bool conv_;
  bool residual_ = false;
  bool activated_ = false;
  std::vector<int> absorbed_;
};

bool can_start(const Program& program, const ProgramNode& node) {
  if (node.op->name != "Conv" && node.op->name != "MatMul") return false;
  const Ref out = node.outputs[0];
  if (program.at(out).dtype != DType::float32 || node.attributes.has("activation")) return false;
  // The form that kernels take; others have been rewritten by then.
  if (node.op->name == "Conv") return program.at(node.inputs[0]).shape.rank() == 4;
  // A product with a vector on the right has no columns for a bias to follow.
  return program.at(out).shape.rank() >= 1 && program.at(node.inputs[1]).shape.rank() >= 2;
}
}  // namespace

Status fuse_epilogues(Program& program, const FuseOptions& options) {
  const Uses uses(program);
  std::vector<bool> gone(program.nodes.size(), false);
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (gone[i] || !can_start(program, program.nodes[i])) continue;
    Chain chain(program, uses, options, gone, static_cast<int>(i));
    WALLE_TRY(chain.run());
    if (chain.last() == static_cast<int>(i)) continue;
    for (int n : chain.absorbed()) gone[n] = true;
    // The chain ends where its last operand is ready: a
    // residual may be computed after the convolution itself.
    program.nodes[chain.last()] = chain.take();
  }
  std::vector<ProgramNode> kept;
  for (size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) kept.push_back(std::move(program.nodes[i]));
  program.nodes = std::move(kept);
  return {};
}

}  // namespace walle::ops
