// DeviceKey: the device's own key: ECDSA on P-256, made on the device, which it never leaves. It asks for a
// certificate and signs what the device tells its server. By the system's libcrypto.
//
// Thread-safe once made.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::link {

class DeviceKey {
 public:
  // Resource errors with the remedy where no libcrypto is installed.
  static Result<std::unique_ptr<DeviceKey>> make();
  // PEM, as private_pem() gives it.
  static Result<std::unique_ptr<DeviceKey>> read(std::string_view pem);
  ~DeviceKey();
  DeviceKey(const DeviceKey&) = delete;
  DeviceKey& operator=(const DeviceKey&) = delete;

  Result<std::string> private_pem() const;
  // A certificate request (PKCS#10, PEM); the name in it is a proposal that a server replaces.
  Result<std::string> request(const std::string& common_name) const;
  // Whether a certificate (PEM) is of this key; false for what is no certificate.
  bool is_of(std::string_view certificate) const;
  // ECDSA over SHA-256, DER.
  Result<std::string> sign(std::string_view message) const;

 private:
  struct Functions;
  DeviceKey(const Functions& f, void* key) : f_(f), key_(key) {}
  static Result<const Functions*> functions();

  const Functions& f_;
  void* key_;
};

}  // namespace walle::link
