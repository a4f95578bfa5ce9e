// A log with a key: nothing of its events is in plain sight, and another key changes nothing.
#include <map>

#include "store/sealed_env.h"
#include "stream/small_log.h"

namespace walle::stream {
namespace {

using base::FaultEnv;

constexpr const char* kCanary = "xCANARYx";

EventLogOptions sealed(char fill = 'k') {
  EventLogOptions options = small();
  options.key = std::string(base::kKeyBytes, fill);
  return options;
}

class SealedLog : public ::testing::Test {
 protected:
  // Segments, a journal, a reader, something erased.
  void write() {
    auto log = open_log(env_, sealed());
    ASSERT_TRUE(log);
    for (int i = 0; i < 60; ++i) {
      fill(*log, env_, 1, i % 7 ? kCanary : "other");
      ASSERT_TRUE((i != 20 && i != 40) || log->compact().ok());
    }
    ASSERT_TRUE(log->set_cursor(kCanary, 3).ok());
    ASSERT_TRUE(log->page(kCanary).ok());
    ASSERT_EQ(*log->erase(
                  {.field = log->catalog().find_field("who"), .value = Value::of(std::string_view("other"))}),
              9u);
  }

  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> out;
    const std::vector<std::string> names = *env_.list_files(kDir);
    for (const std::string& f : names) out[f] = env_.file(std::string(kDir) + "/" + f);
    return out;
  }

  FaultEnv env_;
};

TEST_F(SealedLog, KeepsEveryEventAndShowsNone) {
  write();
  for (const auto& [name, bytes] : contents()) EXPECT_EQ(bytes.find(kCanary), std::string::npos) << name;
  auto log = open_log(env_, sealed());
  EXPECT_EQ(numbers(*log).size(), 51u);
  EXPECT_EQ(*log->cursor(kCanary), 3u);
  EXPECT_TRUE(losses(*log).empty());
  EventLogOptions reading = sealed();
  reading.read_only = true;
  EXPECT_EQ(numbers(*open_log(env_, reading)).size(), 51u);
}

TEST_F(SealedLog, AnotherKeyOrNoneIsAnErrorAndChangesNothing) {
  write();
  const auto before = contents();
  for (const bool read_only : {false, true}) {
    EventLogOptions wrong = sealed('w');
    EventLogOptions none = small();
    wrong.read_only = read_only;
    none.read_only = read_only;
    const auto another = EventLog::open(env_, kDir, marks(), wrong);
    ASSERT_FALSE(another.ok());
    EXPECT_NE(another.error().message().find("another key"), std::string::npos) << another.error().message();
    const auto without = EventLog::open(env_, kDir, marks(), none);
    ASSERT_FALSE(without.ok());
    EXPECT_NE(without.error().message().find("no key"), std::string::npos) << without.error().message();
  }
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(numbers(*open_log(env_, sealed())).size(), 51u);
}

TEST_F(SealedLog, ALogThatBeganWithoutAKeyIsNotSealedLater) {
  fill(*open_log(env_), env_, 5);
  const auto log = EventLog::open(env_, kDir, marks(), sealed());
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message().find("not sealed"), std::string::npos) << log.error().message();
  EXPECT_EQ(numbers(*open_log(env_)).size(), 5u);
}

TEST_F(SealedLog, DamageIsToldAsWithoutAKey) {
  write();
  env_.file(files(env_, ".wseg")[0])[100] ^= 1;
  env_.file("/log/key.walk")[20] ^= 1;
  for (int open = 0; open < 2; ++open) {
    auto log = open_log(env_, sealed());
    ASSERT_TRUE(log);
    ASSERT_EQ(losses(*log).size(), 1u);
    EXPECT_EQ(losses(*log)[0].kind, LossKind::damaged_segment);
  }
}

TEST_F(SealedLog, SegmentsOfOneNumberAreNoneOfAnother) {
  write();
  const auto segments = files(env_, ".wseg");
  env_.file(segments[0]) = env_.file(segments[1]);
  auto log = open_log(env_, sealed());
  ASSERT_EQ(losses(*log).size(), 1u);
  EXPECT_EQ(losses(*log)[0].first, 1u);
}

TEST_F(SealedLog, EveryFailingOperationLosesNothing) {
  for (int64_t k = 0; k < 80; ++k) {
    FaultEnv env;
    env.fail_at(k);
    uint64_t n = 0;
    for (int round = 0; round < 2; ++round) {
      auto log = EventLog::open(env, kDir, marks(), sealed());
      for (int i = 0; log.ok() && i < 60; ++i) {
        if (put(**log, env.wall_us()).ok()) ++n;
        if (i % 10 == 0) (void)(*log)->maintain().ok();
      }
    }
    env.fail_at(-1);
    auto log = open_log(env, sealed());
    ASSERT_TRUE(log) << k;
    EXPECT_EQ(numbers(*log).size(), n) << k;
  }
}

// Files in plain sight say which cipher sealed them.
size_t files_that_begin_with(const std::map<std::string, std::string>& files, std::string_view magic) {
  return static_cast<size_t>(
      std::ranges::count_if(files, [&](const auto& file) { return file.second.starts_with(magic); }));
}

TEST_F(SealedLog, NewOnesNeedNoLibrary) {
  write();
  EXPECT_GT(files_that_begin_with(contents(), "WALSEAL2"), 4u);
  EXPECT_EQ(files_that_begin_with(contents(), "WALSEAL1"), 0u);
}

TEST_F(SealedLog, ThoseOfBeforeKeepTheirCipher) {
  const auto aes = base::Aead::open(sealed().key, base::Cipher::aes_256_gcm);
  if (!aes.ok()) GTEST_SKIP() << "no libcrypto is installed";
  ASSERT_TRUE(env_.make_dirs(kDir).ok());
  ASSERT_TRUE(store::check_key(env_, kDir, aes->get(), true, true).ok());
  write();
  EXPECT_GT(files_that_begin_with(contents(), "WALSEAL1"), 4u);
  EXPECT_EQ(files_that_begin_with(contents(), "WALSEAL2"), 0u);
  auto log = open_log(env_, sealed());
  fill(*log, env_, 3, kCanary);
  EXPECT_EQ(numbers(*log).size(), 54u);
  EXPECT_TRUE(losses(*log).empty());
  for (const auto& [name, bytes] : contents()) EXPECT_EQ(bytes.find(kCanary), std::string::npos) << name;
}

}  // namespace
}  // namespace walle::stream
