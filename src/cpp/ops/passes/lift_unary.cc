#include "ops/passes/lift_unary.h"

#include <algorithm>

#include "ops/passes/uses.h"
#include "ops/rules/kinds.h"

namespace walle::ops {

namespace {
// Rasters between a product and the function: two in a ConvTranspose of one axis, and a reshape or so behind
// it. A bound, because a hostile file chains thousands, each with a function behind it.
constexpr int kMaxDepth = 4;

class Lifter {
 public:
  explicit Lifter(Program& program)
      : program_(program), uses_(program), gone_(program.nodes.size()), before_(program.nodes.size()) {}

  void run() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) lift(static_cast<int>(i));
    std::vector<ProgramNode> kept;
    for (size_t i = 0; i < gone_.size(); ++i) {
      for (ProgramNode& n : before_[i]) kept.push_back(std::move(n));
      if (!gone_[i]) kept.push_back(std::move(program_.nodes[i]));
    }
    program_.nodes = std::move(kept);
  }

 private:
  const Shape& shape(Ref r) const { return program_.at(r).shape; }

  // Whether the epilogue pass would put the function into a kernel of its own.
  static bool fuses(const ProgramNode& node) {
    if (node.op->family != "Unary") return false;
    const auto kind = unary_kind(node.op->name, node.attributes);
    return kind && tensor::as_activation(*kind, unary_params(*kind, node.attributes));
  }

  // Whether r is made by kernels that take a function, behind nothing but movement. `made` counts the
  // elements that they make for it.
  bool ends_in_products(Ref r, int depth, Dim& made) const {
    const int from = uses_.producer(r);
    if (from < 0 || gone_[from] || depth > kMaxDepth || !uses_.private_to_one(r)) return false;
    const ProgramNode& node = program_.nodes[from];
    if (node.raster) {
      // A fill would have to become f(fill), and sums of f are not f of sums.
      if (node.raster->fill || node.raster->accumulate || node.inputs.empty()) return false;
      return std::ranges::all_of(node.inputs, [&](Ref in) { return ends_in_products(in, depth + 1, made); });
    }
    made += shape(r).dim_elements();
    return (node.op->name == "Conv" || node.op->name == "MatMul") && !node.attributes.has("activation");
  }

  void lift(int index) {
    const ProgramNode& node = program_.nodes[index];
    if (!fuses(node) || node.outputs.size() != 1 || node.inputs.empty()) return;
    const Ref x = node.inputs[0];
    if (program_.at(node.outputs[0]).dtype != DType::float32 || program_.at(x).dtype != DType::float32)
      return;
    const int from = uses_.producer(x);
    if (from < 0 || !program_.nodes[from].raster) return;
    Dim made = 0;
    // A slice of a large product: the function would be computed for what nobody reads.
    if (!ends_in_products(x, 0, made) || 4 * made > 5 * shape(node.outputs[0]).dim_elements()) return;
    put_before(node, from);
    // The raster in front now makes the function's result.
    program_.nodes[from].outputs = node.outputs;
    gone_[index] = true;
  }

  // The function of every source of the raster, made in front of it.
  void put_before(const ProgramNode& unary, int raster) {
    for (Ref& in : program_.nodes[raster].inputs) {
      const int from = uses_.producer(in);
      if (program_.nodes[from].raster)
        put_before(unary, from);
      else
        in = applied(unary, in, raster);
    }
  }

  Ref applied(const ProgramNode& unary, Ref to, int place) {
    ProgramNode node = unary;
    node.inputs[0] = to;
    const Ref y = program_.add({DType::float32, shape(to), std::nullopt});
    node.outputs = {y};
    before_[place].push_back(std::move(node));
    return y;
  }

  Program& program_;
  const Uses uses_;
  std::vector<bool> gone_;
  std::vector<std::vector<ProgramNode>> before_;  // that come to stand in front of each node
};
}  // namespace

Status lift_unary(Program& program) {
  Lifter(program).run();
  return {};
}

}  // namespace walle::ops
