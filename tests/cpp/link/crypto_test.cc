#include "link/crypto.h"

#include <gtest/gtest.h>

#include "link/openssl.h"
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

TEST(Crypto, WithoutALibrarySaysHowToGetOne) {
  const auto none = openssl_crypto(nullptr);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("libssl3"), std::string::npos) << none.error().message();
}

TEST_F(CryptoTest, DigestsAreThoseOfTheStandard) {
  // FIPS 180-4, "abc".
  EXPECT_EQ(*digest_hex(*crypto_, DigestKind::sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(*digest_hex(*crypto_, DigestKind::sha512, "abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  auto digest = *crypto_->digest(DigestKind::sha256);
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
