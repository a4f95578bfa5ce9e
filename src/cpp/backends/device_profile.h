// What a device does in a nanosecond, measured: by the ratio of two profiles a table of costs fitted on one
// machine serves another (search/cost_model.h).
#pragma once

#include <string>

namespace walle::backends {

// Nanoseconds, each the least of several measurements. All are positive.
struct DeviceProfile {
  std::string isa;     // of the vector kernels that were measured
  double flop = 0;     // one operation of a matrix product in registers, of one thread
  double step = 0;     // one operation that waits for the one before it
  double l1_byte = 0;  // a byte copied, by the level that holds both places
  double l2_byte = 0;
  double l3_byte = 0;
  double memory_byte = 0;
};

}  // namespace walle::backends
