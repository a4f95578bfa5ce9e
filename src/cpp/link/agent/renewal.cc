#include "link/agent/renewal.h"

#include <algorithm>

#include "base/log.h"

namespace walle::link {

namespace {
constexpr int64_t kFirstRetryUs = 5 * base::kUsPerSecond, kMostRetryUs = 3600 * base::kUsPerSecond;
constexpr int64_t kMostAheadS = int64_t{100} * 365 * 86'400;  // times a million it is still an int64_t
}  // namespace

int64_t Renewal::due_in_us() const {
  const int64_t left_s = std::min(identity_->renew_at_s() - env_.wall_us() / base::kUsPerSecond, kMostAheadS);
  const int64_t held = not_before_us_ == INT64_MIN ? 0 : not_before_us_ - env_.steady_us();
  return std::max({left_s * base::kUsPerSecond, held, int64_t{0}});
}

void Renewal::step(Transport& transport) {
  if (due_in_us() > 0) return;
  const Status renewed = identity_->renew(env_, transport, url_, env_.wall_us() / base::kUsPerSecond);
  if (renewed.ok()) {
    wait_us_ = 0;
    trouble_.clear();
    base::log(base::LogLevel::info, "the certificate of device " + identity_->device() + " was renewed");
  } else {
    wait_us_ = std::clamp(2 * wait_us_, kFirstRetryUs, kMostRetryUs);
    trouble_ = "the certificate was not renewed: " + renewed.error().message();
    base::log(base::LogLevel::warning, trouble_);
  }
  // Of a server that says "now" each time it is asked every few seconds, not all the time.
  not_before_us_ = env_.steady_us() + std::max(wait_us_, kFirstRetryUs);
}

}  // namespace walle::link
