// The C API over link::ByteStream.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include "capi/app_stream.h"
#include "capi/guard.h"
#include "container/device/in_callback.h"

namespace walle::capi {

namespace {
constexpr const char* kWhere = "walle_device_connect";

class AppStream final : public link::ByteStream {
 public:
  explicit AppStream(const walle_stream_t& stream) : s_(stream) {}

  Status connect(const link::BrokerAddress& peer, const link::TlsFiles& files, int64_t timeout_us) override {
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    const walle_stream_peer_t asked = {
        .struct_size = sizeof asked,
        .host = peer.host.c_str(),
        .port = peer.port,
        .timeout_ms = static_cast<uint32_t>(std::clamp<int64_t>(timeout_us / 1000, 1, kMost)),
        .authorities = files.authorities.c_str(),
        .certificate = files.certificate.c_str(),
        .key = files.key.c_str()};
    std::array<char, 256> why{};
    const container::InCallback mark;
    connection_ = s_.connect(s_.user, &asked, why.data(), why.size());
    if (connection_) return {};
    why.back() = 0;
    return network_error({"connecting: ", why[0] ? why.data() : "the app's stream has none"}, "a connection",
                         {peer.host, ":", peer.port},
                         "look at what the app's TLS says; the device tries again by itself");
  }

  Result<size_t> read(std::span<char> to) override {
    const container::InCallback mark;
    return counted(s_.read(s_.user, connection_, to.data(), to.size()), to.size(), "read");
  }
  Result<size_t> write(std::string_view bytes) override {
    const container::InCallback mark;
    return counted(s_.write(s_.user, connection_, bytes.data(), bytes.size()), bytes.size(), "write");
  }
  // Also while connect() runs: there is no connection then.
  void cancel() override {
    const container::InCallback mark;
    s_.cancel(s_.user, connection_);
  }
  void close() override {
    const container::InCallback mark;
    s_.close(s_.user, connection_.exchange(nullptr));
  }

 private:
  static Result<size_t> counted(int64_t size, size_t most, const char* function) {
    if (size >= 0 && static_cast<uint64_t>(size) <= most) return static_cast<size_t>(size);
    if (size < 0)
      return network_error({function, "() of the app's stream failed"}, "bytes", "tunnel",
                           "look at what the app's TLS says");
    return network_error({function, "() of the app's stream returned ", size}, {"at most ", most}, "tunnel",
                         "return how many bytes were moved");
  }

  const walle_stream_t s_;
  std::atomic<void*> connection_{nullptr};
};
}  // namespace

Result<std::unique_ptr<link::ByteStream>> app_stream(const walle_stream_t* given) {
  if (!given) return std::unique_ptr<link::ByteStream>();
  walle_stream_t stream{};
  WALLE_TRY(copy_struct(*given, stream, "walle_stream_t", kWhere));
  if (!stream.connect || !stream.read || !stream.write || !stream.cancel || !stream.close)
    return argument_error("a stream without one of its functions", "connect, read, write, cancel and close",
                          kWhere, "give all five");
  return std::unique_ptr<link::ByteStream>(std::make_unique<AppStream>(stream));
}

}  // namespace walle::capi
