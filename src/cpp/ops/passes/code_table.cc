#include "ops/passes/code_table.h"

#include <algorithm>
#include <unordered_map>

namespace walle::ops {

namespace {
constexpr int64_t kCodes = 256;
// Gelu, spelled out and quantised at each step, has some twenty.
constexpr size_t kMostSteps = 32;

bool is_number(const Program& program, Ref r) {
  return r < 0 || (program.at(r).constant && program.at(r).shape.elements() == 1);
}

// A QuantizeLinear or DequantizeLinear with one scale.
bool has_one_scale(const Program& program, const ProgramNode& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (!is_number(program, node.inputs[i])) return false;
  return node.attributes.get_int("block_size", 0) == 0;
}

// Collects what makes r out of one value of codes, in an order in which it can be computed: as far back as it
// is made element by element, by way of other codes too (x * Sigmoid(x) is of x, though each was quantised).
class Collector {
 public:
  Collector(const Program& program, const Uses& uses) : program_(program), uses_(uses) {}

  bool collect(Ref r) {
    if (known(r)) return true;
    const int n = uses_.producer(r);
    if (n < 0 || function_.steps.size() >= kMostSteps) return false;
    const ProgramNode& node = program_.nodes[static_cast<size_t>(n)];
    if (node.op->name == "DequantizeLinear") return from_codes(node);
    const bool elementwise = node.op->family == "Unary" || node.op->family == "Binary";
    if (!elementwise || node.outputs.size() != 1) return false;
    for (const Ref in : node.inputs)
      if (!is_number(program_, in) && !(program_.at(in).shape == program_.at(r).shape && collect(in)))
        return false;
    function_.steps.push_back(node);
    return true;
  }
  CodeFunction take() { return std::move(function_); }

 private:
  bool known(Ref r) const {
    return std::ranges::any_of(function_.steps, [&](const ProgramNode& n) { return n.outputs[0] == r; });
  }

  bool from_codes(const ProgramNode& node) {
    const Ref codes = node.inputs[0];
    const DType dtype = program_.at(codes).dtype;
    if ((dtype != DType::int8 && dtype != DType::uint8) || !has_one_scale(program_, node)) return false;
    if (known(codes) || made_of_codes(codes)) {
      function_.steps.push_back(node);
      return true;
    }
    if (function_.codes >= 0 && function_.codes != codes) return false;
    function_.codes = codes;
    function_.steps.push_back(node);
    return true;
  }

  bool made_of_codes(Ref codes) {
    const int n = uses_.producer(codes);
    if (n < 0) return false;
    const ProgramNode& q = program_.nodes[static_cast<size_t>(n)];
    if (q.op->name != "QuantizeLinear" || !has_one_scale(program_, q)) return false;
    const CodeFunction before = function_;
    if (collect(q.inputs[0])) {
      function_.steps.push_back(q);
      return true;
    }
    function_ = before;
    return false;
  }

  const Program& program_;
  const Uses& uses_;
  CodeFunction function_;
};
}  // namespace

std::optional<CodeFunction> function_of_codes(const Program& program, const Uses& uses,
                                              const ProgramNode& q) {
  if (!has_one_scale(program, q)) return std::nullopt;
  Collector collector(program, uses);
  if (!collector.collect(q.inputs[0])) return std::nullopt;
  CodeFunction function = collector.take();
  function.steps.push_back(q);
  return function;
}

Result<Tensor> table_of(const Program& program, const CodeFunction& function, const FoldNode& fold) {
  const DType dtype = program.at(function.codes).dtype;
  WALLE_ASSIGN(Tensor all, Tensor::allocate(dtype, Shape{kCodes}));
  for (int64_t i = 0; i < kCodes; ++i)
    static_cast<uint8_t*>(all.mutable_data())[i] = static_cast<uint8_t>(dtype == DType::int8 ? i - 128 : i);
  std::unordered_map<Ref, Tensor> values;
  values.emplace(function.codes, std::move(all));
  Ref last = kNoRef;
  for (const ProgramNode& step : function.steps) {
    Program one;
    ProgramNode node = step;
    for (Ref& r : node.inputs) {
      if (r < 0) continue;
      const auto known = values.find(r);
      // A number whatever its rank is, so that it broadcasts to a list.
      Tensor value = known == values.end() ? program.at(r).constant->reshaped(Shape{}) : known->second;
      const DType of = value.dtype();
      const Shape shape = value.shape();
      r = one.add({of, shape, std::move(value)});
    }
    last = node.outputs[0];
    node.outputs[0] = one.add({program.at(last).dtype, Shape{kCodes}, std::nullopt});
    one.outputs = node.outputs;
    one.nodes.push_back(std::move(node));
    WALLE_ASSIGN(std::vector<Tensor> made, fold(one));
    values.insert_or_assign(last, std::move(made[0]));
  }
  return values.at(last);
}

Result<Tensor> requantization_table(const Program& program, const ProgramNode& dequantize,
                                    const ProgramNode& quantize, const FoldNode& fold) {
  CodeFunction function{.codes = dequantize.inputs[0], .steps = {dequantize, quantize}};
  function.steps[1].inputs[0] = dequantize.outputs[0];
  return table_of(program, function, fold);
}

}  // namespace walle::ops
