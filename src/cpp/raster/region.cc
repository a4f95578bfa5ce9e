#include "raster/region.h"

#include <algorithm>
#include <sstream>

#include "base/checked.h"

namespace walle::raster {

int64_t Region::elements() const {
  int64_t n = 1;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) n *= size[i];
  return n;
}

Region contiguous_region(int source, int64_t elements, int64_t src_offset, int64_t dst_offset) {
  Region r;
  r.source = source;
  r.rank = 1;
  r.size[0] = elements;
  r.src = {src_offset, {1}};
  r.dst = {dst_offset, {1}};
  return r;
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

Region canonical(const Region& region) {
  struct Axis {
    int64_t size, src, dst;
  };
  std::vector<Axis> axes;
  for (size_t i = 0; i < static_cast<size_t>(region.rank); ++i)
    if (region.size[i] != 1) axes.push_back({region.size[i], region.src.stride[i], region.dst.stride[i]});
  std::ranges::stable_sort(axes,
                           [](const Axis& a, const Axis& b) { return std::abs(a.dst) > std::abs(b.dst); });
  std::vector<Axis> merged;
  for (const Axis& a : axes) {
    if (!merged.empty() && merged.back().src == a.src * a.size && merged.back().dst == a.dst * a.size)
      merged.back() = {merged.back().size * a.size, a.src, a.dst};
    else
      merged.push_back(a);
  }
  Region out;
  out.source = region.source;
  out.src.offset = region.src.offset;
  out.dst.offset = region.dst.offset;
  out.rank = static_cast<int>(merged.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    out.size[i] = merged[i].size;
    out.src.stride[i] = merged[i].src;
    out.dst.stride[i] = merged[i].dst;
  }
  return out;
}

std::optional<int64_t> as_alias(const Raster& raster, int64_t elements) {
  if (raster.regions.size() != 1 || raster.accumulate) return std::nullopt;
  const Region r = canonical(raster.regions[0]);
  if (r.dst.offset != 0 || r.elements() != elements) return std::nullopt;
  if (r.rank == 0) return r.src.offset;
  if (r.rank == 1 && r.src.stride[0] == 1 && r.dst.stride[0] == 1) return r.src.offset;
  return std::nullopt;
}

namespace {
// Lowest and highest element a view touches; nullopt on overflow.
std::optional<std::pair<int64_t, int64_t>> extent(const Region& r, const View& v) {
  int64_t low = v.offset;
  int64_t high = v.offset;
  for (size_t i = 0; i < static_cast<size_t>(r.rank); ++i) {
    const auto reach = base::checked_mul(r.size[i] - 1, v.stride[i]);
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
    return model_error(std::string("a region whose ") + what + " view leaves the tensor",
                       "indices below " + std::to_string(elements), "raster",
                       "report the operator that made this region");
  return {};
}
}  // namespace

Status check(const Raster& raster, std::span<const int64_t> source_elements, int64_t dst_elements) {
  for (const Region& r : raster.regions) {
    if (r.rank < 0 || r.rank > kRegionRank || r.source < 0 ||
        static_cast<size_t>(r.source) >= source_elements.size())
      return model_error(
          "region with source " + std::to_string(r.source) + " and rank " + std::to_string(r.rank),
          "a source of the raster and rank up to 8", "raster", "report the operator that made this region");
    bool empty = false;
    std::optional<int64_t> count = 1;
    for (size_t i = 0; i < static_cast<size_t>(r.rank); ++i) {
      empty = empty || r.size[i] <= 0;
      if (count) count = base::checked_mul(*count, r.size[i]);
    }
    if (empty) continue;
    if (!count)  // strides of zero keep the views small whatever the sizes
      return resource_error("a region of more than 2^63 elements", "a product of sizes that can be counted",
                            "raster", "report the operator that made this region");
    WALLE_TRY(check_view(r, r.src, source_elements[static_cast<size_t>(r.source)], "source"));
    WALLE_TRY(check_view(r, r.dst, dst_elements, "destination"));
  }
  return {};
}

namespace {
template <class Body>
void for_each_index(const Region& r, Body&& body) {
  if (r.elements() <= 0) return;
  Axes index{};
  int64_t src = r.src.offset;
  int64_t dst = r.dst.offset;
  while (true) {
    body(src, dst);
    int axis = r.rank - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      src += r.src.stride[a];
      dst += r.dst.stride[a];
      if (++index[a] < r.size[a]) break;
      src -= r.src.stride[a] * r.size[a];
      dst -= r.dst.stride[a] * r.size[a];
      index[a] = 0;
    }
    if (axis < 0) return;
  }
}
}  // namespace

Status copy_reference(const Raster& raster, DType dtype, const void* const* sources, void* dst,
                      int64_t dst_elements) {
  const auto size = static_cast<size_t>(dtype_size(dtype));
  auto* out = static_cast<std::byte*>(dst);
  if (raster.fill)
    for (int64_t i = 0; i < dst_elements; ++i)
      std::memcpy(out + static_cast<size_t>(i) * size, raster.fill->bytes.data(), size);
  for (const Region& r : raster.regions) {
    const auto* src = static_cast<const std::byte*>(sources[r.source]);
    if (!raster.accumulate) {
      for_each_index(r, [&](int64_t s, int64_t d) {
        std::memcpy(out + static_cast<size_t>(d) * size, src + static_cast<size_t>(s) * size, size);
      });
      continue;
    }
    const bool numeric = tensor::visit_numeric(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* from = reinterpret_cast<const T*>(src);
      auto* to = reinterpret_cast<T*>(out);
      for_each_index(r, [&](int64_t s, int64_t d) { to[d] = static_cast<T>(to[d] + from[s]); });
    });
    if (!numeric)
      return model_error("an accumulating raster of " + std::string(dtype_name(dtype)), "a numeric dtype",
                         "raster", "cast to float32 first");
  }
  return {};
}

std::string Raster::text() const {
  std::ostringstream out;
  const auto axes = [&](const char* name, const Axes& v, int rank) {
    out << ' ' << name << '[';
    for (size_t i = 0; i < static_cast<size_t>(rank); ++i) out << (i ? "," : "") << v[i];
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
