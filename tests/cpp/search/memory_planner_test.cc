#include "search/memory_planner.h"

#include <gtest/gtest.h>

#include <random>

#include "seed.h"

namespace walle::search {
namespace {

TEST(MemoryPlanner, ReusesWhatIsFree) {
  std::vector<Block> blocks{{100, 0, 1}, {100, 1, 2}, {100, 2, 3}};
  EXPECT_EQ(plan_offsets(blocks), 256);
}

TEST(MemoryPlanner, NeverOverlapsLivingBlocks) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(rng() % 30);
      blocks.push_back({static_cast<int64_t>(rng() % 5000), first, first + static_cast<int>(rng() % 10), 0});
    }
    const int64_t total = plan_offsets(blocks);
    for (size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_LE(blocks[i].offset + blocks[i].bytes, total) << "seed " << seed;
      for (size_t j = 0; j < i; ++j) {
        if (blocks[i].last < blocks[j].first || blocks[j].last < blocks[i].first) continue;
        const bool apart = blocks[i].offset + blocks[i].bytes <= blocks[j].offset ||
                           blocks[j].offset + blocks[j].bytes <= blocks[i].offset;
        ASSERT_TRUE(apart) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace walle::search
