// Seeded values and comparisons the kernel tests share.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace walle::kernels {

// Values in [-1, 1] that depend on the seed alone.
inline std::vector<float> random_floats(int64_t n, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(n));
  uint64_t state = seed * 2654435761u + 1;
  for (float& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0f;
  }
  return values;
}

inline void expect_close(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (size_t i = 0; i < got.size() && shown < 3; ++i) {
    if (std::isnan(want[i]) && std::isnan(got[i])) continue;
    const double limit = tolerance * (1 + std::abs(static_cast<double>(want[i])));
    if (!(std::abs(static_cast<double>(got[i]) - want[i]) <= limit) && got[i] != want[i]) {
      ADD_FAILURE() << "element " << i << ": " << got[i] << " instead of " << want[i];
      ++shown;
    }
  }
}

}  // namespace walle::kernels
