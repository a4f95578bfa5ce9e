// Strided box copies, the CPU side of the raster. A BoxCopy is made once per region: units widened to 2, 4, 8
// or 16 bytes where runs are that short, axes ordered, and one of four inner loops chosen:
//   rows       contiguous runs longer than 16 bytes: memcpy
//   repeat     source does not move along the inner axis: fill
//   transpose  source is contiguous along another axis than the destination: tiles, read and written by lines
//   strided    anything else, one unit at a time
// Immutable after plan_box(); thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace walle::kernels {

// As base::kMaxRank: merging never leaves a region more axes than its tensor has.
inline constexpr int kBoxRank = 8;

struct BoxCopy {
  enum class Inner : uint8_t { rows, repeat, transpose, strided };
  Inner inner = Inner::rows;
  int rank = 0;      // of the axes below; the unit is not one of them
  int split = 0;     // the axis that threads share
  int64_t unit = 0;  // bytes moved at once
  int64_t src = 0;   // byte offsets
  int64_t dst = 0;
  std::array<int64_t, kBoxRank> size{};
  std::array<int64_t, kBoxRank> src_stride{};  // bytes
  std::array<int64_t, kBoxRank> dst_stride{};

  int64_t bytes() const;
};

// Offsets and strides in elements of `element` bytes (1, 2,
// 4, 8 or 16). Preconditions: 0 <= rank <= kBoxRank, sizes > 0.
BoxCopy plan_box(int rank, const int64_t* size, int64_t src_offset, const int64_t* src_stride,
                 int64_t dst_offset, const int64_t* dst_stride, int64_t element);

// Copies the part [begin, end) of the split axis. A box of rank 0 has one part.
void copy_part(const BoxCopy& box, const std::byte* src, std::byte* dst, int64_t begin, int64_t end);
inline int64_t parts(const BoxCopy& box) { return box.rank == 0 ? 1 : box.size[box.split]; }
inline void copy_box(const BoxCopy& box, const std::byte* src, std::byte* dst) {
  copy_part(box, src, dst, 0, parts(box));
}

// The name of the inner loop and its unit, as traces and cost tables show it.
const char* inner_name(const BoxCopy& box);

}  // namespace walle::kernels
