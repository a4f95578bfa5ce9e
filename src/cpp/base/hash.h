// 64-bit FNV-1a with a finishing mix: fingerprints of graphs,
// shapes and machines. Not for untrusted hash tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace walle::base {

class Hasher {
 public:
  // Prime and offset of FNV-1a, 64 bits (Fowler, Noll and Vo, 1991).
  Hasher& bytes(const void* data, size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) state_ = (state_ ^ p[i]) * 0x100000001b3ull;
    return *this;
  }
  // Its little-endian bytes: fingerprints lie in files
  // (docs/reference/formats/snapshot.md), which every machine reads.
  template <FixedWidth T>
  Hasher& value(T v) {
    std::byte word[sizeof(T)];
    store_le(word, v);
    return bytes(word, sizeof word);
  }
  // The size first, or ("ab", "c") and ("a", "bc") would give one hash.
  Hasher& text(std::string_view s) { return value(uint64_t{s.size()}).bytes(s.data(), s.size()); }

  uint64_t finish() const {
    // FNV's high bits hardly depend on the last bytes; half of MurmurHash3's finisher spreads them.
    uint64_t h = state_;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 33;
    return h;
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325ull;
};

// One 64-bit word into a hash, by MurmurHash3's finishing mix: for
// a few words where bytes would cost 4 cycles each.
inline uint64_t mix(uint64_t state, uint64_t word) {
  uint64_t h = (state ^ word) * 0xff51afd7ed558ccdull;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
  return h ^ h >> 33;
}

}  // namespace walle::base
