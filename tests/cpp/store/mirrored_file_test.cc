#include "store/mirrored_file.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"

namespace walle::store {
namespace {

using base::FaultEnv;
using Found = MirroredFile::Found;

constexpr const char* kPath = "/file";
constexpr const char* kMirror = "/file.mirror";

MirroredFile opened(Env& env) {
  auto file = MirroredFile::open(env, kPath, "TEST");
  EXPECT_TRUE(file.ok()) << file.error().message();
  return std::move(*file);
}

void written(Env& env, std::string_view content) {
  MirroredFile file = opened(env);
  const Status s = file.write(content);
  ASSERT_TRUE(s.ok()) << s.error().message();
}

TEST(MirroredFile, KeepsWhatWasWritten) {
  FaultEnv env;
  EXPECT_EQ(opened(env).found(), Found::nothing);
  written(env, "one");
  written(env, std::string("tw\0", 3));
  env.lose_power();
  MirroredFile file = opened(env);
  EXPECT_EQ(file.found(), Found::whole);
  EXPECT_EQ(file.content(), std::string("tw\0", 3));
  EXPECT_EQ(env.file(kPath), env.file(kMirror));
}

// What one copy becomes, the other serves, and nothing older: both hold every write.
TEST(MirroredFile, DamageToOneCopyTakesNothing) {
  for (const char* damaged : {kPath, kMirror}) {
    FaultEnv env;
    written(env, "before");
    written(env, "now");
    const std::string good = env.file(damaged);
    const auto check = [&](const std::string& what) {
      MirroredFile file = opened(env);
      EXPECT_EQ(file.content(), "now") << what;
      EXPECT_EQ(file.found(), Found::mended) << what;
      ASSERT_TRUE(file.mend().ok());
      EXPECT_EQ(env.file(damaged), good) << what;
      EXPECT_EQ(opened(env).found(), Found::whole) << what;
    };
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      env.file(damaged)[bit / 8] = static_cast<char>(good[bit / 8] ^ (1 << bit % 8));
      check("bit " + std::to_string(bit));
    }
    for (size_t size = 0; size < good.size(); ++size) {
      env.file(damaged) = good.substr(0, size);
      check("size " + std::to_string(size));
    }
    env.file(damaged) = good + "x";
    check("one byte more");
    env.file(damaged) = std::string(good.size(), '\0');
    check("zeros");
    ASSERT_TRUE(env.remove_file(damaged).ok());
    check("removed");
  }
}

TEST(MirroredFile, TellsNothingFromDamage) {
  FaultEnv env;
  written(env, "x");
  env.file(kPath)[20] ^= 1;
  env.file(kMirror)[20] ^= 1;
  MirroredFile file = opened(env);
  EXPECT_EQ(file.found(), Found::damaged);
  EXPECT_EQ(file.content(), "");
  const std::string kept = env.file(kMirror);
  ASSERT_TRUE(file.set_aside().ok());
  EXPECT_EQ(env.file("/file.mirror.damaged"), kept);
  ASSERT_TRUE(file.write("y").ok());
  EXPECT_EQ(opened(env).content(), "y");
  ASSERT_TRUE(env.remove_file(kPath).ok());
  ASSERT_TRUE(env.remove_file(kMirror).ok());
  EXPECT_EQ(opened(env).found(), Found::nothing);
}

TEST(MirroredFile, AnotherKindOrAHugeFileIsNoCopy) {
  FaultEnv env;
  written(env, "x");
  auto other = MirroredFile::open(env, kPath, "ELSE");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->found(), Found::damaged);
  env.file(kPath) = encode_mirrored("TEST", 9, std::string(kMaxMirroredBytes + 1, 'x'));
  EXPECT_EQ(opened(env).content(), "x");
  MirroredFile file = opened(env);
  EXPECT_FALSE(file.write(std::string(kMaxMirroredBytes + 1, 'x')).ok());
  EXPECT_EQ(opened(env).content(), "x");
}

// Whatever operation fails, and with whatever power loss behind it: what was said to be written is there.
TEST(MirroredFile, EveryFailingOperationLeavesTheOldOrTheNew) {
  for (int64_t k = 0; k < 40; ++k) {
    FaultEnv env;
    written(env, "0");
    int accepted = 0;
    int tried = 0;
    MirroredFile file = opened(env);
    env.fail_at(k);
    for (int i = 1; i <= 3; ++i) {
      tried = i;
      if (file.write(std::to_string(i)).ok()) accepted = i;
    }
    env.fail_at(-1);
    env.lose_power(k, 0.5);
    const int found = std::stoi(opened(env).content());
    EXPECT_GE(found, accepted) << k;
    EXPECT_LE(found, tried) << k;
  }
}

// A disk that does not answer is asked again, not taken for an empty one.
TEST(MirroredFile, AnUnreadableCopyIsNoMissingOne) {
  FaultEnv env;
  written(env, "x");
  ASSERT_TRUE(env.remove_file(kMirror).ok());
  for (int64_t k = 0; k < 4; ++k) {
    env.fail_at(k);
    const auto file = MirroredFile::open(env, kPath, "TEST");
    env.fail_at(-1);
    if (file.ok()) {
      EXPECT_EQ(file->content(), "x") << k;
    }
  }
}

TEST(MirroredFile, AnOwnerMayAllowMoreThanTheUsualSize) {
  FaultEnv env;
  constexpr size_t kMore = 2 * kMaxMirroredBytes;
  const std::string large(kMaxMirroredBytes + 1, 'x');
  EXPECT_FALSE(opened(env).write(large).ok());
  auto file = MirroredFile::open(env, kPath, "TEST", kMore);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(large).ok());
  EXPECT_FALSE(file->write(std::string(kMore + 1, 'x')).ok());
  EXPECT_EQ(MirroredFile::open(env, kPath, "TEST", kMore)->content(), large);
  EXPECT_EQ(opened(env).found(), Found::damaged) << "more than this reader takes";
}

}  // namespace
}  // namespace walle::store
