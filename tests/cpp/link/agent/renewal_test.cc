// A certificate that is renewed: when, with what, and who is not believed.
#include "link/agent/renewal.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/fault_env.h"
#include "store/mirrored_file.h"

namespace walle::link {
namespace {

// Of nobody; they expire in a hundred years.
constexpr const char* kKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4X1wLljysnKe1SsU\n"
    "cVYjRYl+9NJvaeZLdfh337Gwkb2hRANCAASV58e5FQi/++i7wQcInwQiHodVUFqk\n"
    "pOroaMUBA875QJC5wqWpHCH/46v3NTLcMYKUv8PbjAM+CMnRGW8IDy7P\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBdDCCARmgAwIBAgIUTUNi36ikMWQiYla/3CF6Dwt9meYwCgYIKoZIzj0EAwIw\n"
    "DjEMMAoGA1UEAwwDZC0xMCAXDTI2MTEyMzEyMDU1N1oYDzIxMjYxMDMwMTIwNTU3\n"
    "WjAOMQwwCgYDVQQDDANkLTEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASV58e5\n"
    "FQi/++i7wQcInwQiHodVUFqkpOroaMUBA875QJC5wqWpHCH/46v3NTLcMYKUv8Pb\n"
    "jAM+CMnRGW8IDy7Po1MwUTAdBgNVHQ4EFgQUZRBGbB09C5QgFKnDrQFqROeP+icw\n"
    "HwYDVR0jBBgwFoAUZRBGbB09C5QgFKnDrQFqROeP+icwDwYDVR0TAQH/BAUwAwEB\n"
    "/zAKBggqhkjOPQQDAgNJADBGAiEAufPMpYiLwGDmBc98k9JN7k+YxMtUTBjIKpLX\n"
    "Y54vkwcCIQDEn7FD/o+nj3bXliF1Y6vZzBMtaZAq3D0lfkTBf8erAg==\n"
    "-----END CERTIFICATE-----\n";
constexpr const char* kOfAnotherKey =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBczCCARmgAwIBAgIUNX9ov7qRlLklO9z9syUooe9AA20wCgYIKoZIzj0EAwIw\n"
    "DjEMMAoGA1UEAwwDZC0xMCAXDTI2MTEyMzEyMDU1N1oYDzIxMjYxMDMwMTIwNTU3\n"
    "WjAOMQwwCgYDVQQDDANkLTEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQvSUox\n"
    "OZ1Gf9PPtpdUOztvP1+15mM3LP4x0ClDJW3+nZnXLjJMGMwVQSkZx4eDdT5DahNL\n"
    "gDjKXzzSnfbXtNYeo1MwUTAdBgNVHQ4EFgQU4buyVbHpcs69cMAaIug9Skz0LZEw\n"
    "HwYDVR0jBBgwFoAU4buyVbHpcs69cMAaIug9Skz0LZEwDwYDVR0TAQH/BAUwAwEB\n"
    "/zAKBggqhkjOPQQDAgNIADBFAiACdHl5zUfU15uuby6TDszwf5XVnXmd9/xiBPkV\n"
    "wVoXQgIhANV6VcPwR1kfnOGthia4cDt+FAvN0vWtb5pX5ZJo7pjF\n"
    "-----END CERTIFICATE-----\n";

constexpr const char* kUrl = "mem://cloud";
constexpr int64_t kNow = 2'000'000'000, kSecond = 1'000'000;

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out + "\"";
}

class Server final : public Transport {
 public:
  std::string name() const override { return "in memory"; }
  Result<int> get(const HttpGet& request, const BodySink& body) override {
    if (!request.url.ends_with("/v1/time") || time.empty()) return 404;
    WALLE_TRY(body(time));
    return 200;
  }
  Result<int> post(const HttpPost& request, const BodySink& body) override {
    asked.push_back(request);
    const std::string& proof = request.headers.at(0).value;
    if (!needs_time.empty() && !proof.starts_with("Walle d-1:" + needs_time + ":")) return 401;
    if (status == 0) return network_error("no connection", "a server", request.url, "try again");
    if (status == 200) WALLE_TRY(body(reply));
    return status;
  }
  std::vector<HttpPost> asked;
  int status = 200;
  std::string reply;
  std::string time;        // that it says; empty: it knows of no such question
  std::string needs_time;  // of a signature; empty: any
};

class RenewalTest : public testing::Test {
 protected:
  void SetUp() override {
    env_.set_wall_us(kNow * kSecond);
    ASSERT_TRUE(env_.make_dirs("/cloud").ok());
    ASSERT_TRUE(env_.replace_file("/cloud/device.key", kKey).ok());
    ASSERT_TRUE(env_.replace_file("/cloud/device.pem", "the old one").ok());
    write_identity(2, kNow + 100);
    says("d-1", kCertificate, kNow + 1000);
  }
  void write_identity(uint16_t version, int64_t renew_at) {
    base::ByteWriter out;
    out.put(version);
    out.put_text("d-1");
    out.put_text("broker.example");
    out.put(uint16_t{8883});
    out.put_text("{}");
    out.put(renew_at);
    Result<store::MirroredFile> file = store::MirroredFile::open(env_, "/cloud/identity.wals", "IDNT");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(out.written()).ok());
  }
  void says(const std::string& device, const std::string& certificate, int64_t renew_at) {
    server_.reply = R"({"device": ")" + device + R"(", "certificate": )" + in_quotes(certificate) +
                    R"(, "authority": "another", "broker": {"host": "another", "port": 1}, "renew_at": )" +
                    std::to_string(renew_at) + "}";
  }
  std::shared_ptr<Identity> identity() {
    Result<std::unique_ptr<Identity>> out = Identity::open(env_, "/cloud");
    EXPECT_TRUE(out.ok() && *out) << out.error().message();
    return std::move(out).value();
  }
  std::string certificate() { return *env_.read_file("/cloud/device.pem"); }

  base::FaultEnv env_;
  Server server_;
};

TEST_F(RenewalTest, ComesWhenItIsDueAndNotBefore) {
  const std::shared_ptr<Identity> own = identity();
  Renewal renewal(env_, own, kUrl);
  EXPECT_EQ(renewal.due_in_us(), 100 * kSecond);
  renewal.step(server_);
  env_.advance_us(100 * kSecond - 1);
  renewal.step(server_);
  EXPECT_TRUE(server_.asked.empty());
  env_.advance_us(1);
  EXPECT_EQ(renewal.due_in_us(), 0) << "from the second on that was named";
  renewal.step(server_);
  ASSERT_EQ(server_.asked.size(), 1u);
  EXPECT_EQ(renewal.trouble(), "");
  EXPECT_EQ(server_.asked[0].url, std::string(kUrl) + "/v1/enrol");
  EXPECT_NE(server_.asked[0].body.find("CERTIFICATE REQUEST"), std::string::npos);
  EXPECT_EQ(server_.asked[0].body.find("PRIVATE"), std::string::npos);
  ASSERT_EQ(server_.asked[0].headers.size(), 1u);
  EXPECT_TRUE(server_.asked[0].headers[0].value.starts_with("Walle d-1:" + std::to_string(kNow + 100)));
  EXPECT_EQ(certificate(), kCertificate);
  EXPECT_EQ(own->renew_at_s(), kNow + 1000);
  EXPECT_EQ(renewal.due_in_us(), 900 * kSecond);
  // The next process knows; whom to believe and where the broker is did not change.
  const std::shared_ptr<Identity> again = identity();
  EXPECT_EQ(again->renew_at_s(), kNow + 1000);
  EXPECT_EQ(again->broker().host, "broker.example");
  EXPECT_EQ(again->root(), "{}");
  EXPECT_LT(env_.file_size("/cloud/authority.pem"), 0);
}

TEST_F(RenewalTest, AnIdentityOfAnotherVersionIsRefusedByName) {
  write_identity(1, kNow);
  const auto other = Identity::open(env_, "/cloud");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message().find("of version 1"), std::string::npos) << other.error().message();
  for (const int64_t time : {int64_t{-1}, INT64_MAX}) {
    write_identity(2, time);
    EXPECT_FALSE(Identity::open(env_, "/cloud").ok()) << time;
  }
}

TEST_F(RenewalTest, WhatFailsIsTriedAgainAndNotAllTheTime) {
  env_.advance_us(200 * kSecond);
  Renewal renewal(env_, identity(), kUrl);
  server_.status = 0;
  for (const int64_t wait : {5, 10, 20}) {
    renewal.step(server_);
    EXPECT_NE(renewal.trouble().find("no connection"), std::string::npos) << renewal.trouble();
    EXPECT_EQ(renewal.due_in_us(), wait * kSecond);
    env_.advance_us(wait * kSecond);
  }
  for (int i = 0; i < 20; ++i) {
    renewal.step(server_);
    EXPECT_LE(renewal.due_in_us(), 3600 * kSecond);
    env_.advance_us(renewal.due_in_us());
  }
  server_.status = 401;
  renewal.step(server_);
  EXPECT_NE(renewal.trouble().find("does not know this device"), std::string::npos) << renewal.trouble();
  env_.advance_us(3600 * kSecond);
  server_.status = 200;
  says("d-1", kCertificate, INT64_MAX / 2);
  renewal.step(server_);
  EXPECT_EQ(renewal.trouble(), "");
  EXPECT_GT(renewal.due_in_us(), int64_t{99} * 365 * 86'400 * kSecond);
}

TEST_F(RenewalTest, AWrongClockSignsByTheServers) {
  for (const int64_t off : {int64_t{4000}, int64_t{-4000}, -kNow + 5}) {
    SCOPED_TRACE(off);
    env_.set_wall_us(kNow * kSecond);
    const std::shared_ptr<Identity> own = identity();
    server_.time = server_.needs_time = std::to_string(kNow);
    EXPECT_FALSE(own->renew(env_, server_, kUrl, kNow + off).ok()) << "nobody is believed unasked";
    own->believe_time();
    env_.set_wall_us((kNow + off) * kSecond);
    const Status renewed = own->renew(env_, server_, kUrl, kNow + off);
    EXPECT_TRUE(renewed.ok()) << renewed.error().message();
    EXPECT_EQ(own->clock_offset_s(), -off);
    EXPECT_EQ(env_.wall_us(), (kNow + off) * kSecond) << "nothing else goes by it";
  }
}

TEST_F(RenewalTest, ATimeThatIsNoneOrNearlyTheSameChangesNothing) {
  const std::shared_ptr<Identity> own = identity();
  own->believe_time();
  for (const std::string& said :
       {std::string(), std::string("soon"), std::string("-5"), std::string("12x"), std::string(21, '9'),
        std::to_string(INT64_MAX), std::to_string(kNow + 149)}) {
    server_.time = said;
    EXPECT_FALSE(own->learn_time(env_, server_, kUrl)) << said;
    EXPECT_EQ(own->clock_offset_s(), 0) << said;
  }
  server_.time = std::to_string(kNow + 150);
  EXPECT_TRUE(own->learn_time(env_, server_, kUrl));
  EXPECT_FALSE(own->learn_time(env_, server_, kUrl)) << "once is enough: no request is sent a third time";
}

TEST_F(RenewalTest, AServerThatAlwaysSaysNowIsAskedEveryFewSeconds) {
  env_.advance_us(200 * kSecond);
  says("d-1", kCertificate, 0);
  Renewal renewal(env_, identity(), kUrl);
  renewal.step(server_);
  renewal.step(server_);
  EXPECT_EQ(server_.asked.size(), 1u);
  EXPECT_EQ(renewal.due_in_us(), 5 * kSecond);
}

TEST_F(RenewalTest, WhatIsNotOursIsNotTaken) {
  env_.advance_us(200 * kSecond);
  const std::shared_ptr<Identity> own = identity();
  const auto refused = [&] {
    const Status done = own->renew(env_, server_, kUrl, kNow);
    return !done.ok() && certificate() == "the old one" && own->renew_at_s() == kNow + 100;
  };
  says("d-1", kOfAnotherKey, kNow + 1000);
  EXPECT_TRUE(refused());
  says("d-2", kCertificate, kNow + 1000);
  EXPECT_TRUE(refused());
  for (const char* const no : {"", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"}) {
    says("d-1", no, kNow + 1000);
    EXPECT_TRUE(refused()) << no;
  }
  for (const char* const no : {"", "{", "[]", "{}", "null"}) {
    server_.reply = no;
    EXPECT_TRUE(refused()) << no;
  }
  server_.status = 500;
  EXPECT_TRUE(refused());
}

TEST_F(RenewalTest, EndingAnywhereLeavesOneOrTheOther) {
  env_.advance_us(200 * kSecond);
  for (int64_t at = 1; at < 40; ++at) {
    std::unique_ptr<base::FaultEnv> env = env_.copy();
    env->set_wall_us((kNow + 200) * kSecond);
    Result<std::unique_ptr<Identity>> own = Identity::open(*env, "/cloud");
    ASSERT_TRUE(own.ok());
    env->fail_at(at);
    const bool done = (*own)->renew(*env, server_, kUrl, kNow + 200).ok();
    const std::unique_ptr<base::FaultEnv> after = env->copy();
    const std::string there = *after->read_file("/cloud/device.pem");
    EXPECT_TRUE(there == "the old one" || there == kCertificate) << at;
    Result<std::unique_ptr<Identity>> again = Identity::open(*after, "/cloud");
    ASSERT_TRUE(again.ok() && *again) << at;
    const int64_t renew_at = (*again)->renew_at_s();
    EXPECT_TRUE(renew_at == kNow + 100 || renew_at == kNow + 1000) << at;
    // Nobody goes on with the old one in the belief that it was renewed.
    EXPECT_TRUE(renew_at == kNow + 100 || there == kCertificate) << at;
    EXPECT_TRUE(!done || renew_at == kNow + 1000) << at;
  }
}

}  // namespace
}  // namespace walle::link
