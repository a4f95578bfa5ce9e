#include "base/aead.h"

#include <gtest/gtest.h>

namespace walle::base {
namespace {

class AeadTest : public testing::TestWithParam<Cipher> {
 protected:
  void SetUp() override {
    auto opened = Aead::open(std::string(kKeyBytes, 'k'), GetParam());
    if (!opened.ok() && GetParam() == Cipher::aes_256_gcm) GTEST_SKIP() << "no libcrypto is installed";
    aead_ = *std::move(opened);
  }
  std::shared_ptr<Aead> aead_;
};
INSTANTIATE_TEST_SUITE_P(Ciphers, AeadTest, testing::Values(Cipher::aes_256_gcm, Cipher::xchacha20_poly1305));

std::string bytes_of(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

TEST_P(AeadTest, OpensWhatItSealed) {
  EXPECT_EQ(aead_->cipher(), GetParam());
  for (const size_t size : {0, 1, 16, 63, 64, 65, 511, 512, 513, 100'000}) {
    std::string text(size, 'a');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    const std::string sealed = *aead_->seal(text, "bound");
    EXPECT_EQ(sealed.size(), size + aead_->added_bytes());
    std::string plain = "?";
    ASSERT_TRUE(aead_->unseal(sealed, "bound", plain)) << size;
    EXPECT_EQ(plain, text);
    EXPECT_FALSE(aead_->unseal(sealed, "", plain));
    if (size < 16) continue;
    EXPECT_EQ(sealed.find(text.substr(0, 16)), std::string::npos);
  }
}

TEST_P(AeadTest, NothingCanBeChanged) {
  const std::string good = *aead_->seal("a short text", "");
  std::string plain;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(aead_->unseal(bad, "", plain)) << "byte " << i;
    EXPECT_FALSE(aead_->unseal(good.substr(0, i), "", plain)) << "cut at " << i;
  }
  EXPECT_FALSE(aead_->unseal(good + "x", "", plain));
  const auto other = Aead::open(std::string(kKeyBytes, 'K'), GetParam());
  EXPECT_FALSE((*other)->unseal(good, "", plain));
}

TEST_P(AeadTest, NoTwoLookAlike) {
  const std::string once = *aead_->seal("text", "");
  EXPECT_NE(once, *aead_->seal("text", ""));
}

TEST_P(AeadTest, KeysOfAnotherSizeAreRefused) {
  for (const size_t size : {0, 5, 31, 33}) {
    const auto aead = Aead::open(std::string(size, 'k'), GetParam());
    ASSERT_FALSE(aead.ok());
    EXPECT_NE(aead.error().message().find("32 bytes"), std::string::npos);
  }
}

// A test vector of NIST's GCM specification (case 13): the sealed form is nonce, ciphertext, tag.
TEST(AesGcm, OpensWhatTheStandardSealed) {
  const auto aead = Aead::open(std::string(kKeyBytes, '\0'), Cipher::aes_256_gcm);
  if (!aead.ok()) GTEST_SKIP() << "no libcrypto is installed";
  const std::string sealed = std::string(12, '\0') + bytes_of("530f8afbc74536b9a963b4f1c4cb738b");
  std::string plain = "?";
  EXPECT_TRUE((*aead)->unseal(sealed, "", plain));
  EXPECT_TRUE(plain.empty());
  EXPECT_FALSE((*aead)->unseal(sealed, "x", plain));
}

// The vector of draft-irtf-cfrg-xchacha-03, appendix A.3.1.
TEST(Xchacha20, OpensWhatTheDraftSealed) {
  std::string key;
  std::string nonce;
  for (int i = 0; i < 32; ++i) key += static_cast<char>(0x80 + i);
  for (int i = 0; i < 24; ++i) nonce += static_cast<char>(0x40 + i);
  const std::string hidden = bytes_of(
      "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6"
      "708c5"
      "4c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da97"
      "68812f"
      "615c68b13b52ec0875924c1c7987947deafd8780acf49");
  std::string plain;
  ASSERT_TRUE((*Aead::open(key))->unseal(nonce + hidden, bytes_of("50515253c0c1c2c3c4c5c6c7"), plain));
  EXPECT_EQ(plain,
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            "sunscreen would be it.");
}

}  // namespace
}  // namespace walle::base
