// What bindings see: names from any thread, tables with their near names, a device that was closed.
#include "container/device/device.h"

#include <atomic>
#include <thread>

#include "container/device_case.h"
#include "stream/event/event_names.h"

namespace walle::container {
namespace {

const char* const kRow = "def main(event):\n    return {'item': event['fields']['item']}\n";

class ClosableTest : public DeviceTest {
 protected:
  void open_device() {
    Result<std::unique_ptr<Device>> opened = Device::open(Env::system(), dir_, options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    device_ = std::move(opened).value();
  }
  void TearDown() override {
    device_.reset();
    DeviceTest::TearDown();
  }
  Status record(const std::string& name, int64_t item) {
    const std::shared_ptr<const stream::Catalog> catalog = device_->catalog();
    WALLE_ASSIGN(stream::Event event,
                 stream::event_by_name(*catalog, name, "", Env::system().wall_us(), false));
    const stream::Value contents[] = {stream::Value::of(item)};
    event.contents = contents;
    WALLE_ASSIGN(const std::shared_ptr<DeviceCore> device, device_->core("record"));
    return device->record(event).status();
  }
  void wait() { ASSERT_TRUE((*device_->core("wait"))->wait_idle(kPatienceUs)); }

  std::unique_ptr<Device> device_;
};

TEST_F(ClosableTest, ADeclaredNameIsThereForTheNextWhoAsks) {
  open_device();
  EXPECT_FALSE(record("look", 1).ok());
  ASSERT_TRUE(
      device_->declare({.name = "look", .kind = stream::EventKind::custom, .fields = {{.name = "item"}}})
          .ok());
  EXPECT_TRUE(record("look", 1).ok());
  EXPECT_FALSE(device_->catalog()->find_page("home"));
  ASSERT_TRUE(device_->declare_page("home").ok());
  ASSERT_TRUE(device_->declare_state("wifi").ok());
  EXPECT_TRUE(device_->catalog()->find_page("home") && device_->catalog()->find_state("wifi"));
  // What a task brings is there once it is installed.
  Manifest m = manifest("brings");
  m.events = {{.name = "swipe", .kind = stream::EventKind::custom, .fields = {{.name = "item"}}}};
  m.triggers = {{"swiped", "swipe"}};
  ASSERT_TRUE(device_->install(bundle(m, kRow)).ok());
  EXPECT_TRUE(record("swipe", 2).ok());
  // A declaration that is refused changes nothing.
  EXPECT_FALSE(device_->declare({.name = "click", .kind = stream::EventKind::custom, .fields = {}}).ok());
}

TEST_F(ClosableTest, NamesAreLookedUpWhileOthersDeclare) {
  open_device();
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) failures += !record("tap", 1).ok();
    });
  }
  for (int i = 0; i < 50; ++i) {
    const std::string name = "event" + std::to_string(i);
    ASSERT_TRUE(
        device_->declare({.name = name, .kind = stream::EventKind::custom, .fields = {{.name = "item"}}})
            .ok());
    EXPECT_TRUE(record(name, i).ok());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(ClosableTest, TablesAreFoundByTaskAndName) {
  open_device();
  ASSERT_TRUE(device_->install(bundle(with_table(manifest("store")), kRow)).ok());
  for (int64_t i = 1; i <= 5; ++i) ASSERT_TRUE(record("tap", i).ok());
  wait();
  const Result<store::TableColumns> all = device_->read("store", "rows", 0, UINT64_MAX);
  ASSERT_TRUE(all.ok()) << all.error().message();
  EXPECT_EQ(all->columns[0].cells.integers(), (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(device_->read("store", "rows", 4, 1)->numbers, std::vector<uint64_t>{4});  // from 4, inclusive
  EXPECT_EQ(device_->last("store", "rows", 2)->columns[0].cells.integers(), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(device_->info("store", "rows")->rows, 5u);
  EXPECT_EQ(*device_->tables("store"), std::vector<std::string>{"rows"});
  const Result<store::TableColumns> near = device_->read("store", "row", 0, 1);
  ASSERT_FALSE(near.ok());
  EXPECT_NE(near.error().message().find("'rows'"), std::string::npos) << near.error().message();
  const Result<store::TableColumns> none = device_->read("stor", "rows", 0, 1);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("has no tables"), std::string::npos) << none.error().message();
  // A task whose name begins like another's does not have its tables; a removed one keeps its own.
  EXPECT_TRUE(device_->tables("sto")->empty());
  ASSERT_TRUE((*device_->core("remove"))->remove("store").ok());
  EXPECT_EQ(device_->read("store", "rows", 0, UINT64_MAX)->rows(), 5u);
}

TEST_F(ClosableTest, AClosedDeviceGivesItsFolderBack) {
  open_device();
  ASSERT_TRUE(device_->close().ok());
  ASSERT_TRUE(device_->close().ok());
  Result<std::shared_ptr<DeviceCore>> again = DeviceCore::open(Env::system(), dir_, options_);
  EXPECT_TRUE(again.ok()) << again.error().message();
}

TEST_F(ClosableTest, AClosedDeviceSaysSo) {
  open_device();
  EXPECT_FALSE(device_->closed());
  ASSERT_TRUE(device_->close().ok());
  EXPECT_TRUE(device_->closed());
  EXPECT_FALSE(device_->core("record").ok());
  EXPECT_FALSE(device_->declare_page("home").ok());
  EXPECT_FALSE(device_->install("").ok());
  EXPECT_FALSE(device_->tables("store").ok());
  const Status refused = record("tap", 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("closed device"), std::string::npos);
}

TEST_F(ClosableTest, ACallbackIsAnsweredWhileOthersClose) {
  open_device();
  Manifest m = manifest("slow");
  ASSERT_TRUE(device_->install(bundle(m, kRow)).ok());
  std::atomic<bool> inside = false;
  std::atomic<int> answered = 0;
  (*device_->core("on_result"))->on_result([&](const TaskResult&) {
    inside = true;
    while (!device_->closed()) std::this_thread::yield();
    const Result<std::shared_ptr<DeviceCore>> device = device_->core("tasks");
    answered = device.ok() && (*device)->tasks().size() == 1 ? 1 : -1;
  });
  ASSERT_TRUE(record("tap", 1).ok());
  while (!inside) std::this_thread::yield();
  ASSERT_TRUE(device_->close().ok());
  EXPECT_EQ(answered, 1);
  EXPECT_FALSE(device_->core("tasks").ok());
}

TEST_F(ClosableTest, ClosingEndsWhoIsAttachedBeforeTheDevice) {
  open_device();
  int one = 0, left = 0;
  bool open_then = false;
  ASSERT_TRUE(device_->attached().join(&one, [&] {
    ++one;
    open_then = device_->core("stop").ok();
  }));
  ASSERT_TRUE(device_->attached().join(&left, [&] { ++left; }));
  device_->attached().leave(&left);
  ASSERT_TRUE(device_->close().ok());
  EXPECT_TRUE(open_then) << "what works on a device ends in order, and runs into no closed one";
  ASSERT_TRUE(device_->close().ok());
  EXPECT_EQ(one, 1);
  EXPECT_EQ(left, 0);
  EXPECT_FALSE(device_->attached().join(&left, [&] { ++left; })) << "nobody would end it";
  device_->attached().leave(&one);
}

TEST_F(ClosableTest, SomeComeAndGoWhileItIsClosed) {
  open_device();
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        auto mine = std::make_shared<std::atomic<bool>>(true);
        ++running;
        const bool joined = device_->attached().join(mine.get(), [&running, mine] {
          if (mine->exchange(false)) --running;
        });
        device_->attached().leave(mine.get());
        if (mine->exchange(false)) --running;
        if (!joined) return;
      }
    });
  }
  ASSERT_TRUE(device_->close().ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(running.load(), 0);
}

}  // namespace
}  // namespace walle::container
