#include "runtime/run_control.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

namespace walle::runtime {

namespace {
// What a wait may last when only a token can end it: nobody wakes the one that waits.
constexpr std::chrono::milliseconds kTokenPeriod{10};
}  // namespace

RunControl::RunControl(const RunOptions& options) : cancel_(options.cancel), host_(options.host) {
  if (options.timeout) {
    seconds_ = std::chrono::duration<double>(*options.timeout).count();
    deadline_ = Clock::now() + *options.timeout;
  }
  plan_next();
}

int64_t RunControl::coarse_ns() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return t.tv_sec * int64_t{1'000'000'000} + t.tv_nsec;
#else
  return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
#endif
}

void RunControl::plan_next() {
  if (deadline_) {
    next_ = host_ ? std::min(*deadline_, Clock::now() + kHostPeriod) : *deadline_;
  } else if (host_) {
    next_coarse_ns_ = coarse_ns() + std::chrono::nanoseconds(kHostPeriod).count();
  }
}

Status RunControl::look() {
  if (cancel_ && cancel_->cancelled()) return cancelled_error("a run that was cancelled", "run");
  if (deadline_ && Clock::now() >= *deadline_) {
    char limit[64];
    std::snprintf(limit, sizeof limit, "an end within %.6g s", seconds_);
    return timeout_error("a run that was not done at its deadline", limit, "run",
                         "allow more time; session.explain() after session.profile() says what takes it");
  }
  if (host_) WALLE_TRY(host_->check());
  plan_next();
  return {};
}

std::chrono::nanoseconds RunControl::patience() const {
  std::chrono::nanoseconds longest = cancel_ ? kTokenPeriod : kHostPeriod;
  if (deadline_) longest = std::min<std::chrono::nanoseconds>(longest, *deadline_ - Clock::now());
  return std::max(longest, std::chrono::nanoseconds(0));
}

}  // namespace walle::runtime
