#include "ops/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/passes/constant_mask.h"
#include "ops/passes/uses.h"
#include "ops/passes/value_digits.h"
#include "ops/rules/attention.h"
#include "raster/algebra.h"
#include "raster/canonical.h"

namespace walle::ops {

namespace {
using Spec = AttentionDims;

// Steps from a Softmax to its product; more than any exporter writes.
constexpr int kMostSteps = 8;

// One attempt, from a Softmax on.
class Match {
 public:
  Match(const Program& program, const Uses& uses) : program_(program), uses_(uses) {}

  // The fused node, to stand where node last() stands.
  std::optional<ProgramNode> around(int softmax) {
    const ProgramNode& node = program_.nodes[softmax];
    const Shape& scores = shape(node.inputs[0]);
    const int64_t axis = node.attributes.get_int("axis", -1);
    if (scores.rank() < 2 || scores.dim_elements() == 0 || (axis != -1 && axis != scores.rank() - 1))
      return std::nullopt;
    count(softmax);
    spec_.queries = scores.dim(scores.rank() - 2);
    spec_.keys = last_dim(scores);
    if (!down(node.outputs[0]) || !up(node.inputs[0]) || !settle_empty()) return std::nullopt;
    return make();
  }
  int last() const { return last_; }
  const std::vector<const ProgramNode*>& instead() const { return instead_; }

 private:
  const Shape& shape(Ref r) const { return program_.at(r).shape; }
  static Dim last_dim(const Shape& s) { return s.dim(s.rank() - 1); }
  const ProgramNode* made_by(Ref r) const {
    const int i = uses_.producer(r);
    return i < 0 ? nullptr : &program_.nodes[i];
  }
  void count(int node) { instead_.push_back(&program_.nodes[node]); }
  void count_if_private(Ref r) {
    if (uses_.private_to_one(r)) count(uses_.producer(r));
  }

  std::optional<double> number(Ref r) const {
    if (r < 0 || !program_.at(r).constant || program_.at(r).constant->elements() != 1) return std::nullopt;
    const auto values = program_.at(r).constant->to_f64();
    return values.ok() ? std::optional((*values)[0]) : std::nullopt;
  }

  // Another name for the same scores: heads as one axis or as several.
  bool is_view_of_scores(const ProgramNode& node) const {
    if (!node.raster || node.inputs.size() != 1) return false;
    const Shape& to = shape(node.outputs[0]);
    const auto start = raster::as_alias(*node.raster, to.dim_elements());
    const Shape& from = shape(node.inputs[0]);
    return start && *start == 0 && from.dim_elements() == to.dim_elements() && from.rank() >= 2 &&
           to.rank() >= 2 && last_dim(from) == spec_.keys && last_dim(to) == spec_.keys &&
           from.dim(from.rank() - 2) == spec_.queries && to.dim(to.rank() - 2) == spec_.queries;
  }

  static bool plain_product(const ProgramNode& node) {
    return node.op->name == "MatMul" && node.inputs.size() == 2 && !node.attributes.has("activation");
  }
  bool matrices(const ProgramNode& node) const {
    return plain_product(node) && shape(node.inputs[0]).rank() >= 2 && shape(node.inputs[1]).rank() >= 2;
  }

  // From the weights to the product with V, and the raster behind it.
  bool down(Ref weights) {
    for (int step = 0; step < kMostSteps; ++step) {
      if (const int guard = nan_guard(weights); guard >= 0) {
        weights = program_.nodes[guard].outputs[0];
        continue;
      }
      if (!uses_.private_to_one(weights)) return false;
      const int reader = uses_.readers(weights)[0];
      const ProgramNode& node = program_.nodes[reader];
      if (is_view_of_scores(node)) {
        weights = node.outputs[0];
        continue;
      }
      if (node.op->name == "Where") {
        if (!empties(node, weights)) return false;
        count(reader);
        weights = node.outputs[0];
        continue;
      }
      if (!matrices(node) || node.inputs[0] != weights) return false;
      // Weights that are repeated for several V would be computed anew for each.
      const Shape& out = shape(node.outputs[0]);
      if (out.dim_elements() == 0 ||
          out.dim_product(0, out.rank() - 1) != shape(weights).dim_product(0, shape(weights).rank() - 1))
        return false;
      count(reader);
      last_ = reader;
      spec_.width = last_dim(out);
      mixed_ = node.outputs[0];
      origin_ = node.origin;
      return take(Spec::kV, node.inputs[1], out, false);
    }
    return false;
  }

  // Where(IsNaN(weights), 0, weights), as torch writes it: the number of the Where, or -1.
  int nan_guard(Ref weights) {
    const std::vector<int>& readers = uses_.readers(weights);
    if (readers.size() != 2 || uses_.is_output(weights)) return -1;
    const auto is = [&](int node, std::string_view name) { return program_.nodes[node].op->name == name; };
    const auto [nan, where] = std::minmax(readers[0], readers[1]);
    if (!is(nan, "IsNaN") || !is(where, "Where") || !uses_.private_to_one(program_.nodes[nan].outputs[0]))
      return -1;
    const ProgramNode& guard = program_.nodes[where];
    if (guard.inputs[0] != program_.nodes[nan].outputs[0] || guard.inputs[2] != weights ||
        number(guard.inputs[1]) != 0.0)
      return -1;
    count(nan);
    count(where);
    spec_.empty = Empty::never_nan;
    return where;
  }

  // Where(ReduceMax(bias) == -infinity, 0, weights), as ONNX defines Attention: a query without any key is 0.
  bool empties(const ProgramNode& node, Ref weights) {
    if (empty_of_ >= 0 || node.inputs[2] != weights || shape(node.outputs[0]) != shape(weights) ||
        number(node.inputs[1]) != 0.0)
      return false;
    const ProgramValue& none = program_.at(node.inputs[0]);
    if (none.constant) return std::ranges::none_of(none.constant->as<bool>(), [](bool x) { return x; });
    const ProgramNode* equal = made_by(node.inputs[0]);
    if (!equal || equal->op->name != "Equal") return false;
    const ProgramNode* largest = made_by(equal->inputs[0]);
    if (!largest || largest->op->name != "ReduceMax" ||
        number(equal->inputs[1]) != -std::numeric_limits<double>::infinity())
      return false;
    empty_of_ = largest->inputs[0];
    const Shape& of = shape(empty_of_);
    Shape reduced = of;
    if (reduced.rank() == 0) return false;
    reduced.set(reduced.rank() - 1, 1);
    if (last_dim(of) != spec_.keys || shape(equal->inputs[0]) != reduced || none.shape != reduced)
      return false;
    if (uses_.private_to_one(node.inputs[0])) {
      count(uses_.producer(node.inputs[0]));
      count_if_private(equal->inputs[0]);
    }
    return true;
  }

  // What decides whether a query has keys has to be all that hides them.
  bool settle_empty() {
    if (empty_of_ < 0) return true;
    if (spec_.empty == Empty::never_nan) return false;
    spec_.empty = Empty::zero;
    return bias_ == empty_of_ && inputs_[Spec::kMore] < 0 && inputs_[Spec::kKeep] < 0;
  }

  // From the softmax to the product of Q and K.
  bool up(Ref scores) {
    for (int step = 0; step < kMostSteps; ++step) {
      const ProgramNode* node = made_by(scores);
      if (!node || !uses_.private_to_one(scores)) return false;
      if (matrices(*node)) {
        count(uses_.producer(scores));
        spec_.depth = last_dim(shape(node->inputs[0]));
        return spec_.depth > 0 && take(Spec::kQ, node->inputs[0], shape(scores), false) &&
               take(Spec::kK, node->inputs[1], shape(scores), true);
      }
      if (is_view_of_scores(*node)) {
        scores = node->inputs[0];
        continue;
      }
      const Ref next = through(*node);
      // What broadcasts the scores themselves is not elementwise on them.
      if (next < 0 || shape(next) != shape(scores)) return false;
      count(uses_.producer(scores));
      scores = next;
    }
    return false;
  }

  // The scores that a step between product and softmax works on; kNoRef: a step of another kind. In the order
  // of the kernel, seen from its end: Where, one bias or two, cap, scale.
  Ref through(const ProgramNode& node) {
    const std::string_view op = node.op->name;
    if (op == "Where" && inputs_[Spec::kKeep] < 0 && inputs_[Spec::kBias] < 0 && !scaled_) return where(node);
    if (op == "Add" && inputs_[Spec::kMore] < 0 && !scaled_) return bias(node);
    if (op == "Mul" && !scaled_)
      if (const Ref x = capped(node); x >= 0) return x;
    if (op == "Mul" || op == "Div") return scaled(node);
    return kNoRef;
  }

  // x where `node` is cap * tanh(x).
  Ref capped(const ProgramNode& node) {
    for (const int i : {0, 1}) {
      const auto factor = number(node.inputs[1 - i]);
      const ProgramNode* tanh = made_by(node.inputs[i]);
      if (!factor || !tanh || tanh->op->name != "Tanh" || !uses_.private_to_one(node.inputs[i])) continue;
      if (!std::isnormal(static_cast<float>(*factor))) return kNoRef;
      count(uses_.producer(node.inputs[i]));
      spec_.cap = *factor;
      scaled_ = true;
      return tanh->inputs[0];
    }
    return kNoRef;
  }

  // x where `node` multiplies x with a number, or divides it by one.
  Ref scaled(const ProgramNode& node) {
    for (const int i : {0, 1}) {
      const auto factor = number(node.inputs[1 - i]);
      if (!factor || node.inputs[i] < 0 || (i == 1 && node.op->name == "Div")) continue;
      if (shape(node.inputs[i]) != shape(node.outputs[0])) continue;
      const double scale = node.op->name == "Div" ? spec_.scale / *factor : spec_.scale * *factor;
      // As a float it has to be a number that does not vanish: those rules stay with the separate steps.
      const float as_float = static_cast<float>(scale);
      if (!std::isnormal(as_float)) return kNoRef;
      spec_.scale = scale;
      scaled_ = true;
      return node.inputs[i];
    }
    return kNoRef;
  }

  Ref bias(const ProgramNode& node) {
    const Shape& scores = shape(node.outputs[0]);
    for (const int i : {0, 1}) {
      const Ref x = node.inputs[i], other = node.inputs[1 - i];
      // Of two candidates the scores are the one that is computed for them alone.
      if (x < 0 || other < 0 || shape(x) != scores || program_.at(x).constant || !leads_to_product(x))
        continue;
      const bool second = inputs_[Spec::kBias] >= 0;
      bias_ = other;
      return take(second ? Spec::kMore : Spec::kBias, other, scores, false) ? x : kNoRef;
    }
    return kNoRef;
  }

  Ref where(const ProgramNode& node) {
    for (const int i : {1, 2}) {
      const auto fill = number(node.inputs[3 - i]);
      if (!fill || std::isnan(*fill)) continue;
      if (!take(Spec::kKeep, node.inputs[0], shape(node.outputs[0]), false)) return kNoRef;
      spec_.keep_value = i == 1;
      spec_.fill = *fill;
      return node.inputs[i];
    }
    return kNoRef;
  }

  bool leads_to_product(Ref r, int steps = kMostSteps) const {
    const ProgramNode* node = made_by(r);
    if (steps == 0 || !node || !uses_.private_to_one(r)) return false;
    if (matrices(*node)) return true;
    const auto input = [&](int i) { return leads_to_product(node->inputs[i], steps - 1); };
    const std::string_view op = node->op->name;
    if (op == "Add") return input(0) || input(1);
    if (op == "Mul" || op == "Div") return input(number(node->inputs[1]) ? 0 : 1);
    return (op == "Tanh" || is_view_of_scores(*node)) && input(0);
  }

  // An operand whose last two axes are those of a matrix, for every head of `out`, the shape of a product or
  // of the scores. With its raster, when strides can say what that does, else without.
  bool take(Spec::Operand operand, Ref r, const Shape& out, bool transposed) {
    if (operand == Spec::kQ || operand == Spec::kK) r = without_factor(r);
    const ProgramNode* node = made_by(r);
    if (node && node->raster && node->inputs.size() == 1) {
      const auto digits = digits_of_raster(*node->raster, shape(r).dim_elements());
      if (digits && take(operand, *digits, shape(r), out, transposed)) {
        count_if_private(r);
        Ref source = node->inputs[0];
        if (operand == Spec::kQ || operand == Spec::kK) source = without_factor(source);
        inputs_[operand] = source;
        return true;
      }
    }
    inputs_[operand] = r;
    return take(operand, dense_digits(shape(r).dim_elements()), shape(r), out, transposed);
  }

  bool take(Spec::Operand operand, const ValueDigits& value, const Shape& own, const Shape& out,
            bool transposed) {
    const auto axes = digits_by_axis(value.digits, own);
    if (!axes) return false;
    const auto axis = [&](int from_right) {
      return from_right < own.rank() ? (*axes)[from_right] : IndexDigits{};
    };
    const auto col = even_stride(axis(transposed ? 1 : 0));
    const auto row = even_stride(axis(transposed ? 0 : 1));
    if (!col || !row) return false;
    IndexDigits heads;
    for (int a = 2; a < out.rank(); ++a) {
      const Dim size = out.dim(out.rank() - 1 - a);
      if (size == 1) continue;
      const IndexDigits digits = axis(a);
      if (digits.empty())
        heads.push_back({size, 0});  // broadcast
      else
        heads.insert(heads.end(), digits.begin(), digits.end());
    }
    spec_.operands[operand] = {value.offset, *row, *col, {}};
    heads_[operand] = std::move(heads);
    return true;
  }

  // Q or K before it was multiplied with a number.
  Ref without_factor(Ref r) {
    const ProgramNode* node = made_by(r);
    if (!node || (node->op->name != "Mul" && node->op->name != "Div")) return r;
    const Ref x = scaled(*node);
    if (x < 0) return r;
    count_if_private(r);
    return x;
  }

  // The result where the raster behind it puts it, else as the product leaves it.
  void place_result() {
    result_ = mixed_;
    const Shape& out = shape(mixed_);
    if (uses_.private_to_one(mixed_)) {
      const int reader = uses_.readers(mixed_)[0];
      const ProgramNode& node = program_.nodes[reader];
      const Dim elements = out.dim_elements();
      if (node.raster && node.inputs.size() == 1 && shape(node.outputs[0]).dim_elements() == elements) {
        const auto back = raster::invert(*node.raster, elements, elements);
        const auto digits = back ? digits_of_raster(*back, elements) : std::nullopt;
        // The vector kernel stores whole vectors of columns.
        if (digits && take(Spec::kOut, *digits, out, out, false) &&
            (spec_.operands[Spec::kOut].col == 1 || spec_.width == 1)) {
          count(reader);
          last_ = reader;
          result_ = node.outputs[0];
          return;
        }
      }
    }
    take(Spec::kOut, dense_digits(out.dim_elements()), out, out, false);
  }

  std::optional<ProgramNode> make() {
    place_result();
    std::vector<IndexDigits> digits;
    for (int i = 0; i < Spec::kOperands; ++i)
      if (i == Spec::kOut || inputs_[i] >= 0) digits.push_back(heads_[i]);
    std::vector<std::vector<Dim>> strides;
    if (!refine(std::move(digits), spec_.heads, strides)) return std::nullopt;
    size_t next = 0;
    for (int i = 0; i < Spec::kOperands; ++i)
      if (i == Spec::kOut || inputs_[i] >= 0) spec_.operands[i].heads = std::move(strides[next++]);
    narrow_band();
    std::vector<Ref> inputs(inputs_.begin(), inputs_.end());
    while (inputs.back() < 0) inputs.pop_back();
    ProgramNode fused{
        .op = &attention_op(), .inputs = std::move(inputs), .outputs = {result_}, .origin = origin_};
    fused.attributes = to_attributes(spec_, fused.symbols);
    return fused;
  }

  // Masks that are constant and say what a comparison says.
  void narrow_band() {
    for (const Spec::Operand mask : {Spec::kMore, Spec::kBias, Spec::kKeep}) {
      if (inputs_[mask] < 0 || !program_.at(inputs_[mask]).constant) continue;
      const bool alone = std::ranges::count_if(std::array{Spec::kMore, Spec::kBias, Spec::kKeep},
                                               [&](auto i) { return inputs_[i] >= 0; }) == 1;
      const auto band = band_of_mask(*program_.at(inputs_[mask]).constant, pinned(spec_),
                                     static_cast<AttentionSpec::Operand>(mask), alone);
      if (!band) continue;
      spec_.band.first = std::max(spec_.band.first, band->first);
      spec_.band.last = std::min(spec_.band.last, band->last);
      inputs_[mask] = kNoRef;
    }
    if (inputs_[Spec::kBias] >= 0) return;
    inputs_[Spec::kBias] = std::exchange(inputs_[Spec::kMore], kNoRef);
    spec_.operands[Spec::kBias] = spec_.operands[Spec::kMore];
  }

  const Program& program_;
  const Uses& uses_;
  Spec spec_;
  std::array<Ref, Spec::kOut> inputs_{kNoRef, kNoRef, kNoRef, kNoRef, kNoRef, kNoRef};
  std::array<IndexDigits, Spec::kOperands> heads_;
  bool scaled_ = false;    // nothing but factors may come, from the softmax upwards
  Ref bias_ = kNoRef;      // the last that was found
  Ref empty_of_ = kNoRef;  // the bias that decides whether a query has keys
  Ref mixed_ = kNoRef;     // the product with V
  Ref result_ = kNoRef;    // the same, or what a raster makes of it
  Origin origin_;
  int last_ = -1;
  std::vector<const ProgramNode*> instead_;
};
}  // namespace

Status fuse_attention(Program& program, const WorthFusing& worth) {
  bool changed = false;
  std::optional<Uses> uses;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const ProgramNode& node = program.nodes[i];
    if (node.op->name != "Softmax" || program.at(node.outputs[0]).dtype != DType::float32) continue;
    if (!uses) uses.emplace(program);
    Match match(program, *uses);
    std::optional<ProgramNode> fused = match.around(static_cast<int>(i));
    if (!fused || !worth(*fused, match.instead())) continue;
    // Uses stays right for the matches to come: what they look at is not made or read by these nodes alone.
    program.nodes[match.last()] = std::move(*fused);
    changed = true;
  }
  if (changed) remove_dead_nodes(program);
  return {};
}

}  // namespace walle::ops
