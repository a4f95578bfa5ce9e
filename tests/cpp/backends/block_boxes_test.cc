// Boxes between blocked images against the raster between the same images row-major.
#include "backends/cpu/blocked/block_boxes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/blocked/blocked_memory.h"
#include "kernels/raster/box_copy.h"
#include "raster/canonical.h"
#include "seed.h"

namespace walle::backends::cpu {
namespace {

using Ints = std::vector<int64_t>;

// Every axis in steps: y[i * to_step + to] = x[i * from_step + from], `count` of them.
struct Line {
  int64_t count, from_step, from, to_step, to;
};

raster::Region region(const std::vector<Line>& lines, const Shape& x, const Shape& y) {
  Ints size, src, dst;
  int64_t from = 0, to = 0;
  for (int i = 0; i < 4; ++i) {
    const Line& l = lines[static_cast<size_t>(i)];
    size.push_back(l.count);
    src.push_back(x.strides()[i] * l.from_step);
    dst.push_back(y.strides()[i] * l.to_step);
    from += x.strides()[i] * l.from;
    to += y.strides()[i] * l.to;
  }
  return raster::canonical(raster::strided_region(0, size, from, src, to, dst));
}

std::vector<float> blocked(const Shape& s, const std::vector<float>& rows) {
  // Lanes that hold nothing must reach no result.
  std::vector<float> out(static_cast<size_t>(blocked_shape(s).floats()),
                         std::numeric_limits<float>::quiet_NaN());
  const int64_t pixels = s[2] * s[3];
  const int64_t blocks = kernels::blocks_of(s[1]);
  for (int64_t i = 0; i < s.elements(); ++i) {
    const int64_t n = i / (s[1] * pixels), c = i / pixels % s[1], p = i % pixels;
    out[static_cast<size_t>(((n * blocks + c / 16) * pixels + p) * 16 + c % 16)] =
        rows[static_cast<size_t>(i)];
  }
  return out;
}

// False where the region is no box; else the box moved what the region moves, and nothing else of y's.
bool moves_the_same(const raster::Region& r, const Shape& x, const Shape& y) {
  const auto box = block_box(r, x, y);
  if (!box) return false;
  std::vector<float> from(static_cast<size_t>(x.elements())), to(static_cast<size_t>(y.elements()), -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  std::vector<float> got = blocked(y, to);
  const std::vector<float> there = blocked(x, from);
  const kernels::BoxCopy copy =
      kernels::plan_box(static_cast<int>(box->size.size()), box->size.data(), box->from, box->src.data(),
                        box->to, box->dst.data(), sizeof(float));
  kernels::copy_box(copy, reinterpret_cast<const std::byte*>(there.data()),
                    reinterpret_cast<std::byte*>(got.data()));
  for (int64_t i = 0; i < r.elements(); ++i) {
    int64_t src = r.src.offset, dst = r.dst.offset, rest = i;
    for (int a = r.rank - 1; a >= 0; rest /= r.size[a--]) {
      src += rest % r.size[a] * r.src.stride[a];
      dst += rest % r.size[a] * r.dst.stride[a];
    }
    to[static_cast<size_t>(dst)] = from[static_cast<size_t>(src)];
  }
  const std::vector<float> want = blocked(y, to);
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) continue;
    EXPECT_EQ(got[i], want[i]) << r.rank << " float " << i;
  }
  return true;
}

TEST(BlockBox, TakesWhatKeepsChannelsInTheirLanes) {
  const Shape x{2, 48, 3, 5};
  const auto whole = [](int64_t n) { return Line{n, 1, 0, 1, 0}; };
  // All of it; blocks of channels; every second pixel; the phases of one; a pixel twice.
  EXPECT_TRUE(moves_the_same(region({whole(2), whole(48), whole(3), whole(5)}, x, x), x, x));
  const Shape wide{2, 80, 3, 5};
  EXPECT_TRUE(moves_the_same(region({whole(2), {32, 1, 16, 1, 48}, whole(3), whole(5)}, x, wide), x, wide));
  const Shape large{2, 16, 6, 10};
  EXPECT_TRUE(moves_the_same(
      region({whole(2), {16, 1, 32, 1, 0}, {3, 1, 0, 2, 1}, {5, 1, 0, 2, 0}}, x, large), x, large));
  const Shape odd{1, 20, 4, 4}, twice{1, 20, 8, 4};
  EXPECT_TRUE(
      moves_the_same(region({whole(1), whole(20), {4, 1, 0, 2, 1}, whole(4)}, odd, twice), odd, twice));
  const Shape first{1, 20, 4, 1};
  EXPECT_TRUE(moves_the_same(region({whole(1), whole(20), {4, 0, 2, 1, 0}, {1, 1, 3, 1, 0}}, odd, first), odd,
                             first));
}

TEST(BlockBox, RefusesWhatMovesLanes) {
  const Shape x{1, 48, 4, 4}, y{1, 48, 4, 4};
  const auto whole = [](int64_t n) { return Line{n, 1, 0, 1, 0}; };
  EXPECT_FALSE(block_box(region({whole(1), {16, 1, 8, 1, 0}, whole(4), whole(4)}, x, y), x, y));
  EXPECT_FALSE(block_box(region({whole(1), {8, 1, 0, 1, 0}, whole(4), whole(4)}, x, y), x, y));
  EXPECT_FALSE(block_box(region({whole(1), {24, 2, 0, 1, 0}, whole(4), whole(4)}, x, y), x, y));
  EXPECT_FALSE(block_box(region({whole(1), {16, 0, 0, 1, 0}, whole(4), whole(4)}, x, y), x, y));
  // A flip, a transposition of channels and rows, and a diagonal.
  EXPECT_FALSE(block_box(region({whole(1), whole(48), {4, -1, 3, 1, 0}, whole(4)}, x, y), x, y));
  EXPECT_FALSE(block_box(raster::strided_region(0, Ints{16, 16}, 0, Ints{16, 1}, 0, Ints{1, 16}), x, y));
  EXPECT_FALSE(block_box(raster::strided_region(0, Ints{48, 4}, 0, Ints{16, 5}, 0, Ints{16, 5}), x, y));
}

TEST(BlockBox, RandomRegionsMoveTheSameOrAreRefused) {
  std::mt19937 rng(test_seed(7));
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  const Ints channels{1, 3, 16, 17, 20, 32, 48};
  int taken = 0;
  for (int i = 0; i < 4000; ++i) {
    Shape x{draw(1, 2), channels[static_cast<size_t>(draw(0, 6))], draw(1, 5), draw(1, 5)}, y;
    std::vector<Line> lines;
    for (int a = 0; a < 4; ++a) {
      Line l{.count = draw(0, 2) ? x[a] : draw(1, x[a]), .from_step = 1, .from = 0, .to_step = 1, .to = 0};
      if (a > 1 && draw(0, 3) == 0) l.count = std::max<int64_t>(1, l.count / 2), l.from_step = draw(0, 2);
      const int64_t reach = (l.count - 1) * l.from_step;
      if (reach >= x[a])
        l = {.count = 1, .from_step = 1, .from = 0, .to_step = 1, .to = 0};
      else if (draw(0, 1))
        l.from = a == 1 ? (x[a] - 1 - reach) / 16 * 16 : draw(0, x[a] - 1 - reach);
      if (a > 1) l.to_step = draw(1, 3);
      l.to = a == 1 ? draw(0, 1) * 16 : draw(0, 2);
      y.push_back(l.to + (l.count - 1) * l.to_step + 1 + (a == 1 ? draw(0, 1) * 16 : draw(0, 2)));
      lines.push_back(l);
    }
    taken += moves_the_same(region(lines, x, y), x, y);
    if (::testing::Test::HasFailure()) FAIL() << "case " << i << ": " << x.text() << " to " << y.text();
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace walle::backends::cpu
