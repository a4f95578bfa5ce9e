// Times of every step of a run, kept while a session profiles. Written by the running thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace walle::runtime {

struct ProfileEvent {
  std::string name;  // origin node
  std::string op;
  std::string backend;
  std::string algorithm;
  double start_us = 0;  // since the profile began
  double duration_us = 0;
};

class Profiler {
 public:
  using Clock = std::chrono::steady_clock;
  Clock::time_point now() const { return Clock::now(); }
  double since_start_us(Clock::time_point t) const {
    return std::chrono::duration<double, std::micro>(t - start_).count();
  }
  void add(ProfileEvent event) {
    if (events_.size() < kMaxEvents) events_.push_back(std::move(event));
  }
  const std::vector<ProfileEvent>& events() const { return events_; }

  // Time that a row of the explanation shows: a step's, or what a node of the executor took beside the steps
  // of its bodies. What is left of a run's time is not accounted for.
  void account(double us) { accounted_us_ += us; }
  double accounted_us() const { return accounted_us_; }

  double us_since(Clock::time_point t) const {
    return std::chrono::duration<double, std::micro>(now() - t).count();
  }

  static constexpr size_t kMaxEvents = 1'000'000;  // a profile left on by mistake must not eat the memory

 private:
  Clock::time_point start_ = Clock::now();
  std::vector<ProfileEvent> events_;
  double accounted_us_ = 0;
};

}  // namespace walle::runtime
