// Who a device is to its server: its key, its certificate, whom it trusts, where the broker is. Made by one
// request with a one-time code; lies in a folder as files that only the device's user may read, because TLS
// libraries want files: device.key, device.pem, authority.pem, root.json, identity.wals.
//
// The key is there before the code is spent, and identity.wals, which says that the rest is whole, is written
// last: who dies between goes on with the same key and needs a new code. Not synchronised.
// docs/reference/formats/agent-state.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "link/agent/device_key.h"
#include "link/transport.h"

namespace walle::link {

struct Broker {
  std::string host;
  uint16_t port = 0;  // 0: there is none
};

class Identity {
 public:
  // nullptr where the device has not enrolled.
  static Result<std::unique_ptr<Identity>> open(Env& env, const std::string& folder);
  // Asks the server for one. A network error says what the server answered; a code counts once.
  static Result<std::unique_ptr<Identity>> enrol(Env& env, Transport& transport, const std::string& url,
                                                 const std::string& folder, const std::string& code);

  const std::string& device() const { return device_; }
  const Broker& broker() const { return broker_; }
  // The first root that came with the enrolment: as believable as the connection was.
  const std::string& root() const { return root_; }
  std::string key_file() const { return folder_ + "/device.key"; }
  std::string certificate_file() const { return folder_ + "/device.pem"; }
  std::string authorities_file() const { return folder_ + "/authority.pem"; }

  // The header that proves where a POST comes from (docs/reference/cloud-api.md): it holds for this body, for
  // five minutes of the server's clock.
  Result<std::vector<HttpHeader>> proof(const std::string& method, const std::string& path,
                                        std::string_view body, int64_t now_s) const;

 private:
  Identity(std::string folder, std::unique_ptr<DeviceKey> key)
      : folder_(std::move(folder)), key_(std::move(key)) {}
  static Result<std::unique_ptr<DeviceKey>> key_of(Env& env, const std::string& folder);

  std::string folder_;
  std::unique_ptr<DeviceKey> key_;
  std::string device_, root_;
  Broker broker_;
};

}  // namespace walle::link
