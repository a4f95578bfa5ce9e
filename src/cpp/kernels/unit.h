// Elements as integers of their size, for kernels that move them and never ask what they are.
#pragma once

#include <cstdint>

namespace walle::kernels {

// Two of eight bytes and not __int128: a complex number has the alignment of its parts.
struct Unit16 {
  uint64_t parts[2];
};

// Calls fn(Unit{}) for elements of 1, 2, 4, 8 or 16 bytes.
template <class Fn>
void visit_unit(int64_t bytes, Fn&& fn) {
  switch (bytes) {
    case 1: return fn(uint8_t{});
    case 2: return fn(uint16_t{});
    case 4: return fn(uint32_t{});
    case 8: return fn(uint64_t{});
    default: return fn(Unit16{});
  }
}

}  // namespace walle::kernels
