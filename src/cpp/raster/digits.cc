#include "raster/digits.h"

#include <algorithm>

namespace walle::raster {

Dim Digits::reach() const {
  Dim sum = 0;
  for (const Digit& d : list) sum += d.unit * (d.size - 1);
  return sum;
}

std::optional<Digits> digits_of(const Region& region) {
  Digits out;
  out.src = region.src.offset;
  out.dst = region.dst.offset;
  for (int a = 0; a < region.rank; ++a) {
    const Dim size = region.size[a];
    if (size == 1) continue;
    Digit digit{region.dst.stride[a], size, region.src.stride[a]};
    if (digit.unit == 0) return std::nullopt;  // a sum: every step writes the same element
    if (digit.unit < 0) {  // walk the axis from its other end, where its address is lowest
      out.dst += digit.unit * (size - 1);
      out.src += digit.src * (size - 1);
      digit.unit = -digit.unit;
      digit.src = -digit.src;
    }
    out.list.push_back(digit);
  }
  std::ranges::sort(out.list, [](const Digit& a, const Digit& b) { return a.unit > b.unit; });
  Dim lighter = 0;  // the most that the digits below can add up to
  for (auto d = out.list.rbegin(); d != out.list.rend(); ++d) {
    if (lighter >= d->unit) return std::nullopt;
    lighter += (d->size - 1) * d->unit;
  }
  // Where the lightest unit is larger than 1 there are addresses between the region's own. A last digit of
  // the single value 0 says that nothing may be left over, so that no step needs to ask for it.
  if (out.list.empty() || out.list.back().unit != 1) out.list.push_back({1, 1, 0});
  return out;
}

}  // namespace walle::raster
