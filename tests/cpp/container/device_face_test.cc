// What bindings see: names from any thread, tables with their near names, a device that was closed.
#include "container/device/device_face.h"

#include <atomic>
#include <thread>

#include "container/device_case.h"
#include "stream/event/event_names.h"

namespace walle::container {
namespace {

const char* const kRow = "def main(event):\n    return {'item': event['fields']['item']}\n";

class FaceTest : public DeviceTest {
 protected:
  void open_face() {
    Result<std::unique_ptr<DeviceFace>> opened = DeviceFace::open(Env::system(), dir_, options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    face_ = std::move(opened).value();
  }
  void TearDown() override {
    face_.reset();
    DeviceTest::TearDown();
  }
  Status record(const std::string& name, int64_t item) {
    const std::shared_ptr<const stream::Catalog> catalog = face_->catalog();
    WALLE_ASSIGN(stream::Event event,
                 stream::event_by_name(*catalog, name, "", Env::system().wall_us(), false));
    const stream::Value contents[] = {stream::Value::of(item)};
    event.contents = contents;
    WALLE_ASSIGN(const std::shared_ptr<Device> device, face_->device("record"));
    return device->record(event).status();
  }
  void wait() { ASSERT_TRUE((*face_->device("wait"))->wait_idle(kPatienceUs)); }

  std::unique_ptr<DeviceFace> face_;
};

TEST_F(FaceTest, ADeclaredNameIsThereForTheNextWhoAsks) {
  open_face();
  EXPECT_FALSE(record("look", 1).ok());
  ASSERT_TRUE(
      face_->declare({.name = "look", .kind = stream::EventKind::custom, .fields = {{.name = "item"}}}).ok());
  EXPECT_TRUE(record("look", 1).ok());
  EXPECT_FALSE(face_->catalog()->find_page("home"));
  ASSERT_TRUE(face_->declare_page("home").ok());
  ASSERT_TRUE(face_->declare_state("wifi").ok());
  EXPECT_TRUE(face_->catalog()->find_page("home") && face_->catalog()->find_state("wifi"));
  // What a task brings is there once it is installed.
  Manifest m = manifest("brings");
  m.events = {{.name = "swipe", .kind = stream::EventKind::custom, .fields = {{.name = "item"}}}};
  m.triggers = {{"swiped", "swipe"}};
  ASSERT_TRUE(face_->install(bundle(m, kRow)).ok());
  EXPECT_TRUE(record("swipe", 2).ok());
  // A declaration that is refused changes nothing.
  EXPECT_FALSE(face_->declare({.name = "click", .kind = stream::EventKind::custom, .fields = {}}).ok());
}

TEST_F(FaceTest, NamesAreLookedUpWhileOthersDeclare) {
  open_face();
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
        face_->declare({.name = name, .kind = stream::EventKind::custom, .fields = {{.name = "item"}}}).ok());
    EXPECT_TRUE(record(name, i).ok());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(FaceTest, TablesAreFoundByTaskAndName) {
  open_face();
  ASSERT_TRUE(face_->install(bundle(with_table(manifest("store")), kRow)).ok());
  for (int64_t i = 1; i <= 5; ++i) ASSERT_TRUE(record("tap", i).ok());
  wait();
  const Result<store::TableColumns> all = face_->read("store", "rows", 0, UINT64_MAX);
  ASSERT_TRUE(all.ok()) << all.error().message();
  EXPECT_EQ(all->columns[0].ints, (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(face_->read("store", "rows", 4, 1)->numbers, std::vector<uint64_t>{4});  // from 4, inclusive
  EXPECT_EQ(face_->last("store", "rows", 2)->columns[0].ints, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(face_->info("store", "rows")->rows, 5u);
  EXPECT_EQ(*face_->tables("store"), std::vector<std::string>{"rows"});
  const Result<store::TableColumns> near = face_->read("store", "row", 0, 1);
  ASSERT_FALSE(near.ok());
  EXPECT_NE(near.error().message().find("'rows'"), std::string::npos) << near.error().message();
  const Result<store::TableColumns> none = face_->read("stor", "rows", 0, 1);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("has no tables"), std::string::npos) << none.error().message();
  // A task whose name begins like another's does not have its tables; a removed one keeps its own.
  EXPECT_TRUE(face_->tables("sto")->empty());
  ASSERT_TRUE((*face_->device("remove"))->remove("store").ok());
  EXPECT_EQ(face_->read("store", "rows", 0, UINT64_MAX)->rows(), 5u);
}

TEST_F(FaceTest, AClosedDeviceGivesItsFolderBack) {
  open_face();
  ASSERT_TRUE(face_->close().ok());
  ASSERT_TRUE(face_->close().ok());
  Result<std::unique_ptr<Device>> again = Device::open(Env::system(), dir_, options_);
  EXPECT_TRUE(again.ok()) << again.error().message();
}

TEST_F(FaceTest, AClosedDeviceSaysSo) {
  open_face();
  EXPECT_FALSE(face_->closed());
  ASSERT_TRUE(face_->close().ok());
  EXPECT_TRUE(face_->closed());
  EXPECT_FALSE(face_->device("record").ok());
  EXPECT_FALSE(face_->declare_page("home").ok());
  EXPECT_FALSE(face_->install("").ok());
  EXPECT_FALSE(face_->tables("store").ok());
  const Status refused = record("tap", 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("closed device"), std::string::npos);
}

TEST_F(FaceTest, ACallbackIsAnsweredWhileOthersClose) {
  open_face();
  Manifest m = manifest("slow");
  ASSERT_TRUE(face_->install(bundle(m, kRow)).ok());
  std::atomic<bool> inside = false;
  std::atomic<int> answered = 0;
  (*face_->device("on_result"))->on_result([&](const TaskResult&) {
    inside = true;
    while (!face_->closed()) std::this_thread::yield();
    const Result<std::shared_ptr<Device>> device = face_->device("tasks");
    answered = device.ok() && (*device)->tasks().size() == 1 ? 1 : -1;
  });
  ASSERT_TRUE(record("tap", 1).ok());
  while (!inside) std::this_thread::yield();
  ASSERT_TRUE(face_->close().ok());
  EXPECT_EQ(answered, 1);
  EXPECT_FALSE(face_->device("tasks").ok());
}

TEST_F(FaceTest, ClosingEndsWhoIsAttachedBeforeTheDevice) {
  open_face();
  int one = 0, left = 0;
  bool open_then = false;
  ASSERT_TRUE(face_->attached().join(&one, [&] {
    ++one;
    open_then = face_->device("stop").ok();
  }));
  ASSERT_TRUE(face_->attached().join(&left, [&] { ++left; }));
  face_->attached().leave(&left);
  ASSERT_TRUE(face_->close().ok());
  EXPECT_TRUE(open_then) << "what works on a device ends in order, and runs into no closed one";
  ASSERT_TRUE(face_->close().ok());
  EXPECT_EQ(one, 1);
  EXPECT_EQ(left, 0);
  EXPECT_FALSE(face_->attached().join(&left, [&] { ++left; })) << "nobody would end it";
  face_->attached().leave(&one);
}

TEST_F(FaceTest, SomeComeAndGoWhileItIsClosed) {
  open_face();
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        auto mine = std::make_shared<std::atomic<bool>>(true);
        ++running;
        const bool joined = face_->attached().join(mine.get(), [&running, mine] {
          if (mine->exchange(false)) --running;
        });
        face_->attached().leave(mine.get());
        if (mine->exchange(false)) --running;
        if (!joined) return;
      }
    });
  }
  ASSERT_TRUE(face_->close().ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(running.load(), 0);
}

}  // namespace
}  // namespace walle::container
