// TLS 1.3: that of a client, over bytes in memory: whoever has a socket carries them. Server certificates
// are verified against one file of authorities and the host's name; there is no way around it.
//
// The session of the last connection is kept in a file, so that the next one - also of another process - is
// resumed: no certificates on the wire. It is a secret of this device; the file is its owner's alone, and
// damage to it costs a full handshake. A resumed session is as verified as its first one was, so it serves
// only the host, the authorities and the certificate it was made with
// (docs/reference/formats/tunnel.md).
//
// One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/env.h"
#include "link/tls_library.h"

namespace walle::link {

struct TlsFiles {
  std::string authorities;  // PEM; whom a server's certificate must be signed by
  std::string certificate;  // PEM, with its chain; empty: none
  std::string key;          // PEM, without a passphrase
  std::string session;      // made when there is one; empty: none is kept
  std::string address;      // of the broker, in place of the one said; empty, or not there: that one
};

class TlsContext {
 public:
  // Resource errors: no libssl, a file that cannot be read. Argument errors: a key that is not the
  // certificate's.
  static Result<std::unique_ptr<TlsContext>> make(Env& env, TlsFiles files);
  ~TlsContext();
  // Whether the files have other bytes by now: a certificate was renewed.
  bool outdated() const;
  const TlsFiles& files() const { return files_; }
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsStream;
  TlsContext(Env& env, TlsFiles files, const TlsLibrary& f) : env_(env), files_(std::move(files)), f_(f) {}
  Status read_files();
  Result<uint32_t> sum_of_files() const;
  static int on_session(void* ssl, void* session);
  // Reads the file; a session that libssl is to be given back, or null.
  void* load_session(const std::string& host);
  void save_session(const std::string& host);
  void forget_session();

  Env& env_;
  TlsFiles files_;
  const TlsLibrary& f_;
  void* context_ = nullptr;
  uint32_t bound_to_ = 0;    // a sum of authorities and certificate
  std::string new_session_;  // that no file has yet
};

// One connection.
class TlsStream {
 public:
  // The context outlives it. `host`: a name or an IP address.
  static Result<std::unique_ptr<TlsStream>> make(TlsContext& context, const std::string& host);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Bytes of the peer came.
  Status add(std::string_view bytes);
  // Bytes for the peer; appends to `out`.
  void take(std::string& out);
  // One step of the handshake with what has come; true when it is done.
  Result<bool> handshake();
  // Precondition of the three: the handshake is done. What is written is encrypted at once.
  Status write(std::string_view bytes);
  // How many bytes were there; 0: none yet. The peer's goodbye is an error of group network.
  Result<size_t> read(char* to, size_t size);
  void close();
  bool resumed() const;

 private:
  TlsStream(TlsContext& context) : context_(context), f_(context.f_) {}
  Error failed(Text doing, int code) const;

  TlsContext& context_;
  const TlsLibrary& f_;
  std::string host_;
  void* ssl_ = nullptr;
  void* in_ = nullptr;  // belong to ssl_
  void* out_ = nullptr;
};

}  // namespace walle::link
