#include "ops/passes/distribute_product.h"

#include <algorithm>
#include <cmath>

#include "ops/passes/column_blocks.h"
#include "ops/passes/uses.h"
#include "ops/registry.h"

namespace walle::ops {

namespace {
using Axis = ColumnBlock::Axis;

// Columns of the left operand with their rows of the right one.
struct Term {
  ColumnBlock block;
  int64_t width = 0;           // of the product's result
  std::vector<float> weights;  // block.width x width

  double mean_square() const {
    double sum = 0;
    for (float w : weights) sum += static_cast<double>(w) * w;
    return sum / static_cast<double>(std::max<size_t>(weights.size(), 1));
  }
};

class Distributor {
 public:
  Distributor(Program& program, const Uses& uses, const ir::OpDef& matmul, const ir::OpDef& add)
      : program_(program), uses_(uses), matmul_(matmul), add_(add) {}

  // What takes the place of node i; nothing when it stays.
  Result<std::vector<ProgramNode>> replace(int i) {
    node_ = &program_.nodes[i];
    std::vector<ProgramNode> none;
    if (node_->op != &matmul_ || node_->inputs.size() != 2) return none;
    const ProgramValue& left = program_.at(node_->inputs[0]);
    const ProgramValue& right = program_.at(node_->inputs[1]);
    if (!right.constant || right.shape.rank() != 2 || left.shape.rank() < 2 || left.dtype != DType::float32 ||
        right.dtype != DType::float32 || left.shape.dim_elements() == 0 || right.shape.elements() == 0)
      return none;
    depth_ = right.shape[0];
    width_ = right.shape[1];
    rows_ = left.shape.dim_elements() / depth_;
    const int from = uses_.producer(node_->inputs[0]);
    // Another reader would need the rows as they are all the same.
    if (from < 0 || !uses_.private_to_one(node_->inputs[0])) return none;
    const auto blocks = column_blocks(program_.nodes[from], rows_, depth_);
    if (!blocks) return none;
    terms_.clear();
    for (const PlacedBlock& b : *blocks) add_term(b.block, b.column);
    fold_differences();
    return rewrite();
  }

 private:
  const ProgramNode* made_by(Ref r) const {
    const int i = uses_.producer(r);
    return i < 0 ? nullptr : &program_.nodes[i];
  }

  // A value that a raster made of others is taken apart, so that equal columns are found equal.
  void add_term(const ColumnBlock& block, Dim column) {
    for (const PlacedBlock& part : parts(block)) {
      Term term{.block = part.block, .width = width_};
      const auto all = program_.at(node_->inputs[1]).constant->as<float>();
      const auto first = all.begin() + (column + part.column) * width_;
      term.weights.assign(first, first + part.block.width * width_);
      const auto same = std::ranges::find(terms_, term.block, &Term::block);
      if (same == terms_.end())
        terms_.push_back(std::move(term));
      else
        add(term.weights, 1, *same);
    }
  }

  static void add(const std::vector<float>& weights, float sign, Term& to) {
    for (size_t i = 0; i < weights.size(); ++i) to.weights[i] += sign * weights[i];
  }

  std::vector<PlacedBlock> parts(const ColumnBlock& block) const {
    const ProgramNode* made = made_by(block.source);
    if (made && block == whole_value(block.source, rows_, block.width) &&
        program_.at(block.source).shape.dim_elements() == rows_ * block.width)
      if (auto inner = column_blocks(*made, rows_, block.width)) return *inner;
    return {{0, block}};
  }

  // a - b and a + b, where a and b stand in the rows as well.
  void fold_differences() {
    for (size_t i = 0; i < terms_.size();) {
      if (fold(terms_[i]))
        terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
  }

  bool fold(const Term term) {
    const ProgramNode* made = made_by(term.block.source);
    if (!made || made->inputs.size() != 2 || (made->op->name != "Sub" && made->op->name != "Add"))
      return false;
    const Shape& shape = program_.at(term.block.source).shape;
    if (term.block != whole_value(term.block.source, rows_, term.block.width) ||
        shape.dim_elements() != rows_ * term.block.width)
      return false;
    std::vector<Term> changed = terms_;
    for (int side = 0; side < 2; ++side) {
      // Operands that broadcast have other rows.
      if (program_.at(made->inputs[side]).shape != shape) return false;
      const float sign = side == 1 && made->op->name == "Sub" ? -1.0f : 1.0f;
      for (const PlacedBlock& part : parts(whole_value(made->inputs[side], rows_, term.block.width))) {
        const auto own = std::ranges::find(changed, part.block, &Term::block);
        if (own == changed.end()) return false;
        const double before = own->mean_square();
        const auto first = term.weights.begin() + part.column * width_;
        add({first, first + part.block.width * width_}, sign, *own);
        if (own->mean_square() > before * kGrowth * kGrowth) return false;
      }
    }
    terms_ = std::move(changed);
    return true;
  }

  Result<Ref> weights_of(const std::vector<Term>& terms) {
    std::vector<float> all;
    for (const Term& t : terms) all.insert(all.end(), t.weights.begin(), t.weights.end());
    const Shape shape{static_cast<int64_t>(all.size()) / width_, width_};
    WALLE_ASSIGN(Tensor t, Tensor::from<float>(shape, all));
    return program_.add({DType::float32, shape, std::move(t)});
  }

  Ref value(const Shape& shape) { return program_.add({DType::float32, shape, std::nullopt}); }

  // The rows of some terms side by side, and their product, of `shape` but for the last axis.
  Result<Ref> product(const std::vector<Term>& terms, const Shape& shape, std::vector<ProgramNode>& out) {
    std::vector<ColumnBlock> blocks;
    Dim columns = 0;
    for (const Term& t : terms) {
      blocks.push_back(t.block);
      columns += t.block.width;
    }
    Shape dims = shape;
    dims.set(dims.rank() - 1, columns);
    ProgramNode side_by_side{.op = &raster_op(), .origin = node_->origin};
    side_by_side.raster = as_raster(blocks, side_by_side.inputs);
    const Ref rows = value(dims);
    side_by_side.outputs = {rows};
    out.push_back(std::move(side_by_side));
    WALLE_ASSIGN(const Ref weights, weights_of(terms));
    dims.set(dims.rank() - 1, width_);
    const Ref result = value(dims);
    out.push_back({.op = &matmul_, .inputs = {rows, weights}, .outputs = {result}, .origin = node_->origin});
    return result;
  }

  // Rows of a product without the axes along which it is the same, to every row.
  Ref expand(Ref small, const std::vector<Axis>& rows, const Shape& shape, std::vector<ProgramNode>& out) {
    ColumnBlock block{.source = small, .stride = 1, .width = width_, .rows = rows};
    Dim stride = width_;
    for (auto a = block.rows.rbegin(); a != block.rows.rend(); ++a) {
      if (a->stride == 0) continue;
      a->stride = stride;
      stride *= a->size;
    }
    ProgramNode node{.op = &raster_op(), .origin = node_->origin};
    node.raster = as_raster({block}, node.inputs);
    node.outputs = {value(shape)};
    out.push_back(std::move(node));
    return out.back().outputs[0];
  }

  // Rows of an expanded term without the axes that only repeat them.
  static void shrink(ColumnBlock& block) {
    std::erase_if(block.rows, [](const Axis& a) { return a.stride == 0; });
    Dim step = 1;
    for (auto a = block.rows.rbegin(); a != block.rows.rend(); ++a) {
      a->rows = step;
      step *= a->size;
    }
  }

  // Terms that are expanded in the way of the first such term.
  static std::vector<Term> take_expanded(std::vector<Term>& terms) {
    const auto first = std::ranges::find_if(terms, [](const Term& t) { return t.block.expanded(); });
    if (first == terms.end()) return {};
    const std::vector<Axis> model = first->block.rows;
    const auto alike = [&](const Term& t) {
      return std::ranges::equal(t.block.rows, model, [](const Axis& a, const Axis& b) {
        return a.size == b.size && a.rows == b.rows && (a.stride == 0) == (b.stride == 0);
      });
    };
    std::vector<Term> taken;
    std::ranges::copy_if(terms, std::back_inserter(taken), alike);
    std::erase_if(terms, alike);
    return taken;
  }

  Result<std::vector<ProgramNode>> rewrite() {
    std::vector<ProgramNode> out;
    std::vector<Term> rest = terms_;
    std::vector<Term> expanded = take_expanded(rest);
    int64_t left = 0;
    for (const Term& t : rest) left += t.block.width;
    if (left == 0 || depth_ - left < kSavedColumns) return out;
    const Shape shape = program_.at(node_->outputs[0]).shape;
    WALLE_ASSIGN(const Ref main, product(rest, shape, out));
    if (expanded.empty()) {
      out.back().outputs = node_->outputs;
      return out;
    }
    const std::vector<Axis> rows = expanded[0].block.rows;
    Dim count = 1;
    for (Term& t : expanded) shrink(t.block);
    for (const Axis& a : expanded[0].block.rows) count *= a.size;
    WALLE_ASSIGN(const Ref small, product(expanded, Shape(std::array<Dim, 2>{count, width_}), out));
    const Ref shared = expand(small, rows, shape, out);
    out.push_back(
        {.op = &add_, .inputs = {main, shared}, .outputs = node_->outputs, .origin = node_->origin});
    return out;
  }

  Program& program_;
  const Uses& uses_;
  const ir::OpDef& matmul_;
  const ir::OpDef& add_;
  const ProgramNode* node_ = nullptr;
  Dim rows_ = 0;
  int64_t depth_ = 0;
  int64_t width_ = 0;
  std::vector<Term> terms_;
};
}  // namespace

Status distribute_products(Program& program) {
  const ir::OpDef* matmul = find_op("MatMul");
  const ir::OpDef* add = find_op("Add");
  if (!matmul || !add) return internal_error("operators missing in the op table", "distribute_products");
  const Uses uses(program);
  Distributor distributor(program, uses, *matmul, *add);
  std::vector<ProgramNode> nodes;
  std::vector<std::vector<ProgramNode>> instead(program.nodes.size());
  for (size_t i = 0; i < instead.size(); ++i) {
    WALLE_ASSIGN(instead[i], distributor.replace(static_cast<int>(i)));
  }
  for (size_t i = 0; i < instead.size(); ++i) {
    if (instead[i].empty()) instead[i].push_back(std::move(program.nodes[i]));
    for (ProgramNode& n : instead[i]) nodes.push_back(std::move(n));
  }
  program.nodes = std::move(nodes);
  remove_dead_nodes(program);
  return {};
}

}  // namespace walle::ops
