// step() allocates nothing, and the matcher's account of its memory is what the allocator saw.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "stream/random_case.h"

namespace {
std::atomic<int64_t> g_allocations{0}, g_bytes{0};
}

// Counts every allocation of this test program; sizes are kept in front of the block.
void* operator new(size_t size) {
  auto* p = static_cast<size_t*>(std::malloc(size + 16));
  if (!p) std::abort();
  p[0] = size;
  ++g_allocations;
  g_bytes += static_cast<int64_t>(size);
  return p + 2;
}
void operator delete(void* p) noexcept {
  if (!p) return;
  auto* block = static_cast<size_t*>(p) - 2;
  g_bytes -= static_cast<int64_t>(block[0]);
  std::free(block);
}
void operator delete(void* p, size_t) noexcept { operator delete(p); }

namespace walle::stream {
namespace {

TEST(Allocation, StepAndAdvanceAllocateNothing) {
  const Catalog catalog = testing::small_world();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomCase r(catalog, seed);
    Matcher m(catalog, {8, 0});
    for (int i = 0; i < 20; ++i) {
      auto t = compile_trigger(r.trigger(), catalog);
      if (t.ok()) {
        ASSERT_TRUE(m.add(*t).ok());
      }
    }
    for (const char* timer : {"every 5us", "idle 2us", "daily 01:00"})
      ASSERT_TRUE(m.add(*compile_trigger(*parse_trigger(timer), catalog)).ok());
    const auto events = r.stream(200);
    m.step(events[0].event);
    const int64_t before = g_allocations;
    for (size_t i = 1; i < events.size(); ++i) m.step(events[i].event);
    m.advance(events.back().event.ts + 100);
    ASSERT_EQ(g_allocations - before, 0) << "seed " << seed;
  }
}

TEST(Allocation, MemoryBytesIsWhatTheAllocatorSaw) {
  const Catalog catalog = testing::small_world();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    testing::RandomCase r(catalog, seed);
    std::vector<CompiledTrigger> triggers;
    while (triggers.size() < 200)
      if (auto t = compile_trigger(r.trigger(), catalog); t.ok()) triggers.push_back(*t);
    const int64_t before = g_bytes;
    Matcher m(catalog);
    for (const auto& t : triggers) ASSERT_TRUE(m.add(t).ok());
    ASSERT_EQ(static_cast<int64_t>(m.memory_bytes()), g_bytes - before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace walle::stream
