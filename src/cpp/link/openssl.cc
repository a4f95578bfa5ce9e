#include "link/openssl.h"

#include "base/libcrypto.h"

namespace walle::link {

namespace {
// Of <openssl/evp.h> and <openssl/rsa.h>, part of their ABI; a build needs no OpenSSL headers so.
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
}  // namespace

struct Openssl::Functions {
  void* (*md_new)() = nullptr;
  void (*md_free)(void*) = nullptr;
  const void* (*sha256)() = nullptr;
  const void* (*sha384)() = nullptr;
  void* (*read_public_key)(void**, const unsigned char**, long) = nullptr;
  void (*key_free)(void*) = nullptr;
  int (*key_size)(const void*) = nullptr;
  int (*verify_init)(void*, void**, const void*, void*, void*) = nullptr;
  int (*verify)(void*, const unsigned char*, size_t, const unsigned char*, size_t) = nullptr;
  int (*context_control)(void*, int, int, int, int, void*) = nullptr;
  void (*clear_errors)() = nullptr;

  bool load(void* library) {
    const auto find = [&](const char* name, auto& out) { return base::find_function(library, name, out); };
    return find("EVP_MD_CTX_new", md_new) && find("EVP_MD_CTX_free", md_free) && find("EVP_sha256", sha256) &&
           find("EVP_sha384", sha384) && find("d2i_PUBKEY", read_public_key) &&
           find("EVP_PKEY_free", key_free) &&
           // Renamed in OpenSSL 3.
           (find("EVP_PKEY_get_size", key_size) || find("EVP_PKEY_size", key_size)) &&
           find("EVP_DigestVerifyInit", verify_init) && find("EVP_DigestVerify", verify) &&
           find("EVP_PKEY_CTX_ctrl", context_control) && find("ERR_clear_error", clear_errors);
  }
};

namespace {
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
}  // namespace

std::unique_ptr<Openssl> Openssl::find(void* library) {
  auto functions = std::make_unique<Functions>();
  if (!functions->load(library)) return nullptr;
  return std::unique_ptr<Openssl>(new Openssl(std::move(functions)));
}

Openssl::Openssl(std::unique_ptr<const Functions> functions) : f_(std::move(functions)) {}
Openssl::~Openssl() = default;

bool Openssl::verify(const PublicKey& key, std::string_view message, std::string_view signature) const {
  void* opened = open(key);
  bool holds = false;
  if (opened) {
    if (void* context = f_->md_new()) {
      holds = verify(context, opened, key.scheme, message, signature);
      f_->md_free(context);
    }
    f_->key_free(opened);
  }
  // What a bad key or signature left in the thread's queue is not the next caller's.
  f_->clear_errors();
  return holds;
}

void* Openssl::open(const PublicKey& key) const {
  const std::string_view der = key.bytes;
  if (der.size() > kMostKeyBytes) return nullptr;
  switch (key.scheme) {
    case Scheme::unknown:
    case Scheme::ed25519: return nullptr;
    case Scheme::ecdsa_p256: return der.starts_with(kP256) ? read(der) : nullptr;
    case Scheme::ecdsa_p384: return der.starts_with(kP384) ? read(der) : nullptr;
    case Scheme::rsa_pss_sha256: break;
  }
  if (der.size() < 4 || !der.substr(4).starts_with(kRsa)) return nullptr;
  void* opened = read(der);
  if (!opened) return nullptr;
  const int bytes = f_->key_size(opened);
  if (bytes >= kLeastRsaBytes && bytes <= kMostRsaBytes) return opened;
  f_->key_free(opened);
  return nullptr;
}

void* Openssl::read(std::string_view der) const {
  const unsigned char* at = bytes_of(der);
  void* opened = f_->read_public_key(nullptr, &at, static_cast<long>(der.size()));
  if (opened && at == bytes_of(der) + der.size()) return opened;
  f_->key_free(opened);
  return nullptr;
}

bool Openssl::verify(void* context, void* opened, Scheme scheme, std::string_view message,
                     std::string_view signature) const {
  const void* digest = scheme == Scheme::ecdsa_p384 ? f_->sha384() : f_->sha256();
  void* options = nullptr;  // belongs to the context
  if (f_->verify_init(context, &options, digest, nullptr, opened) != 1) return false;
  if (scheme == Scheme::rsa_pss_sha256 &&
      (f_->context_control(options, -1, -1, kSetPadding, kPssPadding, nullptr) <= 0 ||
       f_->context_control(options, -1, -1, kSetSaltLength, kAnySaltLength, nullptr) <= 0))
    return false;
  return f_->verify(context, bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1;
}

}  // namespace walle::link
