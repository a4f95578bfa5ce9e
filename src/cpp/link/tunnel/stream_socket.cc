#include "link/tunnel/stream_socket.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace walle::link {

namespace {
// Of what is read and not asked for, and of what is taken and not written: behind it nobody goes on.
constexpr size_t kMostWaiting = size_t{64} << 10;
constexpr size_t kPiece = size_t{16} << 10;
constexpr int64_t kUntilPoked = 3'600'000'000;
constexpr std::chrono::milliseconds kFarewell(200);
}  // namespace

Status StreamSocket::open(int64_t timeout_us) {
  close();
  WALLE_TRY(follow_broker(env_, files_.address, address_));
  {
    const std::lock_guard lock(lock_);
    if (interrupted_) return cancelled_error("a connection that is not wanted any more", "the broker");
    connecting_ = true;
  }
  const int64_t began = env_.steady_us();
  Status status = stream_->connect(address_, files_, timeout_us);
  const std::lock_guard lock(lock_);
  connecting_ = false;
  if (!status.ok()) return status;
  if (interrupted_) {
    stream_->close();
    return cancelled_error("a connection that is not wanted any more", "the broker");
  }
  counts_.handshake_us = env_.steady_us() - began;
  ++counts_.opened;
  reader_ = std::make_unique<base::LoopThread>(
      base::LoopThread::Work{.name = "stream reader", .step = [this] { return read_step(); }});
  writer_ = std::make_unique<base::LoopThread>(
      base::LoopThread::Work{.name = "stream writer", .step = [this] { return write_step(); }});
  reader_->start();
  writer_->start();
  return {};
}

void StreamSocket::close() {
  if (!reader_) return;
  {
    std::unique_lock lock(lock_);
    changed_.wait_for(lock, kFarewell, [&] { return out_.empty() || over_; });
    if (!over_) over_ = broken("closing", "it was closed");
  }
  stream_->cancel();
  reader_->stop();
  writer_->stop();
  reader_.reset();
  writer_.reset();
  stream_->close();
  const std::lock_guard lock(lock_);
  in_.clear();
  out_.clear();
  over_.reset();
}

int64_t StreamSocket::read_step() {
  {
    const std::lock_guard lock(lock_);
    if (over_ || in_.size() >= kMostWaiting) return kUntilPoked;
  }
  std::array<char, kPiece> buffer;
  const Result<size_t> size = stream_->read(buffer);
  const std::lock_guard lock(lock_);
  if (!size.ok() || *size == 0) {
    end("receiving", size.status());
    return kUntilPoked;
  }
  counts_.received_bytes += *size;
  in_.append(buffer.data(), *size);
  changed_.notify_all();
  return 0;
}

int64_t StreamSocket::write_step() {
  std::string piece;
  {
    const std::lock_guard lock(lock_);
    if (over_ || out_.empty()) return kUntilPoked;
    piece = out_.substr(0, kPiece);
  }
  const Result<size_t> size = stream_->write(piece);
  const std::lock_guard lock(lock_);
  if (!size.ok() || *size == 0) {
    end("sending", size.status());
    return kUntilPoked;
  }
  counts_.sent_bytes += *size;
  out_.erase(0, *size);
  changed_.notify_all();
  return 0;
}

// With the lock. The first reason counts: what follows it is its consequence.
void StreamSocket::end(Text doing, const Status& why) {
  if (!over_) over_ = broken(doing, why.ok() ? Text("the connection was closed") : why.error().message());
  changed_.notify_all();
}

Result<size_t> StreamSocket::send(std::string_view bytes) {
  if (!writer_) return broken("sending", "there is no connection");
  const std::lock_guard lock(lock_);
  if (over_) return *over_;
  const size_t taken = std::min(bytes.size(), kMostWaiting - std::min(kMostWaiting, out_.size()));
  out_ += bytes.substr(0, taken);
  if (taken) writer_->poke();
  return taken;
}

Result<size_t> StreamSocket::receive(std::span<char> to) {
  if (!reader_) return broken("receiving", "there is no connection");
  const std::lock_guard lock(lock_);
  // What came before the end is not lost with it.
  if (in_.empty() && over_) return *over_;
  const size_t size = std::min(to.size(), in_.size());
  std::copy_n(in_.begin(), size, to.begin());
  const bool was_full = in_.size() >= kMostWaiting;
  in_.erase(0, size);
  if (was_full) reader_->poke();
  return size;
}

void StreamSocket::wait(int64_t timeout_us, bool writable) {
  std::unique_lock lock(lock_);
  const auto ready = [&] {
    if (woken_) return true;
    return reader_ && (!in_.empty() || over_ || (writable && out_.size() < kMostWaiting));
  };
  if (timeout_us < 0)
    changed_.wait(lock, ready);
  else
    changed_.wait_for(lock, std::chrono::microseconds(std::min(timeout_us, kUntilPoked)), ready);
  woken_ = false;
}

void StreamSocket::wake() {
  const std::lock_guard lock(lock_);
  woken_ = true;
  changed_.notify_all();
}

void StreamSocket::interrupt() {
  const std::lock_guard lock(lock_);
  interrupted_ = true;
  if (connecting_) stream_->cancel();
}

SocketCounts StreamSocket::counts() const {
  const std::lock_guard lock(lock_);
  return counts_;
}

Error StreamSocket::broken(Text doing, Text why) const {
  return network_error({doing, ": ", why}, "a connection", {address_.host, ":", address_.port},
                       "look at the network; the device connects anew by itself")
      .of_kind(base::ErrorKind::not_connected);
}

}  // namespace walle::link
