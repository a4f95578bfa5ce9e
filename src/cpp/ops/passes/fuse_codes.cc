#include "ops/passes/fuse_codes.h"

#include <algorithm>

#include "ops/passes/code_table.h"
#include "ops/passes/codes_of.h"
#include "ops/passes/uses.h"
#include "ops/registry.h"
#include "ops/rules/kinds.h"
#include "ops/rules/quantized_conv.h"

namespace walle::ops {

namespace {
constexpr size_t kOther = QuantizedConvInput::kOther;

class CodesFuser {
 public:
  CodesFuser(Program& program, const CodesHooks& hooks)
      : program_(program), hooks_(hooks), uses_(program), codes_(program, uses_) {}

  // One node in the place of each QuantizeLinear that ends a layer of codes.
  Status layers() {
    std::vector<ProgramNode> nodes = program_.nodes;  // what uses_ speaks of stays where it is meanwhile
    std::vector<ProgramNode> out;
    for (const ProgramNode& node : nodes) {
      if (node.op->name == "QuantizeLinear") {
        WALLE_ASSIGN(std::optional<ProgramNode> fused, fuse(node, out));
        out.push_back(fused ? std::move(*fused) : node);
      } else if (node.op->name == "MatMul") {
        WALLE_ASSIGN(const bool made, product(node, out));
        if (!made) out.push_back(node);
      } else {
        out.push_back(node);
      }
    }
    program_.nodes = std::move(out);
    return {};
  }

  // Additions behind a convolution, once uses_ is of what layers() made.
  void join_additions() {
    std::vector<bool> gone(program_.nodes.size(), false);
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      if (program_.nodes[i].op->name != "QLinearAdd") continue;
      for (const size_t operand : {size_t{0}, size_t{3}}) {
        const int conv = uses_.producer(program_.nodes[i].inputs[operand]);
        auto joined = join(program_.nodes[i], operand, conv);
        if (!joined || gone[static_cast<size_t>(conv)]) continue;
        gone[static_cast<size_t>(conv)] = true;
        program_.nodes[i] = std::move(*joined);
        break;
      }
    }
    std::vector<ProgramNode> kept;
    for (size_t i = 0; i < gone.size(); ++i)
      if (!gone[i]) kept.push_back(std::move(program_.nodes[i]));
    program_.nodes = std::move(kept);
  }

 private:
  using Fused = Result<std::optional<ProgramNode>>;
  static std::optional<ProgramNode> nothing() { return std::nullopt; }

  const ProgramNode* made_by(Ref r) const { return codes_.made_by(r); }
  const Shape& shape(Ref r) const { return program_.at(r).shape; }
  bool runs(const ProgramNode& node) const { return node.op && hooks_.runs(program_, node); }

  Fused fuse(const ProgramNode& q, std::vector<ProgramNode>& before) {
    const auto end = codes_.quantized_by(q);
    if (!end) return nothing();
    // First: x * Sigmoid(x) is a function of x, and a product of two values as well.
    WALLE_ASSIGN(std::optional<ProgramNode> table, lookup(q));
    if (table) return table;
    Ref value = q.inputs[0];
    const std::optional<ClampOf> clamp = clamp_of(value);
    if (clamp) value = clamp->x;
    if (const ProgramNode* layer = made_by(value)) {
      WALLE_ASSIGN(std::optional<ProgramNode> fused, layer_of(*layer, q, *end, clamp));
      if (fused) return fused;
      if (!clamp && layer->raster) {
        WALLE_ASSIGN(fused, movement(*layer, q, *end, before));
        if (fused) return fused;
      }
    }
    return nothing();
  }

  // A Relu or Clip that makes r and reads a value that nobody else does.
  struct ClampOf {
    Ref x;
    double low, high;
  };
  std::optional<ClampOf> clamp_of(Ref r) const {
    const ProgramNode* node = made_by(r);
    if (!node || node->op->family != "Unary" || !uses_.private_to_one(r)) return std::nullopt;
    const auto kind = unary_kind(node->op->name, node->attributes);
    if (!kind) return std::nullopt;
    const auto fused = tensor::as_activation(*kind, unary_params(*kind, node->attributes));
    if (!fused || fused->activation != Activation::clamp) return std::nullopt;
    return ClampOf{node->inputs[0], fused->params.alpha, fused->params.beta};
  }

  // Codes are in the order of what they stand for: a bound of numbers is one of codes.
  static void bound(ProgramNode& node, const Codes& end, const std::optional<ClampOf>& clamp) {
    if (!clamp) return;
    const int64_t least = end.least(), most = least + 255;
    const int64_t low = end.code_of(clamp->low), high = end.code_of(clamp->high);
    if (low > least) node.attributes.set("low", low);
    if (high < most) node.attributes.set("high", high);
  }

  Fused layer_of(const ProgramNode& layer, const ProgramNode& q, const Codes& end,
                 const std::optional<ClampOf>& clamp) {
    const std::string_view op = layer.op->name;
    std::optional<ProgramNode> made;
    if (op == "Conv") {
      WALLE_ASSIGN(made, convolution(layer, end));
    } else if (op == "Add" || op == "Mul") {
      WALLE_ASSIGN(made, arithmetic(layer, end));
    } else if (op == "ReduceMean" && !clamp) {
      WALLE_ASSIGN(made, mean(layer, end));
    } else if (op == "MaxPool" && !clamp) {
      made = max_pool(layer, end);
    }
    if (!made) return nothing();
    bound(*made, end, clamp);
    made->outputs = q.outputs;
    made->origin = layer.origin;
    return runs(*made) ? std::move(made) : nothing();
  }

  // A product of codes and constant codes: exact in int32, and one factor behind it. Its bias and what else
  // follows stay as they are.
  Result<bool> product(const ProgramNode& node, std::vector<ProgramNode>& out) {
    const auto x = codes_.dequantized(node.inputs[0]);
    if (!x || program_.at(node.outputs[0]).dtype != DType::float32) return false;
    WALLE_ASSIGN(const std::optional<Codes> w, codes_.right_operand(node.inputs[1], hooks_.fold));
    if (!w) return false;
    ProgramNode sums{.op = find_op("MatMulInteger"), .inputs = {x->codes, w->codes, x->zero, w->zero}};
    sums.origin = node.origin;
    sums.outputs = {program_.add({DType::int32, shape(node.outputs[0]), std::nullopt})};
    if (!runs(sums)) return false;
    WALLE_ASSIGN(const Ref factor, codes_.factor(*x, *w));
    const Ref numbers = program_.add({DType::float32, shape(node.outputs[0]), std::nullopt});
    ProgramNode cast{.op = find_op("Cast"), .attributes = {{"to", static_cast<int64_t>(DType::float32)}}};
    cast.inputs = sums.outputs;
    cast.outputs = {numbers};
    cast.origin = node.origin;
    ProgramNode scaled{
        .op = find_op("Mul"), .inputs = {numbers, factor}, .outputs = node.outputs, .origin = node.origin};
    out.push_back(std::move(sums));
    out.push_back(std::move(cast));
    out.push_back(std::move(scaled));
    return true;
  }

  Fused convolution(const ProgramNode& conv, const Codes& end) {
    const auto x = codes_.dequantized(conv.inputs[0]);
    const auto w = codes_.dequantized_weights(conv.inputs[1], 0);
    if (!x || !w || !uses_.private_to_one(conv.outputs[0]) || conv.inputs.size() > 3 ||
        shape(conv.outputs[0]).rank() != 4)
      return nothing();
    ProgramNode made{.op = find_op("QuantizedConv"), .attributes = conv.attributes};
    WALLE_ASSIGN(made.inputs, operands({&*x, &*w}, end));
    if (conv.inputs.size() == 3 && conv.inputs[2] >= 0) {
      WALLE_ASSIGN(const std::optional<Ref> bias, codes_.bias(conv.inputs[2], *x, *w));
      if (!bias) return nothing();
      made.inputs.push_back(*bias);
    }
    return std::optional(std::move(made));
  }

  // Codes with their scales and zero points, then scale and zero point of the result.
  Result<std::vector<Ref>> operands(std::initializer_list<const Codes*> given, const Codes& end) {
    std::vector<Ref> out;
    for (const Codes* each : given) {
      WALLE_ASSIGN(const Ref zero, codes_.zero(*each));
      out.insert(out.end(), {each->codes, each->scale, zero});
    }
    WALLE_ASSIGN(const Ref zero, codes_.zero(end));
    out.insert(out.end(), {end.scale, zero});
    return out;
  }

  Fused arithmetic(const ProgramNode& node, const Codes& end) {
    auto a = codes_.dequantized(node.inputs[0]), b = codes_.dequantized(node.inputs[1]);
    if (!a || !b || !uses_.private_to_one(node.outputs[0])) return nothing();
    // What is as large as the result comes first.
    if (shape(a->codes) != shape(node.outputs[0])) std::swap(a, b);
    ProgramNode made{.op = find_op(node.op->name == "Add" ? "QLinearAdd" : "QLinearMul")};
    WALLE_ASSIGN(made.inputs, operands({&*a, &*b}, end));
    return std::optional(std::move(made));
  }

  // Over an image's pixels.
  Fused mean(const ProgramNode& node, const Codes& end) {
    const auto x = codes_.dequantized(node.inputs[0]);
    if (!x || shape(x->codes).rank() != 4 || !uses_.private_to_one(node.outputs[0])) return nothing();
    if (shape(node.outputs[0]).rank() != 4 || !reduces_pixels(node)) return nothing();
    ProgramNode made{.op = find_op("QLinearGlobalAveragePool")};
    WALLE_ASSIGN(made.inputs, operands({&*x}, end));
    return std::optional(std::move(made));
  }
  bool reduces_pixels(const ProgramNode& node) const {
    if (node.inputs.size() < 2 || node.inputs[1] < 0 || !program_.at(node.inputs[1]).constant) return false;
    auto axes = program_.at(node.inputs[1]).constant->to_i64();
    if (!axes.ok()) return false;
    for (int64_t& axis : *axes) axis += axis < 0 ? 4 : 0;
    std::ranges::sort(*axes);
    return *axes == std::vector<int64_t>{2, 3};
  }

  std::optional<ProgramNode> max_pool(const ProgramNode& pool, const Codes& end) {
    const auto x = codes_.dequantized(pool.inputs[0]);
    if (!x || !same_codes(*x, end) || pool.outputs.size() != 1) return std::nullopt;
    ProgramNode made = pool;
    made.inputs[0] = x->codes;
    return made;
  }

  // Codes that are moved. Sources of another scale are brought to the result's before.
  Fused movement(const ProgramNode& raster, const ProgramNode& q, const Codes& end,
                 std::vector<ProgramNode>& before) {
    if (raster.raster->accumulate) return nothing();
    ProgramNode made = raster;
    std::vector<ProgramNode> lookups;
    for (Ref& r : made.inputs) {
      const auto x = codes_.dequantized(r);
      if (!x) return nothing();
      if (same_codes(*x, end)) {
        r = x->codes;
        continue;
      }
      WALLE_ASSIGN(Tensor table, requantization_table(program_, *made_by(r), q, hooks_.fold));
      const Ref moved = program_.add({program_.at(q.outputs[0]).dtype, shape(x->codes), std::nullopt});
      lookups.push_back(lookup_node(x->codes, std::move(table), moved, raster.origin));
      if (!runs(lookups.back())) return nothing();
      r = moved;
    }
    if (made.raster->fill) {
      // Zeros alone, whose code is the zero point.
      if (std::ranges::any_of(made.raster->fill->bytes, [](std::byte b) { return b != std::byte{0}; }))
        return nothing();
      made.raster->fill->bytes[0] = static_cast<std::byte>(end.zero_value);
    }
    made.outputs = q.outputs;
    if (!runs(made)) return nothing();
    std::ranges::move(lookups, std::back_inserter(before));
    return std::optional(std::move(made));
  }

  ProgramNode lookup_node(Ref codes, Tensor table, Ref out, const Origin& origin) {
    const Shape entries = table.shape();
    const Ref t = program_.add({table.dtype(), entries, std::move(table)});
    return {.op = find_op("CodeLookup"), .inputs = {codes, t}, .outputs = {out}, .origin = origin};
  }

  // Whatever is computed of one value, element by element.
  Fused lookup(const ProgramNode& q) {
    const auto source = function_of_codes(program_, uses_, q);
    if (!source) return nothing();
    WALLE_ASSIGN(Tensor table, table_of(program_, *source, hooks_.fold));
    ProgramNode made = lookup_node(source->codes, std::move(table), q.outputs[0], q.origin);
    return runs(made) ? std::optional(std::move(made)) : nothing();
  }

  std::optional<ProgramNode> join(const ProgramNode& add, size_t operand, int conv) const {
    const Ref sum = add.outputs[0], own = add.inputs[operand], other = add.inputs[3 - operand];
    if (conv < 0 || !uses_.private_to_one(own) || own == other) return std::nullopt;
    const ProgramNode& layer = program_.nodes[static_cast<size_t>(conv)];
    if (layer.op->name != "QuantizedConv" || layer.inputs.size() > kOther || shape(own) != shape(sum) ||
        shape(other) != shape(sum))
      return std::nullopt;
    ProgramNode made = layer;
    made.inputs.resize(kOther, kNoRef);
    for (const size_t i : {3 - operand, 4 - operand, 5 - operand, size_t{6}, size_t{7}})
      made.inputs.push_back(add.inputs[i]);
    for (const auto& [from, to] : {std::pair{"low", "joint_low"}, std::pair{"high", "joint_high"}})
      if (add.attributes.has(from)) made.attributes.set(to, add.attributes.get_int(from, 0));
    made.outputs = add.outputs;
    return runs(made) ? std::optional(std::move(made)) : std::nullopt;
  }

  Program& program_;
  const CodesHooks& hooks_;
  Uses uses_;
  CodesOf codes_;
};

bool has_codes(const Program& program) {
  return std::ranges::any_of(program.nodes, [](const ProgramNode& n) {
    return n.op->name == "QuantizeLinear" || n.op->name == "DequantizeLinear" ||
           n.op->name == "QuantizedConv";
  });
}
}  // namespace

Status fuse_codes(Program& program, const CodesHooks& hooks) {
  if (!has_codes(program)) return {};
  WALLE_TRY(CodesFuser(program, hooks).layers());
  remove_dead_nodes(program);
  CodesFuser(program, hooks).join_additions();
  return {};
}

}  // namespace walle::ops
