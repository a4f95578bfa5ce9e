// Features: what a kernel does in one run, counted. Kernels know their work and nothing of time; what a unit
// of each quantity costs on which machine only search/cost_model.h says.
//
// The quantities are few on purpose: a table has one coefficient for each and kernel, fitted from a few dozen
// measured shapes, and more of them would fit the noise.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace walle::backends {

enum class Quantity : uint8_t {
  flop,  // arithmetic in vectors that are full or as good as; where a kernel computes nothing, units moved
  l1_bytes,      // read or written in the first-level cache, copies between its lines included
  l2_bytes,      // the same of a core's own second level
  l3_bytes,      // of the outer cache
  memory_bytes,  // of nothing but memory
  tiles,         // pieces with a start of their own: register tiles, rows, rounds, regions
  tails,         // arithmetic on lanes and rows that hold nothing; of a raster, bytes that change their order
  calls,         // runs of the kernel; not shared by threads
  launches       // of a device with a queue of its own; not shared by threads
};
inline constexpr int kQuantities = 9;
inline constexpr std::array<std::string_view, kQuantities> kQuantityNames = {
    "flop", "l1_bytes", "l2_bytes", "l3_bytes", "memory_bytes", "tiles", "tails", "calls", "launches"};

struct Features {
  // A row of the tables. Both are static text: the names of a candidate are compared in every search.
  std::string_view kernel;
  std::string_view isa;  // empty for kernels that are compiled once
  std::array<double, kQuantities> amount{};
  int threads = 1;  // that share the work

  double& operator[](Quantity q) { return amount[static_cast<size_t>(q)]; }
  double operator[](Quantity q) const { return amount[static_cast<size_t>(q)]; }
};

}  // namespace walle::backends
