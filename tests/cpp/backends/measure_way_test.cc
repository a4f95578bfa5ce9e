// What copies cost, measured on a memory whose time is made up.
#include "backends/measure_way.h"

#include <gtest/gtest.h>

#include "backends/host_memory.h"

namespace walle::backends {
namespace {

// Takes time by a clock of its own: a start, and bytes; every third copy is disturbed.
class SlowMemory final : public Memory {
 public:
  std::string_view name() const override { return "slow"; }
  Result<Handle> allocate(int64_t) override {
    if (full) return resource_error("no memory", "some", "test", "none");
    return handle(1);
  }
  void free(Handle) override { ++freed; }
  Status copy_in(Handle, const void*, int64_t bytes) override {
    pending_ += 20'000 + bytes / 8;
    return {};
  }
  Status copy_out(void*, Handle, int64_t bytes) override {
    now += 30'000 + bytes / 4 + (++copies_ % 3 == 0 ? 1'000'000 : 0);
    return broken ? backend_error("lost", "a device", "test", "none") : Status();
  }
  Status copy_within(Handle, Handle, int64_t) override { return {}; }
  Status flush() override {  // what was only enqueued takes its time here
    now += pending_ + (++copies_ % 3 == 0 ? 1'000'000 : 0);
    pending_ = 0;
    return {};
  }
  void discard(Handle, int64_t) override {}

  int64_t now = 0;
  int freed = 0;
  bool full = false, broken = false;

 private:
  int64_t pending_ = 0;
  int copies_ = 0;
};

TEST(MeasureWay, TellsTheStartFromTheBytes) {
  SlowMemory memory;
  const auto way = measure_way(memory, [&] { return memory.now; });
  ASSERT_TRUE(way);
  EXPECT_EQ(way->memory, host_memory().name());
  EXPECT_NEAR(way->in.start, 20'000, 1);
  EXPECT_NEAR(way->in.byte, 1 / 8.0, 1e-6);
  EXPECT_NEAR(way->out.start, 30'000, 1);
  EXPECT_NEAR(way->out.byte, 1 / 4.0, 1e-6);
  EXPECT_EQ(memory.freed, 1);
}

TEST(MeasureWay, AClockThatStandsStillGivesNumbersAboveZero) {
  SlowMemory memory;
  const auto way = measure_way(memory, [] { return int64_t{0}; });
  ASSERT_TRUE(way);
  for (const double figure : {way->in.start, way->in.byte, way->out.start, way->out.byte})
    EXPECT_GT(figure, 0);
}

TEST(MeasureWay, WhatFailsHasNoPrice) {
  SlowMemory memory;
  const auto clock = [&] { return memory.now; };
  memory.broken = true;
  EXPECT_FALSE(measure_way(memory, clock));
  memory.full = true;
  EXPECT_FALSE(measure_way(memory, clock));
}

}  // namespace
}  // namespace walle::backends
