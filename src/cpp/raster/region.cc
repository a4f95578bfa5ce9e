#include "raster/region.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"

namespace walle::raster {

PlainAxes plain(const Axes& axes) {
  PlainAxes out;
  std::ranges::copy(axes, out.begin());
  return out;
}

Dim Region::elements() const {
  Dim n = 1;
  for (int a = 0; a < rank; ++a) n *= size[a];
  return n;
}

std::optional<Dim> checked_mul(Dim a, Dim b) {
  if (!base::checked_mul(a.value(), b.value())) return std::nullopt;
  return a * b;
}
std::optional<Dim> checked_add(Dim a, Dim b) {
  if (!base::checked_add(a.value(), b.value())) return std::nullopt;
  return a + b;
}

Region contiguous_region(int source, Dim elements, Dim src_offset, Dim dst_offset) {
  return {
      .source = source, .rank = 1, .size = {elements}, .src = {src_offset, {1}}, .dst = {dst_offset, {1}}};
}

Region strided_region(int source, std::span<const int64_t> size, int64_t src_offset,
                      std::span<const int64_t> src_stride, int64_t dst_offset,
                      std::span<const int64_t> dst_stride) {
  Region r;
  r.source = source;
  r.rank = static_cast<int>(size.size());
  std::ranges::copy(size, r.size.begin());
  std::ranges::copy(src_stride, r.src.stride.begin());
  std::ranges::copy(dst_stride, r.dst.stride.begin());
  r.src.offset = src_offset;
  r.dst.offset = dst_offset;
  return r;
}

Region strided_box(int source, const Shape& size, Dim src_offset, const Shape& src_stride, Dim dst_offset,
                   const Shape& dst_stride) {
  Region r;
  r.source = source;
  r.rank = size.rank();
  for (int a = 0; a < r.rank; ++a) {
    r.size[a] = size.dim(a);
    r.src.stride[a] = src_stride.dim(a);
    r.dst.stride[a] = dst_stride.dim(a);
  }
  r.src.offset = src_offset;
  r.dst.offset = dst_offset;
  return r;
}

namespace {
constexpr const char* kReportRegion = "report the operator that made this region";

// Lowest and highest element a view touches; nullopt on overflow. An address is a sum of one term per axis,
// and each term is least and greatest at an end of its axis: two corners of the box decide, whatever its
// size.
std::optional<std::pair<Dim, Dim>> extent(const Region& r, const View& v) {
  Dim low = v.offset;
  Dim high = v.offset;
  for (int a = 0; a < r.rank; ++a) {
    const auto reach = checked_mul(r.size[a] - 1, v.stride[a]);
    if (!reach) return std::nullopt;
    Dim& side = *reach < 0 ? low : high;
    const auto end = checked_add(side, *reach);
    if (!end) return std::nullopt;
    side = *end;
  }
  return std::pair{low, high};
}

Status check_view(const Region& r, const View& v, Dim elements, const char* what) {
  const auto e = extent(r, v);
  if (!e || e->first < 0 || e->second >= elements)
    return model_error({"a region whose ", what, " view leaves the tensor"},
                       {"indices below ", elements.value()}, "raster", kReportRegion);
  return {};
}

Status check_region(const Region& r, std::span<const Dim> source_elements, Dim dst_elements) {
  if (r.rank < 0 || r.rank > kRegionRank || r.source < 0 ||
      std::cmp_greater_equal(r.source, source_elements.size()))
    return model_error({"region with source ", r.source, " and rank ", r.rank},
                       {"a source of the raster and rank up to ", kRegionRank}, "raster", kReportRegion);
  // All sizes are looked at before an overflow is reported: an axis of no elements makes the region harmless
  // whatever the others say, and operators over empty tensors make such regions.
  bool empty = false;
  std::optional<Dim> count = 1;
  for (int a = 0; a < r.rank; ++a) {
    empty = empty || r.size[a] <= 0;
    if (count) count = checked_mul(*count, r.size[a]);
  }
  if (empty) return {};
  if (!count)  // strides of zero keep the views small whatever the sizes
    return resource_error("a region of more than 2^63 elements", "a product of sizes that can be counted",
                          "raster", kReportRegion);
  WALLE_TRY(check_view(r, r.src, source_elements[r.source], "source"));
  return check_view(r, r.dst, dst_elements, "destination");
}
}  // namespace

Status check(const Raster& raster, std::span<const Dim> source_elements, Dim dst_elements) {
  for (const Region& r : raster.regions) WALLE_TRY(check_region(r, source_elements, dst_elements));
  return {};
}

// The notation of `walle inspect --stage=raster`. The fill's value is left out: its bytes mean nothing
// without the dtype. Whoever compares rasters by their texts adds the bytes.
std::string Raster::text() const {
  std::string out;
  const auto axes = [&](const char* name, const Axes& v, int rank) {
    out.append(name);
    for (int a = 0; a < rank; ++a) out.append(a ? "," : "").append(tensor::text(v[a]));
    out.append("]");
  };
  for (const Region& r : regions) {
    out.append("{src").append(std::to_string(r.source));
    out.append("+").append(tensor::text(r.src.offset));
    out.append(" -> +").append(tensor::text(r.dst.offset));
    axes(" size[", r.size, r.rank);
    axes(" ss[", r.src.stride, r.rank);
    axes(" ds[", r.dst.stride, r.rank);
    out.append("}");
  }
  if (fill) out.append(" fill");
  if (accumulate) out.append(" accumulate");
  return out;
}

}  // namespace walle::raster
