// Identity: who a device is to its server: its key, its certificate, whom it trusts, where the broker is.
// Made by one request with a one-time code; lies in a folder as files that only the device's user may read,
// because TLS libraries want files: device.key, device.pem, authority.pem, root.json, identity.wals.
//
// The key is there before the code is spent, and identity.wals, which says that the rest is whole, is written
// last: who dies between goes on with the same key and needs a new code. renew() changes device.pem, which is
// the same key's, and then identity.wals: either is whole with the other's old or new one. Not synchronised,
// but for renew_at_s().
// docs/reference/formats/agent-state.md.
#pragma once

#include <atomic>
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

  // Asks for another certificate, with the key that there is; from the server that this one is of. What lies
  // in the files then counts for the next connection.
  Status renew(Env& env, Transport& transport, const std::string& url, int64_t now_s);

  const std::string& device() const { return device_; }
  // Seconds since 1970 of the server's clock, from which on the certificate is to be renewed. Any thread.
  int64_t renew_at_s() const { return renew_at_s_; }
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
  Status save(Env& env) const;

  std::string folder_;
  std::unique_ptr<DeviceKey> key_;
  std::string device_, root_;
  Broker broker_;
  std::atomic<int64_t> renew_at_s_{0};
};

}  // namespace walle::link
