// A disk that fails or is full at any write, on files in memory: whatever happens, accepted events are there,
// and each has its row once.
#include <algorithm>

#include "base/fault_env.h"
#include "container/device_case.h"

namespace walle::container {
namespace {

const char* const kRow = "def main(event):\n    return {'item': event['fields']['item']}\n";

// Nothing but this thread and one worker uses the files, in turns: an Env in memory has no lock.
class FaultsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    options_.background = false;
    options_.workers = 1;
    options_.ready_isolates = 0;
    options_.warm_imports = {};
    options_.commits.journal_bytes = 64 << 10;
    options_.processor.log.journal_bytes = 64 << 10;
    task_ = with_table(manifest("store"));
    bytes_ = bundle(task_, kRow);
  }
  bool open_on(base::FaultEnv& env) {
    env_ = &env;
    Result<std::shared_ptr<DeviceCore>> opened = DeviceCore::open(env, dir_, options_);
    if (!opened.ok()) return false;
    core_ = std::move(opened).value();
    // What the last life left runs first: this thread leaves the files to the worker meanwhile.
    return core_->wait_idle(kPatienceUs);
  }
  // One life of a device; what was accepted is added.
  void live(base::FaultEnv& env, int64_t from) {
    if (!open_on(env)) return;
    if (!installed_) installed_ = core_->install(bytes_).ok();
    for (int64_t item = from; item < from + 5; ++item) {
      const bool taken = try_tap(item).ok();
      (void)core_->wait_idle(kPatienceUs);
      (taken && installed_ ? accepted_ : perhaps_).push_back(item);
      env.advance_us(1000);
    }
    (void)core_->maintain().ok();
    (void)core_->close().ok();
    core_.reset();
  }
  // On a disk that works again.
  void check(base::FaultEnv& env, const std::string& when) {
    ASSERT_TRUE(open_on(env)) << when;
    (void)core_->maintain().ok();
    ASSERT_TRUE(core_->wait_idle(kPatienceUs)) << when;
    std::vector<int64_t> rows;
    if (core_->task("store").ok()) rows = items("store");
    for (const int64_t item : accepted_) EXPECT_EQ(std::ranges::count(rows, item), 1) << when << ", " << item;
    for (const int64_t item : perhaps_) EXPECT_LE(std::ranges::count(rows, item), 1) << when << ", " << item;
    EXPECT_TRUE(std::ranges::is_sorted(rows)) << when;
    // And it goes on.
    ASSERT_TRUE(core_->install(bytes_).ok()) << when;
    tap(1000);
    ASSERT_TRUE(core_->wait_idle(kPatienceUs)) << when;
    EXPECT_EQ(items("store").back(), 1000) << when << ": " << info("store").error;
    core_.reset();
    installed_ = false;
    accepted_.clear();
    perhaps_.clear();
  }

  Manifest task_;
  std::string bytes_;
  bool installed_ = false;
  std::vector<int64_t> accepted_, perhaps_;
};

TEST_F(FaultsTest, AnyOperationMayFail) {
  int64_t operations = 0;
  {
    base::FaultEnv env;
    live(env, 1);
    operations = env.operations();
    check(env, "nothing fails");
  }
  ASSERT_GT(operations, 20);
  for (int64_t at = 0; at < operations; ++at) {
    base::FaultEnv env;
    env.fail_at(at);
    live(env, 1);
    env.fail_at(-1);
    check(env, "operation " + std::to_string(at) + " fails");
    if (HasFatalFailure()) return;
  }
}

TEST_F(FaultsTest, TheDiskMayBeFullAtAnyTime) {
  for (int64_t bytes = 0; bytes <= 512 << 10; bytes += 24 << 10) {
    base::FaultEnv env;
    env.limit_disk(bytes);
    live(env, 1);
    env.limit_disk(-1);
    check(env, std::to_string(bytes) + " bytes of disk");
    if (HasFatalFailure()) return;
  }
}

TEST_F(FaultsTest, AFullDiskBetweenTwoLivesKeepsWhatWasAccepted) {
  base::FaultEnv env;
  live(env, 1);
  env.limit_disk(0);
  live(env, 11);
  env.limit_disk(-1);
  live(env, 21);
  check(env, "full between");
}

TEST_F(FaultsTest, PowerLostBehindACloseTakesNothing) {
  base::FaultEnv env;
  live(env, 1);
  env.lose_power();
  check(env, "power lost");
}

}  // namespace
}  // namespace walle::container
