#include "link/tls.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace walle::link {

namespace {
constexpr int kPem = 1;                // SSL_FILETYPE_PEM
constexpr int kVerifyPeer = 1;         // SSL_VERIFY_PEER
constexpr int kSetMode = 33;           // SSL_CTRL_MODE
constexpr int kReleaseBuffers = 0x10;  // SSL_MODE_RELEASE_BUFFERS: 34 KB of an idle connection
// What the certificate's file does not say is not sent: libssl would look for the authority among those we
// believe, and send the broker what it has. It held 6 KB of it for each connection.
constexpr int kNoAutoChain = 8;        // SSL_MODE_NO_AUTO_CHAIN
constexpr int kSetCacheMode = 44;      // SSL_CTRL_SET_SESS_CACHE_MODE
constexpr int kClientOnly = 0x301;     // SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL
constexpr int kSetServerName = 55;     // SSL_CTRL_SET_TLSEXT_HOSTNAME
constexpr int kSetLeastVersion = 123;  // SSL_CTRL_SET_MIN_PROTO_VERSION
constexpr int kTls13 = 0x0304;
constexpr int kWantRead = 2;  // SSL_ERROR_WANT_READ
constexpr int kClosed = 6;    // SSL_ERROR_ZERO_RETURN
constexpr int kSslError = 1;  // SSL_ERROR_SSL
constexpr int kAppData = 0;   // the index that belongs to whoever made the SSL
constexpr std::string_view kMagic = "WTS";
constexpr uint8_t kSessionVersion = 1;
constexpr size_t kMostSessionBytes = 65'536;

// A key with a passphrase would make libcrypto ask on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

bool is_ip(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

Error unreadable(Text what, Text path, Text why) {
  return resource_error({what, " that cannot be read (", why, ")"}, "a PEM file", {"'", path, "'"},
                        "enrol the device anew, or name the right file");
}
}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::make(Env& env, TlsFiles files) {
  WALLE_ASSIGN(const TlsLibrary* functions, tls_library());
  std::unique_ptr<TlsContext> out(new TlsContext(env, std::move(files), *functions));
  out->context_ = functions->context_new(functions->client_method());
  if (!out->context_) return internal_error("libssl could not make a context", "link");
  Status status = out->read_files();
  functions->clear_errors();
  WALLE_TRY(std::move(status));
  return out;
}

TlsContext::~TlsContext() {
  if (context_) f_.context_free(context_);
}

Status TlsContext::read_files() {
  const auto why = [&] {
    std::array<char, 256> text{};
    f_.error_text(f_.next_error(), text.data(), text.size());
    return std::string(text.data());
  };
  f_.clear_errors();
  f_.set_passphrase(context_, no_passphrase);
  f_.context_control(context_, kSetLeastVersion, kTls13, nullptr);
  f_.context_control(context_, kSetMode, kReleaseBuffers | kNoAutoChain, nullptr);
  f_.set_verify(context_, kVerifyPeer, nullptr);
  if (f_.load_verify_locations(context_, files_.authorities.c_str(), nullptr) != 1)
    return unreadable("authorities", files_.authorities, why());
  if (!files_.session.empty()) {
    f_.context_control(context_, kSetCacheMode, kClientOnly, nullptr);
    f_.on_session(context_, on_session);
  }
  WALLE_ASSIGN(bound_to_, sum_of_files());
  if (files_.certificate.empty()) return {};
  if (f_.use_certificate_chain_file(context_, files_.certificate.c_str()) != 1)
    return unreadable("a certificate", files_.certificate, why());
  if (f_.use_private_key_file(context_, files_.key.c_str(), kPem) != 1)
    return unreadable("a key", files_.key, why());
  if (f_.check_private_key(context_) != 1)
    return argument_error("a key that is not the certificate's", {"the key of '", files_.certificate, "'"},
                          {"'", files_.key, "'"}, "enrol the device anew");
  return {};
}

Result<uint32_t> TlsContext::sum_of_files() const {
  uint32_t sum = 0;
  for (const std::string* path : {&files_.authorities, &files_.certificate})
    if (!path->empty()) {
      WALLE_ASSIGN(const std::string bytes, env_.read_file(*path));
      sum = base::crc32c(sum, bytes.data(), bytes.size());
    }
  return sum;
}

bool TlsContext::outdated() const {
  const Result<uint32_t> sum = sum_of_files();
  return sum.ok() && *sum != bound_to_;
}

// Called by libssl for each ticket of a server; of two the last stays, as either will do.
int TlsContext::on_session(void* ssl, void* session) {
  void* made_by = (*tls_library())->data(ssl, kAppData);
  auto* self = static_cast<TlsContext*>(made_by);
  const int size = self->f_.write_session(session, nullptr);
  if (size <= 0 || static_cast<size_t>(size) > kMostSessionBytes) return 0;
  self->new_session_.resize(static_cast<size_t>(size));
  auto* at = reinterpret_cast<unsigned char*>(self->new_session_.data());
  self->f_.write_session(session, &at);
  return 0;  // libssl keeps the object
}

void TlsContext::save_session(const std::string& host) {
  if (new_session_.empty()) return;
  base::ByteWriter out;
  out.put_bytes(kMagic);
  out.put(kSessionVersion);
  out.put(bound_to_);
  out.put_text(host);
  out.put_text(new_session_);
  out.put_checksum();
  new_session_.clear();
  // Where it cannot be kept the next handshake is a full one, and that is all.
  (void)env_.replace_file(files_.session, out.written());
}

void* TlsContext::load_session(const std::string& host) {
  if (files_.session.empty() || env_.file_size(files_.session) < 0) return nullptr;
  const Result<std::string> bytes = env_.read_prefix(files_.session, 2 * kMostSessionBytes);
  if (!bytes.ok()) return nullptr;
  base::ByteReader in(*bytes);
  if (!in.expect(kMagic) || in.get<uint8_t>() != kSessionVersion || in.get<uint32_t>() != bound_to_)
    return nullptr;
  if (in.text() != host) return nullptr;
  const std::string_view session = in.text();
  if (!in.checksum() || !in.done()) return nullptr;
  const auto* at = reinterpret_cast<const unsigned char*>(session.data());
  void* out = f_.read_session(nullptr, &at, static_cast<long>(session.size()));
  f_.clear_errors();
  return out;
}

void TlsContext::forget_session() {
  new_session_.clear();
  if (!files_.session.empty() && env_.file_size(files_.session) >= 0) (void)env_.remove_file(files_.session);
}

Result<std::unique_ptr<TlsStream>> TlsStream::make(TlsContext& context, const std::string& host) {
  const TlsLibrary& f = context.f_;
  std::unique_ptr<TlsStream> out(new TlsStream(context));
  out->host_ = host;
  out->ssl_ = f.ssl_new(context.context_);
  if (!out->ssl_) return internal_error("libssl could not make a connection", "link");
  out->in_ = f.bio_new(f.memory_bio());
  out->out_ = f.bio_new(f.memory_bio());
  f.set_bio(out->ssl_, out->in_, out->out_);
  if (!out->in_ || !out->out_) return internal_error("libssl could not make a connection", "link");
  f.set_data(out->ssl_, kAppData, &context);
  // A server's certificate may name an address, which is never sent as a name.
  const bool named =
      is_ip(host) ? f.set_ip(f.parameters(out->ssl_), host.c_str()) == 1
                  : f.set_host(out->ssl_, host.c_str()) == 1 &&
                        f.ssl_control(out->ssl_, kSetServerName, 0, const_cast<char*>(host.c_str())) == 1;
  if (!named)
    return argument_error({"host '", host, "'"}, "a name or an IP address", "tunnel",
                          "look at the broker's address");
  if (void* session = context.load_session(host)) {
    f.set_session(out->ssl_, session);
    f.session_free(session);
  }
  f.set_connect_state(out->ssl_);
  return out;
}

TlsStream::~TlsStream() {
  if (ssl_) f_.ssl_free(ssl_);
}

Status TlsStream::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const int most = static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20));
    const int size = f_.bio_write(in_, bytes.data(), most);
    if (size <= 0) return internal_error("libssl had no memory", "link");
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return {};
}

void TlsStream::take(std::string& out) {
  std::array<char, 16384> buffer;
  for (int size = 0; (size = f_.bio_read(out_, buffer.data(), static_cast<int>(buffer.size()))) > 0;)
    out.append(buffer.data(), static_cast<size_t>(size));
}

Result<bool> TlsStream::handshake() {
  f_.clear_errors();
  const int code = f_.handshake(ssl_);
  if (code == 1) return true;
  if (f_.error(ssl_, code) == kWantRead) return false;
  // It may have been the session that the server did not like.
  context_.forget_session();
  return failed("the TLS handshake", code);
}

Status TlsStream::write(std::string_view bytes) {
  f_.clear_errors();
  while (!bytes.empty()) {
    const int size = f_.write(ssl_, bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20)));
    if (size <= 0) return failed("writing", size);
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return {};
}

Result<size_t> TlsStream::read(char* to, size_t size) {
  f_.clear_errors();
  const int got = f_.read(ssl_, to, static_cast<int>(std::min<size_t>(size, 1 << 20)));
  // With the first bytes of a connection come its tickets.
  context_.save_session(host_);
  if (got > 0) return static_cast<size_t>(got);
  if (f_.error(ssl_, got) == kWantRead) return size_t{0};
  return failed("reading", got);
}

void TlsStream::close() {
  f_.clear_errors();
  f_.shutdown(ssl_);
  f_.clear_errors();
}

bool TlsStream::resumed() const { return f_.session_reused(ssl_) == 1; }

Error TlsStream::failed(Text doing, int code) const {
  const int kind = f_.error(ssl_, code);
  std::string why =
      kind == kClosed ? "the peer closed the connection" : "libssl error " + std::to_string(kind);
  if (const unsigned long error = kind == kSslError ? f_.next_error() : 0) {
    std::array<char, 256> text{};
    f_.error_text(error, text.data(), text.size());
    why = text.data();
  }
  if (const long verified = f_.verify_result(ssl_))
    why += std::string("; the server's certificate: ") + f_.verify_text(verified);
  f_.clear_errors();
  return network_error({doing, " failed: ", why}, "TLS 1.3", {"'", host_, "'"},
                       "look at the certificates of both sides, their hosts' names and the clock");
}

}  // namespace walle::link
