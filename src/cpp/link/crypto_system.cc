#include <sodium.h>

#include <mutex>

#include "base/libcrypto.h"
#include "base/sodium.h"
#include "link/crypto_system.h"
#include "link/openssl.h"

namespace walle::link {

namespace {
const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// One of libsodium's, whose states and functions are of one form: State, init, update, final, bytes.
template <class State, auto init, auto update, auto final_of, size_t bytes>
class SodiumDigest final : public Digest {
 public:
  SodiumDigest() { init(&state_); }

  Status add(std::string_view piece) override {
    if (finished_) return over();
    update(&state_, octets(piece), piece.size());
    return {};
  }
  Result<std::string> finish() override {
    if (finished_) return over();
    finished_ = true;
    std::string out(bytes, '\0');
    final_of(&state_, reinterpret_cast<unsigned char*>(out.data()));
    return out;
  }

 private:
  static Error over() { return internal_error("a digest that is finished already", "link"); }

  State state_;
  bool finished_ = false;
};

using Sha256 = SodiumDigest<crypto_hash_sha256_state, crypto_hash_sha256_init, crypto_hash_sha256_update,
                            crypto_hash_sha256_final, crypto_hash_sha256_BYTES>;
using Sha512 = SodiumDigest<crypto_hash_sha512_state, crypto_hash_sha512_init, crypto_hash_sha512_update,
                            crypto_hash_sha512_final, crypto_hash_sha512_BYTES>;

class SystemCrypto final : public Crypto {
 public:
  explicit SystemCrypto(void* (*open)()) : open_(open) {}

  std::unique_ptr<Digest> digest(DigestKind kind) const override {
    if (kind == DigestKind::sha256) return std::make_unique<Sha256>();
    return std::make_unique<Sha512>();
  }

  bool can_verify(Scheme scheme) const override {
    return scheme == Scheme::ed25519 || (scheme != Scheme::unknown && openssl());
  }

  bool verify(const PublicKey& key, std::string_view message, std::string_view signature) const override {
    if (key.scheme != Scheme::ed25519)
      return can_verify(key.scheme) && openssl()->verify(key, message, signature);
    return key.bytes.size() == crypto_sign_ed25519_PUBLICKEYBYTES &&
           signature.size() == crypto_sign_ed25519_BYTES &&
           crypto_sign_ed25519_verify_detached(octets(signature), octets(message), message.size(),
                                               octets(key.bytes)) == 0;
  }

 private:
  const Openssl* openssl() const {
    std::call_once(once_, [this] { openssl_ = Openssl::find(open_()); });
    return openssl_.get();
  }

  void* (*open_)();
  mutable std::once_flag once_;
  mutable std::unique_ptr<Openssl> openssl_;
};
}  // namespace

Result<const Crypto*> Crypto::system() {
  static const Result<std::unique_ptr<Crypto>> loaded = make_crypto(base::open_libcrypto);
  if (!loaded.ok()) return loaded.error();
  return loaded->get();
}

Result<std::unique_ptr<Crypto>> make_crypto(void* (*open_libcrypto)()) {
  WALLE_TRY(base::sodium_ready());
  return std::unique_ptr<Crypto>(new SystemCrypto(open_libcrypto));
}

}  // namespace walle::link
