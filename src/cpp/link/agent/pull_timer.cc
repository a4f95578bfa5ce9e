#include "link/agent/pull_timer.h"

#include <algorithm>

#include "base/env.h"

namespace walle::link {

namespace {
constexpr int64_t kMostDoubtUs = int64_t{600} * 1'000'000;
}  // namespace

PullTimer::PullTimer(uint64_t seed, PullTimes times, int64_t now_us)
    : random_(seed), times_(times), due_us_(now_us) {}

double PullTimer::random() { return std::uniform_real_distribution<double>(0, 1)(random_); }

void PullTimer::heard(uint64_t epoch, int64_t now_us, uint32_t spread_s) {
  if (epoch <= epoch_) return;
  wanted_ = std::max(wanted_, epoch);
  const auto wait = static_cast<int64_t>(random() * spread_s * static_cast<double>(base::kUsPerSecond));
  due_us_ = std::min(due_us_, std::max(now_us + wait, not_before_us_));
}

void PullTimer::ask(int64_t now_us) {
  asked_ = true;
  due_us_ = std::min(due_us_, now_us);
}

void PullTimer::begins() {
  wanted_before_ = wanted_;
  asked_ = false;
}

// Decorrelated: neither in step with other devices nor with itself.
int64_t PullTimer::retry_wait(PullEnd end, int64_t wait_us) {
  const auto least = static_cast<double>(end == PullEnd::waits && wait_us > 0 ? wait_us : times_.retry_us);
  const double most =
      end == PullEnd::waits ? 2 * least : std::max(3.0 * static_cast<double>(retry_us_), least);
  const auto wait = static_cast<int64_t>(least + random() * (most - least));
  if (end == PullEnd::waits) {
    retry_us_ = 0;
    return wait;
  }
  return retry_us_ = std::min(wait, times_.most_retry_us);
}

void PullTimer::pulled(PullEnd end, uint64_t epoch, int64_t now_us, int64_t wait_us) {
  settle(end, epoch, now_us, wait_us);
  // What was asked for while this one was under way may have happened too late for it.
  if (asked_) due_us_ = now_us;
}

void PullTimer::settle(PullEnd end, uint64_t epoch, int64_t now_us, int64_t wait_us) {
  if (end != PullEnd::settled) {
    if (end == PullEnd::waits) epoch_ = std::max(epoch_, epoch);
    due_us_ = now_us + retry_wait(end, wait_us);
    return;
  }
  retry_us_ = 0;
  epoch_ = std::max(epoch_, epoch);
  due_us_ = now_us + static_cast<int64_t>((0.5 + random()) * static_cast<double>(times_.every_us));
  if (wanted_ > epoch_ && wanted_ > wanted_before_) {
    // Heard of while the pull was under way, which had the plan before: told once, it is pulled for now.
    due_us_ = now_us;
    return;
  }
  if (wanted_ > epoch_) {
    // Heard of, and not there: a plan that is still on its way to the server's cache, or a lie.
    doubted_us_ = std::min(std::max(2 * doubted_us_, times_.doubted_us), kMostDoubtUs);
    not_before_us_ = now_us + doubted_us_;
  } else {
    doubted_us_ = 0;
    not_before_us_ = INT64_MIN;
  }
  wanted_ = epoch_;
}

}  // namespace walle::link
