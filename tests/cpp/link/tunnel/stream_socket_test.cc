#include "link/tunnel/stream_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "fake_broker.h"
#include "fake_source.h"
#include "link/tunnel/tunnel.h"

namespace walle::link {
namespace {

constexpr int64_t kPatience = 20'000'000;

// A pair of sockets, whose other end a test holds.
class PairStream : public ByteStream {
 public:
  struct Ends {
    std::atomic<int> ours{-1}, theirs{-1};
    std::atomic<int> connects{0}, cancels{0}, closes{0}, under_way{0};
    std::atomic<size_t> most{SIZE_MAX};  // bytes of one call
    std::atomic<bool> refuses{false}, hangs{false}, breaks{false};
    std::function<void(int)> serve;  // the other end; none: the test reads and writes
    std::thread server;
    void cut() {
      if (theirs >= 0) shutdown(theirs, SHUT_RDWR);
    }
    ~Ends() { finish(); }
    void finish() {
      cut();
      if (server.joinable()) server.join();
      if (const int fd = theirs.exchange(-1); fd >= 0) ::close(fd);
    }
  };
  explicit PairStream(Ends& ends) : ends_(ends) {}

  Status connect(const BrokerAddress&, const TlsFiles&, int64_t timeout_us) override {
    ++ends_.connects;
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(timeout_us);
    const int cancelled = ends_.cancels;
    while (ends_.hangs && ends_.cancels == cancelled && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (ends_.refuses || ends_.hangs) return network_error("refused", "a connection", "pair", "go on");
    ends_.finish();
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) return internal_error("no pair", "test");
    ends_.ours = fds[0];
    ends_.theirs = fds[1];
    if (ends_.serve) ends_.server = std::thread([this, fd = fds[1]] { ends_.serve(fd); });
    return {};
  }
  Result<size_t> read(std::span<char> to) override {
    return counted([&] { return recv(ends_.ours, to.data(), std::min<size_t>(to.size(), ends_.most), 0); });
  }
  Result<size_t> write(std::string_view bytes) override {
    return counted([&] {
      return ::send(ends_.ours, bytes.data(), std::min<size_t>(bytes.size(), ends_.most), MSG_NOSIGNAL);
    });
  }
  void cancel() override {
    ++ends_.cancels;
    if (ends_.ours >= 0) shutdown(ends_.ours, SHUT_RDWR);
  }
  void close() override {
    EXPECT_EQ(ends_.under_way, 0) << "closed while a call was under way";
    ++ends_.closes;
    ::close(ends_.ours.exchange(-1));
  }

 private:
  template <class Call>
  Result<size_t> counted(Call call) {
    ++ends_.under_way;
    const ssize_t size = ends_.breaks ? -1 : call();
    --ends_.under_way;
    if (size < 0) return network_error("broken", "bytes", "pair", "go on");
    return static_cast<size_t>(size);
  }
  Ends& ends_;
};

class StreamSocketTest : public testing::Test {
 protected:
  std::string received(size_t size) {
    std::string out;
    char buffer[1000];
    while (out.size() < size) {
      const auto got = socket_.receive(buffer);
      if (!got.ok()) break;
      out.append(buffer, *got);
      if (*got == 0) socket_.wait(kPatience, false);
    }
    return out;
  }
  // Until everything is taken.
  void sends(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto taken = socket_.send(bytes);
      ASSERT_TRUE(taken.ok()) << taken.error().message();
      bytes.remove_prefix(*taken);
      if (*taken == 0) socket_.wait(kPatience, true);
    }
  }
  // Its thread returns what it gets until the end.
  static void echo(int fd) {
    char buffer[777];
    for (ssize_t n = 0; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      for (ssize_t at = 0; at < n;) {
        const ssize_t sent = ::send(fd, buffer + at, static_cast<size_t>(n - at), MSG_NOSIGNAL);
        if (sent <= 0) return;
        at += sent;
      }
  }

  PairStream::Ends ends_;
  StreamSocket socket_{Env::system(), std::make_unique<PairStream>(ends_), {.host = "broker", .port = 1}, {}};
};

TEST_F(StreamSocketTest, CarriesBytesBothWaysInPiecesOfAnySize) {
  ends_.serve = echo;
  for (const size_t most : {size_t{1}, size_t{7}, SIZE_MAX}) {
    ends_.most = most;
    ASSERT_TRUE(socket_.open(kPatience).ok());
    std::string text(most == 1 ? 2000 : 60'000, 'x');
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31);
    sends(text);
    EXPECT_EQ(received(text.size()), text);
    socket_.close();
    ends_.finish();
  }
  EXPECT_EQ(socket_.counts().opened, 3u);
  EXPECT_EQ(socket_.counts().sent_bytes, 122'000u);
  EXPECT_EQ(socket_.counts().received_bytes, 122'000u);
  EXPECT_EQ(ends_.closes, 3);
}

TEST_F(StreamSocketTest, TakesNoMoreThanFits) {
  ASSERT_TRUE(socket_.open(kPatience).ok());  // nobody reads
  size_t taken = 0;
  const std::string piece(50'000, 'x');
  for (int idle = 0; idle < 5;) {
    const size_t now = *socket_.send(piece);
    taken += now;
    if (now == 0) {
      ++idle;
      socket_.wait(50'000, true);
    }
  }
  EXPECT_LT(taken, 2'000'000u) << "the buffer of the pair, and 64 KB";
  const auto began = std::chrono::steady_clock::now();
  socket_.close();  // a write is under way and does not get on
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(ends_.closes, 1);
}

TEST_F(StreamSocketTest, WhatIsTakenLeavesBeforeTheEnd) {
  ASSERT_TRUE(socket_.open(kPatience).ok());
  ASSERT_EQ(*socket_.send("goodbye"), 7u);
  socket_.close();
  char buffer[20];
  EXPECT_EQ(recv(ends_.theirs, buffer, sizeof buffer, MSG_WAITALL), 7);
}

TEST_F(StreamSocketTest, ACutIsToldBehindWhatCame) {
  ASSERT_TRUE(socket_.open(kPatience).ok());
  ASSERT_EQ(::send(ends_.theirs, "last", 4, 0), 4);
  ends_.cut();
  EXPECT_EQ(received(100), "last");
  char buffer[10];
  const auto over = socket_.receive(buffer);
  ASSERT_FALSE(over.ok());
  EXPECT_NE(over.error().message().find("broker:1"), std::string::npos) << over.error().message();
  EXPECT_FALSE(socket_.send("x").ok());
  socket_.wait(-1, false);  // returns at once: there is news
  EXPECT_TRUE(socket_.open(kPatience).ok());
}

TEST_F(StreamSocketTest, CallsThatFailAreErrors) {
  ends_.refuses = true;
  EXPECT_FALSE(socket_.open(kPatience).ok());
  EXPECT_EQ(ends_.closes, 0) << "there was no connection";
  ends_.refuses = false;
  ends_.breaks = true;
  ASSERT_TRUE(socket_.open(kPatience).ok());
  char buffer[10];
  socket_.wait(kPatience, false);
  const auto over = socket_.receive(buffer);
  ASSERT_FALSE(over.ok());
  EXPECT_NE(over.error().message().find("broken"), std::string::npos) << over.error().message();
}

TEST_F(StreamSocketTest, AConnectUnderWayIsInterrupted) {
  ends_.hangs = true;
  std::thread stopper([&] {
    while (ends_.connects == 0) std::this_thread::yield();
    socket_.interrupt();
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(socket_.open(60'000'000).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  stopper.join();
  ends_.hangs = false;
  EXPECT_FALSE(socket_.open(kPatience).ok()) << "nor is anything tried later";
  EXPECT_EQ(ends_.connects, 1);
}

TEST_F(StreamSocketTest, WakeEndsAWait) {
  socket_.wake();
  socket_.wait(-1, false);
  ASSERT_TRUE(socket_.open(kPatience).ok());
  std::thread waker([&] { socket_.wake(); });
  socket_.wait(-1, false);
  waker.join();
}

// The whole tunnel over it, with a broker at the other end that is cut now and then.
TEST_F(StreamSocketTest, NothingIsLostOverConnectionsThatAreCut) {
  FakeBroker broker;
  ends_.most = 50;
  int served = 0;
  ends_.serve = [&](int fd) {
    size_t left = ++served < 6 ? static_cast<size_t>(served) * 150 : SIZE_MAX;
    (void)broker.open(0);
    char buffer[64];
    for (ssize_t n = 0; left > 0 && (n = recv(fd, buffer, std::min(sizeof buffer, left), 0)) > 0;) {
      left -= static_cast<size_t>(n);
      (void)broker.send({buffer, static_cast<size_t>(n)});
      char reply[4096];
      while (broker.speaks()) {
        const auto size = broker.receive(reply);
        if (!size.ok() || ::send(fd, reply, *size, MSG_NOSIGNAL) < 0) break;
      }
    }
    shutdown(fd, SHUT_RDWR);
  };
  FakeSource source;
  for (int i = 0; i < 40; ++i) source.add("f", "record " + std::to_string(i));
  TunnelOptions options{.device = "d-1"};
  options.linger_us = 0;
  options.backoff.least_us = 1000;
  options.backoff.most_us = 5000;
  {
    auto tunnel = *Tunnel::make(Env::system(), source, socket_, options);
    ASSERT_TRUE(tunnel->start().ok());
    EXPECT_TRUE(tunnel->drain(kPatience)) << tunnel->stats().last_error;
    tunnel->stop();
    EXPECT_GT(tunnel->stats().failures, 0u);
  }
  socket_.close();
  ends_.finish();
  EXPECT_EQ(broker.stored.size(), 40u);
}

}  // namespace
}  // namespace walle::link
