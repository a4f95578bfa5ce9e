#include <algorithm>
#include <array>
#include <mutex>

#include "base/aead_kinds.h"
#include "base/libcrypto.h"

namespace walle::base {

namespace {
// The functions of OpenSSL 1.1 and 3 that are used, which are the same in both.
struct Libcrypto {
  void* (*context_new)() = nullptr;
  void (*context_free)(void*) = nullptr;
  const void* (*aes_256_gcm)() = nullptr;
  int (*context_ctrl)(void*, int, int, void*) = nullptr;
  int (*encrypt_init)(void*, const void*, void*, const unsigned char*, const unsigned char*) = nullptr;
  int (*encrypt_update)(void*, unsigned char*, int*, const unsigned char*, int) = nullptr;
  int (*encrypt_final)(void*, unsigned char*, int*) = nullptr;
  int (*decrypt_init)(void*, const void*, void*, const unsigned char*, const unsigned char*) = nullptr;
  int (*decrypt_update)(void*, unsigned char*, int*, const unsigned char*, int) = nullptr;
  int (*decrypt_final)(void*, unsigned char*, int*) = nullptr;
  int (*random_bytes)(unsigned char*, int) = nullptr;
  bool whole = false;
};

constexpr int kGetTag = 0x10;  // EVP_CTRL_AEAD_GET_TAG and SET_TAG of <openssl/evp.h>, part of its ABI
constexpr int kSetTag = 0x11;
constexpr size_t kNonceBytes = nonce_bytes(Cipher::aes_256_gcm);
constexpr size_t kSealBytes = seal_bytes(Cipher::aes_256_gcm);

Libcrypto load() {
  Libcrypto c;
  void* library = open_libcrypto();
  c.whole = find_function(library, "EVP_CIPHER_CTX_new", c.context_new) &&
            find_function(library, "EVP_CIPHER_CTX_free", c.context_free) &&
            find_function(library, "EVP_aes_256_gcm", c.aes_256_gcm) &&
            find_function(library, "EVP_CIPHER_CTX_ctrl", c.context_ctrl) &&
            find_function(library, "EVP_EncryptInit_ex", c.encrypt_init) &&
            find_function(library, "EVP_EncryptUpdate", c.encrypt_update) &&
            find_function(library, "EVP_EncryptFinal_ex", c.encrypt_final) &&
            find_function(library, "EVP_DecryptInit_ex", c.decrypt_init) &&
            find_function(library, "EVP_DecryptUpdate", c.decrypt_update) &&
            find_function(library, "EVP_DecryptFinal_ex", c.decrypt_final) &&
            find_function(library, "RAND_bytes", c.random_bytes);
  return c;
}

const Libcrypto& libcrypto() {
  static const Libcrypto loaded = load();
  return loaded;
}

// A call has the contexts for its turn.
class AesGcm final : public Aead {
 public:
  AesGcm(const Libcrypto& crypto, std::string_view key);
  ~AesGcm() override;
  bool ready() const { return sealing_ && unsealing_; }

  Result<std::string> seal(std::string_view plain, std::string_view bound) override;
  bool unseal(std::string_view sealed, std::string_view bound, std::string& plain) override;

 private:
  const Libcrypto& crypto_;
  std::array<unsigned char, kKeyBytes> key_;
  std::mutex lock_;
  void* sealing_;
  void* unsealing_;
};

// The key's schedule is computed once: a call then sets the nonce alone.
AesGcm::AesGcm(const Libcrypto& crypto, std::string_view key)
    : Aead(Cipher::aes_256_gcm),
      crypto_(crypto),
      sealing_(crypto.context_new()),
      unsealing_(crypto.context_new()) {
  std::ranges::copy(key, key_.begin());
  const bool ready =
      sealing_ && unsealing_ &&
      crypto_.encrypt_init(sealing_, crypto_.aes_256_gcm(), nullptr, key_.data(), nullptr) == 1 &&
      crypto_.decrypt_init(unsealing_, crypto_.aes_256_gcm(), nullptr, key_.data(), nullptr) == 1;
  if (ready) return;
  crypto_.context_free(sealing_);
  sealing_ = nullptr;
}

AesGcm::~AesGcm() {
  crypto_.context_free(sealing_);
  crypto_.context_free(unsealing_);
  // Through a volatile, or the compiler leaves out what nobody reads.
  volatile unsigned char* key = key_.data();
  for (size_t i = 0; i < key_.size(); ++i) key[i] = 0;
}

Result<std::string> AesGcm::seal(std::string_view plain, std::string_view bound) {
  const Error failed =
      internal_error({"libcrypto could not seal ", plain.size(), " bytes"}, "encryption at rest");
  if (plain.size() > kMostSealedBytes) return failed;
  const std::lock_guard lock(lock_);
  std::string out(kSealBytes + plain.size(), '\0');
  unsigned char* nonce = octets(out);
  unsigned char* hidden = nonce + kNonceBytes;
  int size = 0;
  const bool done =
      crypto_.random_bytes(nonce, kNonceBytes) == 1 &&
      crypto_.encrypt_init(sealing_, nullptr, nullptr, nullptr, nonce) == 1 &&
      crypto_.encrypt_update(sealing_, nullptr, &size, octets(bound), static_cast<int>(bound.size())) == 1 &&
      crypto_.encrypt_update(sealing_, hidden, &size, octets(plain), static_cast<int>(plain.size())) == 1 &&
      crypto_.encrypt_final(sealing_, hidden + plain.size(), &size) == 1 &&
      crypto_.context_ctrl(sealing_, kGetTag, kTagBytes, hidden + plain.size()) == 1;
  if (!done) return failed;
  return out;
}

bool AesGcm::unseal(std::string_view sealed, std::string_view bound, std::string& plain) {
  if (sealed.size() < kSealBytes || sealed.size() > kMostSealedBytes) return false;
  const std::lock_guard lock(lock_);
  const size_t size = sealed.size() - kSealBytes;
  const unsigned char* hidden = octets(sealed) + kNonceBytes;
  std::string tag(sealed.substr(kNonceBytes + size));
  plain.resize(size);
  int written = 0;
  return crypto_.decrypt_init(unsealing_, nullptr, nullptr, nullptr, octets(sealed)) == 1 &&
         crypto_.decrypt_update(unsealing_, nullptr, &written, octets(bound),
                                static_cast<int>(bound.size())) == 1 &&
         crypto_.decrypt_update(unsealing_, octets(plain), &written, hidden, static_cast<int>(size)) == 1 &&
         crypto_.context_ctrl(unsealing_, kSetTag, kTagBytes, tag.data()) == 1 &&
         crypto_.decrypt_final(unsealing_, octets(plain) + size, &written) == 1;
}

}  // namespace

Result<std::shared_ptr<Aead>> open_aes_gcm(std::string_view key) {
  const Libcrypto& crypto = libcrypto();
  if (!crypto.whole)
    return resource_error("files sealed with AES-256-GCM and no libcrypto.so.3 or libcrypto.so.1.1",
                          "OpenSSL's libcrypto, which opens them", "encryption at rest",
                          "install OpenSSL (Debian: libssl3); what is sealed from now on needs none");
  auto made = std::make_shared<AesGcm>(crypto, key);
  if (!made->ready()) return internal_error("libcrypto refused AES-256-GCM", "encryption at rest");
  return std::shared_ptr<Aead>(std::move(made));
}

}  // namespace walle::base
