#include "base/memory.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "base/limits.h"

namespace walle::base {
namespace {

using Owned = std::unique_ptr<void, decltype(&aligned_free)>;
Owned allocate(size_t bytes) { return {aligned_allocate(bytes), aligned_free}; }

// Sizes below, at and above a huge page, whole ones and others: all of a block can be written and read.
TEST(Memory, BlocksOfEverySizeAreAlignedAndWhole) {
  constexpr size_t kHuge = size_t{2} << 20;
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{65}, kHuge - 1, kHuge, kHuge + 1, 3 * kHuge - 4096, 5 * kHuge + 12345}) {
    const Owned block = allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % kSegmentAlignment, 0) << bytes;
    std::memset(block.get(), 0x5a, bytes);
    const auto* at = static_cast<const unsigned char*>(block.get());
    EXPECT_TRUE(bytes == 0 || (at[0] == 0x5a && at[bytes / 2] == 0x5a && at[bytes - 1] == 0x5a)) << bytes;
  }
}

TEST(Memory, WhatNoMachineHasIsRefused) {
  EXPECT_EQ(aligned_allocate(~size_t{0}), nullptr);
  EXPECT_EQ(aligned_allocate(static_cast<size_t>(kMaxArenaBytes) + 1), nullptr);
}

TEST(Memory, AnInjectedFaultRefusesLargeBlocksToo) {
  set_allocation_fault([](uint64_t, size_t bytes) { return bytes > 1000; });
  const Owned small = allocate(1000);
  const Owned large = allocate(size_t{4} << 20);
  set_allocation_fault(nullptr);
  EXPECT_NE(small, nullptr);
  EXPECT_EQ(large, nullptr);
}

}  // namespace
}  // namespace walle::base
