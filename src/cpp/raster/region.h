// Region and Raster: the one movement operator. dst[do + i.ds] = src[so + i.ss] for every index vector i
// below size.
//
// After geometric computing as Lv et al. describe it ("Walle", OSDI 2022, section 4.1). Changed from the
// paper: rank up to kRegionRank instead of 3, so that merging never has to split an axis for lack of room.
// Offsets and strides count elements; a stride may be 0 (repeat in src; sum in dst) or negative (flip).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace walle::raster {

inline constexpr int kRegionRank = 8;
using Axes = std::array<int64_t, kRegionRank>;

struct View {
  int64_t offset = 0;
  Axes stride{};
};

struct Region {
  int source = 0;  // which input of the raster
  int rank = 0;
  Axes size{};
  View src;
  View dst;

  int64_t elements() const;
};

// A scalar of any dtype as bytes.
struct Fill {
  std::array<std::byte, 8> bytes{};
};

struct Raster {
  std::vector<Region> regions;
  std::optional<Fill> fill;  // for what no region covers; absent: the regions cover everything
  bool accumulate = false;   // overlapping destinations sum instead of overwrite; needs a zero fill

  std::string text() const;
};

// Drops unit axes, orders by destination stride (largest first), merges axes that are contiguous in both
// views.
Region canonical(const Region& region);

// A region that copies `elements` contiguous elements.
Region contiguous_region(int source, int64_t elements, int64_t src_offset = 0, int64_t dst_offset = 0);

// A region over `size` with explicit strides (all spans of one length <= kRegionRank).
Region strided_region(int source, std::span<const int64_t> size, int64_t src_offset,
                      std::span<const int64_t> src_stride, int64_t dst_offset,
                      std::span<const int64_t> dst_stride);

// When the raster is one contiguous run of source 0 covering all `elements` of the destination: the run's
// source offset.
std::optional<int64_t> as_alias(const Raster& raster, int64_t elements);

// Every index lies inside the buffers: element counts of the sources and of the destination.
Status check(const Raster& raster, std::span<const int64_t> source_elements, int64_t dst_elements);

// The reference copier. Precondition: check() passed. Accumulation needs a numeric dtype.
Status copy_reference(const Raster& raster, DType dtype, const void* const* sources, void* dst,
                      int64_t dst_elements);

}  // namespace walle::raster
