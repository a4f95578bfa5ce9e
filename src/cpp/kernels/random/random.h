// Random numbers: a reproducible sequential generator for seeded nodes, a counter-based one for the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tensor/dtype.h"

namespace walle::kernels {

// MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998) with the draws of NumPy's legacy RandomState,
// so that a seeded node gives the numbers the ONNX reference evaluator gives.
// One per tensor that is filled, on one thread: its numbers are a sequence.
class Mersenne {
 public:
  explicit Mersenne(uint32_t seed);
  double uniform();  // [0, 1), 53 bits
  double normal();   // polar method, the second number of each pair kept

 private:
  static constexpr size_t kWords = 624;  // of 32 bits: 19,937 bits of state

  uint32_t next();
  std::array<uint32_t, kWords> state_;
  size_t at_ = kWords;  // of state_; at the end, the next draw makes new ones
  std::optional<double> spare_;
};

// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As
// Easy as 1, 2, 3", 2011): block `counter` of stream `key`.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter);

struct Random {
  bool normal = false;         // else uniform
  double low = 0;              // or the mean
  double high = 1;             // or the standard deviation
  std::optional<double> seed;  // absent: another stream every run
};

// y[0, n), float32 or float64.
void run_random(const Random& spec, DType dtype, void* y, int64_t n, int threads);

}  // namespace walle::kernels
