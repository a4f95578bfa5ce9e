#include <sodium.h>

#include <algorithm>
#include <array>

#include "base/aead_kinds.h"
#include "base/sodium.h"

namespace walle::base {

namespace {
constexpr size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
static_assert(kNonce == nonce_bytes(Cipher::xchacha20_poly1305));
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == kTagBytes);
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == kKeyBytes);

class Xchacha20 final : public Aead {
 public:
  explicit Xchacha20(std::string_view key) : Aead(Cipher::xchacha20_poly1305) {
    std::ranges::copy(key, key_.begin());
  }
  ~Xchacha20() override { sodium_memzero(key_.data(), key_.size()); }

  Result<std::string> seal(std::string_view plain, std::string_view bound) override {
    if (plain.size() > kMostSealedBytes)
      return internal_error({"cannot seal ", plain.size(), " bytes"}, "encryption at rest");
    std::string out(added_bytes() + plain.size(), '\0');
    unsigned char* nonce = octets(out);
    randombytes_buf(nonce, kNonce);
    crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonce, nullptr, octets(plain), plain.size(),
                                               octets(bound), bound.size(), nullptr, nonce, key_.data());
    return out;
  }

  bool unseal(std::string_view sealed, std::string_view bound, std::string& plain) override {
    if (sealed.size() < added_bytes() || sealed.size() > kMostSealedBytes) return false;
    plain.resize(sealed.size() - added_bytes());
    const unsigned char* nonce = octets(sealed);
    return crypto_aead_xchacha20poly1305_ietf_decrypt(octets(plain), nullptr, nullptr, nonce + kNonce,
                                                      sealed.size() - kNonce, octets(bound), bound.size(),
                                                      nonce, key_.data()) == 0;
  }

 private:
  std::array<unsigned char, kKeyBytes> key_;
};
}  // namespace

Result<std::shared_ptr<Aead>> open_xchacha20(std::string_view key) {
  WALLE_TRY(sodium_ready());
  return std::shared_ptr<Aead>(std::make_shared<Xchacha20>(key));
}

}  // namespace walle::base
