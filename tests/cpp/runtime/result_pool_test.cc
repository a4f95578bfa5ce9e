#include "runtime/result_pool.h"

#include <gtest/gtest.h>

namespace walle::runtime {
namespace {

Tensor lent(ResultPool& pool, int64_t floats, size_t& hint) {
  auto got = pool.lend(DType::float32, Shape{floats}, hint);
  EXPECT_TRUE(got.ok());
  return *got;
}

TEST(ResultPool, LendsAgainWhatNobodyHolds) {
  ResultPool pool;
  size_t hint = 0;
  const void* first = nullptr;
  for (int run = 0; run < 3; ++run) {
    const Tensor t = lent(pool, 100, hint);
    if (run == 0) first = t.data();
    EXPECT_EQ(t.data(), first);
    EXPECT_EQ(t.buffer().size(), 400u);
    EXPECT_TRUE(pool.sole(t));
    pool.end_run();
  }
  EXPECT_EQ(pool.free_bytes(), 400);
}

TEST(ResultPool, NeverLendsWhatSomebodyHolds) {
  ResultPool pool;
  size_t hint = 0;
  std::vector<Tensor> held;
  for (int run = 0; run < 200; ++run) {
    held.push_back(lent(pool, 100, hint));
    for (size_t i = 0; i + 1 < held.size(); ++i) ASSERT_NE(held[i].data(), held.back().data());
    pool.end_run();
  }
  EXPECT_LE(pool.lent_bytes(), 2 * 400) << "what a caller keeps is the caller's";
  EXPECT_EQ(pool.free_bytes(), 0);
}

TEST(ResultPool, SoleIsWhatOneHandleReaches) {
  ResultPool pool;
  size_t hint = 0;
  const Tensor lent_one = lent(pool, 10, hint);
  EXPECT_TRUE(pool.sole(lent_one));
  {
    const Tensor view = lent_one.reshaped(Shape{2, 5});
    EXPECT_FALSE(pool.sole(lent_one));
    EXPECT_FALSE(pool.sole(view));
  }
  EXPECT_TRUE(pool.sole(lent_one));
  const Tensor foreign = *Tensor::allocate(DType::float32, Shape{10});
  EXPECT_TRUE(pool.sole(foreign));
  const Tensor& model = foreign;
  const Tensor second = model;  // NOLINT: the other handle is the point
  EXPECT_FALSE(pool.sole(foreign)) << "two handles, none of them the pool's";
}

// 64 sizes, over and over: what the last runs have used, and no more than one of the largest below it.
TEST(ResultPool, ManySizesShareFewBlocks) {
  ResultPool pool;
  std::vector<size_t> hints(64, 0);
  for (int pass = 0; pass < 3; ++pass)
    for (int64_t size = 0; size < 64; ++size) {
      lent(pool, 1000 * (1 + (size * 37) % 64), hints[size]);
      pool.end_run();
      ASSERT_LE(pool.free_bytes(), 3 * 4 * 64'000) << "pass " << pass << " size " << size;
    }
}

// A decoder's cache: each step reads the last one's and gives one that is a little larger.
TEST(ResultPool, AGrowingResultMovesRarely) {
  ResultPool pool;
  size_t hint = 0;
  Tensor before;
  int moved = 0;
  std::vector<const void*> seen;
  for (int64_t step = 1; step <= 1000; ++step) {
    Tensor now = lent(pool, 10'000 + 100 * step, hint);
    if (std::ranges::find(seen, now.data()) == seen.end()) {
      seen.push_back(now.data());
      ++moved;
    }
    before = now;
    pool.end_run();
    // Two blocks that are a quarter too large, and smaller ones that add up to one.
    ASSERT_LE(pool.free_bytes() + pool.lent_bytes(), 3.5 * static_cast<double>(now.bytes()))
        << "step " << step;
  }
  EXPECT_LE(moved, 2 * 16) << "two blocks of each of at most 16 sizes";
}

TEST(ResultPool, FreesWhatNoRunNeedsAnyMore) {
  ResultPool pool;
  size_t large = 0, small = 0;
  lent(pool, 1'000'000, large);
  pool.end_run();
  for (int run = 0; run < 8; ++run) {
    lent(pool, 10, small);
    pool.end_run();
  }
  EXPECT_GE(pool.free_bytes(), 4'000'000) << "a session that alternates finds it again";
  for (int run = 0; run < 2; ++run) {
    lent(pool, 10, small);
    pool.end_run();
  }
  EXPECT_LE(pool.free_bytes(), 4096);
}

// A loop that keeps each round's slice must not be searched for one that is free.
TEST(ResultPool, ManySlicesOfOneRunAreNotItsOwn) {
  ResultPool pool;
  size_t hint = 0;
  std::vector<Tensor> slices;
  for (int round = 0; round < 20'000; ++round) slices.push_back(lent(pool, 16, hint));
  EXPECT_LE(pool.lent_bytes(), 64 * 64);
  for (const Tensor& slice : slices) ASSERT_TRUE(pool.sole(slice));
}

TEST(ResultPool, TakesEmptyShapes) {
  ResultPool pool;
  size_t hint = 0;
  const Tensor none = *pool.lend(DType::float32, Shape{0, 3}, hint);
  EXPECT_EQ(none.bytes(), 0);
  EXPECT_TRUE(pool.sole(none));
}

}  // namespace
}  // namespace walle::runtime
