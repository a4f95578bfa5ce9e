#include "backends/cpu/blocked/block_boxes.h"

#include <algorithm>
#include <array>

#include "kernels/blocked/blocked.h"

namespace walle::backends::cpu {

namespace {
constexpr int kDims = 4;
constexpr int kChannel = 1;
constexpr size_t kMaxAxes = 7;  // and the lanes: what a box copy takes
using Digits = std::array<int64_t, kDims>;

// An address of [n, c, h, w] as indices.
Digits digits_of(int64_t address, const Shape& s) {
  Digits d{};
  for (int i = kDims - 1; i > 0; address /= s[i--]) d[i] = address % s[i];
  d[0] = address;
  return d;
}

// The dimension that a stride moves along, and by how much; -1: none (a repeated axis), or several.
struct Move {
  int dim = -1;
  int64_t by = 0;
};
std::optional<Move> move_of(int64_t stride, const Shape& s) {
  if (stride < 0) return std::nullopt;
  const Digits d = digits_of(stride, s);
  Move m;
  for (int i = 0; i < kDims; ++i) {
    if (d[i] == 0) continue;
    if (m.dim >= 0) return std::nullopt;  // a diagonal
    m = {i, d[i]};
  }
  return m;
}

struct Axis {
  int64_t size = 1, src = 0, dst = 0;
};

// Axes of a region run over several dimensions where these are contiguous with each other; true when one was
// cut where dimension `m.dim` of s is at its end.
bool cut(std::vector<Axis>& axes, size_t i, const Move& m, const Shape& s) {
  if (m.dim <= 0) return false;
  const Axis a = axes[i];
  if (s[m.dim] % m.by != 0) return false;
  const int64_t inner = s[m.dim] / m.by;
  if (a.size <= inner || a.size % inner != 0) return false;
  axes[i] = {inner, a.src, a.dst};
  axes.insert(axes.begin() + static_cast<int64_t>(i), {a.size / inner, a.src * inner, a.dst * inner});
  return true;
}

bool cut_all(std::vector<Axis>& axes, const Shape& x, const Shape& y) {
  for (size_t i = 0; i < axes.size();) {
    const auto from = move_of(axes[i].src, x);
    const auto to = move_of(axes[i].dst, y);
    if (!from || !to || axes.size() > kMaxAxes) return false;
    // Looked at again from the outer part on, whose dimension may end, too.
    if (!cut(axes, i, *from, x) && !cut(axes, i, *to, y)) ++i;
  }
  return axes.size() <= kMaxAxes;
}

// One side of the box: its strides by blocks, where no axis leaves the image that it moves in.
struct Side {
  const Shape& shape;
  Digits first;
  std::vector<Move> moves;

  bool stays_inside(const std::vector<Axis>& axes) const {
    Digits last = first;
    for (size_t i = 0; i < axes.size(); ++i)
      if (moves[i].dim >= 0) last[moves[i].dim] += (axes[i].size - 1) * moves[i].by;
    for (int i = 0; i < kDims; ++i)
      if (last[i] >= shape[i]) return false;
    return true;
  }
  int64_t blocked(const Digits& d) const {
    const int64_t block = d[0] * kernels::blocks_of(shape[kChannel]) + d[kChannel] / kernels::kBlock;
    return ((block * shape[2] + d[2]) * shape[3] + d[3]) * kernels::kBlock;
  }
  int64_t stride(size_t axis) const {
    Digits d{};
    if (moves[axis].dim >= 0) d[moves[axis].dim] = moves[axis].by;
    return blocked(d);
  }
  bool is_lane(size_t axis) const { return moves[axis].dim == kChannel && moves[axis].by == 1; }
  // By whole blocks, or not along channels at all.
  bool keeps_lanes(size_t axis) const {
    return moves[axis].dim != kChannel || moves[axis].by % kernels::kBlock == 0;
  }
};

std::optional<Side> side_of(const raster::View& view, const std::vector<Axis>& axes, const Shape& shape,
                            int64_t Axis::* stride) {
  Side s{shape, digits_of(view.offset, shape), {}};
  for (const Axis& a : axes) s.moves.push_back(*move_of(a.*stride, shape));
  if (!s.stays_inside(axes) || s.first[kChannel] % kernels::kBlock != 0) return std::nullopt;
  return s;
}
}  // namespace

std::optional<BlockBox> block_box(const raster::Region& r, const Shape& x, const Shape& y) {
  std::vector<Axis> axes;
  for (int i = 0; i < r.rank; ++i)
    if (r.size[i] > 1) axes.push_back({r.size[i], r.src.stride[i], r.dst.stride[i]});
  if (!cut_all(axes, x, y)) return std::nullopt;
  const auto from = side_of(r.src, axes, x, &Axis::src);
  const auto to = side_of(r.dst, axes, y, &Axis::dst);
  if (!from || !to) return std::nullopt;
  int64_t channels = 1;
  bool only = true;  // no other axis moves along channels
  BlockBox box{
      .size = {}, .src = {}, .dst = {}, .from = from->blocked(from->first), .to = to->blocked(to->first)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool lane = from->is_lane(i) && to->is_lane(i);
    if (lane && channels > 1) return std::nullopt;
    if (!lane && (!from->keeps_lanes(i) || !to->keeps_lanes(i))) return std::nullopt;
    if (lane) channels = axes[i].size;
    only = only && (lane || (from->moves[i].dim != kChannel && to->moves[i].dim != kChannel));
    box.size.push_back(lane ? kernels::blocks_of(axes[i].size) : axes[i].size);
    box.src.push_back(lane ? x[2] * x[3] * kernels::kBlock : from->stride(i));
    box.dst.push_back(lane ? y[2] * y[3] * kernels::kBlock : to->stride(i));
  }
  // A block that is filled in part: its other lanes are copied too, so they must be nobody's.
  const bool ends = only && from->first[kChannel] + channels == x[kChannel] &&
                    to->first[kChannel] + channels == y[kChannel];
  if (channels % kernels::kBlock != 0 && !ends) return std::nullopt;
  box.size.push_back(kernels::kBlock);
  box.src.push_back(1);
  box.dst.push_back(1);
  return box;
}

}  // namespace walle::backends::cpu
