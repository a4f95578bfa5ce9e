// Answers in a device's tables: each once, whatever comes again, is lacking, does not fit or was never asked.
#include "container/link/answer_store.h"

#include "container/device_case.h"

namespace walle::container {
namespace {

const std::string kPackage(64, 'a');

class AnswerStoreTest : public DeviceTest {
 protected:
  void open_device() {
    Result<std::unique_ptr<Device>> opened = Device::open(*env_, dir_, options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    device_ = std::move(*opened);
    store_ =
        std::make_unique<AnswerStore>(*env_, *device_, [this](const TakenAnswer& a) { told_.push_back(a); });
  }
  void close_device() {
    store_.reset();
    ASSERT_TRUE(device_->close().ok());
    device_.reset();
  }
  void TearDown() override {
    store_.reset();
    device_.reset();
    DeviceTest::TearDown();
  }
  static Manifest asking(const std::string& answers = "rows") {
    Manifest m = with_table(manifest("asker"));
    m.features.push_back({.policy = {.task = "asker",
                                     .feature = "doubt",
                                     .fields = {{.name = "n", .type = ColumnType::integer}},
                                     .bytes_per_day = 1 << 20,
                                     .sends_per_day = 1000,
                                     .consent = ""},
                          .graph = ""});
    m.cloud = {.question = "doubt",
               .module = "cloud",
               .function = "answer",
               .answers = answers,
               .limits = {.wall_ms = 1000, .cpu_ms = 0},
               .heap_bytes = 1 << 20};
    return m;
  }
  void install(const Manifest& m) {
    const auto installed = device_->install(bundle(m, "def main(event): return None\n"));
    ASSERT_TRUE(installed.ok()) << installed.error().message();
  }
  // Questions 1 to `count`, as a task sends them.
  void ask(int count) {
    const auto device = device_->core("test");
    for (int i = 0; i < count; ++i) {
      stream::Permit permit;
      permit.entry = {.ts = 1, .bytes = 4, .rows = 1, .task = "asker", .feature = "doubt"};
      permit.bytes = "rows";
      permit.stream = "doubt";
      permit.package = kPackage;
      const auto done =
          (*device)->commits().commit({.task = "asker", .number = 0, .rows = {}, .sends = {permit}});
      ASSERT_TRUE(done.ok()) << done.error().message();
    }
  }
  static link::Answer answer(uint64_t number, uint64_t after, uint64_t seq = 0) {
    return {.stream = "doubt",
            .seq = seq ? seq : number,
            .number = number,
            .after = after,
            .task = "asker",
            .error = "",
            .rows = {{{.column = "item", .value = static_cast<int64_t>(number)}}}};
  }
  // Up to which answer the device has them, behind this one.
  uint64_t take(const link::Answer& a) {
    const auto mark = store_->take(a);
    EXPECT_TRUE(mark.ok()) << mark.error().message();
    return mark.ok() ? mark->taken : UINT64_MAX;
  }
  std::vector<int64_t> stored() {
    const auto device = device_->core("test");
    const auto read = (*device)->commits().tables().read(table_name("asker", "rows"));
    EXPECT_TRUE(read.ok()) << read.error().message();
    return read.ok() ? read->columns[0].cells.integers() : std::vector<int64_t>();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<AnswerStore> store_;
  std::vector<TakenAnswer> told_;
};

TEST_F(AnswerStoreTest, EachIsARowOnceOverDoublesGapsAndRestarts) {
  open_device();
  install(asking());
  ask(5);
  EXPECT_EQ(take(answer(1, 0, 2)), 1u) << "questions may be answered in any order";
  EXPECT_EQ(take(answer(1, 0, 2)), 1u);
  EXPECT_EQ(take(answer(3, 2)), 1u) << "2 is lacking";
  EXPECT_EQ(stored(), (std::vector<int64_t>{1}));
  close_device();
  open_device();
  EXPECT_EQ(take(answer(1, 0, 2)), 1u) << "remembered over a restart";
  EXPECT_EQ(take(answer(2, 1, 1)), 2u);
  EXPECT_EQ(take(answer(4, 2)), 4u) << "3 was given up by the server";
  EXPECT_EQ(stored(), (std::vector<int64_t>{1, 2, 4}));
  const std::vector<link::AnswerMark> marks = store_->marks();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].stream, "doubt");
  EXPECT_EQ(marks[0].taken, 4u);
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(told_[0].stored, 1u);
  EXPECT_EQ(told_[0].seq, 2u);
}

TEST_F(AnswerStoreTest, WhatWasNeverAskedIsNotTaken) {
  open_device();
  install(asking());
  ask(2);
  EXPECT_EQ(take(answer(1, 0, 3)), 0u) << "two were asked";
  EXPECT_EQ(take(answer(1, 0, 2)), 1u);
  EXPECT_EQ(stored().size(), 1u);
}

TEST_F(AnswerStoreTest, WhatDoesNotFitIsSettledWithoutRowsAndSaysWhy) {
  open_device();
  install(asking());
  ask(5);
  link::Answer bad = answer(1, 0);
  bad.rows[0][0].column = "itme";
  EXPECT_EQ(take(bad), 1u);
  EXPECT_NE(told_.back().error.find("column 'itme'"), std::string::npos) << told_.back().error;
  bad = answer(2, 1);
  bad.rows[0][0].value = std::string("one");
  EXPECT_EQ(take(bad), 2u);
  EXPECT_FALSE(told_.back().error.empty());
  bad = answer(3, 2);
  bad.task = "somebody";
  EXPECT_EQ(take(bad), 3u) << "a task that is not here";
  EXPECT_FALSE(told_.back().error.empty());
  bad = answer(4, 3);
  bad.rows.clear();
  bad.error = "ValueError: no";
  EXPECT_EQ(take(bad), 4u);
  EXPECT_EQ(told_.back().error, "ValueError: no");
  EXPECT_EQ(take(answer(5, 4)), 5u);
  EXPECT_EQ(stored(), (std::vector<int64_t>{5}));
}

TEST_F(AnswerStoreTest, AnAnswerOfATaskThatWasRemovedHoldsNothingUp) {
  open_device();
  install(asking());
  ask(2);
  ASSERT_TRUE((*device_->core("test"))->remove("asker").ok());
  EXPECT_EQ(take(answer(1, 0)), 1u);
  EXPECT_FALSE(told_.back().error.empty());
  EXPECT_TRUE(store_->marks().empty()) << "nobody asks here";
}

TEST_F(AnswerStoreTest, ATaskWithoutATableIsToldAlone) {
  open_device();
  install(asking(""));
  ask(1);
  EXPECT_EQ(take(answer(1, 0)), 1u);
  EXPECT_EQ(told_.back().rows.size(), 1u);
  EXPECT_EQ(told_.back().stored, 0u);
  EXPECT_TRUE(told_.back().error.empty());
}

TEST_F(AnswerStoreTest, ARecordThatAsksNamesItsPackageOverARestart) {
  open_device();
  install(asking());
  ask(1);
  const auto task = [&] {
    const auto records = (*device_->core("test"))->commits().read_outbox("doubt");
    return records.ok() && records->size() == 1 ? records->front().task : "";
  };
  EXPECT_EQ(task(), "asker@" + kPackage);
  const uint8_t priority = (*device_->core("test"))->commits().read_outbox("doubt")->front().priority;
  EXPECT_EQ(priority, 5);
  close_device();
  open_device();
  EXPECT_EQ(task(), "asker@" + kPackage);
}

TEST_F(AnswerStoreTest, AClosedDeviceTakesNothing) {
  open_device();
  install(asking());
  ask(1);
  ASSERT_TRUE(device_->close().ok());
  EXPECT_FALSE(store_->take(answer(1, 0)).ok());
  EXPECT_TRUE(store_->marks().empty());
}

}  // namespace
}  // namespace walle::container
