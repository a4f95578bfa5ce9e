// A log with a key: nothing of its events is in plain sight, and another key changes nothing.
#include <map>

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
  void SetUp() override {
    const auto aead = base::Aead::open(std::string(base::kKeyBytes, 'k'));
    if (!aead.ok()) GTEST_SKIP() << aead.error().message();
  }

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

TEST(Aead, KeysOfAnotherSizeAreRefused) {
  const auto aead = base::Aead::open("short");
  ASSERT_FALSE(aead.ok());
  EXPECT_NE(aead.error().message().find("32 bytes"), std::string::npos);
}

// A test vector of NIST's GCM specification (test case 16 has other bound bytes; this one is case 13): the
// sealed form is nonce, ciphertext, tag.
TEST(Aead, OpensWhatTheStandardSealed) {
  const auto aead = base::Aead::open(std::string(base::kKeyBytes, '\0'));
  if (!aead.ok()) GTEST_SKIP() << aead.error().message();
  const unsigned char tag[] = {0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9,
                               0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b};
  const std::string sealed =
      std::string(base::kNonceBytes, '\0') + std::string(reinterpret_cast<const char*>(tag), sizeof tag);
  std::string plain = "?";
  EXPECT_TRUE((*aead)->unseal(sealed, "", plain));
  EXPECT_TRUE(plain.empty());
  EXPECT_FALSE((*aead)->unseal(sealed, "x", plain));
}

}  // namespace
}  // namespace walle::stream
