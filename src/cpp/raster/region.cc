#include "raster/region.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/checked.h"

namespace walle::raster {

int64_t Region::elements() const {
  int64_t n = 1;
  for (int a = 0; a < rank; ++a) n *= size[a];
  return n;
}

Region contiguous_region(int source, int64_t elements, int64_t src_offset, int64_t dst_offset) {
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

namespace {
constexpr const char* kReportRegion = "report the operator that made this region";

// Lowest and highest element a view touches; nullopt on overflow. An address is a sum of one term per axis,
// and each term is least and greatest at an end of its axis: two corners of the box decide, whatever its
// size.
std::optional<std::pair<int64_t, int64_t>> extent(const Region& r, const View& v) {
  int64_t low = v.offset;
  int64_t high = v.offset;
  for (int a = 0; a < r.rank; ++a) {
    const auto reach = base::checked_mul(r.size[a] - 1, v.stride[a]);
    if (!reach) return std::nullopt;
    const auto end = base::checked_add(*reach < 0 ? low : high, *reach);
    if (!end) return std::nullopt;
    (*reach < 0 ? low : high) = *end;
  }
  return std::pair{low, high};
}

Status check_view(const Region& r, const View& v, int64_t elements, const char* what) {
  const auto e = extent(r, v);
  if (!e || e->first < 0 || e->second >= elements)
    return model_error({"a region whose ", what, " view leaves the tensor"}, {"indices below ", elements},
                       "raster", kReportRegion);
  return {};
}

Status check_region(const Region& r, std::span<const int64_t> source_elements, int64_t dst_elements) {
  if (r.rank < 0 || r.rank > kRegionRank || r.source < 0 ||
      std::cmp_greater_equal(r.source, source_elements.size()))
    return model_error({"region with source ", r.source, " and rank ", r.rank},
                       {"a source of the raster and rank up to ", kRegionRank}, "raster", kReportRegion);
  // All sizes are looked at before an overflow is reported: an axis of no elements makes the region harmless
  // whatever the others say, and operators over empty tensors make such regions.
  bool empty = false;
  std::optional<int64_t> count = 1;
  for (int a = 0; a < r.rank; ++a) {
    empty = empty || r.size[a] <= 0;
    if (count) count = base::checked_mul(*count, r.size[a]);
  }
  if (empty) return {};
  if (!count)  // strides of zero keep the views small whatever the sizes
    return resource_error("a region of more than 2^63 elements", "a product of sizes that can be counted",
                          "raster", kReportRegion);
  WALLE_TRY(check_view(r, r.src, source_elements[r.source], "source"));
  return check_view(r, r.dst, dst_elements, "destination");
}
}  // namespace

Status check(const Raster& raster, std::span<const int64_t> source_elements, int64_t dst_elements) {
  for (const Region& r : raster.regions) WALLE_TRY(check_region(r, source_elements, dst_elements));
  return {};
}

// The notation of `walle inspect --stage=raster`. The fill's value is left out: its bytes mean nothing
// without the dtype. Whoever compares rasters by their texts adds the bytes.
std::string Raster::text() const {
  std::ostringstream out;
  const auto axes = [&](const char* name, const Axes& v, int rank) {
    out << ' ' << name << '[';
    for (int a = 0; a < rank; ++a) out << (a ? "," : "") << v[a];
    out << ']';
  };
  for (const Region& r : regions) {
    out << "{src" << r.source << "+" << r.src.offset << " -> +" << r.dst.offset;
    axes("size", r.size, r.rank);
    axes("ss", r.src.stride, r.rank);
    axes("ds", r.dst.stride, r.rank);
    out << '}';
  }
  if (fill) out << " fill";
  if (accumulate) out << " accumulate";
  return out.str();
}

}  // namespace walle::raster
