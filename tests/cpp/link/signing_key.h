// Private keys of a test, made and used by libcrypto: the other half of src/cpp/link/openssl.cc.
#pragma once

#include <stdexcept>
#include <string>

#include "base/libcrypto.h"
#include "link/crypto.h"
#include "link/trust/json.h"

namespace walle::link {

class SigningKey {
 public:
  enum class Kind { ed25519, p256, p384, secp256k1, rsa1024, rsa2048 };

  static bool can_make() { return base::open_libcrypto() != nullptr; }

  explicit SigningKey(Kind kind = Kind::ed25519) : kind_(kind) {
    void* context = call<void* (*)(int, void*)>("EVP_PKEY_CTX_new_id")(type(), nullptr);
    check(call<int (*)(void*)>("EVP_PKEY_keygen_init")(context));
    if (is_ec()) control(context, kSetCurve, curve());
    if (is_rsa()) control(context, kSetRsaBits, kind == Kind::rsa1024 ? 1024 : 2048);
    check(call<int (*)(void*, void**)>("EVP_PKEY_keygen")(context, &key_));
    call<void (*)(void*)>("EVP_PKEY_CTX_free")(context);
  }
  ~SigningKey() { call<void (*)(void*)>("EVP_PKEY_free")(key_); }
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  // What a verifier of `scheme` is given; another scheme than the key's own is a lie.
  PublicKey public_key(Scheme scheme) const {
    PublicKey out{scheme, {}};
    if (kind_ == Kind::ed25519) {
      out.bytes.resize(32);
      size_t size = 32;
      check(call<int (*)(void*, unsigned char*, size_t*)>("EVP_PKEY_get_raw_public_key")(key_, at(out.bytes),
                                                                                         &size));
      return out;
    }
    const auto write = call<int (*)(void*, unsigned char**)>("i2d_PUBKEY");
    out.bytes.resize(static_cast<size_t>(write(key_, nullptr)));
    unsigned char* to = at(out.bytes);
    write(key_, &to);
    return out;
  }
  PublicKey public_key() const { return public_key(scheme()); }

  Scheme scheme() const {
    switch (kind_) {
      case Kind::ed25519: return Scheme::ed25519;
      case Kind::p256:
      case Kind::secp256k1: return Scheme::ecdsa_p256;
      case Kind::p384: return Scheme::ecdsa_p384;
      case Kind::rsa1024:
      case Kind::rsa2048: break;
    }
    return Scheme::rsa_pss_sha256;
  }

  std::string sign(std::string_view message) const {
    void* context = call<void* (*)()>("EVP_MD_CTX_new")();
    const char* name = kind_ == Kind::p384 ? "EVP_sha384" : "EVP_sha256";
    const void* digest = kind_ == Kind::ed25519 ? nullptr : call<const void* (*)()>(name)();
    void* options = nullptr;
    check(call<int (*)(void*, void**, const void*, void*, void*)>("EVP_DigestSignInit")(
        context, &options, digest, nullptr, key_));
    if (is_rsa()) control(options, kSetPadding, kPss);
    std::string out(1024, '\0');
    size_t size = out.size();
    check(call<int (*)(void*, unsigned char*, size_t*, const unsigned char*, size_t)>("EVP_DigestSign")(
        context, at(out), &size, reinterpret_cast<const unsigned char*>(message.data()), message.size()));
    call<void (*)(void*)>("EVP_MD_CTX_free")(context);
    out.resize(size);
    return out;
  }

  // As metadata names it.
  Json json() const {
    const bool ed = kind_ == Kind::ed25519;
    const std::string bytes = public_key().bytes;
    const char* scheme_name = ed                    ? "ed25519"
                              : kind_ == Kind::p384 ? "ecdsa-sha2-nistp384"
                              : is_rsa()            ? "rsassa-pss-sha256"
                                                    : "ecdsa-sha2-nistp256";
    const char* type_name = ed ? "ed25519" : is_rsa() ? "rsa" : "ecdsa";
    const std::string text = ed ? to_hex(bytes) : pem(bytes);
    return Json(Json::Object{{"keytype", Json(std::string(type_name))},
                             {"scheme", Json(std::string(scheme_name))},
                             {"keyval", Json(Json::Object{{"public", Json(text)}})}});
  }
  std::string id() const { return *digest_hex(**Crypto::system(), DigestKind::sha256, json().canonical()); }

  static std::string pem(std::string_view der) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (size_t i = 0; i < der.size(); i += 3) {
      uint32_t word = 0;
      for (size_t k = 0; k < 3; ++k)
        word = word << 8 | (i + k < der.size() ? static_cast<unsigned char>(der[i + k]) : 0u);
      for (size_t k = 0; k < 4; ++k) text += i + k > der.size() ? '=' : kDigits[word >> (18 - 6 * k) & 63];
      if (text.size() % 65 == 64) text += '\n';
    }
    return "-----BEGIN PUBLIC KEY-----\n" + text + "\n-----END PUBLIC KEY-----\n";
  }

 private:
  // Of <openssl/evp.h>, <openssl/ec.h> and <openssl/rsa.h>.
  static constexpr int kSetCurve = 0x1001, kSetRsaBits = 0x1003, kSetPadding = 0x1001, kPss = 6;

  template <class Function>
  static Function call(const char* name) {
    Function out = nullptr;
    if (!base::find_function(base::open_libcrypto(), name, out)) throw std::runtime_error(name);
    return out;
  }
  static void check(int result) {
    if (result != 1) throw std::runtime_error("libcrypto refused");
  }
  static unsigned char* at(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
  static void control(void* context, int command, int value) {
    if (call<int (*)(void*, int, int, int, int, void*)>("EVP_PKEY_CTX_ctrl")(context, -1, -1, command, value,
                                                                             nullptr) <= 0)
      throw std::runtime_error("libcrypto refused an option");
  }
  bool is_rsa() const { return kind_ == Kind::rsa1024 || kind_ == Kind::rsa2048; }
  bool is_ec() const { return !is_rsa() && kind_ != Kind::ed25519; }
  int type() const { return is_rsa() ? 6 : is_ec() ? 408 : 1087; }
  int curve() const { return kind_ == Kind::p256 ? 415 : kind_ == Kind::p384 ? 715 : 714; }

  Kind kind_;
  void* key_ = nullptr;
};

}  // namespace walle::link
