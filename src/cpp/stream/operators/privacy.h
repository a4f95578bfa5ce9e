// Local differential privacy: noise added on the device, and a durable account of the epsilon spent.
#pragma once

#include <optional>
#include <random>
#include <span>

#include "stream/event/log_state.h"

namespace walle::stream {

// Spending is on the disk, in two copies, before it returns; any thread may spend, and two accounts of one
// name share what is spent, not their limits. Refuses everything while the log's state is lost
// (stream/event/log_state.h).
class PrivacyAccount {
 public:
  // `limit`: epsilon that may be spent under `name` for ever; kept in the log's state.
  PrivacyAccount(LogState& state, std::string name, double limit)
      : state_(&state), name_(std::move(name)), limit_(limit) {}
  // One that stands for an account and refuses to spend: for graphs that are only looked at.
  static PrivacyAccount closed(std::string name) { return PrivacyAccount(std::move(name)); }
  Status spend(double epsilon);  // a task error when the limit would be passed; then nothing is spent
  Result<double> spent() const { return state_ ? state_->spent(name_) : 0; }

 private:
  explicit PrivacyAccount(std::string name) : name_(std::move(name)) {}

  LogState* state_ = nullptr;
  std::string name_;
  double limit_ = 0;
};

// The generator that noise is drawn from: seeded from the system's entropy, or with `seed` in tests, whose
// noise hides nothing.
std::mt19937_64 noise_source(std::optional<uint64_t> seed);

// Sums work on whole multiples of `resolution`: noise of bare floats leaks through its low bits (Mironov,
// 2012). Sum with values clamped to [low, high]; Laplace noise of scale max(|low|, |high|) / epsilon.
Result<double> laplace_sum(std::span<const double> values, double low, double high, double epsilon,
                           double resolution, std::mt19937_64& random);
// The same sum with discrete Gaussian noise: (epsilon, delta) through
// zero-concentrated privacy, sigma = sensitivity / sqrt(2 rho) with rho =
// (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2 (Bun and Steinke, 2016).
Result<double> gaussian_sum(std::span<const double> values, double low, double high, double epsilon,
                            double delta, double resolution, std::mt19937_64& random);
// Discrete Gaussian (Canonne, Kamath and Steinke, 2020) of standard deviation `sigma` resolutions.
Result<int64_t> discrete_gaussian(double sigma, std::mt19937_64& random);
// k-ary randomised response: the truth with probability
// e^eps / (e^eps + k - 1), else another category evenly.
Result<int> randomised_response(int truth, int k, double epsilon, std::mt19937_64& random);

}  // namespace walle::stream
