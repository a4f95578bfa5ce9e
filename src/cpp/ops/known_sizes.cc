#include "ops/known_sizes.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/dim_values.h"

namespace walle::ops {

namespace {
using Dims = std::vector<Dim>;

// Beyond the sizes of axes, and far from where sums and products of two overflow.
constexpr int64_t kFar = int64_t{1} << 31;

bool is_near(Dim d) { return d.value() > -kFar && d.value() < kFar; }

std::optional<Dims> known(const Program& program, Ref r) {
  if (r < 0) return std::nullopt;
  const ProgramValue& value = program.at(r);
  std::optional<Dims> dims;
  if (!value.sizes.empty())
    dims = value.sizes;
  else if (value.constant)
    dims = tensor::dim_values(*value.constant);
  return dims && std::ranges::all_of(*dims, is_near) ? dims : std::nullopt;
}

bool is_small(DType dtype, const Shape& shape) {
  return !shape.symbolic() && shape.elements() <= tensor::kMaxDimValues &&
         (dtype == DType::int64 || dtype == DType::int32 || dtype == DType::boolean);
}

// Operand and its shape, to be read at an element of the result that it broadcasts to.
struct Operand {
  Dims dims;
  Shape shape;

  Dim at(int64_t element, const Shape& result) const {
    int64_t index = 0;
    int64_t step = 1;
    for (int a = result.rank() - 1; a >= 0; --a) {
      const int own = a - (result.rank() - shape.rank());
      if (own >= 0) {
        index += shape[own] == 1 ? 0 : element % result[a] * step;
        step *= shape[own];
      }
      element /= result[a];
    }
    return dims[index];
  }
};

using Binary = std::optional<Dim> (*)(Dim, Dim);

std::optional<Dim> divided(Dim a, Dim b) { return b == 0 ? std::nullopt : std::optional(a / b); }
// Of the divisor's sign; where neither is negative that is of no matter.
std::optional<Dim> remains(Dim a, Dim b) { return a < 0 || b <= 0 ? std::nullopt : std::optional(a % b); }

struct BinaryRow {
  std::string_view name;
  Binary compute;
};
constexpr BinaryRow kBinary[] = {
    {"Add", [](Dim a, Dim b) { return std::optional(a + b); }},
    {"Sum", [](Dim a, Dim b) { return std::optional(a + b); }},
    {"Sub", [](Dim a, Dim b) { return std::optional(a - b); }},
    {"Mul", [](Dim a, Dim b) { return std::optional(a * b); }},
    {"Div", divided},
    {"Mod", remains},
    {"Min", [](Dim a, Dim b) { return std::optional(b < a ? b : a); }},
    {"Max", [](Dim a, Dim b) { return std::optional(a < b ? b : a); }},
    {"Equal", [](Dim a, Dim b) { return std::optional(Dim(int64_t{a == b})); }},
    {"Less", [](Dim a, Dim b) { return std::optional(Dim(int64_t{a < b})); }},
    {"LessOrEqual", [](Dim a, Dim b) { return std::optional(Dim(int64_t{a <= b})); }},
    {"Greater", [](Dim a, Dim b) { return std::optional(Dim(int64_t{a > b})); }},
    {"GreaterOrEqual", [](Dim a, Dim b) { return std::optional(Dim(int64_t{a >= b})); }},
};

// From left to right over all operands.
std::optional<Dims> combined(Binary compute, const std::vector<Operand>& operands, const Shape& shape) {
  Dims out;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    std::optional<Dim> value = operands[0].at(i, shape);
    for (size_t k = 1; k < operands.size() && value; ++k) value = compute(*value, operands[k].at(i, shape));
    if (!value || !is_near(*value)) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

std::optional<Dims> selected(const std::vector<Operand>& operands, const Shape& shape) {
  Dims out;
  for (int64_t i = 0; i < shape.elements(); ++i)
    out.push_back(operands[operands[0].at(i, shape) != 0 ? 1 : 2].at(i, shape));
  return out;
}

// Of a vector as a whole: what prod() of a shape is.
std::optional<Dims> reduced(Binary compute, const Dims& dims, Dim empty) {
  std::optional<Dim> value = empty;
  for (size_t i = 0; i < dims.size() && value && is_near(*value); ++i) value = compute(*value, dims[i]);
  return value && is_near(*value) ? std::optional(Dims{*value}) : std::nullopt;
}

std::optional<Dims> cast(DType to, const Dims& dims) {
  if (to == DType::int64) return dims;
  Dims out;
  for (const Dim d : dims) {
    if (to == DType::boolean)
      out.push_back(int64_t{d != 0});
    else if (d > std::numeric_limits<int32_t>::max() || d < std::numeric_limits<int32_t>::min())
      return std::nullopt;
    else
      out.push_back(d);
  }
  return out;
}

// An int32 that wraps is no sum of sizes.
std::optional<Dims> checked(DType dtype, std::optional<Dims> dims) {
  return dims && dtype == DType::int32 ? cast(dtype, *dims) : dims;
}

const BinaryRow* binary_row(std::string_view name) {
  if (name == "Min2" || name == "Max2") name.remove_suffix(1);
  const auto* row = std::ranges::find(kBinary, name, &BinaryRow::name);
  return row == std::end(kBinary) ? nullptr : row;
}
}  // namespace

std::optional<Dims> computed_sizes(const Program& program, const ir::OpDef& op,
                                   const ir::Attributes& attributes, const std::vector<Ref>& inputs,
                                   std::span<const ir::InferOutput> outputs) {
  if (outputs.size() != 1 || !is_small(outputs[0].dtype, outputs[0].shape)) return std::nullopt;
  const Shape& shape = outputs[0].shape;
  const DType dtype = outputs[0].dtype;
  std::vector<Operand> operands;
  for (const Ref r : inputs) {
    if (r < 0) continue;
    auto dims = known(program, r);
    if (!dims || program.at(r).shape.symbolic()) return std::nullopt;
    operands.push_back({std::move(*dims), program.at(r).shape});
  }
  if (op.name == "Cast") return cast(dtype, operands[0].dims);
  if (op.name == "Neg")
    return checked(dtype, combined(binary_row("Sub")->compute, {{{0}, {}}, operands[0]}, shape));
  if (op.name == "Where" && operands.size() == 3) return selected(operands, shape);
  // Of the operands that say no axes and of those that say the only one.
  const bool whole = operands[0].shape.rank() == 1 && shape.elements() == 1;
  if (op.name == "ReduceProd" && whole)
    return checked(dtype, reduced(binary_row("Mul")->compute, operands[0].dims, 1));
  if (op.name == "ReduceSum" && whole)
    return checked(dtype, reduced(binary_row("Add")->compute, operands[0].dims, 0));
  const BinaryRow* row = binary_row(op.name);
  // The remainder of C is another one.
  if (!row || (op.name == "Mod" && attributes.get_int("fmod", 0) != 0)) return std::nullopt;
  return checked(dtype, combined(row->compute, operands, shape));
}

std::optional<Dims> moved_sizes(const Program& program, const raster::Raster& raster, DType dtype,
                                const Shape& shape, const std::vector<Ref>& sources) {
  if (!is_small(dtype, shape) || raster.accumulate) return std::nullopt;
  std::vector<Dims> from;
  for (const Ref r : sources) {
    auto dims = known(program, r);
    if (!dims) return std::nullopt;
    from.push_back(std::move(*dims));
  }
  int64_t filled = 0;
  if (raster.fill) std::memcpy(&filled, raster.fill->bytes.data(), tensor::dtype_size(dtype));
  if (dtype == DType::int32) filled = static_cast<int32_t>(filled);
  Dims out(shape.elements(), Dim(filled));
  for (const raster::Region& region : raster.regions) {
    const raster::PlainAxes size = raster::plain(region.size);
    const raster::PlainAxes read = raster::plain(region.src.stride);
    const raster::PlainAxes written = raster::plain(region.dst.stride);
    raster::PlainAxes at{};
    const int64_t count = region.elements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t source = region.src.offset;
      int64_t target = region.dst.offset;
      int64_t left = i;
      for (int a = region.rank - 1; a >= 0; --a) {
        at[a] = left % size[a];
        left /= size[a];
        source += at[a] * read[a];
        target += at[a] * written[a];
      }
      out[target] = from[region.source][source];
    }
  }
  return out;
}

}  // namespace walle::ops
