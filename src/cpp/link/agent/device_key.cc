#include "link/agent/device_key.h"

#include "base/libcrypto.h"

namespace walle::link {

namespace {
// Of <openssl/evp.h>, <openssl/pem.h>, <openssl/x509.h>; the same in OpenSSL 3 and 1.1.
struct KeyFunctions {
  void* (*context_new)(int, void*) = nullptr;
  void (*context_free)(void*) = nullptr;
  int (*keygen_init)(void*) = nullptr;
  int (*control)(void*, int, int, int, int, void*) = nullptr;
  int (*keygen)(void*, void**) = nullptr;
  void (*key_free)(void*) = nullptr;
  const void* (*memory_method)() = nullptr;
  void* (*memory_new)(const void*) = nullptr;
  void* (*memory_over)(const void*, int) = nullptr;
  long (*memory_control)(void*, int, long, void*) = nullptr;
  int (*memory_free)(void*) = nullptr;
  int (*write_key)(void*, void*, const void*, const char*, int, void*, void*) = nullptr;
  void* (*read_key)(void*, void**, void*, void*) = nullptr;
  void* (*request_new)() = nullptr;
  void (*request_free)(void*) = nullptr;
  void* (*request_name)(const void*) = nullptr;
  int (*add_name)(void*, const char*, int, const unsigned char*, int, int, int) = nullptr;
  int (*request_key)(void*, void*) = nullptr;
  int (*request_sign)(void*, void*, const void*) = nullptr;
  int (*write_request)(void*, void*) = nullptr;
  void* (*read_certificate)(void*, void**, void*, void*) = nullptr;
  int (*certificate_key)(const void*, const void*) = nullptr;
  void (*certificate_free)(void*) = nullptr;
  const void* (*sha256)() = nullptr;
  void* (*md_new)() = nullptr;
  void (*md_free)(void*) = nullptr;
  int (*sign_init)(void*, void**, const void*, void*, void*) = nullptr;
  int (*sign)(void*, unsigned char*, size_t*, const unsigned char*, size_t) = nullptr;
  int (*key_id)(const void*) = nullptr;
  void (*clear_errors)() = nullptr;
};

constexpr int kEc = 408;           // EVP_PKEY_EC
constexpr int kSetCurve = 0x1001;  // EVP_PKEY_CTRL_EC_PARAMGEN_CURVE_NID
constexpr int kP256 = 415;         // NID_X9_62_prime256v1
constexpr int kParamGen = 2, kKeyGen = 4;
constexpr int kAscii = 0x1001;   // MBSTRING_ASC
constexpr int kMemoryBytes = 3;  // BIO_CTRL_INFO
constexpr size_t kMostKeyBytes = 16'384;

Error failed(Text what) { return internal_error({"libcrypto could not ", what}, "the device's key"); }

// What was written to a memory BIO.
std::string written(const KeyFunctions& f, void* memory) {
  char* data = nullptr;
  const long size = f.memory_control(memory, kMemoryBytes, 0, &data);
  return size > 0 && data ? std::string(data, static_cast<size_t>(size)) : std::string();
}

bool load_keys(void* library, KeyFunctions& f) {
  using base::find_function;
  const auto find = [&](const char* name, auto& out) { return find_function(library, name, out); };
  return find("EVP_PKEY_CTX_new_id", f.context_new) && find("EVP_PKEY_CTX_free", f.context_free) &&
         find("EVP_PKEY_keygen_init", f.keygen_init) && find("EVP_PKEY_CTX_ctrl", f.control) &&
         find("EVP_PKEY_keygen", f.keygen) && find("EVP_PKEY_free", f.key_free) &&
         find("BIO_s_mem", f.memory_method) && find("BIO_new", f.memory_new) &&
         find("BIO_new_mem_buf", f.memory_over) && find("BIO_ctrl", f.memory_control) &&
         find("BIO_free", f.memory_free) && find("PEM_write_bio_PKCS8PrivateKey", f.write_key) &&
         find("PEM_read_bio_PrivateKey", f.read_key) && find("X509_REQ_new", f.request_new) &&
         find("X509_REQ_free", f.request_free) && find("X509_REQ_get_subject_name", f.request_name) &&
         find("X509_NAME_add_entry_by_txt", f.add_name) && find("X509_REQ_set_pubkey", f.request_key) &&
         find("X509_REQ_sign", f.request_sign) && find("PEM_write_bio_X509_REQ", f.write_request) &&
         find("PEM_read_bio_X509", f.read_certificate) && find("X509_check_private_key", f.certificate_key) &&
         find("X509_free", f.certificate_free) && find("EVP_sha256", f.sha256) &&
         find("EVP_MD_CTX_new", f.md_new) && find("EVP_MD_CTX_free", f.md_free) &&
         find("EVP_DigestSignInit", f.sign_init) && find("EVP_DigestSign", f.sign) &&
         // Renamed in OpenSSL 3.
         (find("EVP_PKEY_get_base_id", f.key_id) || find("EVP_PKEY_base_id", f.key_id)) &&
         find("ERR_clear_error", f.clear_errors);
}

Result<const KeyFunctions*> key_functions() {
  static KeyFunctions loaded;
  static const bool there = load_keys(base::open_libcrypto(), loaded);
  if (there) return &loaded;
  return resource_error("no libcrypto.so.3 or libcrypto.so.1.1", "OpenSSL's libcrypto", "the device's key",
                        "install OpenSSL (Debian: libssl3)");
}

class LibcryptoKey final : public DeviceKey {
 public:
  LibcryptoKey(const KeyFunctions& f, void* key) : f_(f), key_(key) {}
  ~LibcryptoKey() override { f_.key_free(key_); }

  Result<std::string> private_pem() const override;
  Result<std::string> request(const std::string& common_name) const override;
  bool is_of(std::string_view certificate) const override;
  Result<std::string> sign(std::string_view message) const override;

 private:
  const KeyFunctions& f_;
  void* key_;
};

class LibcryptoKeys final : public KeyStore {
 public:
  Result<std::unique_ptr<DeviceKey>> make() override;
  Result<std::unique_ptr<DeviceKey>> read(std::string_view pem) override;
};

Result<std::unique_ptr<DeviceKey>> LibcryptoKeys::make() {
  WALLE_ASSIGN(const KeyFunctions* const f, key_functions());
  void* context = f->context_new(kEc, nullptr);
  void* key = nullptr;
  if (context) {
    const bool ready = f->keygen_init(context) == 1 &&
                       f->control(context, kEc, kParamGen | kKeyGen, kSetCurve, kP256, nullptr) > 0;
    if (!ready || f->keygen(context, &key) != 1) key = nullptr;
    f->context_free(context);
  }
  f->clear_errors();
  if (!key) return failed("make a key");
  return std::unique_ptr<DeviceKey>(std::make_unique<LibcryptoKey>(*f, key));
}

Result<std::unique_ptr<DeviceKey>> LibcryptoKeys::read(std::string_view pem) {
  WALLE_ASSIGN(const KeyFunctions* const f, key_functions());
  void* key = nullptr;
  if (pem.size() <= kMostKeyBytes) {
    if (void* memory = f->memory_over(pem.data(), static_cast<int>(pem.size()))) {
      // An empty passphrase: without one, libcrypto would ask on the terminal for that of an encrypted key.
      key = f->read_key(memory, nullptr, nullptr, const_cast<char*>(""));
      f->memory_free(memory);
    }
  }
  f->clear_errors();
  if (key && f->key_id(key) != kEc) {
    f->key_free(key);
    key = nullptr;
  }
  if (!key)
    return argument_error("no key that can be read", "a P-256 key in PEM, without a passphrase",
                          "the device's key", "enrol the device again");
  return std::unique_ptr<DeviceKey>(std::make_unique<LibcryptoKey>(*f, key));
}

Result<std::string> LibcryptoKey::private_pem() const {
  void* memory = f_.memory_new(f_.memory_method());
  if (!memory) return failed("write a key");
  std::string out;
  if (f_.write_key(memory, key_, nullptr, nullptr, 0, nullptr, nullptr) == 1) out = written(f_, memory);
  f_.memory_free(memory);
  f_.clear_errors();
  if (out.empty()) return failed("write a key");
  return out;
}

Result<std::string> LibcryptoKey::request(const std::string& common_name) const {
  void* request = f_.request_new();
  void* memory = f_.memory_new(f_.memory_method());
  std::string out;
  const auto* name = reinterpret_cast<const unsigned char*>(common_name.data());
  if (request && memory &&
      f_.add_name(f_.request_name(request), "CN", kAscii, name, static_cast<int>(common_name.size()), -1,
                  0) == 1 &&
      f_.request_key(request, key_) == 1 && f_.request_sign(request, key_, f_.sha256()) > 0 &&
      f_.write_request(memory, request) == 1)
    out = written(f_, memory);
  if (request) f_.request_free(request);
  if (memory) f_.memory_free(memory);
  f_.clear_errors();
  if (out.empty()) return failed("make a certificate request");
  return out;
}

bool LibcryptoKey::is_of(std::string_view certificate) const {
  if (certificate.size() > kMostKeyBytes) return false;
  void* memory = f_.memory_over(certificate.data(), static_cast<int>(certificate.size()));
  void* read = memory ? f_.read_certificate(memory, nullptr, nullptr, const_cast<char*>("")) : nullptr;
  const bool ours = read && f_.certificate_key(read, key_) == 1;
  if (read) f_.certificate_free(read);
  if (memory) f_.memory_free(memory);
  f_.clear_errors();
  return ours;
}

Result<std::string> LibcryptoKey::sign(std::string_view message) const {
  unsigned char out[128];  // a P-256 signature takes at most 72 bytes
  size_t size = sizeof out;
  void* context = f_.md_new();
  bool made = false;
  if (context) {
    made = f_.sign_init(context, nullptr, f_.sha256(), nullptr, key_) == 1 &&
           f_.sign(context, out, &size, reinterpret_cast<const unsigned char*>(message.data()),
                   message.size()) == 1;
    f_.md_free(context);
  }
  f_.clear_errors();
  if (!made) return failed("sign");
  return std::string(reinterpret_cast<const char*>(out), size);
}

}  // namespace

KeyStore& libcrypto_keys() {
  static LibcryptoKeys keys;
  return keys;
}

}  // namespace walle::link
