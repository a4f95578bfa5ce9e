// Isolates from several threads at once: what the thread sanitizer is to look at.
#include <atomic>
#include <chrono>
#include <thread>

#include "vm/fixture.h"
#include "vm/pool.h"

namespace walle::vm {
namespace {

constexpr int kThreads = 4;
constexpr int kIsolates = 6;

constexpr const char* kTask =
    "import json, re, math, collections, dataclasses, datetime, enum, functools, random\n"
    "class Kind(enum.Enum):\n"
    "    a = 1\n"
    "    b = 2\n"
    "@dataclasses.dataclass(order=True)\n"
    "class Click:\n"
    "    item: str\n"
    "    kind: Kind = Kind.a\n"
    "@functools.lru_cache\n"
    "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
    "def work(n):\n"
    "    clicks = [Click('i%d' % (i % 7)) for i in range(n)]\n"
    "    text = json.dumps(collections.Counter(c.item for c in clicks).most_common())\n"
    "    day = datetime.date(2024, 1, 1) + datetime.timedelta(days=n)\n"
    "    return len(re.findall(r'i\\d', text)) + fib(20) % 10 + len(day.isoformat()) + int(math.sqrt(4)) + "
    "len(str(3**n))\n"
    "def fail(): return {}[random.Random(1).random()]\n";

class ThreadsTest : public VmTest {
 protected:
  void in_threads(const std::function<void()>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(body);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(ThreadsTest, CreateRunFailDestroy) {
  if (vm_ == nullptr) return;
  std::atomic<int> right{0};
  in_threads([&] {
    for (int i = 0; i < kIsolates; ++i) {
      auto task = isolate(kTask);
      const Outcome outcome = task->call("main", "work", {Value(20)});
      right += outcome.ok() && *outcome.value.get<int64_t>() == 7 + 5 + 10 + 2 + 10;
      right += !task->call("main", "fail", {}).ok();
    }
  });
  EXPECT_EQ(right, kThreads * kIsolates * 2);
}

TEST_F(ThreadsTest, LimitsAndCancels) {
  if (vm_ == nullptr) return;
  std::atomic<int> stopped{0};
  in_threads([&] {
    Limits limits;
    limits.wall_ms = 50;
    auto task = isolate("def spin():\n    while True: pass\ndef one():\n    return 1\n", limits);
    for (int i = 0; i < kIsolates; ++i)
      stopped += task->call("main", "spin", {}).failure->reason == Reason::wall;
    EXPECT_TRUE(task->reset().ok());
    EXPECT_TRUE(task->call("main", "one", {}).ok());
  });
  EXPECT_EQ(stopped, kThreads * kIsolates);
}

}  // namespace
}  // namespace walle::vm
