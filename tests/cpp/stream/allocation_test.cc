// step() allocates nothing, and the matcher's account of its memory is what the allocator saw.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "stream/batches.h"
#include "stream/random_case.h"

namespace {
std::atomic<int64_t> g_allocations{0}, g_bytes{0};

// Counts every allocation of this test program: the plain, the nothrow and the aligned forms. Those of arrays
// would end in these by themselves, but AddressSanitizer's runtime brings its own. Size and start of the
// block are kept in front of what the caller gets.
void* counted(size_t size, size_t alignment) {
  const size_t front = alignment < 16 ? 16 : alignment;
  const size_t whole = (front + size + front - 1) / front * front;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(front, whole));
  if (!block) return nullptr;
  const size_t head[2] = {size, front};
  std::memcpy(block + front - sizeof head, head, sizeof head);
  ++g_allocations;
  g_bytes += static_cast<int64_t>(size);
  return block + front;
}
void* required(size_t size, size_t alignment) {
  void* p = counted(size, alignment);
  if (!p) std::abort();
  return p;
}
void release(void* p) {
  if (!p) return;
  size_t head[2];
  std::memcpy(head, static_cast<std::byte*>(p) - sizeof head, sizeof head);
  g_bytes -= static_cast<int64_t>(head[0]);
  std::free(static_cast<std::byte*>(p) - head[1]);
}
}  // namespace

void* operator new(size_t size) { return required(size, 16); }
void* operator new(size_t size, std::align_val_t alignment) {
  return required(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted(size, 16); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size) { return required(size, 16); }
void* operator new[](size_t size, std::align_val_t alignment) {
  return required(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return counted(size, 16); }
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<size_t>(alignment));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, size_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete[](void* p, size_t) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }

namespace walle::stream {
namespace {

struct Ignored : FiringSink {
  void fired(const Firing&, const MatchPlace&) override {}
};

// A counter that overlooks a form would pass every other test of this file.
TEST(Allocation, EveryFormIsCounted) {
  struct alignas(64) Wide {
    char bytes[64];
  };
  [[maybe_unused]] static void* volatile seen;  // otherwise the compiler leaves pairs of new and delete out
  const auto counts = [](auto make, auto free, int64_t bytes) {
    const int64_t allocations = g_allocations, before = g_bytes;
    auto* p = make();
    seen = p;
    const int64_t made = g_allocations - allocations, held = g_bytes - before;
    free(p);
    const int64_t left = g_bytes - before;
    EXPECT_EQ(made, 1);
    EXPECT_EQ(held, bytes);
    EXPECT_EQ(left, 0);
  };
  const auto one = [](auto* p) { delete p; };
  const auto many = [](auto* p) { delete[] p; };
  counts([] { return new int; }, one, 4);
  counts([] { return new int[5]; }, many, 20);
  counts([] { return new (std::nothrow) int; }, one, 4);
  counts([] { return new (std::nothrow) int[5]; }, many, 20);
  counts([] { return new Wide; }, one, 64);
  counts([] { return new Wide[2]; }, many, 128);
  counts([] { return new (std::nothrow) Wide; }, one, 64);
  counts([] { return new (std::nothrow) Wide[2]; }, many, 128);
  std::vector<int> values(1000);  // std::stable_sort asks for its buffer in the nothrow form
  const int64_t allocations = g_allocations;
  std::stable_sort(values.begin(), values.end());
  EXPECT_EQ(g_allocations - allocations, 1);
}

TEST(Allocation, StepAndAdvanceAllocateNothing) {
  const Catalog catalog = testing::small_world();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomCase r(catalog, seed);
    Matcher m(catalog);
    Ignored fired;
    for (int i = 0; i < 20; ++i) {
      auto t = compile_trigger(r.trigger(), catalog);
      if (t.ok()) {
        ASSERT_TRUE(m.add(*t).ok());
      }
    }
    for (const char* timer : {"every 5us", "idle 2us", "daily 01:00"})
      ASSERT_TRUE(m.add(*compile_trigger(*parse_trigger(timer), catalog)).ok());
    const auto events = r.stream(200);
    m.step(events[0].event, fired);
    for (size_t i = 1; i < events.size(); ++i) {
      const int64_t before = g_allocations;
      const uint64_t pages = m.stats().row_pages;
      m.step(events[i].event, fired);
      // Keys that are new may have brought a page.
      if (m.stats().row_pages == pages) {
        ASSERT_EQ(g_allocations - before, 0) << "seed " << seed;
      }
    }
    const int64_t before = g_allocations;
    m.advance(events.back().event.ts + 100, fired);
    ASSERT_EQ(g_allocations - before, 0) << "seed " << seed;
  }
}

// What a window takes for a batch does not depend on its rows, unless they bring keys.
TEST(Allocation, RowsOfKnownKeysAllocateNothingInWindows) {
  const auto cycling = [](int64_t rows) {
    std::vector<int64_t> times;
    testing::Cells keys;
    for (int64_t i = 0; i < rows; ++i) {
      times.push_back(1);
      keys.emplace_back(i % 7);
    }
    return testing::batch(times, {{"k", keys}});
  };
  const Batch few = cycling(10), many = cycling(1000);
  for (const WindowKind kind : {WindowKind::whole, WindowKind::tumbling}) {
    WindowSpec spec{.kind = kind, .size_us = 10, .keys = {"k"}};
    spec.aggregates = {{.kind = AggregateKind::count, .out = "n"},
                       {.kind = AggregateKind::mean, .column = "k", .out = "mean"}};
    const auto window = std::move(*make_window(std::move(spec)));
    const auto taken = [&](const Batch& rows) {
      const int64_t before = g_allocations;
      testing::push(*window, rows);
      return g_allocations - before;
    };
    taken(many);
    EXPECT_EQ(taken(few), taken(many));
  }
}

// Thousands of keys come twice: a page of rows for every 16 at first, and nothing after that. What all of
// them take was told before the first event.
TEST(Allocation, KnownKeysAllocateNothingAndNewOnesWhatWasTold) {
  const Catalog catalog = testing::small_world();
  constexpr size_t kKeys = 5000;
  Matcher m(catalog, {.keys = kKeys});
  for (const char* text : {"a ~ b within 5s scope by(x)", "a ~ b !~ c for 3s scope by(x)"})
    ASSERT_TRUE(m.add(*compile_trigger(*parse_trigger(text), catalog)).ok());
  const size_t told = m.memory_bytes_at_most();
  ASSERT_EQ(m.key_prices().size(), 1u);
  EXPECT_LE(m.memory_bytes(), 3000u) << "before the first event";
  Ignored fired;
  uint64_t seq = 0;
  const auto round = [&](const char* event) {
    for (int64_t key = 0; key < int64_t{kKeys}; ++key) {
      const Value contents[] = {Value::of(key)};
      Event e;
      e.seq = ++seq;
      e.ts = static_cast<int64_t>(seq);
      e.event = *catalog.find_event(event);
      e.contents = contents;
      m.step(e, fired);
    }
  };
  round("a");
  EXPECT_EQ(m.stats().row_pages, (kKeys + 15) / 16);
  const int64_t before = g_allocations;
  round("b");
  round("c");
  EXPECT_EQ(g_allocations - before, 0);
  EXPECT_EQ(m.stats().firings, kKeys);
  EXPECT_EQ(m.stats().evicted_keys, 0u);
  EXPECT_LE(m.memory_bytes(), told);
  EXPECT_GE(m.memory_bytes(), told * 8 / 10) << "the price is no guess";
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
    const int64_t added = g_bytes;
    const auto events = r.stream(100);
    const int64_t streamed = g_bytes;
    for (const auto& e : events) m.step(e.event);
    ASSERT_EQ(static_cast<int64_t>(m.memory_bytes()), g_bytes - before - (streamed - added))
        << "seed " << seed;
    ASSERT_LE(m.memory_bytes(), m.memory_bytes_at_most());
  }
}

}  // namespace
}  // namespace walle::stream
