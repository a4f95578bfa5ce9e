// What a device does in a nanosecond, measured: by the ratio of two profiles a table of costs fitted on one
// machine serves another (search/cost_model.h). And what it costs to reach a device that is not the host.
#pragma once

#include <string>
#include <vector>

namespace walle::backends {

// Of copies in one direction: nanoseconds before the first byte arrives, and of each.
struct Transfer {
  double start = 0;
  double byte = 0;
};

// The ways between a device's memory and another one.
struct Way {
  std::string memory;  // the name of the other: the host's, or of one that it reaches (memory.h)
  Transfer in;         // from there to the device
  Transfer out;
};

// Nanoseconds, each the least of several measurements. All are positive but for those that may be 0.
struct DeviceProfile {
  std::string isa;     // of the vector kernels that were measured
  double flop = 0;     // one operation of a matrix product in registers, of one thread
  double step = 0;     // one operation that waits for the one before it
  double l1_byte = 0;  // a byte copied, by the level that holds both places
  double l2_byte = 0;
  double l3_byte = 0;
  double memory_byte = 0;
  // As flop, of a product of bfloat16: processors differ most in it. Beside float32's it takes half on Zen 4
  // and twice on Sapphire Rapids, which lets one vdpbf16ps begin in two cycles and four vfmadd. May be
  // 0: not measured, or the processor has none.
  double bf16_flop = 0;
  // Of a device with a queue and a memory of its own; none of the host.
  double launch = 0;  // of a kernel, beside its work; may be 0
  std::vector<Way> ways;
};

}  // namespace walle::backends
