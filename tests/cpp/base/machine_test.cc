// What is asked of the machine: memory, processor features, checksums; and the log hook.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/cpu_features.h"
#include "base/crc32c.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/memory.h"
#include "seed.h"

namespace walle::base {
namespace {

TEST(Memory, BlocksAreAlignedAndUsableToTheLastByte) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{1000003}}) {
    void* block = aligned_allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % static_cast<uintptr_t>(kSegmentAlignment), 0u);
    std::memset(block, 0x5a, bytes);
    aligned_free(block);
  }
  aligned_free(nullptr);
}

TEST(Memory, AbsurdRequestsAreRefused) {
  EXPECT_EQ(aligned_allocate(static_cast<size_t>(kMaxArenaBytes) + 1), nullptr);
  EXPECT_EQ(aligned_allocate(SIZE_MAX), nullptr);
}

TEST(Memory, TheInjectedFaultIsAskedEveryTime) {
  const uint64_t before = allocation_count();
  set_allocation_fault([](uint64_t, size_t bytes) { return bytes == 4242; });
  EXPECT_EQ(aligned_allocate(4242), nullptr);
  void* other = aligned_allocate(4243);
  EXPECT_NE(other, nullptr);
  aligned_free(other);
  set_allocation_fault(nullptr);
  other = aligned_allocate(4242);
  EXPECT_NE(other, nullptr);
  aligned_free(other);
  EXPECT_EQ(allocation_count() - before, 3u);
}

TEST(CpuFeatures, AreConsistent) {
  const CpuFeatures& f = cpu_features();
  EXPECT_GE(f.l1_bytes, 4 << 10);
  EXPECT_GE(f.l2_bytes, f.l1_bytes);
  using enum Capability;
  for (const auto& [some, stands_on] : {std::pair{avx512_vnni, avx512f},
                                        {avx512_bf16, avx512f},
                                        {avx512_fp16, avx512bw},
                                        {avx512_vbmi, avx512f},
                                        {avx512f, avx2},
                                        {avx_vnni, avx2},
                                        {f16c, avx2},
                                        {avx2, sse4},
                                        {i8mm, neon},
                                        {dot, neon},
                                        {sve, neon}}) {
    if (f.has.has(some)) {
      EXPECT_TRUE(f.has.has(stands_on)) << capabilities_text(f.has);
    }
  }
  EXPECT_EQ(&f, &cpu_features());
}

TEST(Crc32c, MatchesThePublishedVectors) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(0, "123456789", 9), 0xe3069283u);
  const std::string zeros(32, '\0'), ones(32, '\xff');
  EXPECT_EQ(crc32c(0, zeros.data(), zeros.size()), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, ones.data(), ones.size()), 0x62a8ab43u);
  EXPECT_EQ(crc32c(0, nullptr, 0), 0u);
}

TEST(Crc32c, InstructionTableAndPiecesAgree) {
  const uint32_t seed = test_seed();
  std::mt19937 rng(seed);
  std::string data(300, '\0');
  for (char& c : data) c = static_cast<char>(rng());
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t size = 0; begin + size <= data.size(); size += 1 + rng() % 7) {
      const uint32_t whole = crc32c(0, data.data() + begin, size);
      ASSERT_EQ(whole, crc32c_portable(0, data.data() + begin, size)) << "seed " << seed;
      const size_t cut = size ? rng() % size : 0;
      ASSERT_EQ(crc32c(crc32c(0, data.data() + begin, cut), data.data() + begin + cut, size - cut), whole)
          << "seed " << seed;
    }
}

TEST(Log, LinesFromTheThresholdOnGoToTheHookAndNowhereElse) {
  std::vector<std::string> lines;
  log(LogLevel::error, "dropped");
  EXPECT_FALSE(log_enabled(LogLevel::error));
  set_log_hook([](void* to, LogLevel,
                  std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); },
               &lines);
  log(LogLevel::info, "below the first threshold");
  log(LogLevel::warning, "kept");
  set_log_level(LogLevel::debug);
  EXPECT_TRUE(log_enabled(LogLevel::debug));
  log(LogLevel::debug, "kept, too");
  set_log_level(LogLevel::off);
  log(LogLevel::error, "above everything");
  set_log_level(LogLevel::warning);
  set_log_hook(nullptr, nullptr);
  log(LogLevel::error, "dropped again");
  EXPECT_EQ(lines, (std::vector<std::string>{"kept", "kept, too"}));
}

}  // namespace
}  // namespace walle::base
