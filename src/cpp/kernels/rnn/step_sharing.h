// Whether the threads share the product of a recurrence's next step, by what steps took.
//
// Half of a product of some microseconds is worth handing over where the other thread waits for it (an LSTM
// of 128 over 100 frames: 0.71 -> 0.52 ms) and a loss where its core is busy with something else (0.76 ->
// 0.79), which only the clock tells. Columns are split, so a result does not depend on the answer.
//
// Of one direction of one run; one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace walle::kernels {

class StepSharing {
 public:
  bool share() const {
    if (given_up_ || at_ < kAlone) return false;
    return at_ < kProbes || shared_ < alone_ * kSettled;
  }

  // What the step that share() was asked for took.
  void took(int64_t ns) {
    if (at_ < kAlone) {
      alone_ = at_ == 0 ? ns : std::min(alone_, ns);
    } else if (share()) {
      given_up_ = ns > kStalled * std::max<int64_t>(alone_, 1);
      if (at_ >= kProbes - kSettled && at_ < kProbes) shared_ += ns;
    }
    if (++at_ < kPeriod) return;
    at_ = 0;
    shared_ = 0;
  }

 private:
  // A period begins with steps alone and shared ones, of which the last are believed: a helper that has
  // parked needs some 10 us to come.
  static constexpr int kAlone = 2;
  static constexpr int kSettled = 8;
  static constexpr int kProbes = kAlone + 2 * kSettled;
  static constexpr int kPeriod = 128;
  // The helper was taken off its core in the middle of its half. One such time slice lasts longer than
  // sharing the rest of the run would save.
  static constexpr int64_t kStalled = 32;

  int at_ = 0;          // step of the period
  int64_t alone_ = 0;   // the fastest
  int64_t shared_ = 0;  // all settled ones together
  bool given_up_ = false;
};

}  // namespace walle::kernels
