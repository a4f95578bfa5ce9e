#include "link/tunnel/tls_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace walle::link {

namespace {
// What is encrypted and not yet taken by the kernel: behind it, send() takes nothing.
constexpr size_t kMostSealed = size_t{64} << 10;
// Of the kernel's buffer. Left to itself it grows to megabytes, and what lies there is neither sent nor can
// be taken back when the network is slow.
constexpr int kSendBuffer = 256 << 10;

#ifndef MSG_NOSIGNAL
constexpr int MSG_NOSIGNAL = 0;  // Apple: SO_NOSIGPIPE below
#endif

void make_ready(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void set_options(int fd) {
  const int on = 1;
  make_ready(fd);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
#ifdef SO_NOSIGPIPE
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
}
}  // namespace

Result<std::unique_ptr<TlsSocket>> TlsSocket::make(Env& env, BrokerAddress address, TlsFiles files) {
  std::unique_ptr<TlsSocket> out(new TlsSocket(env, std::move(address)));
  out->moved_ = files.address;
  WALLE_ASSIGN(out->context_, TlsContext::make(env, std::move(files)));
  if (pipe(out->pipe_) != 0)
    return resource_error(std::strerror(errno), "two file descriptors", "tunnel",
                          "let the process open more files");
  for (const int fd : out->pipe_) make_ready(fd);
  return out;
}

TlsSocket::~TlsSocket() {
  close();
  for (const int fd : pipe_)
    if (fd >= 0) ::close(fd);
}

Status TlsSocket::open(int64_t timeout_us) {
  close();
  if (context_->outdated()) {
    Result<std::unique_ptr<TlsContext>> anew = TlsContext::make(env_, context_->files());
    // What cannot be read yet is no reason to give up a certificate that may still count.
    if (anew.ok()) context_ = std::move(anew).value();
  }
  WALLE_TRY(follow_broker(env_, moved_, address_));
  const int64_t began = env_.steady_us();
  Status status = dial(began + timeout_us);
  if (status.ok()) status = shake_hands(began + timeout_us);
  if (!status.ok()) {
    close();
    return status;
  }
  counts_.handshake_us = env_.steady_us() - began;
  ++counts_.opened;
  if (tls_->resumed()) ++counts_.resumed;
  tell();
  return {};
}

void TlsSocket::tell() {
  const std::lock_guard lock(lock_);
  published_ = counts_;
}

SocketCounts TlsSocket::counts() const {
  const std::lock_guard lock(lock_);
  return published_;
}

// Each address of the host in the resolver's order.
Status TlsSocket::dial(int64_t until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &hints, &found);
  if (code != 0)
    return network_error(gai_strerror(code), {"the address of '", address_.host, "'"}, "the broker",
                         "look at the network and at the broker's name");
  Status status =
      network_error("no address", "one at least", {"'", address_.host, "'"}, "look at the broker's name");
  for (const addrinfo* a = found; a && !interrupted_; a = a->ai_next) {
    close();
    fd_ = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (fd_ < 0) {
      status = broken("opening a socket", errno);
      continue;
    }
    set_options(fd_);
    if (connect(fd_, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
      status = broken("connecting", errno);
      continue;
    }
    status = await(POLLOUT, until, "connecting");
    if (!status.ok()) continue;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) break;
    status = broken("connecting", error);
  }
  freeaddrinfo(found);
  return status;
}

Status TlsSocket::shake_hands(int64_t until) {
  const uint64_t before = counts_.sent_bytes + counts_.received_bytes;
  WALLE_ASSIGN(tls_, TlsStream::make(*context_, address_.host));
  for (;;) {
    Result<bool> done = tls_->handshake();
    (void)flush();  // an alert tells the server why
    if (!done.ok()) return done.take_error();
    if (*done) break;
    WALLE_TRY(await(sealed_.empty() ? POLLIN : POLLIN | POLLOUT, until, "the TLS handshake"));
    WALLE_TRY(flush());
    WALLE_TRY(fill().status());
  }
  counts_.handshake_bytes += counts_.sent_bytes + counts_.received_bytes - before;
  return {};
}

Status TlsSocket::await(short events, int64_t until, std::string_view what) {
  for (;;) {
    if (interrupted_) return cancelled_error("a connection that is not wanted any more", "the broker");
    const int64_t left = until - env_.steady_us();
    if (left <= 0)
      return network_error({what, " took too long"}, "an answer of the broker",
                           {address_.host, ":", address_.port},
                           "look at the network; the device tries again by itself")
          .of_kind(base::ErrorKind::timed_out);
    // Not woken by the pipe, whose bytes are for wait(): it looks every 50 ms whether somebody wants to stop.
    pollfd one = {.fd = fd_, .events = events, .revents = 0};
    const int waited = poll(&one, 1, static_cast<int>(std::min<int64_t>(left / 1000 + 1, 50)));
    if (waited < 0 && errno != EINTR) return broken("waiting", errno);
    if (waited > 0 && one.revents) return {};
  }
}

void TlsSocket::close() {
  if (tls_ && fd_ >= 0) {
    tls_->close();
    (void)flush();
  }
  tls_.reset();
  sealed_.clear();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  tell();
}

// What was encrypted, to the kernel.
Status TlsSocket::flush() {
  tls_->take(sealed_);
  size_t done = 0;
  Status status;
  while (done < sealed_.size()) {
    const ssize_t size = ::send(fd_, sealed_.data() + done, sealed_.size() - done, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) status = broken("sending", errno);
      break;
    }
    done += static_cast<size_t>(size);
  }
  counts_.sent_bytes += done;
  sealed_.erase(0, done);
  return status;
}

// What came, to TLS; false: nothing came.
Result<bool> TlsSocket::fill() {
  std::array<char, 16384> buffer;
  ssize_t size = 0;
  do {
    size = recv(fd_, buffer.data(), buffer.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (size < 0) return broken("receiving", errno);
  if (size == 0) return broken("receiving", 0);
  counts_.received_bytes += static_cast<uint64_t>(size);
  WALLE_TRY(tls_->add({buffer.data(), static_cast<size_t>(size)}));
  return true;
}

Result<size_t> TlsSocket::send(std::string_view bytes) {
  if (!tls_) return broken("sending", 0);
  WALLE_TRY(flush());
  if (sealed_.size() >= kMostSealed) return size_t{0};
  const std::string_view taken = bytes.substr(0, kMostSealed);
  WALLE_TRY(tls_->write(taken));
  WALLE_TRY(flush());
  return taken.size();
}

Result<size_t> TlsSocket::receive(std::span<char> to) {
  if (!tls_) return broken("receiving", 0);
  WALLE_TRY(flush());
  for (;;) {
    WALLE_ASSIGN(const size_t size, tls_->read(to.data(), to.size()));
    if (size > 0) return size;
    WALLE_ASSIGN(const bool came, fill());
    if (!came) return size_t{0};
  }
}

void TlsSocket::wait(int64_t timeout_us, bool writable) {
  tell();
  const short events = static_cast<short>(POLLIN | (writable || !sealed_.empty() ? POLLOUT : 0));
  std::array<pollfd, 2> fds = {pollfd{.fd = pipe_[0], .events = POLLIN, .revents = 0},
                               pollfd{.fd = fd_, .events = events, .revents = 0}};
  // Rounded up: a thread that wakes a moment too early would spin until the moment comes.
  const int64_t ms =
      timeout_us < 0 ? -1 : std::min<int64_t>(timeout_us / 1000 + (timeout_us % 1000 != 0), 1 << 30);
  poll(fds.data(), fd_ >= 0 ? 2 : 1, static_cast<int>(ms));
  std::array<char, 64> woken;
  while (read(pipe_[0], woken.data(), woken.size()) > 0) {
  }
}

void TlsSocket::wake() {
  const char byte = 0;
  // A full pipe wakes as well.
  [[maybe_unused]] const ssize_t written = write(pipe_[1], &byte, 1);
}

void TlsSocket::interrupt() { interrupted_ = true; }

Error TlsSocket::broken(Text doing, int code) const {
  return network_error({doing, ": ", (code ? std::strerror(code) : "the connection was closed")},
                       "a connection", {address_.host, ":", address_.port},
                       "look at the network; the device connects anew by itself")
      .of_kind(base::ErrorKind::not_connected);
}

}  // namespace walle::link
