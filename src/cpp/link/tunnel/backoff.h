// Backoff: how long to wait before the next connection: decorrelated jitter, each wait drawn between the
// least and three times the last one, so that devices which lost one broker at one moment do not come back
// at one.
//
// Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. Not synchronised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace walle::link {

struct BackoffOptions {
  int64_t least_us = 500'000;
  int64_t most_us = 120'000'000;
};

class Backoff {
 public:
  explicit Backoff(BackoffOptions options) : options_(options), last_(options.least_us) {}

  template <class Random>
  int64_t next(Random& random) {
    const int64_t most = std::max(options_.least_us, std::min(options_.most_us, last_ * 3));
    last_ = std::uniform_int_distribution<int64_t>(options_.least_us, most)(random);
    return last_;
  }
  // A connection held.
  void reset() { last_ = options_.least_us; }

 private:
  BackoffOptions options_;
  int64_t last_;
};

}  // namespace walle::link
