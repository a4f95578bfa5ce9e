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

// By how much the time of a signature may be off (docs/reference/cloud-api.md).
inline constexpr int64_t kClockSkewS = 300;

struct Broker {
  std::string host;
  uint16_t port = 0;  // 0: there is none
};

class Identity {
 public:
  // nullptr where the device has not enrolled.
  static Result<std::unique_ptr<Identity>> open(Env& env, const std::string& folder,
                                                KeyStore& keys = libcrypto_keys());
  // Asks the server for one. A network error says what the server answered; a code counts once.
  static Result<std::unique_ptr<Identity>> enrol(Env& env, Transport& transport, const std::string& url,
                                                 const std::string& folder, const std::string& code,
                                                 KeyStore& keys = libcrypto_keys());

  // Asks for another certificate, with the key that there is; from the server that this one is of. What lies
  // in the files then counts for the next connection.
  Status renew(Env& env, Transport& transport, const std::string& url, int64_t now_s);

  // Asks the server what time it is, after it has refused a signature; true where that is more than
  // kClockSkewS from this device's clock, by which requests are signed from then on. Whoever answers in the
  // server's place could have a request signed that counts later, so believe_time() is said first where
  // nobody can. Nothing else goes by it: what is expired by the device's clock stays expired.
  bool learn_time(Env& env, Transport& transport, const std::string& url);
  void believe_time() { believes_time_ = true; }
  // Of the server's clock before the device's, seconds; 0 while it is not asked. Any thread.
  int64_t clock_offset_s() const { return clock_offset_s_; }
  std::string clock_trouble() const;  // the same in words; empty: 0

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
  static Result<std::unique_ptr<DeviceKey>> key_of(Env& env, const std::string& folder, KeyStore& keys);
  Status save(Env& env) const;

  std::string folder_;
  std::unique_ptr<DeviceKey> key_;
  std::string device_, root_;
  Broker broker_;
  std::atomic<int64_t> renew_at_s_{0}, clock_offset_s_{0};
  bool believes_time_ = false;
};

}  // namespace walle::link
