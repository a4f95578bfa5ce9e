#include "link/openssl.h"

#include "base/libcrypto.h"

namespace walle::link {

namespace {
// Of <openssl/evp.h> and <openssl/rsa.h>, part of their ABI; a build needs no OpenSSL headers so.
constexpr int kEd25519 = 1087;          // EVP_PKEY_ED25519
constexpr int kSetPadding = 0x1001;     // EVP_PKEY_CTRL_RSA_PADDING: in 1.1 the setters are macros
constexpr int kSetSaltLength = 0x1002;  // EVP_PKEY_CTRL_RSA_PSS_SALTLEN
constexpr int kPssPadding = 6;          // RSA_PKCS1_PSS_PADDING
// RSA_PSS_SALTLEN_AUTO: signers differ, python-tuf takes the digest's length and others the longest.
constexpr int kAnySaltLength = -2;
constexpr int kLeastRsaBytes = 2048 / 8;
constexpr int kMostRsaBytes = 8192 / 8;  // libcrypto would take 16384
constexpr size_t kMostKeyBytes = 2048;

// What a SubjectPublicKeyInfo must begin with: sizes, algorithm and curve (RFC 5480), up to the point.
constexpr std::string_view kP256(
    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce"
    "\x3d\x03\x01\x07\x03\x42\x00\x04",
    27);
constexpr std::string_view kP384(
    "\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00"
    "\x22\x03\x62\x00\x04",
    24);
// AlgorithmIdentifier rsaEncryption, behind the outer SEQUENCE and its size of two bytes.
constexpr std::string_view kRsa("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00", 15);

struct Functions {
  void* (*md_new)() = nullptr;
  void (*md_free)(void*) = nullptr;
  int (*digest_init)(void*, const void*, void*) = nullptr;
  int (*digest_update)(void*, const void*, size_t) = nullptr;
  int (*digest_final)(void*, unsigned char*, unsigned*) = nullptr;
  const void* (*sha256)() = nullptr;
  const void* (*sha384)() = nullptr;
  const void* (*sha512)() = nullptr;
  void* (*raw_public_key)(int, void*, const unsigned char*, size_t) = nullptr;
  void* (*read_public_key)(void**, const unsigned char**, long) = nullptr;
  void (*key_free)(void*) = nullptr;
  int (*key_size)(const void*) = nullptr;
  int (*verify_init)(void*, void**, const void*, void*, void*) = nullptr;
  int (*verify)(void*, const unsigned char*, size_t, const unsigned char*, size_t) = nullptr;
  int (*context_control)(void*, int, int, int, int, void*) = nullptr;
  void (*clear_errors)() = nullptr;
};

bool load(void* library, Functions& f) {
  using base::find_function;
  return find_function(library, "EVP_MD_CTX_new", f.md_new) &&
         find_function(library, "EVP_MD_CTX_free", f.md_free) &&
         find_function(library, "EVP_DigestInit_ex", f.digest_init) &&
         find_function(library, "EVP_DigestUpdate", f.digest_update) &&
         find_function(library, "EVP_DigestFinal_ex", f.digest_final) &&
         find_function(library, "EVP_sha256", f.sha256) && find_function(library, "EVP_sha384", f.sha384) &&
         find_function(library, "EVP_sha512", f.sha512) &&
         find_function(library, "EVP_PKEY_new_raw_public_key", f.raw_public_key) &&
         find_function(library, "d2i_PUBKEY", f.read_public_key) &&
         find_function(library, "EVP_PKEY_free", f.key_free) &&
         // Renamed in OpenSSL 3.
         (find_function(library, "EVP_PKEY_get_size", f.key_size) ||
          find_function(library, "EVP_PKEY_size", f.key_size)) &&
         find_function(library, "EVP_DigestVerifyInit", f.verify_init) &&
         find_function(library, "EVP_DigestVerify", f.verify) &&
         find_function(library, "EVP_PKEY_CTX_ctrl", f.context_control) &&
         find_function(library, "ERR_clear_error", f.clear_errors);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

class OpensslDigest final : public Digest {
 public:
  OpensslDigest(const Functions& f, const void* kind) : f_(f), context_(f.md_new()) {
    ready_ = context_ && f_.digest_init(context_, kind, nullptr) == 1;
  }
  ~OpensslDigest() override { f_.md_free(context_); }

  Status add(std::string_view bytes) override {
    ready_ = ready_ && f_.digest_update(context_, bytes.data(), bytes.size()) == 1;
    return ready_ ? Status() : failed();
  }
  Result<std::string> finish() override {
    unsigned char out[64];
    unsigned size = 0;
    if (!ready_ || f_.digest_final(context_, out, &size) != 1) return failed();
    ready_ = false;
    return std::string(reinterpret_cast<const char*>(out), size);
  }

 private:
  static Error failed() { return internal_error("libcrypto could not compute a digest", "link"); }

  const Functions& f_;
  void* context_;
  bool ready_ = false;
};

class Openssl final : public Crypto {
 public:
  explicit Openssl(const Functions& functions) : f_(functions) {}

  Result<std::unique_ptr<Digest>> digest(DigestKind kind) const override {
    return std::unique_ptr<Digest>(
        new OpensslDigest(f_, kind == DigestKind::sha256 ? f_.sha256() : f_.sha512()));
  }

  bool verify(const PublicKey& key, std::string_view message, std::string_view signature) const override {
    void* opened = open(key);
    bool holds = false;
    if (opened) {
      if (void* context = f_.md_new()) {
        holds = verify(context, opened, key.scheme, message, signature);
        f_.md_free(context);
      }
      f_.key_free(opened);
    }
    // What a bad key or signature left in the thread's queue is not the next caller's.
    f_.clear_errors();
    return holds;
  }

 private:
  // Null for a key that is not what its scheme says: libcrypto would take any curve and any size.
  void* open(const PublicKey& key) const {
    const std::string_view der = key.bytes;
    if (der.size() > kMostKeyBytes) return nullptr;
    switch (key.scheme) {
      case Scheme::unknown: return nullptr;
      case Scheme::ed25519: return f_.raw_public_key(kEd25519, nullptr, bytes_of(der), der.size());
      case Scheme::ecdsa_p256: return der.starts_with(kP256) ? read(der) : nullptr;
      case Scheme::ecdsa_p384: return der.starts_with(kP384) ? read(der) : nullptr;
      case Scheme::rsa_pss_sha256: break;
    }
    if (der.size() < 4 || !der.substr(4).starts_with(kRsa)) return nullptr;
    void* opened = read(der);
    if (!opened) return nullptr;
    const int bytes = f_.key_size(opened);
    if (bytes >= kLeastRsaBytes && bytes <= kMostRsaBytes) return opened;
    f_.key_free(opened);
    return nullptr;
  }

  void* read(std::string_view der) const {
    const unsigned char* at = bytes_of(der);
    void* opened = f_.read_public_key(nullptr, &at, static_cast<long>(der.size()));
    if (opened && at == bytes_of(der) + der.size()) return opened;
    f_.key_free(opened);
    return nullptr;
  }

  bool verify(void* context, void* opened, Scheme scheme, std::string_view message,
              std::string_view signature) const {
    const void* digest = scheme == Scheme::ed25519      ? nullptr
                         : scheme == Scheme::ecdsa_p384 ? f_.sha384()
                                                        : f_.sha256();
    void* options = nullptr;  // belongs to the context
    if (f_.verify_init(context, &options, digest, nullptr, opened) != 1) return false;
    if (scheme == Scheme::rsa_pss_sha256 &&
        (f_.context_control(options, -1, -1, kSetPadding, kPssPadding, nullptr) <= 0 ||
         f_.context_control(options, -1, -1, kSetSaltLength, kAnySaltLength, nullptr) <= 0))
      return false;
    return f_.verify(context, bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1;
  }

  Functions f_;
};
}  // namespace

Result<const Crypto*> Crypto::system() {
  static const Result<std::unique_ptr<Crypto>> loaded = openssl_crypto(base::open_libcrypto());
  if (!loaded.ok()) return loaded.error();
  return loaded->get();
}

Result<std::unique_ptr<Crypto>> openssl_crypto(void* library) {
  Functions functions;
  if (!load(library, functions))
    return resource_error("no libcrypto.so.3 or libcrypto.so.1.1", "OpenSSL's libcrypto",
                          "verification of signatures", "install OpenSSL (Debian: libssl3)");
  return std::unique_ptr<Crypto>(new Openssl(functions));
}

}  // namespace walle::link
