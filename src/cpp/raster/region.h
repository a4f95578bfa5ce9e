// Region and Raster: the one movement operator. dst[do + i.ds] = src[so + i.ss] for every index vector i
// below size.
//
// After geometric computing as Lv et al. describe it ("Walle", OSDI 2022, section 4.1). Changed from the
// paper: rank up to kRegionRank instead of 3, so that merging never has to split an axis for lack of room.
// Offsets and strides count elements; a stride may be 0 (repeat in src; sum in dst) or negative (flip).
//
// A region means a set of pairs (destination, source), not a walk: no code may depend on the order in which i
// is counted. That licence is what the algebra lives on - axes may be exchanged, turned round, split and
// merged, and two descriptions are equal when their pairs are. It is also why a source stride of 0 is
// harmless (one source in many pairs) while a destination stride of 0 is not: several sources would claim one
// element, and only a sum gives every order the same answer. So destinations overlap in accumulating rasters
// only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace walle::raster {

// A tensor has at most base::kMaxRank axes, so any movement that permutes, slices or repeats them fits.
// Composition splits axes and may want more; then it is refused and two copies stay two. Fixed arrays and not
// vectors, because planning holds up to base::kMaxPlanRegions regions and would allocate three times for
// each.
inline constexpr int kRegionRank = 8;
static_assert(kRegionRank >= base::kMaxRank);
using Axes = std::array<Dim, kRegionRank>;

// What kernels walk over.
using PlainAxes = std::array<int64_t, kRegionRank>;
PlainAxes plain(const Axes& axes);

struct View {
  Dim offset = 0;
  Axes stride{};
  bool operator==(const View&) const = default;
};

struct Region {
  int source = 0;  // which input of the raster
  int rank = 0;
  Axes size{};  // entries from `rank` on stay 0 in all three arrays, so that whole arrays can be compared
  View src;
  View dst;

  Dim elements() const;
  bool operator==(const Region&) const = default;
};

// A scalar of any dtype as bytes. Compared as bytes: 0.0 and -0.0 are two fills.
struct Fill {
  std::array<std::byte, tensor::kMaxDTypeSize> bytes{};
  bool operator==(const Fill&) const = default;
};

struct Raster {
  std::vector<Region> regions;
  std::optional<Fill> fill;  // for what no region covers; absent: the regions cover everything
  bool accumulate = false;   // overlapping destinations sum instead of overwrite; needs a zero fill

  std::string text() const;
  bool operator==(const Raster&) const = default;
};

// A region that copies `elements` contiguous elements.
Region contiguous_region(int source, Dim elements, Dim src_offset = 0, Dim dst_offset = 0);

// A region over `size` with explicit strides (all spans of one length <= kRegionRank).
Region strided_region(int source, std::span<const int64_t> size, int64_t src_offset,
                      std::span<const int64_t> src_stride, int64_t dst_offset,
                      std::span<const int64_t> dst_stride);
// The same of sizes and strides that may be symbols.
Region strided_box(int source, const Shape& size, Dim src_offset, const Shape& src_stride, Dim dst_offset,
                   const Shape& dst_stride);

// Every index lies inside the buffers: element counts of the sources and of the destination. What passed may
// be copied without a further look, and no sum of its strides and sizes overflows.
// Products and sums as of base/checked.h: of the numbers of this moment; those of other symbols are counted
// as carefully when they are put in (tensor/dim_program.h).
std::optional<Dim> checked_mul(Dim a, Dim b);
std::optional<Dim> checked_add(Dim a, Dim b);

Status check(const Raster& raster, std::span<const Dim> source_elements, Dim dst_elements);

}  // namespace walle::raster
