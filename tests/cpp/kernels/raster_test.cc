// Every inner loop of the box copy against one copy per element, for each element size, whole and in parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/raster/box_copy.h"
#include "kernels/raster/indexed.h"
#include "kernels/unit.h"

namespace walle::kernels {
namespace {

struct Case {
  std::vector<int64_t> size, src, dst;
  int64_t src_offset, dst_offset;
};

void naive(const Case& c, int64_t element, const std::byte* src, std::byte* dst) {
  std::vector<int64_t> index(c.size.size(), 0);
  int64_t n = 1;
  for (int64_t s : c.size) n *= s;
  for (int64_t k = 0; k < n; ++k) {
    int64_t s = c.src_offset, d = c.dst_offset;
    for (size_t a = 0; a < index.size(); ++a) {
      s += index[a] * c.src[a];
      d += index[a] * c.dst[a];
    }
    std::memcpy(dst + d * element, src + s * element, static_cast<size_t>(element));
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < c.size[a]) break;
      index[a] = 0;
    }
  }
}

// A dense destination box and a source that permutes, repeats, flips or skips.
Case random_case(std::mt19937& rng) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  Case c;
  const auto rank = static_cast<size_t>(pick(0, 5));
  std::vector<size_t> order(rank);
  for (size_t a = 0; a < rank; ++a) order[a] = a;
  std::shuffle(order.begin(), order.end(), rng);
  c.size.resize(rank);
  c.src.resize(rank);
  c.dst.resize(rank);
  for (int64_t& s : c.size) s = pick(0, 3) == 0 ? pick(1, 40) : pick(1, 5);
  int64_t step = 1;
  for (size_t a = rank; a-- > 0;) {
    c.dst[a] = step;
    step *= c.size[a] + (pick(0, 3) == 0 ? pick(0, 2) : 0);
  }
  step = pick(0, 4) == 0 ? 2 : 1;
  c.src_offset = 0;
  for (size_t a : order) {
    const int64_t way = pick(0, 7);
    c.src[a] = way == 0 ? 0 : step;
    step *= c.size[a];
    if (way == 1) {
      c.src_offset += c.src[a] * (c.size[a] - 1);
      c.src[a] = -c.src[a];
    }
  }
  c.dst_offset = pick(0, 3);
  return c;
}

TEST(BoxCopy, AgreesWithElementByElement) {
  std::mt19937 rng(7);
  std::array<int, 4> seen{};
  for (int round = 0; round < 5000; ++round) {
    const Case c = random_case(rng);
    const int64_t element = int64_t{1} << (round % 5);
    int64_t src_end = c.src_offset, dst_end = c.dst_offset;
    for (size_t a = 0; a < c.size.size(); ++a) {
      src_end += std::max<int64_t>(0, c.src[a]) * (c.size[a] - 1);
      dst_end += c.dst[a] * (c.size[a] - 1);
    }
    if (src_end > 400000 || dst_end > 400000) continue;
    // An address is a multiple of an element's alignment and not of its size: half of it for 16 bytes.
    const int64_t shift = element == 16 ? round / 5 % 2 * 8 : 0;
    std::vector<std::byte> memory(static_cast<size_t>(shift + (src_end + 1) * element));
    for (std::byte& b : memory) b = static_cast<std::byte>(rng());
    const std::byte* src = memory.data() + shift;
    std::vector<std::byte> want(static_cast<size_t>((dst_end + 1) * element), std::byte{0xee}), whole = want,
                                                                                                parted = want;
    naive(c, element, src, want.data());
    const BoxCopy box = plan_box(static_cast<int>(c.size.size()), c.size.data(), c.src_offset, c.src.data(),
                                 c.dst_offset, c.dst.data(), element);
    ++seen[static_cast<size_t>(box.inner)];
    copy_box(box, src, whole.data());
    ASSERT_EQ(whole, want) << "round " << round << " " << inner_name(box);
    const int64_t middle = parts(box) / 3;
    if (middle > 0) {
      copy_part(box, src, parted.data(), 0, middle);
      copy_part(box, src, parted.data(), middle, parts(box));
      ASSERT_EQ(parted, want) << "round " << round << " in parts, " << inner_name(box);
    }
  }
  for (int n : seen) EXPECT_GT(n, 100);
}

TEST(Indexed, NamesTheFirstIndexOutOfBounds) {
  Rounds rounds;
  rounds.rank = 1;
  rounds.size[0] = 4;
  const IndexStep step{10, 3};
  const int64_t good[] = {0, -1, 2, -3};
  const int64_t bad[] = {0, 3, -4, 1};
  int64_t offsets[4];
  EXPECT_EQ(resolve_indices(rounds, &step, 1, good, offsets, 1), -1);
  EXPECT_EQ(offsets[1], 20);
  EXPECT_EQ(offsets[3], 0);
  EXPECT_EQ(resolve_indices(rounds, &step, 1, bad, offsets, 2), 1);
}

TEST(Indexed, ElementsAreLookedUpAndCheckedAtTheEdges) {
  Rounds rounds;
  rounds.rank = 2;
  rounds.size = {2, 300};
  rounds.dense = {300, 1};
  rounds.indexed = {10, 0};
  std::vector<int64_t> indices(600);
  std::vector<int32_t> src(20), dst(600);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<int32_t>(i) + 100;
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i % 20) - 10;
  EXPECT_EQ(gather_elements(rounds, IndexStep{1, 10}, indices.data(), src.data(), dst.data(), 1), -1);
  for (size_t i = 0; i < dst.size(); ++i) ASSERT_EQ(dst[i], src[i / 300 * 10 + (i % 20 + 10) % 20 % 10]) << i;
  for (int64_t wrong : {int64_t{10}, int64_t{-11}, INT64_MAX, INT64_MIN}) {
    std::vector<int64_t> bad = indices;
    bad[555] = bad[577] = wrong;
    EXPECT_EQ(gather_elements(rounds, IndexStep{1, 10}, bad.data(), src.data(), dst.data(), 1), 555) << wrong;
  }
}

// Elements of 16 bytes, at addresses that are multiples of 8.
TEST(Indexed, ComplexNumbersAreLookedUpAndPutBack) {
  Rounds rounds;
  rounds.rank = 1;
  rounds.size[0] = 5;
  rounds.dense[0] = 1;
  const IndexStep step{1, 5};
  const int64_t order[] = {4, 0, -3, 1, 3};
  std::vector<uint64_t> memory(11), gathered(11), back(11);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = i;
  const auto* src = reinterpret_cast<const Unit16*>(memory.data() + 1);
  ASSERT_EQ(gather_elements(rounds, step, order, src, reinterpret_cast<Unit16*>(gathered.data() + 1), 1), -1);
  EXPECT_EQ(std::vector<uint64_t>(gathered.begin() + 1, gathered.end()),
            (std::vector<uint64_t>{9, 10, 1, 2, 5, 6, 3, 4, 7, 8}));
  int64_t offsets[5];
  ASSERT_EQ(resolve_indices(rounds, &step, 1, order, offsets, 1), -1);
  scatter_units<Unit16>(rounds, offsets, 16, reinterpret_cast<const std::byte*>(gathered.data() + 1),
                        reinterpret_cast<std::byte*>(back.data() + 1));
  back[0] = memory[0];
  EXPECT_EQ(back, memory);
}

// Rows (one run per round) and boxes (a strided body): gathering and scattering back restores the tensor.
TEST(Indexed, RowsAndBoxesGoThereAndBack) {
  const int64_t order[] = {3, 0, 2, 1};
  for (const bool rows : {true, false}) {
    // Rows: [4, 6] by its first axis. Boxes: [6, 4] by its last, one column per round.
    const int64_t size[] = {6};
    const int64_t step[] = {rows ? int64_t{1} : int64_t{4}};
    const BoxCopy body = plan_box(1, size, 0, step, 0, step, 4);
    ASSERT_EQ(body.rank == 0, rows);
    Rounds rounds;
    rounds.rank = 1;
    rounds.size[0] = 4;
    rounds.dense[0] = rows ? 6 : 1;
    const IndexStep index{rows ? int64_t{6} : int64_t{1}, 4};
    int64_t offsets[4];
    ASSERT_EQ(resolve_indices(rounds, &index, 1, order, offsets, 1), -1);
    std::vector<int32_t> data(24), gathered(24, -1), back(24, -1);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int32_t>(i);
    const auto bytes = [](std::vector<int32_t>& v) { return reinterpret_cast<std::byte*>(v.data()); };
    gather_boxes(body, rounds, offsets, 4, bytes(data), bytes(gathered), 2);
    EXPECT_EQ(gathered[0], rows ? 18 : 3);
    EXPECT_EQ(gathered[23], rows ? 11 : 21);
    scatter_boxes(body, rounds, offsets, 4, bytes(gathered), bytes(back));
    EXPECT_EQ(back, data);
  }
}

TEST(Indexed, TuplesAddUpAndRoundsStep) {
  Rounds rounds;
  rounds.rank = 2;
  rounds.size = {2, 2};
  rounds.indexed = {100, 0};
  const IndexStep steps[] = {{10, 4}, {1, 10}};
  const int32_t tuples[] = {0, 1, 1, 2, 2, 3, 3, -1};
  int64_t offsets[4];
  EXPECT_EQ(resolve_indices(rounds, steps, 2, tuples, offsets, 1), -1);
  EXPECT_EQ(offsets[0], 1);
  EXPECT_EQ(offsets[1], 12);
  EXPECT_EQ(offsets[2], 123);
  EXPECT_EQ(offsets[3], 139);
}

}  // namespace
}  // namespace walle::kernels
