// Crypto: digests and signatures. The seam behind which libraries stand: nothing else of link/ knows whose
// they are.
//
// Thread-safe; a Digest belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::link {

enum class DigestKind : uint8_t { sha256, sha512 };

// `unknown` is a key of a kind nobody here can use: it counts as absent, as it may belong to a newer client.
enum class Scheme : uint8_t { unknown, ed25519, ecdsa_p256, ecdsa_p384, rsa_pss_sha256 };

struct PublicKey {
  Scheme scheme = Scheme::unknown;
  // 32 raw bytes for Ed25519; for the others a DER SubjectPublicKeyInfo.
  std::string bytes;
};

class Digest {
 public:
  virtual ~Digest() = default;
  virtual Status add(std::string_view bytes) = 0;
  // Raw bytes, once.
  virtual Result<std::string> finish() = 0;
};

class Crypto {
 public:
  virtual ~Crypto() = default;
  // SHA-2 and Ed25519 everywhere; RSA and ECDSA where OpenSSL's libcrypto is installed.
  static Result<const Crypto*> system();

  virtual std::unique_ptr<Digest> digest(DigestKind kind) const = 0;
  // Whether signatures of this scheme can be verified on this machine; not those of unknown ones.
  virtual bool can_verify(Scheme scheme) const = 0;
  // Whether the key's owner signed exactly these bytes. False, too, for a key that is none of its scheme: on
  // another curve, RSA below 2048 or above 8192 bits, damaged.
  virtual bool verify(const PublicKey& key, std::string_view message, std::string_view signature) const = 0;
};

// Digest of bytes that are at hand, in lower-case hexadecimal.
Result<std::string> digest_hex(const Crypto& crypto, DigestKind kind, std::string_view bytes);

std::string to_hex(std::string_view bytes);
// False for an odd number of digits and for what is no digit; both cases are read.
bool from_hex(std::string_view text, std::string& out);

// The DER bytes of a PEM text "-----BEGIN PUBLIC KEY-----"; false where it is none.
bool from_pem(std::string_view text, std::string& der);

}  // namespace walle::link
