#include "stream/operators/privacy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace walle::stream {

namespace {
Error bad(Text given) {
  return argument_error(given, "finite positive parameters", "privacy", "correct the parameter");
}
bool positive(double v) { return std::isfinite(v) && v > 0; }

bool bernoulli(double p, std::mt19937_64& random) { return std::bernoulli_distribution(p)(random); }

// Two-sided geometric: P(k) proportional to exp(-|k| / scale).
int64_t discrete_laplace(double scale, std::mt19937_64& random) {
  std::geometric_distribution<int64_t> geometric(1 - std::exp(-1 / scale));
  for (;;) {
    const bool negative = random() & 1;
    const int64_t magnitude = geometric(random);
    if (negative && magnitude == 0) continue;  // zero must not count twice
    return negative ? -magnitude : magnitude;
  }
}

int64_t whole_sum(std::span<const double> values, double low, double high, double resolution) {
  int64_t sum = 0;
  for (const double v : values)
    // Clamped one by one, before the sum: only then does one value move it by no more than the sensitivity
    // says. What is not finite counts as the low end, so that it cannot be told from other values.
    sum += std::llround(std::clamp(std::isfinite(v) ? v : low, low, high) / resolution);
  return sum;
}

// How much one value more or less moves the sum, in resolutions.
double sensitivity(double low, double high, double resolution) {
  return std::ceil(std::max(std::abs(low), std::abs(high)) / resolution);
}
}  // namespace

std::mt19937_64 noise_source(std::optional<uint64_t> seed) {
  if (seed) return std::mt19937_64(*seed);
  // 256 bits: one 32-bit draw would leave 2^32 sequences of noise to try.
  constexpr size_t kWords = 8;
  std::array<std::random_device::result_type, kWords> words;
  std::random_device device;
  std::ranges::generate(words, std::ref(device));
  std::seed_seq entropy(words.begin(), words.end());
  return std::mt19937_64(entropy);
}

Status PrivacyAccount::spend(double epsilon) {
  if (!positive(epsilon)) return bad({"epsilon ", epsilon});
  if (!state_)
    return internal_error("an account that only stands for one", {"privacy account '", name_, "'"});
  const std::lock_guard lock(state_->spending());
  WALLE_ASSIGN(const double before, spent());
  // A limit of 1 must allow ten times 0.1, whose sum in doubles is a little more. Asked so that a limit which
  // is no number allows nothing.
  if (!(before + epsilon <= limit_ * (1 + 1e-12)))
    return task_error({"epsilon ", epsilon, " after ", before}, {"at most ", limit_, " in all"},
                      {"privacy account '", name_, "'"}, "send nothing more that depends on this data");
  return state_->set_spent(name_, before + epsilon);
}

Result<double> laplace_sum(std::span<const double> values, double low, double high, double epsilon,
                           double resolution, std::mt19937_64& random) {
  if (!positive(epsilon) || !positive(resolution) || !(low < high) || !std::isfinite(low) ||
      !std::isfinite(high))
    return bad("a range, epsilon or resolution");
  const int64_t sum = whole_sum(values, low, high, resolution);
  return static_cast<double>(sum + discrete_laplace(sensitivity(low, high, resolution) / epsilon, random)) *
         resolution;
}

Result<double> gaussian_sum(std::span<const double> values, double low, double high, double epsilon,
                            double delta, double resolution, std::mt19937_64& random) {
  if (!positive(epsilon) || !positive(delta) || delta >= 1 || !positive(resolution) || !(low < high) ||
      !std::isfinite(low) || !std::isfinite(high))
    return bad("a range, epsilon, delta or resolution");
  const double part = std::log(1 / delta), root = std::sqrt(part + epsilon) - std::sqrt(part);
  WALLE_ASSIGN(const int64_t noise,
               discrete_gaussian(sensitivity(low, high, resolution) / (std::sqrt(2.0) * root), random));
  return static_cast<double>(whole_sum(values, low, high, resolution) + noise) * resolution;
}

Result<int64_t> discrete_gaussian(double sigma, std::mt19937_64& random) {
  if (!positive(sigma)) return bad({"sigma ", sigma});
  // Rejection from a discrete Laplace of scale floor(sigma) + 1, the paper's algorithm 3: a bounded number of
  // draws on average, whatever sigma is.
  const double t = std::floor(sigma) + 1, s2 = sigma * sigma;
  for (;;) {
    const int64_t y = discrete_laplace(t, random);
    const double d = std::abs(static_cast<double>(y)) - s2 / t;
    if (bernoulli(std::exp(-d * d / (2 * s2)), random)) return y;
  }
}

Result<int> randomised_response(int truth, int k, double epsilon, std::mt19937_64& random) {
  if (k < 2 || truth < 0 || truth >= k || !positive(epsilon)) return bad({"category ", truth, " of ", k});
  const double e = std::exp(epsilon);
  // Warner (1965), for k categories as in Kairouz et al. (2016).
  if (bernoulli(e / (e + k - 1), random)) return truth;
  const int other = std::uniform_int_distribution<int>(0, k - 2)(random);
  // Over all categories but the truth, by stepping over it.
  return other + (other >= truth);
}

}  // namespace walle::stream
