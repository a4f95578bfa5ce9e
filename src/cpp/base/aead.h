// Aead: sealing with a key, so that nothing can be read or changed without it.
//
// New files are sealed with XChaCha20-Poly1305 of libsodium, which is compiled in and runs everywhere.
// AES-256-GCM of the system's libcrypto is what was sealed with before; it is loaded for such files alone.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::base {

inline constexpr size_t kKeyBytes = 32;

// As docs/reference/formats/sealed.md numbers them.
enum class Cipher : uint8_t { aes_256_gcm = 1, xchacha20_poly1305 = 2 };

// Both have nonces that are drawn at random. Of 12 bytes two are alike with a chance of 2^-33 after 2^32
// under one key (NIST SP 800-38D); of 24 bytes nobody need count.
constexpr size_t nonce_bytes(Cipher cipher) { return cipher == Cipher::aes_256_gcm ? 12 : 24; }
inline constexpr size_t kTagBytes = 16;
constexpr size_t seal_bytes(Cipher cipher) { return nonce_bytes(cipher) + kTagBytes; }  // what sealing adds

class Aead {
 public:
  // A resource error for AES-256-GCM where no libcrypto is installed; an argument error for a key of another
  // size.
  static Result<std::shared_ptr<Aead>> open(std::string_view key, Cipher cipher = Cipher::xchacha20_poly1305);
  explicit Aead(Cipher cipher) : cipher_(cipher) {}
  virtual ~Aead() = default;
  Aead(const Aead&) = delete;
  Aead& operator=(const Aead&) = delete;

  Cipher cipher() const { return cipher_; }
  size_t added_bytes() const { return seal_bytes(cipher_); }

  // Nonce, what is hidden, tag. `bound` is not in it and must be the same to open it.
  virtual Result<std::string> seal(std::string_view plain, std::string_view bound) = 0;
  // False where it was not sealed with this key and these `bound` bytes, or is damaged.
  virtual bool unseal(std::string_view sealed, std::string_view bound, std::string& plain) = 0;

 private:
  const Cipher cipher_;
};

}  // namespace walle::base
