#include "store/sealed_env.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "store/mirrored_file.h"

namespace walle::store {
namespace {

using base::Aead;
using base::Cipher;
using base::FaultEnv;

const std::string kKey(base::kKeyBytes, 'k');
constexpr const char* kDir = "/dir";

class SealedEnvTest : public testing::Test {
 protected:
  SealedEnvTest() { EXPECT_TRUE(env_.make_dirs(kDir).ok()); }

  void note(const std::string& content) {
    auto file = MirroredFile::open(env_, std::string(kDir) + "/key.walk", "KEYC");
    ASSERT_TRUE(file->write(content).ok());
  }
  FaultEnv env_;
};

TEST_F(SealedEnvTest, ANoteNamesItsCipher) {
  for (const Cipher cipher : {Cipher::aes_256_gcm, Cipher::xchacha20_poly1305}) {
    FaultEnv env;
    ASSERT_TRUE(env.make_dirs(kDir).ok());
    const auto aead = Aead::open(kKey, cipher);
    if (!aead.ok()) continue;  // no libcrypto
    ASSERT_TRUE(check_key(env, kDir, aead->get(), true, true).ok());
    const auto again = open_aead(env, kDir, kKey);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)->cipher(), cipher);
    EXPECT_TRUE(check_key(env, kDir, again->get(), true, false).ok());
    const auto wrong = open_aead(env, kDir, std::string(base::kKeyBytes, 'w'));
    const Status status = check_key(env, kDir, wrong->get(), true, false);
    EXPECT_NE(status.error().message().find("another key"), std::string::npos) << status.error().message();
  }
}

TEST_F(SealedEnvTest, NotesOfLaterVersionsAreToldAsThat) {
  for (const std::string& content :
       {std::string("\3") + std::string(56, 'x'), std::string(43, 'x'), std::string(58, '\2')}) {
    note(content);
    const auto aead = open_aead(env_, kDir, kKey);
    ASSERT_TRUE(aead.ok());
    const Status status = check_key(env_, kDir, aead->get(), true, false);
    const std::string told = status.error().message();
    EXPECT_NE(told.find("the version that wrote it"), std::string::npos) << told;
  }
}

TEST_F(SealedEnvTest, FilesOfAnotherCipherAreNotOpened) {
  const auto aes = Aead::open(kKey, Cipher::aes_256_gcm);
  if (!aes.ok()) GTEST_SKIP() << "no libcrypto is installed";
  SealedEnv before(env_, *aes);
  SealedEnv now(env_, *Aead::open(kKey));
  ASSERT_TRUE(before.replace_file("/dir/a", std::string_view("text of before")).ok());
  ASSERT_TRUE(now.replace_file("/dir/b", std::string_view("text of now")).ok());
  EXPECT_EQ(*before.read_file("/dir/a"), "text of before");
  EXPECT_EQ(*now.read_file("/dir/b"), "text of now");
  EXPECT_EQ(*now.read_file("/dir/a"), env_.file("/dir/a")) << "its sealed bytes, which no format takes";
  EXPECT_TRUE(env_.file("/dir/a").starts_with("WALSEAL1"));
  EXPECT_TRUE(env_.file("/dir/b").starts_with("WALSEAL2"));
}

}  // namespace
}  // namespace walle::store
