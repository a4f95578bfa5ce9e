// Bytes written to memory together with their CRC-32C, which is computed from registers and from the caller's
// memory: a checksum that read the bytes back would wait for every line just written to arrive.
//
// Inline assembly, because it needs no compiler flags: an intrinsic could not be inlined into code that is
// compiled for every CPU of the family, and one call per field costs more than all their checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace walle::base {

template <bool instruction>
class Crc32cWriter {
 public:
  explicit Crc32cWriter(std::byte* to) : to_(to) {}

  // Little-endian, as base/bytes.h has it.
  template <FixedWidth T>
  void put(T value) {
    const auto word = little_endian(std::bit_cast<UnsignedOf<sizeof(T)>>(value));
    std::memcpy(to_, &word, sizeof word);
    to_ += sizeof word;
    // Inverted on the way in and out: crc32c_portable() takes and gives the finished form, the member holds
    // the running one.
    if constexpr (!instruction) {
      crc_ = ~crc32c_portable(~static_cast<uint32_t>(crc_), &word, sizeof word);
    } else {
#if defined(__x86_64__)
      if constexpr (sizeof word == 8)
        asm("crc32q %1, %0" : "+r"(crc_) : "r"(word));
      else if constexpr (sizeof word == 4)
        asm("crc32l %1, %k0" : "+r"(crc_) : "r"(word));
      else if constexpr (sizeof word == 2)
        asm("crc32w %1, %k0" : "+r"(crc_) : "r"(word));
      else
        asm("crc32b %1, %k0" : "+r"(crc_) : "q"(word));
#endif
    }
  }
  void copy(const void* from, size_t size) {
    crc_ = ~(instruction ? crc32c_copy_instruction : crc32c_copy_portable)(~static_cast<uint32_t>(crc_), to_,
                                                                           from, size);
    to_ += size;
  }
  uint32_t finish() const { return ~static_cast<uint32_t>(crc_); }

 private:
  std::byte* to_;
  uint64_t crc_ = ~uint32_t{0};
};

// The checksum of what `body(writer)` puts at `to`.
template <class Body>
uint32_t checked_write(std::byte* to, Body&& body) {
  if (has_crc32c_instruction()) {
    Crc32cWriter<true> w(to);
    body(w);
    return w.finish();
  }
  Crc32cWriter<false> w(to);
  body(w);
  return w.finish();
}

}  // namespace walle::base
