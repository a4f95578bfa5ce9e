// Logs that only read, beside a writer and on disks that cannot be written, and children of fork().
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "stream/match/matcher.h"
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

EventLogOptions reading() {
  EventLogOptions options = small();
  options.read_only = true;
  return options;
}

TEST(LogReaders, ReadBesideAWriterAndChangeNothing) {
  FaultEnv env;
  auto writer = open_log(env);
  fill(*writer, env, 20);
  ASSERT_TRUE(writer->compact().ok());
  fill(*writer, env, 5);
  const auto before = *env.list_files(kDir);
  auto reader = open_log(env, reading());
  ASSERT_TRUE(reader);
  EXPECT_EQ(numbers(*reader).size(), 25u);
  EXPECT_EQ(reader->last_seq(), 25u);
  EXPECT_EQ(*env.list_files(kDir), before);
  for (int i = 0; i < 300; ++i) {
    fill(*writer, env, 1);
    ASSERT_TRUE(writer->maintain().ok());
    if (i % 20) continue;
    EXPECT_EQ(numbers(*reader).size(), 26u + static_cast<size_t>(i));
  }
  EXPECT_TRUE(losses(*reader).empty());
  ASSERT_TRUE(writer->page("new").ok());
  ASSERT_TRUE(put(*writer, env.wall_us(), "bob", *writer->catalog().find_page("new")).ok());
  EXPECT_EQ(numbers(*reader).size(), 326u) << "a page that came after the reader";
}

// Seen by the address sanitizer where it is not so.
TEST(LogReaders, MatchersOfAnOlderCatalogueMeetEventsTheyDoNotKnow) {
  FaultEnv env;
  fill(*open_log(env), env, 1);
  auto reader = open_log(env, reading());
  const Catalog older = reader->catalog();
  auto matcher = std::make_unique<Matcher>(older);
  ASSERT_TRUE(matcher->add(*compile_trigger(*parse_trigger("mark ~ mark"), older)).ok());
  {
    auto writer = open_log(env);
    for (int i = 0; i < 100; ++i) {
      const std::string name = "new" + std::to_string(i);
      ASSERT_TRUE(writer->declare({.name = name, .kind = EventKind::custom, .fields = {}}).ok());
      Event e;
      e.event = *writer->catalog().find_event(name);
      e.ts = env.wall_us();
      ASSERT_TRUE(writer->append(e).ok());
    }
    fill(*writer, env, 1);
  }
  uint64_t seen = 0;
  ASSERT_TRUE(reader
                  ->read(0,
                         [&](const Event& e) {
                           matcher->step(e);
                           return ++seen > 0;
                         })
                  .ok());
  EXPECT_EQ(seen, 102u);
  EXPECT_EQ(matcher->stats().firings, 1u);
}

TEST(LogReaders, ReadWhereNothingCanBeWritten) {
  for (const bool full : {false, true}) {
    FaultEnv env;
    {
      auto log = open_log(env);
      fill(*log, env, 30);
    }
    full ? env.limit_disk(0) : env.set_read_only(true);
    EXPECT_FALSE(EventLog::open(env, kDir, marks(), small()).ok());
    auto log = open_log(env, reading());
    ASSERT_TRUE(log);
    EXPECT_EQ(numbers(*log).size(), 30u);
  }
}

TEST(LogReaders, RefuseEverythingThatWrites) {
  FaultEnv env;
  {
    auto log = open_log(env);
    fill(*log, env, 3);
  }
  auto log = open_log(env, reading());
  const auto refused = [](const Status& s) {
    ASSERT_FALSE(s.ok());
    EXPECT_NE(s.error().message().find("only reads"), std::string::npos) << s.error().message();
  };
  refused(put(*log, env.wall_us()).status());
  refused(log->maintain());
  refused(log->compact());
  refused(log->sync());
  refused(log->set_cursor("r", 1));
  refused(log->page("x").status());
  refused(log->declare({.name = "x", .kind = EventKind::custom, .fields = {}}));
  refused(log->erase({.page = uint16_t{1}}).status());
  refused(log->acknowledge({}));
  EXPECT_FALSE(log->log_state().set_spent("a", 1).ok());
}

TEST(LogReaders, TellOfWhatIsLostAndLeaveItToTheWriter) {
  FaultEnv env;
  {
    auto log = open_log(env);
    fill(*log, env, 20);
    ASSERT_TRUE(log->compact().ok());
    fill(*log, env, 20);
  }
  env.file(files(env, ".wseg")[0])[100] ^= 1;
  for (int open = 0; open < 2; ++open) {
    auto log = open_log(env, reading());
    ASSERT_EQ(losses(*log).size(), 1u);
    EXPECT_EQ(losses(*log)[0].kind, LossKind::damaged_segment);
    EXPECT_EQ(numbers(*log).size(), 20u);
  }
  EXPECT_TRUE(files(env, ".damaged").empty());
}

TEST(LogReaders, AMissingFolderIsNoLog) {
  FaultEnv env;
  const auto log = EventLog::open(env, "/nowhere", marks(), reading());
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message().find("without an event log"), std::string::npos);
}

// On real files: a child has its parent's mapping and must not write through it.
class RealLog : public ::testing::Test {
 protected:
  RealLog() : dir_(std::filesystem::temp_directory_path() / ("walle-fork-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(dir_);
  }
  ~RealLog() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<EventLog> open(EventLogOptions options) {
    auto log = EventLog::open(Env::system(), dir_.string(), marks(), options);
    EXPECT_TRUE(log.ok()) << log.error().message();
    return log.ok() ? std::move(*log) : nullptr;
  }

  std::filesystem::path dir_;
};

// What a child finds wrong, as the bits of its exit code.
int in_child(EventLog& log, const std::function<int()>& also) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    int wrong = 0;
    const Result<Event> appended = put(log, Env::system().wall_us());
    wrong |= appended.ok() || appended.error().message().find("fork") == std::string::npos ? 1 : 0;
    wrong |= log.maintain().ok() || log.compact().ok() || log.sync().ok() ? 2 : 0;
    wrong |= log.read(0, [](const Event&) { return true; }).ok() ? 4 : 0;
    wrong |= log.set_cursor("r", 1).ok() || log.cursor("r").ok() || log.losses().ok() ? 8 : 0;
    wrong |= also();
    ::_exit(wrong);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST_F(RealLog, AChildOfForkIsRefusedAndMayReadByItself) {
  for (const bool thread : {false, true}) {
    EventLogOptions options = small();
    options.maintenance_thread = thread;
    auto log = open(options);
    const uint64_t before = log->last_seq();
    ASSERT_TRUE(put(*log, Env::system().wall_us()).ok());
    const int wrong = in_child(*log, [&] {
      auto own = open(reading());
      const bool read = own && numbers(*own).size() == before + 1;
      own.reset();
      log.reset();  // neither hangs nor writes
      return read ? 0 : 16;
    });
    EXPECT_EQ(wrong, 0);
    ASSERT_TRUE(put(*log, Env::system().wall_us()).ok());
    EXPECT_EQ(numbers(*log).size(), before + 2);
  }
}

TEST_F(RealLog, TheThreadSyncsAndCompactsByItself) {
  EventLogOptions options = small();
  options.maintenance_thread = true;
  options.sync_us = 20'000;
  auto log = open(options);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(put(*log, Env::system().wall_us()).ok());
  // Waits for what must come, however slow the machine is: it ends when the thread has done its work.
  while (log->segment_bytes() == 0) std::this_thread::yield();
  EXPECT_EQ(numbers(*log).size(), 500u);
}

TEST_F(RealLog, ReadersBesideABusyWriterSeeEveryEventOnce) {
  EventLogOptions options = small();
  options.maintenance_thread = true;
  auto writer = open(options);
  ASSERT_TRUE(put(*writer, Env::system().wall_us()).ok());
  std::atomic<bool> done{false};
  std::thread appender([&] {
    for (int i = 0; i < 4000; ++i) EXPECT_TRUE(put(*writer, Env::system().wall_us()).ok());
    done = true;
  });
  auto reader = open(reading());
  while (!done) {
    uint64_t next = 1;
    const Status s = reader->read(0, [&](const Event& e) { return e.seq == next && ++next; });
    EXPECT_TRUE(s.ok()) << s.error().message();
    EXPECT_EQ(next - 1, reader->last_seq());
    if (::testing::Test::HasFailure()) break;
  }
  appender.join();
  EXPECT_TRUE(losses(*reader).empty());
}

}  // namespace
}  // namespace walle::stream
