// The device flavour: what the full flavour compiled runs there, what needs a compiler is refused. Both
// libraries are in this process at once.
#include "vm/fixture.h"

namespace walle::vm {
namespace {

class DeviceTest : public VmTest {
 protected:
  void SetUp() override {
    VmTest::SetUp();
    if (vm_ != nullptr) open("device", device_);
  }
  std::shared_ptr<const Vm> device_;
};

TEST_F(DeviceTest, NamesItself) {
  EXPECT_EQ(device_->flavour(), "device");
  EXPECT_EQ(device_->id(), vm_->id());
  EXPECT_EQ(device_->library(), vm_->library());
}

TEST_F(DeviceTest, RunsWhatTheFullFlavourCompiled) {
  const std::string source =
      "import json, re, math, dataclasses, datetime\n"
      "@dataclasses.dataclass\n"
      "class Click:\n"
      "    item: str\n"
      "    at: float = 0.5\n"
      "def f(n):\n"
      "    clicks = [Click('i%d' % (i % 7)) for i in range(n)]\n"
      "    text = json.dumps([dataclasses.asdict(c) for c in clicks])\n"
      "    year = datetime.date(2024, 2, 29).isoformat()[:4]\n"
      "    return [len(re.findall(r'i\\d', text)), math.fsum(c.at for c in clicks), year, str(2**200)]\n";
  for (const auto& vm : {vm_, device_}) {
    const Outcome outcome = isolate_on(vm, source)->call("main", "f", {Value(50)});
    ASSERT_TRUE(outcome.ok()) << outcome.failure->text();
    const List& list = *outcome.value.get<List>();
    EXPECT_EQ(*list[0].get<int64_t>(), 50);
    EXPECT_EQ(*list[1].get<double>(), 25.0);
    EXPECT_EQ(*list[2].get<std::string>(), "2024");
    EXPECT_EQ(*list[3].get<std::string>(), "1606938044258990275541962092341162602522202993782792835301376");
  }
}

TEST_F(DeviceTest, HasNoCompiler) {
  auto task = isolate_on(device_, "def f(text):\n    return eval(text)\n");
  EXPECT_FALSE(task->run({"x", "x.py", "a = 1\n", false}).ok());
  const Outcome outcome = task->call("main", "f", {Value(std::string("1 + 1"))});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->reason, Reason::none);
  EXPECT_TRUE(task->call("main", "f", {Value(std::string("x"))}).failure.has_value());
}

TEST_F(DeviceTest, LimitsHold) {
  Limits limits;
  limits.wall_ms = 100;
  auto task = isolate_on(
      device_,
      "def spin():\n    while True:\n        try:\n            while True: pass\n        except: pass\n",
      limits);
  EXPECT_EQ(task->call("main", "spin", {}).failure->reason, Reason::wall);
}

}  // namespace
}  // namespace walle::vm
