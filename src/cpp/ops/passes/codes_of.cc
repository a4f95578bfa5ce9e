#include "ops/passes/codes_of.h"

#include <algorithm>
#include <cmath>

namespace walle::ops {

namespace {
bool is_code(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

int32_t code_at(const Tensor& t, int64_t i) {
  const auto byte = static_cast<uint8_t>(t.address()[i]);
  return t.dtype() == DType::int8 ? static_cast<int8_t>(byte) : byte;
}

// Steps of a bias that is given in other ones are rounded: below this, a scale is what a file says it is.
constexpr double kSameScale = 1e-5;
constexpr double kMostBias = 1 << 30;
}  // namespace

int64_t Codes::code_of(double x) const {
  const auto least_code = static_cast<double>(least());
  const double code = std::nearbyint(static_cast<double>(static_cast<float>(x) / scale_value)) + zero_value;
  return static_cast<int64_t>(std::clamp(code, least_code, least_code + 255));
}

bool same_codes(const Codes& a, const Codes& b) {
  return a.dtype == b.dtype && a.scale_value == b.scale_value && a.zero_value == b.zero_value;
}

CodesOf::CodesOf(Program& program, const Uses& uses)
    : program_(program), nodes_(program.nodes), uses_(uses) {}

const ProgramNode* CodesOf::made_by(Ref r) const {
  const int n = uses_.producer(r);
  return n < 0 ? nullptr : &nodes_[static_cast<size_t>(n)];
}

std::optional<Codes> CodesOf::one_scale(Ref codes, const ProgramNode& node, DType dtype) const {
  const auto& scale = program_.at(node.inputs[1]).constant;
  if (!is_code(dtype) || !scale || scale->dtype() != DType::float32 || scale->elements() != 1 ||
      node.attributes.get_int("block_size", 0) != 0)
    return std::nullopt;
  Codes out{.codes = codes, .scale = node.inputs[1], .dtype = dtype, .scale_value = scale->as<float>()[0]};
  // A scale of nothing, or of no number, is the definition's business.
  if (!std::isfinite(out.scale_value) || out.scale_value <= 0) return std::nullopt;
  if (node.inputs.size() < 3 || node.inputs[2] < 0) return out;
  const auto& zero = program_.at(node.inputs[2]).constant;
  if (!zero || zero->dtype() != dtype || zero->elements() != 1) return std::nullopt;
  out.zero = node.inputs[2];
  out.zero_value = code_at(*zero, 0);
  return out;
}

std::optional<Codes> CodesOf::dequantized(Ref r) const {
  const ProgramNode* node = made_by(r);
  if (!node || node->op->name != "DequantizeLinear" || program_.at(r).dtype != DType::float32)
    return std::nullopt;
  return one_scale(node->inputs[0], *node, program_.at(node->inputs[0]).dtype);
}

std::optional<Codes> CodesOf::quantized_by(const ProgramNode& q) const {
  if (program_.at(q.inputs[0]).dtype != DType::float32) return std::nullopt;
  return one_scale(q.outputs[0], q, program_.at(q.outputs[0]).dtype);
}

std::optional<Codes> CodesOf::dequantized_weights(Ref r, int axis) const {
  const ProgramNode* node = made_by(r);
  if (!node || node->op->name != "DequantizeLinear" || !program_.at(node->inputs[0]).constant)
    return std::nullopt;
  const ProgramValue& w = program_.at(node->inputs[0]);
  const auto& scale = program_.at(node->inputs[1]).constant;
  if (!is_code(w.dtype) || !scale || scale->dtype() != DType::float32 ||
      node->attributes.get_int("block_size", 0) != 0)
    return std::nullopt;
  const int64_t rank = w.shape.rank(), given = node->attributes.get_int("axis", 1);
  const bool single = scale->elements() == 1;
  if (!single && (scale->elements() != w.shape[axis] || (given < 0 ? given + rank : given) != axis))
    return std::nullopt;
  if (!std::ranges::all_of(scale->as<float>(), [](float s) { return std::isfinite(s) && s > 0; }))
    return std::nullopt;
  Codes out{.codes = node->inputs[0], .scale = node->inputs[1], .dtype = w.dtype};
  if (node->inputs.size() > 2 && node->inputs[2] >= 0) {
    const auto& zero = program_.at(node->inputs[2]).constant;
    if (!zero || zero->dtype() != w.dtype) return std::nullopt;
    out.zero = node->inputs[2];
  }
  return out;
}

namespace {
// A raster that turns a matrix of rows x columns.
bool is_transposition(const ProgramNode& node, const Shape& matrix) {
  if (!node.raster || node.raster->fill || node.raster->regions.size() != 1 || matrix.rank() != 2)
    return false;
  const raster::Region& r = node.raster->regions[0];
  if (r.rank != 2 || r.src.offset != 0 || r.dst.offset != 0) return false;
  for (const int along : {0, 1}) {
    const int other = 1 - along;
    if (r.size[along] == matrix[0] && r.size[other] == matrix[1] && r.src.stride[along] == matrix[1] &&
        r.src.stride[other] == 1 && r.dst.stride[along] == 1 && r.dst.stride[other] == matrix[0])
      return true;
  }
  return false;
}
}  // namespace

Result<std::optional<Codes>> CodesOf::right_operand(Ref r, const FoldNode& fold) {
  constexpr std::optional<Codes> kNone;
  if (program_.at(r).shape.rank() != 2) return kNone;
  if (const auto w = dequantized_weights(r, 1)) return w;
  const ProgramNode* moved = made_by(r);
  if (!moved || !moved->raster || moved->inputs.size() != 1) return kNone;
  std::optional<Codes> w = dequantized_weights(moved->inputs[0], 0);
  if (!w || !is_transposition(*moved, program_.at(w->codes).shape)) return kNone;
  ProgramNode turned = *moved;
  turned.inputs = {w->codes};
  turned.outputs = {program_.add({w->dtype, program_.at(r).shape, std::nullopt})};
  WALLE_ASSIGN(std::vector<Tensor> made, fold(program_of(program_, turned)));
  w->codes = turned.outputs[0];
  program_.at(w->codes).constant = std::move(made[0]);
  return w;
}

Result<Ref> CodesOf::factor(const Codes& x, const Codes& w) {
  std::vector<float> factors;
  for (const float scale : program_.at(w.scale).constant->as<float>())
    factors.push_back(x.scale_value * scale);
  const Shape shape = factors.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(factors.size())};
  WALLE_ASSIGN(Tensor t, Tensor::from<float>(shape, factors));
  return program_.add({DType::float32, shape, std::move(t)});
}

Result<Ref> CodesOf::zero(const Codes& codes) {
  if (codes.zero >= 0) return codes.zero;
  WALLE_ASSIGN(Tensor none, Tensor::zeros(codes.dtype, Shape{}));
  return program_.add({codes.dtype, Shape{}, std::move(none)});
}

Result<std::optional<Ref>> CodesOf::bias(Ref r, const Codes& x, const Codes& w) {
  const auto w_scales = program_.at(w.scale).constant->as<float>();
  const int64_t n = program_.at(r).shape.elements();
  const auto step = [&](int64_t i) {
    return static_cast<double>(x.scale_value) * w_scales[w_scales.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  std::vector<double> numbers(static_cast<size_t>(n));
  const ProgramNode* node = made_by(r);
  if (program_.at(r).constant && program_.at(r).dtype == DType::float32) {
    const auto values = program_.at(r).constant->as<float>();
    std::ranges::copy(values, numbers.begin());
  } else if (node && node->op->name == "DequantizeLinear" && program_.at(node->inputs[0]).constant &&
             program_.at(node->inputs[0]).dtype == DType::int32 && program_.at(node->inputs[1]).constant &&
             (node->inputs.size() < 3 || node->inputs[2] < 0 || program_.at(node->inputs[2]).constant)) {
    const auto codes = program_.at(node->inputs[0]).constant->as<int32_t>();
    const auto scales = program_.at(node->inputs[1]).constant->as<float>();
    if (scales.size() != 1 && scales.size() != codes.size()) return std::optional<Ref>();
    bool same = true;
    if (node->inputs.size() > 2 && node->inputs[2] >= 0)
      for (const int32_t z : program_.at(node->inputs[2]).constant->as<int32_t>()) same = same && z == 0;
    if (!same) return std::optional<Ref>();
    for (int64_t i = 0; i < n; ++i) {
      const double scale = scales[scales.size() == 1 ? 0 : static_cast<size_t>(i)];
      same = same && std::abs(scale - step(i)) <= kSameScale * step(i);
      numbers[static_cast<size_t>(i)] = codes[static_cast<size_t>(i)] * scale;
    }
    if (same) return std::optional(node->inputs[0]);
  } else {
    return std::optional<Ref>();
  }
  std::vector<int32_t> steps;
  for (int64_t i = 0; i < n; ++i) {
    const double s = std::nearbyint(numbers[static_cast<size_t>(i)] / step(i));
    if (!(std::abs(s) < kMostBias)) return std::optional<Ref>();
    steps.push_back(static_cast<int32_t>(s));
  }
  WALLE_ASSIGN(Tensor t, Tensor::from<int32_t>(Shape{n}, steps));
  return std::optional(program_.add({DType::int32, Shape{n}, std::move(t)}));
}

}  // namespace walle::ops
