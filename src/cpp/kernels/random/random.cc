#include "kernels/random/random.h"

#include <atomic>
#include <cmath>
#include <numbers>
#include <random>

#include "kernels/parallel.h"

namespace walle::kernels {

namespace {
// The recurrence's middle word, as the paper calls it.
constexpr size_t kMiddle = 397;

// The 53 bits of a double in [0, 1) from two words, as NumPy takes them.
double unit(uint32_t high, uint32_t low) { return ((high >> 5) * 0x1p26 + (low >> 6)) / 0x1p53; }
}  // namespace

// All constants of the generator are the paper's; the seeding is that of its 2002 revision (init_genrand).
Mersenne::Mersenne(uint32_t seed) {
  state_[0] = seed;
  for (uint32_t i = 1; i < state_.size(); ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
}

uint32_t Mersenne::next() {
  // All 624 words anew at once, as the paper has it; in between a draw is four shifts.
  if (at_ == state_.size()) {
    for (size_t i = 0; i < state_.size(); ++i) {
      const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7fffffffu);
      state_[i] = state_[(i + kMiddle) % kWords] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
    }
    at_ = 0;
  }
  uint32_t y = state_[at_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double Mersenne::uniform() {
  const uint32_t high = next();
  return unit(high, next());
}

double Mersenne::normal() {
  if (spare_) {
    const double kept = *spare_;
    spare_.reset();
    return kept;
  }
  // Marsaglia and Bray's polar method (1964), because NumPy's legacy generator uses it: another one would be
  // as good, but not give the same numbers.
  double x1 = 0;
  double x2 = 0;
  double r2 = 0;
  do {
    x1 = 2 * uniform() - 1;
    x2 = 2 * uniform() - 1;
    r2 = x1 * x1 + x2 * x2;
  } while (r2 >= 1 || r2 == 0);
  const double f = std::sqrt(-2 * std::log(r2) / r2);
  spare_ = f * x1;
  return f * x2;
}

// Multipliers and round constants (the golden ratio and the root of three, less one) of the paper.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter) {
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> c{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  // Ten rounds, as the paper recommends: seven already pass BigCrush there, the rest is margin.
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

namespace {
// Two numbers from one block; Box-Muller, whose logarithm must not see 0.
std::array<double, 2> draw(const Random& s, uint64_t key, uint64_t counter) {
  const auto c = philox(key, counter);
  const double u = unit(c[0], c[1]);
  const double v = unit(c[2], c[3]);
  if (!s.normal) return {s.low + (s.high - s.low) * u, s.low + (s.high - s.low) * v};
  // u lies in [0, 1), so 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log1p(-u));
  const double angle = 2 * std::numbers::pi * v;
  return {s.low + s.high * radius * std::cos(angle), s.low + s.high * radius * std::sin(angle)};
}

// Another key for every run: entropy once per process, and a counter that tells the runs apart.
uint64_t fresh_stream() {
  static const uint64_t entropy = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<uint64_t> runs{0};
  return entropy + runs.fetch_add(1, std::memory_order_relaxed);
}

template <class T>
void fill(const Random& s, T* y, int64_t n, int threads) {
  if (s.seed) {
    // Numbers beyond uint32 wrap as NumPy's seed mask does; a seed that is no number counts as 0.
    const double seed = std::fmod(std::trunc(std::isfinite(*s.seed) ? *s.seed : 0), 4294967296.0);
    // One thread: the numbers depend on those before, and reproducing them is what the seed is for.
    Mersenne g(static_cast<uint32_t>(static_cast<int64_t>(seed)));
    for (int64_t i = 0; i < n; ++i)
      y[i] = static_cast<T>(s.normal ? s.low + s.high * g.normal() : s.low + (s.high - s.low) * g.uniform());
    return;
  }
  // By counter, so that any thread can make any pair and the result does not depend on how many there are.
  const uint64_t key = fresh_stream();
  parallel_ranges((n + 1) / 2, kHeavyGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end; ++pair) {
      const auto v = draw(s, key, static_cast<uint64_t>(pair));
      y[2 * pair] = static_cast<T>(v[0]);
      if (2 * pair + 1 < n) y[2 * pair + 1] = static_cast<T>(v[1]);
    }
  });
}
}  // namespace

void run_random(const Random& spec, DType dtype, void* y, int64_t n, int threads) {
  tensor::visit_float(
      dtype, [&](auto tag) { fill(spec, static_cast<typename decltype(tag)::type*>(y), n, threads); });
}

}  // namespace walle::kernels
