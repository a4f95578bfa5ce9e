#include "ops/passes/value_digits.h"

#include <algorithm>

#include "raster/digits.h"

namespace walle::ops {

ValueDigits dense_digits(Dim elements) {
  if (elements == 1) return {};
  return {0, {{elements, 1}}};
}

std::optional<ValueDigits> digits_of_raster(const raster::Raster& raster, Dim elements) {
  if (raster.accumulate || raster.fill || raster.regions.size() != 1) return std::nullopt;
  const raster::Region& region = raster.regions[0];
  if (region.elements() != elements) return std::nullopt;
  const auto digits = raster::digits_of(region);
  if (!digits || digits->dst != 0) return std::nullopt;
  ValueDigits out{digits->src, {}};
  Dim unit = 1;
  for (auto d = digits->list.rbegin(); d != digits->list.rend(); ++d) {
    if (d->size == 1) continue;
    if (d->unit != unit) return std::nullopt;
    out.digits.push_back({d->size, d->src});
    unit *= d->size;
  }
  return out;
}

std::optional<std::vector<IndexDigits>> digits_by_axis(IndexDigits digits, const Shape& shape) {
  std::vector<IndexDigits> axes;
  size_t next = 0;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    IndexDigits& axis = axes.emplace_back();
    for (Dim need = shape.dim(a); need > 1;) {
      if (next == digits.size()) return std::nullopt;
      IndexDigit& d = digits[next];
      const Dim part = std::min(d.size, need);
      if (need % part != 0 || d.size % part != 0) return std::nullopt;
      axis.push_back({part, d.step});
      need /= part;
      d = {d.size / part, d.step * part};
      if (d.size == 1) ++next;
    }
  }
  return axes;
}

std::optional<Dim> even_stride(const IndexDigits& axis) {
  Dim size = 1;
  for (const IndexDigit& d : axis) {
    if (d.step != axis[0].step * size) return std::nullopt;
    size *= d.size;
  }
  return axis.empty() ? Dim(0) : axis[0].step;
}

bool refine(std::vector<IndexDigits> operands, std::vector<Dim>& sizes,
            std::vector<std::vector<Dim>>& strides) {
  sizes.clear();
  strides.assign(operands.size(), {});
  std::vector<size_t> next(operands.size(), 0);
  const auto ended = [&](size_t o) { return next[o] == operands[o].size(); };
  while (!operands.empty() && !ended(0)) {
    Dim part = operands[0][next[0]].size;
    for (size_t o = 0; o < operands.size(); ++o) {
      if (ended(o)) return false;
      part = std::min(part, operands[o][next[o]].size);
    }
    sizes.push_back(part);
    for (size_t o = 0; o < operands.size(); ++o) {
      IndexDigit& d = operands[o][next[o]];
      if (d.size % part != 0) return false;
      strides[o].push_back(d.step);
      d = {d.size / part, d.step * part};
      if (d.size == 1) ++next[o];
    }
  }
  for (size_t o = 0; o < operands.size(); ++o)
    if (!ended(o)) return false;
  std::ranges::reverse(sizes);
  for (auto& of_operand : strides) std::ranges::reverse(of_operand);
  return true;
}

}  // namespace walle::ops
