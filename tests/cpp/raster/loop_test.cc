// The indexed movement atom: what it computes, and that no index and no plan reaches outside its tensors.
#include "raster/loop.h"
#include "raster/reference.h"
#include "seed.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace walle::raster {
namespace {

// Rows of `width` elements: one index per round selects a row of `rows`.
LoopSpec row_loop(int64_t rounds, int64_t rows, int64_t width, bool scatter) {
  LoopSpec s;
  s.rank = 1;
  s.size[0] = rounds;
  (scatter ? s.src_step : s.dst_step)[0] = width;
  s.body = contiguous_region(0, width);
  s.index = {{width, rows}};
  s.index_on_dst = scatter;
  return s;
}

TEST(Loop, GathersRowsAndCountsNegativesFromTheEnd) {
  const LoopSpec s = row_loop(4, 3, 2, false);
  const float data[] = {0, 1, 10, 11, 20, 21};
  const int64_t index[] = {2, 0, -1, -3};
  float out[8] = {};
  ASSERT_TRUE(check(s, 6, 4, 8).ok());
  ASSERT_TRUE(run_loop_reference(s, DType::float32, data, DType::int64, index, nullptr, out, 8).ok());
  EXPECT_EQ(std::vector<float>(out, out + 8), (std::vector<float>{20, 21, 0, 1, 20, 21, 0, 1}));
}

TEST(Loop, ScattersOverABaseWithEveryCombination) {
  const float updates[] = {2, 3}, base[] = {5, 7};
  const int32_t index[] = {1, 1};
  struct Row {
    Combine how;
    float want;
  };
  for (const Row& row : {Row{Combine::assign, 3}, Row{Combine::add, 12}, Row{Combine::mul, 42},
                         Row{Combine::min, 2}, Row{Combine::max, 7}}) {
    LoopSpec s = row_loop(2, 2, 1, true);
    s.base = true;
    s.combine = row.how;
    float out[2] = {};
    ASSERT_TRUE(check(s, 2, 2, 2).ok());
    ASSERT_TRUE(run_loop_reference(s, DType::float32, updates, DType::int32, index, base, out, 2).ok());
    EXPECT_EQ(out[0], 5) << s.text();
    EXPECT_EQ(out[1], row.want) << s.text();
  }
}

TEST(Loop, IndicesOutOfBoundsAreNamed) {
  const LoopSpec s = row_loop(2, 3, 2, false);
  const float data[6] = {};
  for (const int64_t bad :
       {int64_t{3}, int64_t{-4}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    const int64_t index[] = {0, bad};
    float out[4] = {};
    const Status status = run_loop_reference(s, DType::float32, data, DType::int64, index, nullptr, out, 4);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().group(), base::ErrorGroup::model);
    EXPECT_NE(status.error().message().find("index " + std::to_string(bad) + " at position 1"),
              std::string::npos)
        << status.error().message();
  }
}

TEST(Loop, HostileSpecsAreRefused) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const auto refused = [](auto change) {
    LoopSpec s = row_loop(4, 3, 2, false);
    change(s);
    return !check(s, 6, 4, 8).ok();
  };
  EXPECT_FALSE(refused([](LoopSpec&) {}));
  EXPECT_TRUE(refused([](LoopSpec& s) { s.index[0].bound = 4; }));
  EXPECT_TRUE(refused([](LoopSpec& s) { s.index[0].stride = kHuge; }));
  EXPECT_TRUE(refused([](LoopSpec& s) { s.size[0] = 5; })) << "more rounds than indices";
  EXPECT_TRUE(refused([](LoopSpec& s) { s.dst_step[0] = 3; }));
  EXPECT_TRUE(refused([](LoopSpec& s) { s.src_step[0] = 1; }))
      << "the source moves with the round and the index";
  EXPECT_TRUE(refused([](LoopSpec& s) { s.body.src.offset = -1; }));
  EXPECT_TRUE(refused([](LoopSpec& s) { s.rank = 9; }));
  EXPECT_TRUE(refused([](LoopSpec& s) { s.body.rank = -1; }));
  EXPECT_TRUE(refused([](LoopSpec& s) {
    s.rank = 3;
    s.size = {int64_t{1} << 40, int64_t{1} << 40, 4};
    s.dst_step = {};
  }));
}

// check() against brute force: it may only accept what never leaves the tensors.
TEST(Loop, AcceptedSpecsStayInside) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    LoopSpec s = row_loop(1 + static_cast<int64_t>(rng() % 3), 1 + static_cast<int64_t>(rng() % 4),
                          1 + static_cast<int64_t>(rng() % 3), rng() % 2);
    s.body.src.stride[0] = static_cast<int64_t>(rng() % 5) - 2;
    s.body.src.offset = static_cast<int64_t>(rng() % 6);
    s.body.dst.offset = static_cast<int64_t>(rng() % 4);
    s.index[0].stride = static_cast<int64_t>(rng() % 5) - 1;
    if (!check(s, 12, s.size[0], 12).ok()) continue;
    ++accepted;
    std::vector<int32_t> index(static_cast<size_t>(s.size[0]));
    for (int32_t& i : index)
      i = static_cast<int32_t>(rng() % static_cast<uint64_t>(2 * s.index[0].bound)) -
          static_cast<int32_t>(s.index[0].bound);
    // Guards around both tensors; reading outside would show as a guard's value, writing outside as a changed
    // guard.
    std::vector<float> src(36, -9), dst(36, -5);
    std::fill(src.begin() + 12, src.begin() + 24, 1.0F);
    ASSERT_TRUE(run_loop_reference(s, DType::float32, src.data() + 12, DType::int32, index.data(), nullptr,
                                   dst.data() + 12, 12)
                    .ok());
    for (size_t i = 0; i < dst.size(); ++i)
      ASSERT_TRUE(i >= 12 && i < 24 ? dst[i] != -9 : dst[i] == -5) << s.text() << " seed " << seed;
  }
  EXPECT_GT(accepted, 50) << "the test no longer tests anything; seed " << seed;
}

}  // namespace
}  // namespace walle::raster
