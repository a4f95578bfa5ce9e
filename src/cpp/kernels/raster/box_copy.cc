#include "kernels/raster/box_copy.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/copy.h"
#include "base/unreached.h"
#include "kernels/raster/transpose.h"

namespace walle::kernels {

int64_t BoxCopy::bytes() const {
  int64_t n = unit;
  for (int a = 0; a < rank; ++a) n *= size[a];
  return n;
}

namespace {
constexpr int64_t kRegister = 16;    // bytes: the vector register that every supported CPU has
constexpr int64_t kEnoughParts = 8;  // of the split axis, so that up to as many threads share a box evenly

struct Axis {
  int64_t size, src, dst;  // steps of both sides in bytes
};

// The widest unit, as one value.
struct alignas(1) Wide {
  std::byte bytes[kRegister];
};

// Position of the axis whose stride in `view` is exactly the unit; -1 when there is none.
int unit_axis(const std::vector<Axis>& axes, int64_t Axis::* view, int64_t unit) {
  for (size_t a = 0; a < axes.size(); ++a)
    if (axes[a].*view == unit) return static_cast<int>(a);
  return -1;
}

// Contiguous inner runs become the unit: whole where that is
// longer than a register, else a power of two up to 16 bytes.
void widen_unit(std::vector<Axis>& axes, int64_t& unit) {
  while (!axes.empty() && axes.back().src == unit && axes.back().dst == unit) {
    const int64_t run = unit * axes.back().size;
    // 3, 5, 6, 7, ... bytes have no register type, and a memcpy of so few bytes by a run-time length is
    // mostly its call: they stay single elements.
    if (run <= kRegister && !std::has_single_bit(static_cast<uint64_t>(run))) return;
    unit = run;
    axes.pop_back();
    if (run > kRegister) return;
  }
}
}  // namespace

BoxCopy plan_box(int rank, const int64_t* size, int64_t src_offset, const int64_t* src_stride,
                 int64_t dst_offset, const int64_t* dst_stride, int64_t element) {
  std::vector<Axis> axes;
  for (int a = 0; a < rank; ++a)
    // Axes of 1 do not move; without them more boxes have their last axis contiguous.
    if (size[a] > 1) axes.push_back({size[a], src_stride[a] * element, dst_stride[a] * element});
  // By the destination's steps, greatest first: writes then come in order, and stores that miss cost more
  // than loads that do. Stable, so that axes of one size keep the region's order.
  std::ranges::stable_sort(axes,
                           [](const Axis& a, const Axis& b) { return std::abs(a.dst) > std::abs(b.dst); });
  BoxCopy box;
  box.src = src_offset * element;
  box.dst = dst_offset * element;
  box.unit = element;
  widen_unit(axes, box.unit);
  if (axes.empty() || box.unit > kRegister) {
    box.inner = BoxCopy::Inner::rows;
  } else if (axes.back().src == 0 && axes.back().dst == box.unit) {
    box.inner = BoxCopy::Inner::repeat;
  } else {
    box.inner = BoxCopy::Inner::strided;
    const int across = unit_axis(axes, &Axis::src, box.unit);
    const int along = unit_axis(axes, &Axis::dst, box.unit);
    if (across >= 0 && along >= 0 && across != along && axes[across].size > 1) {
      box.inner = BoxCopy::Inner::transpose;
      // To the end the source's line, before it the destination's.
      std::rotate(axes.begin() + across, axes.begin() + across + 1, axes.end());
      const int now = along > across ? along - 1 : along;
      std::rotate(axes.begin() + now, axes.begin() + now + 1, axes.end() - 1);
    }
  }
  box.rank = static_cast<int>(axes.size());
  for (size_t a = 0; a < axes.size(); ++a) {
    box.size[a] = axes[a].size;
    box.src_stride[a] = axes[a].src;
    box.dst_stride[a] = axes[a].dst;
    // The outermost axis that gives every thread some work, so that each writes one stretch of memory.
    if (axes[box.split].size < kEnoughParts && axes[a].size > axes[box.split].size)
      box.split = static_cast<int>(a);
  }
  return box;
}

namespace {
// Calls body(src, dst) for every index of the first `outer` axes.
template <class Body>
void for_outer(const BoxCopy& box, int outer, const std::byte* src, std::byte* dst, Body&& body) {
  std::array<int64_t, kBoxRank> index{};
  while (true) {
    body(src, dst);
    int a = outer - 1;
    for (; a >= 0; --a) {
      src += box.src_stride[a];
      dst += box.dst_stride[a];
      if (++index[a] < box.size[a]) break;
      src -= box.src_stride[a] * box.size[a];
      dst -= box.dst_stride[a] * box.size[a];
      index[a] = 0;
    }
    if (a < 0) return;
  }
}

template <class Unit>
void strided_line(int64_t n, const std::byte* src, int64_t ss, std::byte* dst, int64_t ds) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(Unit));
  const auto loop = [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < n; ++i) {
      Unit v;
      // memcpy of a constant size is one move, and defined for addresses that are not aligned to the unit.
      std::memcpy(&v, src + i * from, sizeof v);
      std::memcpy(dst + i * to, &v, sizeof v);
    }
  };
  // Constant strides let the compiler use vector gathers and shuffles for the common halves.
  if (ds == kUnit && ss == 2 * kUnit) return loop(2 * kUnit, kUnit);
  if (ds == kUnit && ss == -kUnit) return loop(-kUnit, kUnit);
  if (ds == kUnit) return loop(ss, kUnit);
  if (ss == kUnit) return loop(kUnit, ds);
  loop(ss, ds);
}

template <class Unit>
void repeat_line(int64_t n, const std::byte* src, std::byte* dst) {
  Unit v;
  std::memcpy(&v, src, sizeof v);
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * static_cast<int64_t>(sizeof v), &v, sizeof v);
}

template <class Unit>
void run(const BoxCopy& box, const std::byte* src, std::byte* dst) {
  const int last = box.rank - 1;
  switch (box.inner) {
    case BoxCopy::Inner::repeat:
      return for_outer(box, box.rank - 1, src, dst,
                       [&](const std::byte* s, std::byte* d) { repeat_line<Unit>(box.size[last], s, d); });
    case BoxCopy::Inner::transpose: {
      const int along = last - 1;  // the destination's line; `last` is the source's
      return for_outer(box, box.rank - 2, src, dst, [&](const std::byte* s, std::byte* d) {
        transpose_units<Unit>(box.size[last], box.size[along], s, box.src_stride[along], d,
                              box.dst_stride[last]);
      });
    }
    case BoxCopy::Inner::rows: return base::unreached();  // of any length: copy_rows()
    case BoxCopy::Inner::strided:
      return for_outer(box, box.rank - 1, src, dst, [&](const std::byte* s, std::byte* d) {
        strided_line<Unit>(box.size[last], s, box.src_stride[last], d, box.dst_stride[last]);
      });
  }
}

void copy_rows(const BoxCopy& box, const std::byte* src, std::byte* dst) {
  const size_t bytes = box.unit;
  if (box.rank == 0) {
    base::copy_bytes(dst, src, bytes);
    return;
  }
  const int last = box.rank - 1;
  const auto lines = [&](auto copy) {
    for_outer(box, box.rank - 1, src, dst, [&](const std::byte* s, std::byte* d) {
      for (int64_t i = 0; i < box.size[last]; ++i)
        copy(d + i * box.dst_stride[last], s + i * box.src_stride[last]);
    });
  };
  // A pixel of a block of channels: known to the compiler, it is a few moves and no call.
  if (bytes == 64) return lines([](std::byte* d, const std::byte* s) { std::memcpy(d, s, 64); });
  lines([bytes](std::byte* d, const std::byte* s) { base::copy_bytes(d, s, bytes); });
}
}  // namespace

void copy_part(const BoxCopy& whole, const std::byte* src, std::byte* dst, int64_t begin, int64_t end) {
  BoxCopy box = whole;
  if (box.rank > 0) {
    const int a = box.split;
    box.size[a] = end - begin;
    box.src += begin * box.src_stride[a];
    box.dst += begin * box.dst_stride[a];
  }
  src += box.src;
  dst += box.dst;
  if (box.inner == BoxCopy::Inner::rows) return copy_rows(box, src, dst);
  switch (box.unit) {
    case 1: return run<uint8_t>(box, src, dst);
    case 2: return run<uint16_t>(box, src, dst);
    case 4: return run<uint32_t>(box, src, dst);
    case 8: return run<uint64_t>(box, src, dst);
    default: return run<Wide>(box, src, dst);
  }
}

const char* inner_name(const BoxCopy& box) {
  switch (box.inner) {
    case BoxCopy::Inner::rows: return "rows";
    case BoxCopy::Inner::repeat: return "repeat";
    case BoxCopy::Inner::transpose: return "transpose";
    case BoxCopy::Inner::strided: return "strided";
  }
  return "rows";
}

}  // namespace walle::kernels
