// Renewal: a new certificate of the device before it expires: when two thirds of its time are over the
// server is asked for another one, with the key that the device has and that signs the request.
//
// A device whose certificate has expired proves nothing any more, and needs a new code. One thread, the
// agent's.
#pragma once

#include <memory>
#include <string>

#include "link/agent/identity.h"

namespace walle::link {

class Renewal {
 public:
  Renewal(Env& env, std::shared_ptr<Identity> identity, std::string url)
      : env_(env), identity_(std::move(identity)), url_(std::move(url)) {}

  // In how many microseconds step() has something to do; 0: now.
  int64_t due_in_us() const;
  // Renews when it is due; a failure is tried again after a wait that grows from 5 s to an hour.
  void step(Transport& transport);
  // Why the newest did not work, or what is wrong with the clock; empty: neither.
  std::string trouble() const { return trouble_.empty() ? identity_->clock_trouble() : trouble_; }

 private:
  Env& env_;
  std::shared_ptr<Identity> identity_;
  std::string url_, trouble_;
  int64_t not_before_us_ = INT64_MIN, wait_us_ = 0;  // steady
};

}  // namespace walle::link
