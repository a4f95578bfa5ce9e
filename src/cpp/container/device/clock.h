// Clock: what workers measure with: the machine's own clock, whatever an Env says, because limits and
// waiting are those of this process.
#pragma once

#include <chrono>
#include <cstdint>

namespace walle::container {

inline int64_t steady_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace walle::container
