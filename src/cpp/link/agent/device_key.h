// DeviceKey: the device's own key: ECDSA on P-256, made on the device, which it never leaves. It asks for a
// certificate and signs what the device tells its server. KeyStore makes them: the system's libcrypto does,
// or on a phone, which has none, the app.
//
// A key is thread-safe once made.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace walle::link {

class DeviceKey {
 public:
  virtual ~DeviceKey() = default;
  DeviceKey() = default;
  DeviceKey(const DeviceKey&) = delete;
  DeviceKey& operator=(const DeviceKey&) = delete;

  virtual Result<std::string> private_pem() const = 0;
  // A certificate request (PKCS#10, PEM); the name in it is a proposal that a server replaces.
  virtual Result<std::string> request(const std::string& common_name) const = 0;
  // Whether a certificate (PEM) is of this key; false for what is no certificate.
  virtual bool is_of(std::string_view certificate) const = 0;
  // ECDSA over SHA-256, DER.
  virtual Result<std::string> sign(std::string_view message) const = 0;
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  virtual Result<std::unique_ptr<DeviceKey>> make() = 0;
  // PEM, as private_pem() gives it.
  virtual Result<std::unique_ptr<DeviceKey>> read(std::string_view pem) = 0;
};

// By the system's libcrypto. Resource errors with the remedy where none is installed. Any thread.
KeyStore& libcrypto_keys();

}  // namespace walle::link
