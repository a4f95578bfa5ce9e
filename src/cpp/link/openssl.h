// Openssl: signatures by RSA and ECDSA, as the system's libcrypto verifies them. What of it is used is the
// same in OpenSSL 1.1 and 3. For crypto_system.cc.
//
// Thread-safe.
#pragma once

#include <memory>

#include "link/crypto.h"

namespace walle::link {

class Openssl {
 public:
  // `library` as dlopen() gave it. Null where that is null or lacks a function.
  static std::unique_ptr<Openssl> find(void* library);
  ~Openssl();

  // As Crypto::verify(); false for Ed25519 keys.
  bool verify(const PublicKey& key, std::string_view message, std::string_view signature) const;

 private:
  struct Functions;
  explicit Openssl(std::unique_ptr<const Functions> functions);

  // Null for a key that is not what its scheme says: libcrypto would take any curve and any size.
  void* open(const PublicKey& key) const;
  void* read(std::string_view der) const;
  bool verify(void* context, void* opened, Scheme scheme, std::string_view message,
              std::string_view signature) const;

  const std::unique_ptr<const Functions> f_;
};

}  // namespace walle::link
