#include "link/tls.h"

#include <gtest/gtest.h>

#include "base/fault_env.h"
#include "link/tunnel/tls_socket.h"

namespace walle::link {
namespace {

TEST(TlsLibrary, WithoutALibrarySaysHowToGetOne) {
  const auto none = tls_library(nullptr);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().group(), base::ErrorGroup::resource);
  EXPECT_NE(none.error().message().find("libssl3"), std::string::npos) << none.error().message();
}

TEST(TlsContext, FilesThatCannotBeReadAreNamed) {
  if (!tls_library().ok()) GTEST_SKIP() << "no libssl is installed";
  for (const TlsFiles& files :
       {TlsFiles{.authorities = "/nowhere/ca.pem", .certificate = {}, .key = {}, .session = {}},
        TlsFiles{}}) {
    const auto made = TlsContext::make(Env::system(), files);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.error().message().find("'" + files.authorities + "'"), std::string::npos)
        << made.error().message();
  }
}

TEST(BrokerAddress, IsAHostWithAPort) {
  const auto expect = [](std::string_view url, std::string_view host, uint16_t port) {
    const auto got = parse_broker(url);
    ASSERT_TRUE(got.ok()) << url;
    EXPECT_EQ(got->host, host);
    EXPECT_EQ(got->port, port);
  };
  expect("mqtts://broker.example:1234", "broker.example", 1234);
  expect("mqtts://broker.example/", "broker.example", 8883);
  expect("broker:65535", "broker", 65535);
  expect("10.0.0.1", "10.0.0.1", 8883);
  expect("mqtts://[::1]:99", "::1", 99);
  expect("[fe80::1]", "fe80::1", 8883);
  for (const char* bad : {"", "mqtts://", ":1", "host:0", "host:65536", "host:1x", "host:", "mqtt://host",
                          "https://host", "user@host", "host/path", "[::1", "[]:1", "[::1]x", "a b", "::1"})
    EXPECT_FALSE(parse_broker(bad).ok()) << bad;
  EXPECT_NE(parse_broker("mqtt://host").error().message().find("without TLS"), std::string::npos);
}

TEST(TlsSocket, NobodyAtTheOtherEndIsAnErrorThatNamesIt) {
  if (!tls_library().ok()) GTEST_SKIP() << "no libssl is installed";
  // Any certificates of this machine will do: nobody gets as far as to show one.
  const char* authorities = "/etc/ssl/certs/ca-certificates.crt";
  if (Env::system().file_size(authorities) < 0) GTEST_SKIP() << "no " << authorities;
  auto made = TlsSocket::make(Env::system(), {.host = "127.0.0.1", .port = 9},
                              {.authorities = authorities, .certificate = {}, .key = {}, .session = {}});
  ASSERT_TRUE(made.ok()) << made.error().message();
  const Status refused = (*made)->open(2'000'000);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("127.0.0.1:9"), std::string::npos) << refused.error().message();
  EXPECT_FALSE((*made)->send("x").ok());
  // Somebody wants to stop: nothing is tried any more.
  (*made)->interrupt();
  EXPECT_FALSE((*made)->open(2'000'000).ok());
  (*made)->wake();
  (*made)->wait(-1, false);  // returns at once
}

}  // namespace
}  // namespace walle::link
