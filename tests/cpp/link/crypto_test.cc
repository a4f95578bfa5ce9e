#include "link/crypto.h"

#include <gtest/gtest.h>

#include "link/crypto_system.h"
#include "signing_key.h"

namespace walle::link {
namespace {

using Kind = SigningKey::Kind;

class CryptoTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!SigningKey::can_make()) GTEST_SKIP() << "no libcrypto is installed";
    crypto_ = *Crypto::system();
  }
  const Crypto* crypto_ = nullptr;
};

// A machine without libcrypto, as every phone is.
class AloneTest : public testing::Test {
 protected:
  std::unique_ptr<Crypto> crypto_ = *make_crypto([]() -> void* { return nullptr; });
};

std::string unhex(std::string_view text) {
  std::string out;
  EXPECT_TRUE(from_hex(text, out));
  return out;
}

TEST_F(AloneTest, VerifiesEd25519AndNothingElse) {
  struct Case {
    const char *key, *message, *signature;
  };
  for (const Case& c :  // RFC 8032, 7.1
       {Case{"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
             "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46"
             "bd25b"
             "f5f0595bbe24655141438e7a100b"},
        Case{"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
             "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8"
             "c387b"
             "2eaeb4302aeeb00d291612bb0c00"}}) {
    PublicKey key{.scheme = Scheme::ed25519, .bytes = unhex(c.key)};
    const std::string message = unhex(c.message);
    const std::string good = unhex(c.signature);
    EXPECT_TRUE(crypto_->verify(key, message, good));
    EXPECT_FALSE(crypto_->verify(key, message + "x", good));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x20);
      EXPECT_FALSE(crypto_->verify(key, message, bad)) << "byte " << i;
      EXPECT_FALSE(crypto_->verify(key, message, good.substr(0, i))) << "cut at " << i;
    }
    EXPECT_FALSE(crypto_->verify(key, message, good + "x"));
    key.scheme = Scheme::ecdsa_p256;
    EXPECT_FALSE(crypto_->verify(key, message, good));
  }
  EXPECT_TRUE(crypto_->can_verify(Scheme::ed25519));
  for (const Scheme s : {Scheme::unknown, Scheme::ecdsa_p256, Scheme::ecdsa_p384, Scheme::rsa_pss_sha256})
    EXPECT_FALSE(crypto_->can_verify(s));
}

TEST_F(AloneTest, KeysThatSignEverythingVerifyNothing) {
  // The neutral element as key and as R, with S = 0, holds for each message by the equation alone.
  const std::string neutral = std::string("\1", 1) + std::string(31, '\0');
  const PublicKey key{.scheme = Scheme::ed25519, .bytes = neutral};
  EXPECT_FALSE(crypto_->verify(key, "anything", neutral + std::string(32, '\0')));
}

TEST_F(AloneTest, DigestsAreThoseOfTheStandard) {
  // FIPS 180-4, "abc".
  EXPECT_EQ(*digest_hex(*crypto_, DigestKind::sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(*digest_hex(*crypto_, DigestKind::sha512, "abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  EXPECT_EQ(*digest_hex(*crypto_, DigestKind::sha256, ""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  auto digest = crypto_->digest(DigestKind::sha256);
  EXPECT_TRUE(digest->add("a").ok());
  EXPECT_TRUE(digest->add("bc").ok());
  const std::string raw = *digest->finish();
  EXPECT_EQ(to_hex(raw), *digest_hex(*crypto_, DigestKind::sha256, "abc"));
  EXPECT_FALSE(digest->finish().ok()) << "a digest is finished once";
  EXPECT_FALSE(digest->add("d").ok());
}

TEST_F(CryptoTest, VerifiesEachSchemeAndNothingElse) {
  for (const Kind kind : {Kind::ed25519, Kind::p256, Kind::p384, Kind::rsa2048}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const SigningKey key(kind);
    const PublicKey given = key.public_key();
    const std::string good = key.sign("message");
    EXPECT_TRUE(crypto_->verify(given, "message", good));
    EXPECT_FALSE(crypto_->verify(given, "Message", good));
    EXPECT_FALSE(crypto_->verify(given, "", good));
    EXPECT_FALSE(crypto_->verify(given, "message", ""));
    EXPECT_FALSE(crypto_->verify(SigningKey(kind).public_key(), "message", good)) << "another key";
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      EXPECT_FALSE(crypto_->verify(given, "message", bad)) << "byte " << i;
    }
    for (size_t size = 0; size < good.size(); size += 7)
      EXPECT_FALSE(crypto_->verify(given, "message", good.substr(0, size))) << size;
  }
}

TEST_F(CryptoTest, SaysWhatItCanVerify) {
  for (const Scheme s : {Scheme::ed25519, Scheme::ecdsa_p256, Scheme::ecdsa_p384, Scheme::rsa_pss_sha256})
    EXPECT_TRUE(crypto_->can_verify(s));
  EXPECT_FALSE(crypto_->can_verify(Scheme::unknown));
}

TEST_F(CryptoTest, RefusesKeysThatAreNotOfTheirScheme) {
  const auto holds = [&](Kind kind, Scheme scheme) {
    const SigningKey key(kind);
    return crypto_->verify(key.public_key(scheme), "m", key.sign("m"));
  };
  EXPECT_TRUE(holds(Kind::p256, Scheme::ecdsa_p256));
  EXPECT_FALSE(holds(Kind::secp256k1, Scheme::ecdsa_p256)) << "256 bits on another curve";
  EXPECT_FALSE(holds(Kind::p384, Scheme::ecdsa_p256));
  EXPECT_FALSE(holds(Kind::p256, Scheme::ecdsa_p384));
  EXPECT_FALSE(holds(Kind::p256, Scheme::rsa_pss_sha256));
  EXPECT_FALSE(holds(Kind::rsa2048, Scheme::ecdsa_p256));
  EXPECT_FALSE(holds(Kind::rsa1024, Scheme::rsa_pss_sha256)) << "too short";
  EXPECT_FALSE(holds(Kind::ed25519, Scheme::unknown));
}

TEST_F(CryptoTest, DamagedKeysVerifyNothing) {
  for (const Kind kind : {Kind::ed25519, Kind::p256, Kind::rsa2048}) {
    const SigningKey key(kind);
    const std::string signature = key.sign("m");
    PublicKey damaged = key.public_key();
    const std::string good = damaged.bytes;
    for (size_t i = 0; i < good.size(); ++i) {
      damaged.bytes = good.substr(0, i);
      EXPECT_FALSE(crypto_->verify(damaged, "m", signature)) << "cut at " << i;
    }
    damaged.bytes = good + "x";
    EXPECT_FALSE(crypto_->verify(damaged, "m", signature)) << "bytes behind the key";
  }
}

TEST(Hex, IsReadInBothCases) {
  std::string out;
  EXPECT_TRUE(from_hex("00fFa1", out));
  EXPECT_EQ(out, std::string("\0\xff\xa1", 3));
  EXPECT_EQ(to_hex(out), "00ffa1");
  for (const char* bad : {"0", "0g", "0x00", " 00"}) EXPECT_FALSE(from_hex(bad, out)) << bad;
}

TEST(Pem, IsReadStrictly) {
  std::string der;
  for (const std::string bytes : {"", "a", "ab", "abc", "abcd"}) {
    ASSERT_TRUE(from_pem(SigningKey::pem(bytes), der)) << bytes;
    EXPECT_EQ(der, bytes);
  }
  const std::string head = "-----BEGIN PUBLIC KEY-----\n";
  const std::string tail = "\n-----END PUBLIC KEY-----";
  EXPECT_TRUE(from_pem(head + "YWJj" + tail, der));
  for (const std::string& bad : {std::string(), head, tail, head + "YWJ" + tail, head + "YW=j" + tail,
                                 head + "Y===" + tail, head + "YW!j" + tail, "x" + head + "YWJj" + tail,
                                 std::string("-----BEGIN PUBLIC KEY-----END PUBLIC KEY-----")})
    EXPECT_FALSE(from_pem(bad, der)) << bad;
}

}  // namespace
}  // namespace walle::link
