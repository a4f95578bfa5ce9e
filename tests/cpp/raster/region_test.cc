// One region: its canonical form copies the same elements, aliases are seen, and nothing hostile passes
// check().
#include "raster/region.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "raster/reference.h"
#include "raster/simplify.h"
#include "seed.h"

namespace walle::raster {
namespace {

// The destination after copying, by the definition: dst[do + i.ds] = src[so + i.ss].
std::vector<float> copied(const Region& r, int64_t src_elements, int64_t dst_elements) {
  std::vector<float> src(static_cast<size_t>(src_elements)), dst(static_cast<size_t>(dst_elements), -1);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i);
  const int64_t n = r.elements();
  for (int64_t at = 0; at < n; ++at) {
    int64_t rest = at, s = r.src.offset, d = r.dst.offset;
    for (int a = r.rank - 1; a >= 0; --a) {
      const auto k = static_cast<size_t>(a);
      s += rest % r.size[k] * r.src.stride[k];
      d += rest % r.size[k] * r.dst.stride[k];
      rest /= r.size[k];
    }
    dst[static_cast<size_t>(d)] = src[static_cast<size_t>(s)];
  }
  return dst;
}

// The definition knows bytes: elements of 16, turned round between two that the fill covers.
TEST(Reference, MovesElementsOfAnySize) {
  Raster r;
  Fill fill;
  for (size_t i = 0; i < fill.bytes.size(); ++i) fill.bytes[i] = static_cast<std::byte>(200 + i);
  r.fill = fill;
  const int64_t size[] = {3}, from[] = {-1}, to[] = {1};
  r.regions = {strided_region(0, size, 2, from, 1, to)};
  for (const DType dtype : {DType::complex64, DType::complex128}) {
    const int64_t element = dtype_size(dtype);
    std::vector<uint8_t> src(static_cast<size_t>(3 * element)), dst(static_cast<size_t>(5 * element));
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(i);
    const void* sources[] = {src.data()};
    ASSERT_TRUE(copy_reference(r, dtype, sources, dst.data(), 5).ok());
    for (int64_t i = 0; i < 5 * element; ++i) {
      const int64_t at = i / element, byte = i % element;
      const bool filled = at == 0 || at == 4;
      EXPECT_EQ(dst[static_cast<size_t>(i)], filled ? 200 + byte : (3 - at) * element + byte);
    }
    Raster sum = r;
    sum.accumulate = true;
    sum.fill = Fill{};
    EXPECT_FALSE(copy_reference(sum, dtype, sources, dst.data(), 5).ok()) << "nothing adds them up";
  }
}

// A region that writes every element of a dense box once, in a random order of axes, from a random dense or
// flipped source.
Region random_region(std::mt19937& rng, int64_t& elements) {
  const int rank = 1 + static_cast<int>(rng() % 5);
  std::vector<int64_t> size, src, dst;
  elements = 1;
  for (int i = 0; i < rank; ++i) size.push_back(1 + static_cast<int64_t>(rng() % 4));
  std::vector<size_t> order(size.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto strides = [&](std::vector<int64_t>& out) {
    std::ranges::shuffle(order, rng);
    out.assign(size.size(), 0);
    int64_t step = 1;
    for (size_t i : order) {
      out[i] = step;
      step *= size[i];
    }
    return step;
  };
  elements = strides(dst);
  strides(src);
  int64_t offset = 0;
  for (size_t i = 0; i < size.size(); ++i)
    if (rng() % 3 == 0) {
      offset += src[i] * (size[i] - 1);
      src[i] = -src[i];
    }
  return strided_region(0, size, offset, src, 0, dst);
}

TEST(Region, CanonicalFormsCopyTheSame) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (int round = 0; round < 500; ++round) {
    int64_t elements = 0;
    const Region r = random_region(rng, elements);
    const Region c = canonical(r);
    ASSERT_EQ(c.elements(), r.elements()) << "seed " << seed;
    ASSERT_EQ(copied(c, elements, elements), copied(r, elements, elements)) << "seed " << seed;
    for (size_t a = 0; a < static_cast<size_t>(c.rank); ++a) ASSERT_NE(c.size[a], 1) << "seed " << seed;
    const std::vector<float> want = copied(r, elements, elements);
    std::vector<float> src(want.size()), dst(want.size(), -1);
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i);
    Raster raster;
    raster.regions = {r};
    const void* sources[] = {src.data()};
    ASSERT_TRUE(check(raster, std::vector<Dim>{elements}, elements).ok()) << "seed " << seed;
    ASSERT_TRUE(copy_reference(raster, DType::float32, sources, dst.data(), elements).ok());
    ASSERT_EQ(dst, want) << "seed " << seed;
    if (as_alias(raster, elements)) {
      std::vector<float> run(want.size());
      std::copy_n(src.begin() + static_cast<std::ptrdiff_t>(*as_alias(raster, elements)), run.size(),
                  run.begin());
      ASSERT_EQ(run, want) << "seed " << seed;
    }
  }
}

TEST(Region, AliasesAreRunsOfTheirSource) {
  Raster r;
  r.regions = {contiguous_region(0, 6, 4)};
  EXPECT_EQ(as_alias(r, 6), 4);
  EXPECT_FALSE(as_alias(r, 7)) << "something else fills the rest";
  r.regions = {strided_region(0, std::vector<int64_t>{2, 3}, 0, std::vector<int64_t>{3, 1}, 0,
                              std::vector<int64_t>{3, 1})};
  EXPECT_EQ(as_alias(r, 6), 0);
  r.regions = {strided_region(0, std::vector<int64_t>{2, 3}, 0, std::vector<int64_t>{1, 2}, 0,
                              std::vector<int64_t>{3, 1})};
  EXPECT_FALSE(as_alias(r, 6)) << "a transpose";
  r.regions = {contiguous_region(0, 3), contiguous_region(0, 3, 3, 3)};
  EXPECT_FALSE(as_alias(r, 6)) << "two regions; simplify() makes them one";
  r.regions = {contiguous_region(0, 6, 0)};
  r.accumulate = true;
  EXPECT_FALSE(as_alias(r, 6));
}

TEST(Region, FillCoversTheRestAndSumsAdd) {
  Raster r;
  r.fill = Fill{};
  r.accumulate = true;
  r.regions = {contiguous_region(0, 3, 0, 1), contiguous_region(0, 3, 0, 2)};
  const int32_t src[] = {1, 10, 100};
  int32_t dst[6] = {-1, -1, -1, -1, -1, -1};
  const void* sources[] = {src};
  ASSERT_TRUE(copy_reference(r, DType::int32, sources, dst, 6).ok());
  EXPECT_EQ(std::vector<int32_t>(dst, dst + 6), (std::vector<int32_t>{0, 1, 11, 110, 100, 0}));
  EXPECT_FALSE(copy_reference(r, DType::float16, sources, dst, 3).ok())
      << "16-bit floats are summed in float32";
}

// What a damaged plan or a careless operator could ask for; each must be refused.
TEST(Region, HostileRegionsAreRefused) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const auto refused = [](const Region& r) {
    Raster raster;
    raster.regions = {r};
    return !check(raster, std::vector<Dim>{12}, 12).ok();
  };
  Region good = contiguous_region(0, 12);
  EXPECT_FALSE(refused(good));
  const auto changed = [&](auto change) {
    Region r = good;
    change(r);
    return refused(r);
  };
  EXPECT_TRUE(changed([](Region& r) { r.source = 1; }));
  EXPECT_TRUE(changed([](Region& r) { r.source = -1; }));
  EXPECT_TRUE(changed([](Region& r) { r.rank = 9; }));
  EXPECT_TRUE(changed([](Region& r) { r.rank = -1; }));
  EXPECT_TRUE(changed([](Region& r) { r.size[0] = 13; }));
  EXPECT_TRUE(changed([](Region& r) { r.src.offset = 1; }));
  EXPECT_TRUE(changed([](Region& r) { r.dst.offset = -1; }));
  EXPECT_TRUE(changed([](Region& r) { r.src.stride[0] = -1; }));
  EXPECT_TRUE(changed([](Region& r) { r.dst.stride[0] = kHuge; }));
  EXPECT_TRUE(changed([](Region& r) { r.src.offset = kHuge; }));
  EXPECT_TRUE(changed([](Region& r) { r.src.stride[0] = std::numeric_limits<int64_t>::min(); }));
  EXPECT_TRUE(changed([](Region& r) {  // no stride, so that no view leaves the tensor, and a product of 2^80
    r.rank = 2;
    r.size = {int64_t{1} << 40, int64_t{1} << 40};
    r.src.stride = r.dst.stride = {};
  }));
  EXPECT_FALSE(changed([](Region& r) { r.size[0] = 0; })) << "nothing to copy";
  EXPECT_FALSE(changed([](Region& r) { r.size[0] = -3; })) << "nothing to copy";
}

TEST(Simplify, RandomCutsOfABoxBecomeItAgain) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (int round = 0; round < 200; ++round) {
    const int64_t rows = 2 + static_cast<int64_t>(rng() % 5), cols = 2 + static_cast<int64_t>(rng() % 5);
    Raster r;  // the transposed copy of [rows, cols], cut into single columns or rows in random order
    const bool by_row = rng() % 2;
    for (int64_t i = 0; i < (by_row ? rows : cols); ++i)
      r.regions.push_back(by_row ? strided_region(0, std::vector<int64_t>{cols}, i * cols,
                                                  std::vector<int64_t>{1}, i, std::vector{rows})
                                 : strided_region(0, std::vector<int64_t>{rows}, i, std::vector{cols},
                                                  i * rows, std::vector<int64_t>{1}));
    std::ranges::shuffle(r.regions, rng);
    simplify(r);
    ASSERT_EQ(r.regions.size(), 1u) << r.text() << " seed " << seed;
    ASSERT_EQ(copied(r.regions[0], rows * cols, rows * cols),
              copied(strided_region(0, std::vector{rows, cols}, 0, std::vector<int64_t>{cols, 1}, 0,
                                    std::vector<int64_t>{1, rows}),
                     rows * cols, rows * cols))
        << "seed " << seed;
  }
}

// Beyond a hundred regions only neighbours are tried, and nothing is erased from the middle.
TEST(Simplify, ManyRegionsBecomeFewInOneWalk) {
  Raster r;
  constexpr int64_t kParts = 50000;
  for (int64_t i = 0; i < kParts; ++i)
    for (int64_t half : {0, 1})  // two interleaved runs that cannot be joined with each other
      r.regions.push_back(contiguous_region(static_cast<int>(half), 3, i * 3, (half * kParts + i) * 3));
  simplify(r);
  ASSERT_EQ(r.regions.size(), 2U) << r.regions.size();
  for (const Region& region : r.regions) EXPECT_EQ(region.elements(), kParts * 3);
}

}  // namespace
}  // namespace walle::raster
