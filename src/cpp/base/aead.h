// AES-256-GCM of the system's libcrypto, loaded when it is first asked for: nothing else here needs OpenSSL,
// and who brings no key pays nothing for it.
//
// Thread-safe: every call has a context of its own thread's turn.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::base {

inline constexpr size_t kKeyBytes = 32;
inline constexpr size_t kNonceBytes = 12;
inline constexpr size_t kTagBytes = 16;
inline constexpr size_t kSealBytes = kNonceBytes + kTagBytes;  // what sealing adds

struct Libcrypto;

class Aead {
 public:
  // A resource error where no libcrypto is installed; an argument error for a key of another size.
  static Result<std::shared_ptr<Aead>> open(std::string_view key);
  ~Aead();
  Aead(const Aead&) = delete;
  Aead& operator=(const Aead&) = delete;

  // Nonce, what is hidden, tag. `bound` is not in it and must be the same to open it. A nonce is random:
  // after 2^32 of them under one key two are alike with a chance of 2^-33 (NIST SP 800-38D).
  Result<std::string> seal(std::string_view plain, std::string_view bound);
  // False where it was not sealed with this key and these `bound` bytes, or is damaged.
  bool unseal(std::string_view sealed, std::string_view bound, std::string& plain);

 private:
  Aead(const Libcrypto& crypto, std::string_view key);

  const Libcrypto& crypto_;
  std::array<unsigned char, kKeyBytes> key_;
  std::mutex lock_;
  void* sealing_;
  void* unsealing_;
};

}  // namespace walle::base
